#include <pthread.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli_context.hpp"
#include "config.hpp"
#include "gym/api/api.hpp"
#include "gym/api/postgres.hpp"
#include "gym/api/server.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/common/file.hpp"
#include "gym/common/log.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/types.hpp"
#include "program_main.hpp"

namespace {

using namespace gym;

constexpr std::chrono::seconds kDatabaseWait{60};  // services of one machine start in any order
constexpr std::uint32_t kShutdownGraceMs = 10'000;

Result<std::unique_ptr<db::Database>> open_database(const app::ApiConfig& config) {
    return db::with_retry(
        [&] {
            return db::Database::open(config.database, static_cast<int>(config.listen.threads) + 1);
        },
        kDatabaseWait);
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
    options.dataset_bytes_max = config.dataset_bytes_max;
    return options;
}

/// Serves until SIGTERM or SIGINT.
Status serve(const std::string& config_file) {
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    GYM_CHECK(init_logging({"gym-api", config.log_level, ""}));
    // Before any thread starts, so that all inherit the mask and only this one takes the signal.
    sigset_t stop_signals;
    sigemptyset(&stop_signals);
    sigaddset(&stop_signals, SIGTERM);
    sigaddset(&stop_signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

    GYM_TRY(const contracts::Deployment deployment, contracts::load_deployment(config.deployment));
    GYM_TRY(auto blobs, blob::DirectoryStore::open(config.blobs));
    GYM_TRY(const auto database, open_database(config));
    const SystemClock clock;
    api::PostgresBackend::Options options;
    options.asset = ledger::erc20_asset(deployment.chain_id, deployment.token);
    options.node_live_ms = config.node_live_ms;
    options.usefulness_default_ppm = config.usefulness_default_ppm;
    options.price_per_pflop_min = config.price_per_pflop_min;
    api::PostgresBackend backend(*database, blobs, clock, std::move(options));
    api::Api handler({backend, backend, backend, clock}, api_options(config, deployment));
    GYM_TRY(const auto server, api::Server::start(config.listen, handler));
    if (!config.port_file.empty())
        GYM_CHECK(
            write_file_atomic(config.port_file, as_bytes(std::to_string(server->port()) + "\n")));
    spdlog::info("listening on {}:{}", config.listen.address, server->port());

    int received = 0;
    sigwait(&stop_signals, &received);
    spdlog::info("signal {}: finishing what runs", received);
    server->stop(kShutdownGraceMs);
    return {};
}

Status create_key(const std::string& config_file, const std::string& owner,
                  const std::string& label) {
    const auto address = crypto::parse_address(owner);
    if (!address.ok())
        return fail(ErrorCode::kInvalidArgument, "--owner: " + address.error().message);
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    GYM_TRY(const auto database, open_database(config));
    GYM_TRY(const std::string key,
            api::create_key(*database, *address, label, SystemClock().now_ms()));
    // The only time that the key is readable: on standard output alone, so that it can be piped.
    std::printf("%s\n", key.c_str());
    return {};
}

Status list_keys(const std::string& config_file) {
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    GYM_TRY(const auto database, open_database(config));
    GYM_TRY(const auto keys, api::list_keys(*database));
    for (const api::KeyInfo& key : keys)
        std::printf("%s  %s  %s%s\n", key.id.c_str(), key.owner.hex().c_str(), key.label.c_str(),
                    key.revoked_at_ms ? "  (revoked)" : "");
    return {};
}

Status revoke_key(const std::string& config_file, const std::string& id) {
    GYM_TRY(const app::ApiConfig config, app::load_api_config(config_file));
    GYM_TRY(const auto database, open_database(config));
    return api::revoke_key(*database, id, SystemClock().now_ms());
}

struct Arguments {
    std::string config;
    std::string owner;
    std::string label;
    std::string id;
};

void add_key_commands(CLI::App& program, app::CliContext& context, Arguments& arguments) {
    CLI::App* keys = program.add_subcommand("keys", "API keys; only their hashes are stored");
    keys->require_subcommand(1);
    CLI::App* create = keys->add_subcommand("create", "Make a key and print it, once");
    create->add_option("--owner", arguments.owner, "Address whose money the key may spend on jobs")
        ->required();
    create->add_option("--label", arguments.label, "For people");
    create->callback(
        [&] { context.finish(create_key(arguments.config, arguments.owner, arguments.label)); });
    keys->add_subcommand("list", "Ids, owners and labels")->callback([&] {
        context.finish(list_keys(arguments.config));
    });
    CLI::App* revoke = keys->add_subcommand("revoke", "End a key");
    revoke->add_option("id", arguments.id, "The key's id: what stands between gym_ and the next _")
        ->required();
    revoke->callback([&] { context.finish(revoke_key(arguments.config, arguments.id)); });
}

int run(int argc, char** argv) {
    app::CliContext context{.program = "gym-api"};
    Arguments arguments;
    CLI::App program{"The REST API: jobs, nodes, units, balances, rewards", "gym-api"};
    program.footer(app::kExitCodesHelp);
    program.fallthrough();
    program
        .add_option("--config", arguments.config,
                    "Configuration (deploy/config/api.yaml explains every key)")
        ->required();
    add_key_commands(program, context, arguments);
    if (const auto code = app::parse_command_line(program, argc, argv)) return *code;
    if (program.get_subcommands().empty()) context.finish(serve(arguments.config));
    return static_cast<int>(context.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    return gym::app::program_main("gym-api", [&] { return run(argc, argv); });
}
