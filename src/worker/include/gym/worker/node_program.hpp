#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/player/player.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/worker/node_config.hpp"
#include "gym/worker/worker.hpp"

/// What the commands around a node do: the shell that `gym node`, the verifier and test builds
/// share.
namespace gym::worker {

/// A stop source that SIGINT and SIGTERM request from now on. Call once, before other threads
/// start.
[[nodiscard]] std::stop_token stop_on_signals();

struct RegisterOptions {
    rpc::NodeRole role = rpc::NodeRole::kWorker;
    std::string device;  ///< what to call it; empty: its own name
    std::uint64_t memory_bytes = 0;
};

struct Registration {
    Address address;
    bool key_created = false;
    bool is_new = false;
    std::uint64_t flops_per_second = 0;
    std::int64_t round_trip_ms = 0;
};

/// Hardware check, network test, key (created if there is none), benchmark, registration: in this
/// order, so that nothing is made, measured or sent before the cheaper check passed.
[[nodiscard]] Result<Registration> register_node(const NodeConfig& config,
                                                 const RegisterOptions& options);

/// Who watches a running worker; called from its thread.
struct WorkerHooks {
    std::function<void(const WorkerEvent&)> on_event;
    std::function<void(const engine::UnitProgress&)> on_progress;
    std::function<void(const player::PlayerEvent&)> on_dispute;  ///< from a thread of its own
};
/// `gym node start`: works until `stop`. @errors what keeps it from starting; kIo.
Status start_worker(const NodeConfig& config, const WorkerHooks& hooks,
                    const std::stop_token& stop);

/// The chain that `config` names, asked for what the coordinator's `network` works on; nullptr
/// without chain_rpc. Does not connect.
/// @errors kMismatch: another contract than the node is set to; kInvalidArgument.
[[nodiscard]] Result<std::unique_ptr<ChainView>> open_chain(const NodeConfig& config,
                                                            const rpc::NetworkInfo& network);
/// Looks whether it is the right chain, and says in the log what is checked there (or that nothing
/// is). A chain that does not answer now is only a warning. @errors kMismatch, kNotFound.
Status greet_chain(ChainView* chain, const rpc::NetworkInfo& network);

/// Tells the coordinator that the node is going; best effort.
void sign_off(const NodeConfig& config, const crypto::PrivateKey& key, const Clock& clock);

/// FLOP/s of a fixed exact program on this machine, and its final state root (the same everywhere).
struct Benchmark {
    std::uint64_t flops_per_second = 0;
    Digest final_state_root;
};
[[nodiscard]] Result<Benchmark> run_benchmark(const engine::EngineOptions& options,
                                              std::int64_t duration_ms);

struct Finding {
    std::string check;
    bool ok = false;
    std::string detail;  ///< what was found, or the remedy
};
/// Checks everything a node needs, each with its remedy. Never fails as a whole.
[[nodiscard]] std::vector<Finding> run_doctor(const NodeConfig& config);

/// What the device that the node is set to calls itself, as engine::device_model().
/// @errors kInvalidArgument: no name of a device, or a build without it; kNotFound: this machine
/// has none, with what to do.
[[nodiscard]] Result<std::string> device_of(const NodeConfig& config);

/// Bytes of memory of this machine. @errors kIo.
[[nodiscard]] Result<std::uint64_t> machine_memory_bytes();

}  // namespace gym::worker
