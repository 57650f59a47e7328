#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stop_token>

#include "cli/cli_context.hpp"
#include "config.hpp"
#include "gym/api/api.hpp"
#include "gym/api/mixes.hpp"
#include "gym/api/postgres.hpp"
#include "gym/common/file.hpp"
#include "gym/common/stop.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/http/connection.hpp"
#include "gym/http_server/server.hpp"
#include "gym/ledger/types.hpp"
#include "gym/profile/profile.hpp"
#include "gym/vault/sealed_store.hpp"
#include "service_main.hpp"

namespace {

using namespace gym;

constexpr const char* kName = "gym-api";
constexpr std::chrono::seconds kDatabaseWait{60};  // services of one machine start in any order
constexpr std::uint32_t kShutdownGraceMs = 10'000;
constexpr UnixMs kDayMs = 86'400'000;
constexpr int kThreadsBeside = 2;  // of requests' threads: start-up, mixes

Result<std::unique_ptr<db::Database>> open_database(const app::ApiConfig& config,
                                                    const std::stop_token& stop = {}) {
    return db::with_retry(
        [&] {
            return db::Database::open(config.database,
                                      static_cast<int>(config.listen.threads) + kThreadsBeside);
        },
        kDatabaseWait, stop);
}

api::ApiOptions api_options(const app::ApiConfig& config, const contracts::Deployment& deployment) {
    api::ApiOptions options;
    options.network = {.chain_id = deployment.chain_id,
                       .token = deployment.token,
                       .escrow = deployment.escrow,
                       .distributor = deployment.distributor,
                       .commitment_log = deployment.commitment_log,
                       .stake = deployment.stake,
                       .dispute_game = deployment.dispute_game};
    options.node_live_ms = config.node_live_ms;
    // The address of this machine alone: clients elsewhere come through a proxy on it, with TLS.
    options.is_confidential = config.behind_tls || http::is_loopback(config.listen.address);
    options.dataset_bytes_max = config.dataset_bytes_max;
    options.upload_bytes_max = config.upload_limits.bytes_max;
    return options;
}

/// The published profile as text, or none. One of another network would lead its users astray.
Result<std::string> load_profile(const std::string& path, const contracts::Deployment& deployment) {
    if (path.empty()) return std::string();
    GYM_TRY(const Bytes content, read_file(path, profile::kProfileBytesMax));
    std::string text(content.begin(), content.end());
    const auto parsed = profile::parse_profile(text);
    if (!parsed.ok()) return parsed.error().in(path);
    if (parsed->profile.contracts == deployment) return profile::to_json(*parsed);
    return fail(ErrorCode::kMismatch,
                path +
                    " names another chain or other contracts than the deployment: sign it anew "
                    "(`gym operator sign-profile`)");
}

Status serve(const app::ApiConfig& config, const std::stop_token& stop) {
    GYM_TRY(const contracts::Deployment deployment, contracts::load_deployment(config.deployment));
    api::ApiOptions of_api = api_options(config, deployment);
    GYM_TRY(of_api.network_profile, load_profile(config.network_profile, deployment));
    GYM_TRY(auto blobs,
            vault::SealedStore::open(config.blobs, std::filesystem::path(config.blob_key_file)));
    GYM_TRY(const auto database, open_database(config, stop));
    const SystemClock clock;
    api::PostgresBackend::Options options;
    options.asset = ledger::erc20_asset(deployment.chain_id, deployment.token);
    options.network = {deployment.chain_id, deployment.escrow};
    options.node_live_ms = config.node_live_ms;
    options.usefulness_default_ppm = config.usefulness_default_ppm;
    options.dataset_quota = config.dataset_quota;
    options.model_quota = config.model_quota;
    options.dataset_bytes_max = config.dataset_bytes_max;
    options.price_per_pflop_min = config.price_per_pflop_min;
    options.uploads.emplace(config.uploads, blobs.key());
    api::PostgresUploads uploads(*database, *options.uploads, clock, config.upload_limits);
    api::MixLimits of_mixes = config.mix_limits;
    of_mixes.bytes_max = config.dataset_bytes_max;
    api::PostgresMixes mixes(*database, blobs, clock, config.mixes, options, of_mixes);
    api::PostgresBackend backend(*database, blobs, clock, std::move(options));
    api::Api handler({backend, backend, backend, clock, &uploads, &mixes}, std::move(of_api));
    GYM_TRY(const auto server, http_server::Server::start(config.listen, handler));
    GYM_CHECK(app::write_port_file(config.port_file, server->port()));
    app::log_ready("listening on " + config.listen.address + ":" + std::to_string(server->port()));
    wait_for_stop(stop);
    server->stop(kShutdownGraceMs);
    return {};
}

Status start(const std::string& config_file) {
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    return app::run_service({.name = kName, .log_level = config.log_level},
                            [&](const std::stop_token& stop) { return serve(config, stop); });
}

struct Arguments {
    std::string config;
    std::string owner;
    std::string label;
    std::string id;
    std::string scopes = api::to_string(api::KeyTerms{}.scopes);
    std::uint32_t expires_in_days = 365;  ///< 0: never
    std::string spend_max;                ///< GYM; empty: no limit
};

Result<api::KeyTerms> key_terms(const Arguments& arguments, UnixMs now_ms) {
    api::KeyTerms terms;
    const auto scopes = api::parse_scopes(arguments.scopes);
    if (!scopes.ok()) return scopes.error().in("--scopes");
    terms.scopes = *scopes;
    if (arguments.expires_in_days != 0)
        terms.expires_at_ms = now_ms + kDayMs * arguments.expires_in_days;
    if (arguments.spend_max.empty()) return terms;
    const auto most = Amount::parse_tokens(arguments.spend_max);
    if (!most.ok()) return most.error().in("--spend-max");
    terms.spend_max_wei = *most;
    return terms;
}

Status create_key(const Arguments& arguments) {
    const auto address = crypto::parse_address(arguments.owner);
    if (!address.ok())
        return fail(ErrorCode::kInvalidArgument, "--owner: " + address.error().message);
    const UnixMs now_ms = SystemClock().now_ms();
    GYM_TRY(const api::KeyTerms terms, key_terms(arguments, now_ms));
    GYM_TRY(const app::ApiConfig config, app::load_api_config(arguments.config));
    GYM_TRY(const auto database, open_database(config));
    GYM_TRY(const std::string key,
            api::create_key(*database, *address, arguments.label, now_ms, terms));
    // The only time that the key is readable: on standard output alone, so that it can be piped.
    std::printf("%s\n", key.c_str());
    return {};
}

/// "read,data, expires 2027-01-01 00:00:00 UTC, 12 of 100 GYM ordered"
std::string terms_text(const api::KeyInfo& key) {
    std::string out = api::to_string(key.terms.scopes);
    if (key.revoked_at_ms) out += ", revoked";
    if (key.terms.expires_at_ms) out += ", expires " + utc_text(*key.terms.expires_at_ms);
    if (key.terms.spend_max_wei)
        out += ", " + key.spent_wei.to_tokens() + " of " + key.terms.spend_max_wei->to_tokens() +
               " GYM ordered";
    return out;
}

Status list_keys(const std::string& config_file) {
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    GYM_TRY(const auto database, open_database(config));
    GYM_TRY(const auto keys, api::list_keys(*database));
    for (const api::KeyInfo& key : keys)
        std::printf("%s  %s  %s  %s\n", key.id.c_str(), key.owner.hex().c_str(),
                    terms_text(key).c_str(), key.label.c_str());
    return {};
}

Status revoke_key(const std::string& config_file, const std::string& id) {
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    GYM_TRY(const auto database, open_database(config));
    return api::revoke_key(*database, id, SystemClock().now_ms());
}

void add_key_commands(CLI::App& program, app::CliContext& context, Arguments& arguments) {
    CLI::App* keys = program.add_subcommand(
        "keys", "Create, list and revoke API keys (only their hashes are stored)");
    keys->require_subcommand(1);
    CLI::App* create =
        keys->add_subcommand("create", "Create a key and print it; it is shown only once");
    create->add_option("--owner", arguments.owner, "Address of the owner whom the key stands for")
        ->required();
    create->add_option("--label", arguments.label, "Note for people");
    create->add_option("--scopes", arguments.scopes,
                       "What the key may do, some of: read (what its owner alone may read), data "
                       "(register datasets and models, upload), jobs (pause, resume, cancel), "
                       "spend (bring signed orders); default: all");
    create
        ->add_option("--expires-in-days", arguments.expires_in_days,
                     "Days until the key expires, 0: never (default: 365)")
        ->check(CLI::Range(0, 36'500));
    create->add_option("--spend-max", arguments.spend_max,
                       "Most GYM that all orders of the key together may come to (default: no "
                       "limit; each order needs its owner's signature, too)");
    create->callback([&] { context.finish(create_key(arguments)); });
    keys->add_subcommand("list", "List ids, owners, scopes, limits and labels")->callback([&] {
        context.finish(list_keys(arguments.config));
    });
    CLI::App* revoke = keys->add_subcommand("revoke", "Revoke a key");
    revoke->add_option("id", arguments.id, "The key's id: the part between gym_ and the next _")
        ->required();
    revoke->callback([&] { context.finish(revoke_key(arguments.config, arguments.id)); });
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    const app::ServiceProgram program{
        .name = kName,
        .description = "Serve the REST API: jobs, nodes, units, balances, rewards",
        .add_options =
            [&](CLI::App& command_line, app::CliContext& context) {
                app::add_config_option(command_line, arguments.config, "api.yaml");
                add_key_commands(command_line, context, arguments);
            },
        .start = [&](const app::CliContext&) { return start(arguments.config); }};
    return app::service_main(program, argc, argv);
}
