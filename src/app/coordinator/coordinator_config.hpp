#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/coordinator/grpc_service.hpp"
#include "gym/coordinator/pruner.hpp"
#include "gym/db/config.hpp"
#include "gym/http_server/server.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/protocol/stake_rule.hpp"
#include "gym/rpc/server.hpp"

namespace gym::app {

/// gym-coordinator's configuration file; deploy/config/coordinator.yaml documents
/// every key.
struct CoordinatorFile {
    rpc::ServerConfig server;
    std::string port_file;  ///< empty: none
    std::uint32_t heartbeat_every_ms = 5'000;
    db::ConnectionConfig database;
    int database_connections = 16;
    std::string rpc_url;
    std::string deployment_file;
    std::uint32_t confirmations = 1;
    std::uint32_t bump_after_ms = 30'000;
    Amount minimum_stake;                                           ///< zero: none
    std::uint32_t stake_per_unit_pay = protocol::kStakePerUnitPay;  ///< where there is a minimum
    Amount minimum_verifier_stake;                                  ///< zero: none
    Amount price_per_pflop_min;
    std::string keystore_file;
    std::string passphrase_file;
    std::string blob_folder;
    std::optional<http_server::ServerOptions> blob_server;  ///< absent: none
    std::string blob_port_file;                             ///< empty: none
    std::vector<std::string> mirrors;
    std::string blob_key_file;    ///< empty: BLOBS.key, made if there is none
    std::string disputes_folder;  ///< empty: it plays no games
    unsigned engine_threads = 1;
    std::string engine_isa = "auto";
    std::int64_t challenge_every_ms = 30'000;
    std::int64_t challenge_answer_ms = 20'000;
    std::int64_t tick_interval_ms = 200;
    std::int64_t node_live_ms = 30'000;
    bool rounds = true;  ///< moves the jobs; false: another instance does
    std::int64_t delta_wait_ms = 600'000;
    std::int64_t tasks_kept_ms = coordinator::GrpcService::kTasksKeptMs;
    coordinator::PruneOptions prune;  ///< without the contract of games
    std::int64_t prune_every_ms = 600'000;
    std::uint32_t beacon_delay_blocks = protocol::kBeaconDelayBlocks;
    std::vector<std::string> drand_relays;  ///< empty: those of quicknet
    std::int64_t block_time_ms = 12'000;
    std::uint64_t cost_bound_ppm = 2'500'000;
    std::uint32_t fee_ppm = 0;
    std::uint32_t report_audit_ppm = 20'000;
    std::uint64_t deltas_bytes_max = std::uint64_t{256} << 30;
    std::set<Address> workers, verifiers;  ///< empty: anybody
    std::string log_level = "info";
};

/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<CoordinatorFile> load_coordinator_file(const std::string& path);

}  // namespace gym::app
