#include "coordinator_config.hpp"

#include <algorithm>

#include "gym/common/yaml.hpp"
#include "gym/contracts/drand_beacon.hpp"
#include "gym/coordinator/adapters/drand_relays.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/protocol/price_floor.hpp"

namespace gym::app {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;

Status read_listen(YamlMap map, CoordinatorFile& file) {
    GYM_TRY(file.server.listen, map.string("address"));
    GYM_TRY(file.server.tls_certificate_file, map.string_or("tls_certificate_file", ""));
    GYM_TRY(file.server.tls_key_file, map.string_or("tls_key_file", ""));
    GYM_TRY(file.port_file, map.string_or("port_file", ""));
    GYM_CHECK(map.read_integer("threads", 1, 256, file.server.threads));
    GYM_CHECK(map.read_integer("calls_max", 1, 1'000'000, file.server.calls_max));
    GYM_CHECK(
        map.read_integer("calls_of_address_max", 0, 1'000'000, file.server.calls_of_address_max));
    GYM_CHECK(map.read_integer("registrations_per_s_of_address", 0, 1'000'000,
                               file.server.registrations_per_s_of_address));
    GYM_CHECK(map.read_integer("polls_max", 1, 1'000'000, file.server.polls_max));
    GYM_CHECK(
        map.read_integer("blob_bytes_max", 1, std::int64_t{1} << 40, file.server.blob_bytes_max));
    // One of the largest blobs must fit, or it is refused as one too many for ever.
    rpc::ServerConfig& server = file.server;
    server.upload_bytes_max = std::max(server.upload_bytes_max, server.blob_bytes_max);
    GYM_CHECK(map.read_integer("uploads_bytes_max",
                               static_cast<std::int64_t>(server.blob_bytes_max),
                               std::int64_t{1} << 46, server.upload_bytes_max));
    GYM_CHECK(map.read_integer("heartbeat_every_ms", 100, 10'000, file.heartbeat_every_ms));
    GYM_CHECK(map.read_integer("challenge_every_ms", 100, 3'600'000, file.challenge_every_ms));
    GYM_CHECK(map.read_integer("challenge_answer_ms", 100, 600'000, file.challenge_answer_ms));
    // A node learns of a challenge with its next heartbeat, and answers over a real network.
    if (file.challenge_answer_ms < 2 * std::int64_t{file.heartbeat_every_ms})
        return map.error_at("challenge_answer_ms",
                            "must be at least twice heartbeat_every_ms: a node learns of a "
                            "challenge with its next heartbeat");
    return map.finish();
}

Status read_chain(YamlMap map, CoordinatorFile& file) {
    GYM_TRY(file.rpc_url, map.string("rpc_url"));
    GYM_TRY(file.deployment_file, map.string("deployment_file"));
    GYM_CHECK(map.read_integer("confirmations", 0, 10'000, file.confirmations));
    GYM_CHECK(map.read_integer("bump_after_ms", 100, kDayMs, file.bump_after_ms));
    GYM_CHECK(map.read_integer("beacon_delay_blocks", 1, 10'000, file.beacon_delay_blocks));
    GYM_CHECK(map.read_integer("block_time_ms", 1, 3'600'000, file.block_time_ms));
    if (map.has("drand_relays")) {
        GYM_TRY(file.drand_relays, map.list_of_strings("drand_relays"));
    }
    if (file.drand_relays.empty())
        file.drand_relays.assign(std::begin(contracts::kQuicknetRelays),
                                 std::end(contracts::kQuicknetRelays));
    const auto relays = coordinator::make_drand_relays(file.drand_relays);
    if (!relays.ok()) return map.error_at("drand_relays", relays.error().message);
    return map.finish();
}

Status read_operator(YamlMap map, CoordinatorFile& file) {
    GYM_TRY(file.keystore_file, map.string("keystore_file"));
    GYM_TRY(file.passphrase_file, map.string("passphrase_file"));
    return map.finish();
}

Status read_engine(YamlMap& parent, CoordinatorFile& file) {
    if (!parent.has("engine")) return {};
    GYM_TRY(YamlMap map, parent.map("engine"));
    GYM_CHECK(map.read_integer("threads", 1, 1024, file.engine_threads));
    GYM_TRY(file.engine_isa, map.string_or("isa", file.engine_isa));
    return map.finish();
}

Status read_blob_server(YamlMap& parent, CoordinatorFile& file) {
    if (!parent.has("blob_server")) return {};
    GYM_TRY(YamlMap map, parent.map("blob_server"));
    http_server::ServerOptions& server = file.blob_server.emplace();
    server.name = "gym-coordinator";
    server.threads = 4;
    server.peer_connections_max = 128;
    GYM_TRY(server.address, map.string_or("address", server.address));
    GYM_CHECK(map.read_integer("port", 0, 65'535, server.port));
    GYM_CHECK(map.read_integer("threads", 1, 256, server.threads));
    GYM_CHECK(map.read_integer("connections_max", 1, 65'536, server.connections_max));
    GYM_CHECK(map.read_integer("peer_connections_max", 0, 65'536, server.peer_connections_max));
    GYM_TRY(file.blob_port_file, map.string_or("port_file", ""));
    server.streams_max = server.connections_max;
    return map.finish();
}

/// What the blob store keeps of final rounds.
Status read_retention(YamlMap& parent, CoordinatorFile& file) {
    if (!parent.has("retention")) return {};
    GYM_TRY(YamlMap map, parent.map("retention"));
    registry::Retention& keep = file.prune.retention;
    GYM_CHECK(map.read_integer("base_every", 0, 1'000'000, keep.base_every));
    GYM_CHECK(map.read_integer("keep_rounds", 2, 1'000'000, keep.keep_rounds));
    GYM_CHECK(map.read_integer("grace_ms", 1'000, 366 * kDayMs, file.prune.grace_ms));
    GYM_CHECK(map.read_integer("every_ms", 100, kDayMs, file.prune_every_ms));
    return map.finish();
}

Status read_mirrors(YamlMap& map, CoordinatorFile& file) {
    if (!map.has("mirrors")) return {};
    GYM_TRY(file.mirrors, map.list_of_strings("mirrors"));
    if (file.mirrors.size() > records::kMirrorsMax)
        return map.error_at("mirrors", "may list at most " + std::to_string(records::kMirrorsMax));
    const auto checked = mirror::Fetcher::create(file.mirrors);
    if (!checked.ok()) return map.error_at("mirrors", checked.error().message);
    return {};
}

Status read_tokens(YamlMap& map, const char* key, Amount& out, std::string_view usual = "0") {
    GYM_TRY(const std::string text, map.string_or(key, std::string(usual)));
    const auto amount = Amount::parse_tokens(text);
    if (!amount.ok()) return map.error_at(key, amount.error().message);
    out = *amount;
    return {};
}

Status read_addresses(YamlMap& map, const char* key, std::set<Address>& out) {
    if (!map.has(key)) return {};
    GYM_TRY(const auto texts, map.list_of_strings(key));
    for (const std::string& text : texts) {
        const auto address = Address::parse(text);
        if (!address.ok())
            return map.error_at(
                key, "must list addresses of 0x and 40 hexadecimal digits, '" + text + "' is none");
        out.insert(*address);
    }
    return {};
}

}  // namespace

Result<CoordinatorFile> load_coordinator_file(const std::string& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    CoordinatorFile file;
    GYM_TRY(YamlMap listen, map.map("listen"));
    GYM_CHECK(read_listen(std::move(listen), file));
    GYM_TRY(YamlMap database, map.map("database"));
    GYM_TRY(file.database, db::ConnectionConfig::from_yaml(std::move(database)));
    file.database.application_name = "gym-coordinator";
    GYM_CHECK(map.read_integer("database_connections", 2, 1000, file.database_connections));
    GYM_TRY(YamlMap chain, map.map("chain"));
    GYM_CHECK(read_chain(std::move(chain), file));
    GYM_TRY(YamlMap key, map.map("operator"));
    GYM_CHECK(read_operator(std::move(key), file));
    GYM_TRY(file.blob_folder, map.string("blobs"));
    GYM_CHECK(read_blob_server(map, file));
    GYM_CHECK(read_mirrors(map, file));
    GYM_CHECK(read_retention(map, file));
    GYM_TRY(file.blob_key_file, map.string_or("blob_key_file", ""));
    GYM_TRY(file.disputes_folder, map.string_or("disputes_folder", ""));
    GYM_CHECK(read_engine(map, file));
    GYM_CHECK(map.read_integer("tick_interval_ms", 10, 60'000, file.tick_interval_ms));
    GYM_CHECK(map.read_integer("node_live_ms", 1'000, kDayMs, file.node_live_ms));
    GYM_TRY(file.rounds, map.boolean_or("rounds", file.rounds));
    GYM_CHECK(map.read_integer("delta_wait_ms", 0, kDayMs, file.delta_wait_ms));
    GYM_CHECK(map.read_integer("tasks_kept_ms", 0, 366 * kDayMs, file.tasks_kept_ms));
    GYM_CHECK(map.read_integer("cost_bound_ppm", 1'000'000, 100'000'000, file.cost_bound_ppm));
    GYM_CHECK(map.read_integer("fee_ppm", 0, 1'000'000, file.fee_ppm));
    GYM_CHECK(map.read_integer("report_audit_ppm", 0, 1'000'000, file.report_audit_ppm));
    GYM_CHECK(map.read_integer("deltas_bytes_max", 1, INT64_MAX, file.deltas_bytes_max));
    GYM_CHECK(read_tokens(map, "minimum_stake", file.minimum_stake));
    GYM_CHECK(map.read_integer("stake_per_unit_pay", 0, 1'000'000, file.stake_per_unit_pay));
    GYM_CHECK(read_tokens(map, "minimum_verifier_stake", file.minimum_verifier_stake));
    GYM_CHECK(read_tokens(map, "price_per_pflop_min", file.price_per_pflop_min,
                          protocol::kPricePerPflopMinGym));
    GYM_CHECK(read_addresses(map, "workers", file.workers));
    GYM_CHECK(read_addresses(map, "verifiers", file.verifiers));
    GYM_TRY(file.log_level, map.string_or("log_level", file.log_level));
    GYM_CHECK(map.finish());
    return file;
}

}  // namespace gym::app
