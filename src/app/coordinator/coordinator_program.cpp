#include "coordinator_program.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <stop_token>
#include <thread>

#include "coordinator_config.hpp"
#include "coordinator_player.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/prevrandao.hpp"
#include "gym/chain/private_chain.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/postgres.hpp"
#include "gym/common/open_files.hpp"
#include "gym/common/stop.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/drand_beacon.hpp"
#include "gym/coordinator/adapters/engine_compute.hpp"
#include "gym/coordinator/adapters/evm_chain.hpp"
#include "gym/coordinator/adapters/evm_stake.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "gym/coordinator/delta_collector.hpp"
#include "gym/coordinator/delta_copier.hpp"
#include "gym/coordinator/grpc_service.hpp"
#include "gym/coordinator/pruner.hpp"
#include "gym/coordinator/public_blobs.hpp"
#include "gym/coordinator/task_watch.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/http_server/server.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/mirrors.hpp"
#include "gym/registry/service_health.hpp"
#include "gym/vault/sealed_store.hpp"
#include "health_report.hpp"
#include "mirror_watch.hpp"
#include "service_main.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kDependencyWait{60};  // services of one machine start in any order
constexpr std::chrono::milliseconds kChallengePass{500};
constexpr std::chrono::milliseconds kCollectPass{500};
constexpr std::chrono::milliseconds kCopyPass{500};
constexpr std::chrono::seconds kIdlePass{3'600};
constexpr std::int64_t kStakeFreshMs = 10'000;
constexpr const char* kName = "gym-coordinator";
constexpr const char* kDatabaseRole = "gym_coordinator";

/// Says each error once, and again when another took its place: a chain that is down for an hour is
/// one line, not thousands.
class TickLog {
  public:
    void write(const coordinator::TickSummary& summary) {
        for (const std::string& line : summary.notes)
            spdlog::info("{}", line);
        write_errors(summary.errors);
    }
    void write_errors(const std::vector<std::string>& errors) {
        if (errors != last_errors_)
            for (const std::string& line : errors)
                spdlog::warn("{}", line);
        if (errors.empty() && !last_errors_.empty()) spdlog::info("working again");
        last_errors_ = errors;
    }

  private:
    std::vector<std::string> last_errors_;
};

/// Moves the jobs until a stop is requested. An error waits for the next tick: all state is in the
/// database or on the chain, so nothing is lost by trying again.
void drive(coordinator::Coordinator& core, HealthReport& health, const std::stop_token& stop,
           std::int64_t tick_interval_ms) {
    TickLog log;
    std::chrono::milliseconds wait{0};
    while (!wait_for_stop(stop, wait)) {
        const auto tick = core.tick();
        health.set(tick.ok() ? Status() : Status(tick.error()));
        if (tick.ok())
            log.write(*tick);
        else
            log.write_errors({tick.error().message});
        const bool moved = tick.ok() && tick->steps > 0;
        wait = std::chrono::milliseconds(moved ? 1 : tick_interval_ms);
    }
}

/// Repeats a pass in a thread of its own: a tick may compute for minutes.
class PassThread {
  public:
    using Pass = std::function<Status(const std::stop_token&)>;
    /// @param what names the passes in the log.
    PassThread(std::string what, std::chrono::milliseconds every, Pass pass)
        : what_(std::move(what)), every_(every), pass_(std::move(pass)) {}
    void start() {
        thread_ = std::jthread([this](const std::stop_token& stop) {
            while (!wait_for_stop(stop, every_))
                run_once(stop);
        });
    }
    /// A pass in the caller's thread. @pre not started.
    void run_once(const std::stop_token& stop) {
        const Status done = pass_(stop);
        log_.write_errors(done.ok() ? std::vector<std::string>()
                                    : std::vector{what_ + ": " + done.error().message});
    }

  private:
    const std::string what_;
    const std::chrono::milliseconds every_;
    const Pass pass_;
    TickLog log_;
    std::jthread thread_;  // last: it uses everything above
};

coordinator::Options core_options(const CoordinatorFile& file,
                                  const contracts::Deployment& deployment) {
    coordinator::Options options;
    options.domain = protocol::signing_domain(deployment.chain_id, deployment.commitment_log);
    options.node_live_ms = file.node_live_ms;
    options.challenge_every_ms = file.challenge_every_ms;
    options.challenge_answer_ms = file.challenge_answer_ms;
    options.beacon_delay_blocks = file.beacon_delay_blocks;
    options.block_time_ms = file.block_time_ms;
    options.cost_bound_ppm = file.cost_bound_ppm;
    options.fee_ppm = file.fee_ppm;
    options.audit_ppm = file.report_audit_ppm;
    options.deltas_bytes_max = file.deltas_bytes_max;
    options.delta_wait_ms = file.delta_wait_ms;
    options.blob_bytes_max = file.server.blob_bytes_max;
    options.stake = {file.minimum_stake, file.stake_per_unit_pay};
    options.report_game = deployment.report_game;
    options.verifier_stake_min = file.minimum_verifier_stake;
    options.price_per_pflop_min = file.price_per_pflop_min;
    options.workers_allowed = file.workers;
    options.verifiers_allowed = file.verifiers;
    return options;
}

records::NetworkDescription describe_network(const CoordinatorFile& file,
                                             const contracts::Deployment& deployment) {
    records::NetworkDescription network;
    network.chain_id = deployment.chain_id;
    network.commitment_log = deployment.commitment_log;
    network.blob_bytes_max = file.server.blob_bytes_max;
    network.heartbeat_every_ms = file.heartbeat_every_ms;
    network.software_version = GYM_VERSION;
    network.beacon_delay_blocks = file.beacon_delay_blocks;
    network.stake = deployment.stake;
    network.dispute_game = deployment.dispute_game;
    network.minimum_stake = file.minimum_stake;
    network.verifier_stake = deployment.verifier_stake;
    network.report_game = deployment.report_game;
    network.minimum_verifier_stake = file.minimum_verifier_stake;
    network.mirrors = file.mirrors;
    return network;
}

/// Verifiers stake in a contract, and somebody has to challenge those that lie.
Status check_verifier_stake(const CoordinatorFile& file, const contracts::Deployment& deployment) {
    if (file.minimum_verifier_stake.is_zero()) return {};
    if (deployment.verifier_stake.is_zero())
        return fail(ErrorCode::kInvalidArgument,
                    "minimum_verifier_stake is set, but " + file.deployment_file +
                        " names no verifier_stake and report_game: its contracts are of an older "
                        "gym; set it to 0, or deploy anew");
    if (file.disputes_folder.empty())
        spdlog::warn("no disputes_folder: nobody challenges false reports of verifiers");
    return {};
}

void warn_about_strangers(const CoordinatorFile& file) {
    if (file.minimum_verifier_stake.is_zero())
        spdlog::warn(
            "verifiers need no stake ('minimum_verifier_stake' is 0): a false report costs its "
            "author nothing but its place");
    if (file.minimum_stake.is_zero())
        spdlog::warn(
            "workers need no stake ('minimum_stake' is 0): a cheat that is caught loses nothing");
    if (file.verifiers.empty())
        spdlog::warn(
            "anybody may register as a verifier ('verifiers' is empty): one party with many "
            "addresses can hold most draws");
}

/// Refuses randomness that somebody knows before it draws. A chain that does not answer now is
/// looked at again before the first draw.
Status check_randomness(const CoordinatorFile& file, const contracts::Deployment& deployment,
                        chain::ChainClient& client) {
    const Status fit = [&]() -> Status {
        GYM_TRY(const Address beacon,
                contracts::CommitmentLog(deployment.commitment_log).beacon(client));
        if (beacon.is_zero()) {
            if (deployment.chain_id != chain::kLocalChainId &&
                file.beacon_delay_blocks < protocol::kBeaconDelayBlocks)
                spdlog::warn(
                    "chain.beacon_delay_blocks is {}: below {} the proposers of the blocks that "
                    "draw are known when a root is sent, and can pass over any unit",
                    file.beacon_delay_blocks, protocol::kBeaconDelayBlocks);
            return chain::check_prevrandao(client);
        }
        GYM_TRY(const auto schedule, contracts::DrandBeacon(beacon).schedule(client));
        const std::int64_t depth_ms = file.confirmations * file.block_time_ms;
        if (static_cast<std::int64_t>(std::min<std::uint64_t>(schedule.delay_s, 1U << 31U)) *
                1'000 >=
            depth_ms)
            return {};
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("drand draws {} s after a block, and chain.confirmations say that "
                                "blocks of {} s may still be undone: commitments could be changed "
                                "when the draw is known",
                                schedule.delay_s, depth_ms / 1'000));
    }();
    if (fit.ok() || fit.error().code == ErrorCode::kInvalidArgument) return fit;
    spdlog::warn("the chain's randomness is not checked yet: {}", fit.error().message);
    return {};
}

/// Each node keeps a connection open, whether it calls or waits.
void provide_descriptors(const rpc::ServerConfig& server) {
    // Files, the database, the chain; the deltas of an aggregate, an audit and a ruling at once.
    constexpr std::uint64_t kOwn = 256 + 3 * std::uint64_t{program::kDeltasMax};
    const std::uint64_t wanted = server.polls_max + std::uint64_t{server.calls_max} + kOwn;
    const std::uint64_t limit = raise_open_files(wanted);
    if (limit < wanted)
        spdlog::warn(
            "at most {} files may be open, so some {} nodes may connect; listen.polls_max allows "
            "{}: raise LimitNOFILE of the service (or `ulimit -Hn`) to {}",
            limit, limit - std::min(limit, kOwn), server.polls_max, wanted);
}

/// Serves public blobs by HTTP, to mirrors and to whoever asks.
class BlobPort {
  public:
    BlobPort(db::Database& database, const blob::BlobStore& blobs, const Clock& clock,
             const coordinator::GrpcService& service, const rpc::Server& server,
             const coordinator::DeltaCollector& collector, const coordinator::DeltaCopier& copier,
             const coordinator::Pruner& pruner)
        : source_(database, blobs, clock), handler_(source_, [&] {
              return counter("gym_blob_grpc_bytes_total", service.blob_bytes()) +
                     counter("gym_blob_grpc_received_bytes_total", service.uploaded_bytes()) +
                     counter("gym_blob_mirror_received_bytes_total",
                             collector.bytes_received() + copier.bytes_received()) +
                     counter("gym_grpc_message_bytes_total", server.message_bytes()) +
                     counter("gym_pruned_bytes_total", pruner.bytes_pruned()) +
                     counter("gym_pruned_blobs_total", pruner.blobs_pruned()) +
                     counter("gym_pruned_rounds_total", pruner.rounds_pruned());
          }) {}
    Status start(const CoordinatorFile& file) {
        if (!file.blob_server) return {};
        GYM_TRY(server_, http_server::Server::start(*file.blob_server, handler_));
        GYM_CHECK(write_port_file(file.blob_port_file, server_->port()));
        spdlog::info("serving public blobs on {}:{}", file.blob_server->address, server_->port());
        return {};
    }
    void stop() {
        if (server_) server_->stop();
    }

  private:
    static std::string counter(const std::string& name, std::uint64_t value) {
        return "# TYPE " + name + " counter\n" + name + " " + std::to_string(value) + "\n";
    }

    coordinator::PublicBlobs source_;
    mirror::BlobHandler handler_;
    std::unique_ptr<http_server::Server> server_;  // last: it uses everything above
};

Status serve(const std::string& config_path, const CoordinatorFile& file,
             const WrapCompute& wrap_compute, const std::stop_token& stop) {
    GYM_TRY(const contracts::Deployment deployment,
            contracts::load_deployment(file.deployment_file));
    GYM_CHECK(check_verifier_stake(file, deployment));
    GYM_TRY(const crypto::SecretBytes passphrase, crypto::read_secret_file(file.passphrase_file));
    GYM_TRY(const crypto::PrivateKey key, crypto::load_keystore(file.keystore_file, passphrase));
    GYM_TRY(auto blobs,
            vault::SealedStore::open(file.blob_folder, std::filesystem::path(file.blob_key_file)));
    GYM_TRY(
        const auto database,
        db::with_retry([&] { return db::Database::open(file.database, file.database_connections); },
                       kDependencyWait, stop));
    GYM_TRY(const auto client, chain::make_http_client(file.rpc_url));
    const SystemClock clock;
    const auto intents = chain_store::postgres_intents(*database, {kDatabaseRole},
                                                       deployment.chain_id, key.address());
    chain::TxPolicy policy;
    policy.chain_id = deployment.chain_id;
    policy.bump_after_ms = file.bump_after_ms;
    chain::TxManager transactions(*client, *intents, key.clone(), clock, policy,
                                  contracts::describe_revert);
    GYM_CHECK(check_randomness(file, deployment, *client));
    GYM_TRY(const auto relays, coordinator::make_drand_relays(file.drand_relays));
    const auto chain_port = coordinator::make_evm_chain(
        *client, transactions, {deployment.commitment_log, deployment.dispute_game},
        file.confirmations, relays.get());
    auto compute = coordinator::make_engine_compute({file.engine_threads, file.engine_isa});
    if (wrap_compute) compute = wrap_compute(std::move(compute));
    std::unique_ptr<CoordinatorPlayer> player;
    if (!file.disputes_folder.empty()) {
        GYM_TRY(player,
                CoordinatorPlayer::open(file, deployment, *client, transactions, blobs, *database));
    }
    const auto stake = coordinator::make_evm_stake(*client, deployment.stake, clock, kStakeFreshMs);
    const auto verifier_stake =
        coordinator::make_evm_stake(*client, deployment.verifier_stake, clock, kStakeFreshMs);
    coordinator::Coordinator core(
        {*database, blobs, *chain_port, *compute, clock, key, stake.get(),
         player ? &player->claims() : nullptr, nullptr, verifier_stake.get()},
        core_options(file, deployment));
    coordinator::GrpcService service(core, *database, blobs, clock,
                                     describe_network(file, deployment), file.tasks_kept_ms);
    service.permit_uploads(key);
    coordinator::DeltaCollector collector(*database, blobs, clock, file.server.blob_bytes_max);
    collector.set_mirrors(file.mirrors);
    coordinator::DeltaCopier copier(
        *database, clock, protocol::signing_domain(deployment.chain_id, deployment.commitment_log),
        key, file.server.blob_bytes_max);
    copier.set_mirrors(file.mirrors);
    provide_descriptors(file.server);
    GYM_TRY(const auto server, rpc::Server::start(file.server, service, clock));
    coordinator::PruneOptions prune = file.prune;
    prune.dispute_game = chain_port->dispute_game();
    coordinator::Pruner pruner(*database, blobs, player ? &player->claims() : nullptr, clock,
                               prune);
    BlobPort blob_port(*database, blobs, clock, service, *server, collector, copier, pruner);
    GYM_CHECK(blob_port.start(file));
    GYM_CHECK(write_port_file(file.port_file, server->port()));
    log_ready(fmt::format("coordinating as {} on chain {}, port {}, database {}",
                          key.address().hex(), deployment.chain_id, server->port(),
                          file.database.describe()));
    warn_about_strangers(file);
    warn_about_disputes(file, deployment, *client, key.address());
    PassThread challenges("uptime challenges", kChallengePass,
                          [&](const std::stop_token&) -> Status {
                              GYM_CHECK(core.challenge_nodes());
                              return {};
                          });
    // What nobody could answer while no coordinator ran is withdrawn before a round closes.
    challenges.run_once({});
    challenges.start();
    const coordinator::TaskWatch watch(
        core, file.database, [&](std::span<const Address> nodes) { server->wake(nodes); });
    const auto publish = [&](const std::vector<std::string>& mirrors) {
        return database->transact(
            [&](db::Transaction& tx) { return registry::publish_mirrors(tx, mirrors); });
    };
    GYM_CHECK(publish(file.mirrors));
    const MirrorWatch mirrors(config_path, file.mirrors, [&](std::vector<std::string> now) {
        if (const Status told = publish(now); !told.ok())
            spdlog::warn("gym-api is not told of the mirrors: {}", told.error().message);
        collector.set_mirrors(now);
        copier.set_mirrors(now);
        service.set_mirrors(std::move(now));
    });
    if (file.rounds) {
        PassThread collecting("deltas on mirrors", kCollectPass,
                              [&](const std::stop_token& ended) -> Status {
                                  GYM_CHECK(collector.collect(ended));
                                  return {};
                              });
        collecting.start();
        PassThread copying("copies of deltas", kCopyPass,
                           [&](const std::stop_token& ended) -> Status {
                               GYM_CHECK(copier.pass(ended));
                               return {};
                           });
        copying.start();
        PassThread pruning("retention", std::chrono::milliseconds(file.prune_every_ms),
                           [&](const std::stop_token& ended) -> Status {
                               GYM_CHECK(pruner.pass(ended));
                               return {};
                           });
        pruning.start();
        HealthReport health(*database, clock, registry::kCoordinatorService);
        drive(core, health, stop, file.tick_interval_ms);
    } else {
        spdlog::info("this instance answers nodes; another one moves the rounds");
        while (!wait_for_stop(stop, kIdlePass)) {
        }
    }
    blob_port.stop();
    server->stop();
    return {};
}

}  // namespace

int run_coordinator(int argc, char** argv, const WrapCompute& wrap_compute) {
    std::string config_path;
    const ServiceProgram program{
        .name = kName,
        .description = "Assign work to nodes, sample it and settle it (gRPC)",
        .add_options =
            [&](CLI::App& command_line, CliContext&) {
                add_config_option(command_line, config_path, "coordinator.yaml");
            },
        .start = [&](const CliContext&) -> Status {
            GYM_TRY(const CoordinatorFile file, load_coordinator_file(config_path));
            return run_service({.name = kName, .log_level = file.log_level},
                               [&](const std::stop_token& stop) {
                                   return serve(config_path, file, wrap_compute, stop);
                               });
        }};
    return service_main(program, argc, argv);
}

}  // namespace gym::app
