#include "gym/worker/node_program.hpp"

#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "gym/crypto/keystore.hpp"
#include "gym/engine/device.hpp"
#include "gym/worker/dispute_thread.hpp"
#include "gym/worker/heartbeat.hpp"
#include "gym/worker/node_lock.hpp"
#include "gym/worker/patience.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {
namespace {

constexpr std::int64_t kBenchmarkMs = 1'500;
constexpr std::int64_t kClockSkewMsMax = 30'000;
constexpr unsigned kAttemptsBeforeWork = 3;  // somebody waits for the answer
constexpr char kSoftwareVersion[] = "gym 0.1.0";

Status create_data_dir(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (!code) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, code);
    if (code)
        return fail(ErrorCode::kIo, "the data directory " + directory.string() +
                                        " cannot be made: " + code.message() +
                                        "; choose another one (--data-dir)");
    return {};
}

/// The node's key, made now if there is none. @return also whether it was made.
Result<std::pair<crypto::PrivateKey, bool>> key_of(const NodeConfig& config) {
    GYM_CHECK(create_data_dir(config.data_dir));
    const bool is_new = !std::filesystem::exists(config.keystore_path());
    GYM_TRY(const crypto::SecretBytes passphrase, read_passphrase(config, is_new));
    if (is_new)
        GYM_CHECK(crypto::save_keystore(config.keystore_path(), crypto::PrivateKey::generate(),
                                        passphrase));
    // Read back even when new: what cannot be opened must be found now, not after work was done.
    GYM_TRY(crypto::PrivateKey key, crypto::load_keystore(config.keystore_path(), passphrase));
    return std::pair(std::move(key), is_new);
}

/// @return what the network is told about the device.
Result<std::string> check_device(const NodeConfig& config, const std::string& claimed) {
    GYM_TRY(std::string model, device_of(config));
    if (claimed.empty()) return model;
    if (config.device == "cpu" && claimed != "cpu")
        return fail(ErrorCode::kInvalidArgument,
                    claimed +
                        " would stay idle: this node is set to compute on the CPU; add "
                        "--device cuda, or register without --gpu-type");
    return claimed;
}

Status check_memory(const RegisterOptions& options) {
    GYM_TRY(const std::uint64_t memory, machine_memory_bytes());
    if (options.memory_bytes > memory)
        return fail(ErrorCode::kInvalidArgument,
                    "this machine has " + std::to_string(memory >> 20) +
                        " MiB of memory, less than the " +
                        std::to_string(options.memory_bytes >> 20) + " MiB to be registered");
    return {};
}

/// Before there is a key: this question is not signed.
/// @return how long dialling and the first answer took, in milliseconds.
Result<std::int64_t> check_network(const NodeConfig& config, const Clock& clock) {
    using SteadyClock = std::chrono::steady_clock;
    rpc::ClientConfig client = config.client({});
    client.attempts_max = kAttemptsBeforeWork;
    GYM_TRY(const auto coordinator, rpc::connect(client, crypto::PrivateKey::generate(), clock));
    const auto start = SteadyClock::now();
    GYM_TRY(const rpc::NetworkInfo network, coordinator->network());
    const auto round_trip =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
    const std::int64_t skew_ms = clock.now_ms() - network.server_ms;
    if (std::abs(skew_ms) > kClockSkewMsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "this machine's clock is " + std::to_string(skew_ms / 1000) +
                        " s off the coordinator's: set it (for example with chrony)");
    return round_trip.count();
}

}  // namespace

Result<std::string> device_of(const NodeConfig& config) {
    auto model = engine::device_model(config.device);
    if (model.ok()) return model;
    const Error error = model.error().in("device '" + config.device + "'");
    // Of the configuration, or of the build: the message says what to change already.
    if (error.code == ErrorCode::kInvalidArgument) return error;
    return fail(ErrorCode::kNotFound,
                error.message +
                    ": does `nvidia-smi` show it here? Set another --device (`device` in the "
                    "configuration; cpu always works), then look with `gym node doctor`");
}

Result<std::unique_ptr<ChainView>> open_chain(const NodeConfig& config,
                                              const rpc::NetworkInfo& network) {
    Address contract = network.commitment_log;
    if (!config.commitment_log.empty()) {
        const auto pinned = Address::parse(config.commitment_log);
        if (!pinned.ok())
            return fail(ErrorCode::kInvalidArgument,
                        "commitment_log '" + config.commitment_log +
                            "' is no address: " + pinned.error().message);
        contract = *pinned;
    }
    if (contract != network.commitment_log)
        return fail(ErrorCode::kMismatch, "the coordinator works with contract " +
                                              network.commitment_log.hex() +
                                              ", this node is set to " + contract.hex());
    if (config.chain_rpc.empty()) return std::unique_ptr<ChainView>();
    return make_chain_view({config.chain_rpc, network.chain_id, contract});
}

Status greet_chain(ChainView* chain, const rpc::NetworkInfo& network) {
    if (chain == nullptr) {
        spdlog::warn("no chain_rpc: what the coordinator says about the chain is believed");
        return {};
    }
    Status checked = chain->check();
    const bool may_answer_later = !checked.ok() && (is_transient(checked.error().code) ||
                                                    checked.error().code == ErrorCode::kTimeout);
    if (!checked.ok() && !may_answer_later) return checked;
    if (!checked.ok())
        spdlog::warn("{}; nothing is computed until it answers", checked.error().message);
    spdlog::info("the coordinator is checked against contract {} on chain {}",
                 network.commitment_log.hex(), network.chain_id);
    return {};
}

void sign_off(const NodeConfig& config, const crypto::PrivateKey& key, const Clock& clock) {
    rpc::ClientConfig client = config.client({});
    client.call_ms_max = 2'000;
    client.attempts_max = 1;
    const auto coordinator = rpc::connect(client, key.clone(), clock);
    if (coordinator.ok() && !(*coordinator)->leave().ok())
        spdlog::debug("could not sign off; the coordinator will notice the silence");
}

std::stop_token stop_on_signals() {
    static std::stop_source source;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    // Blocked here, so in every thread that starts later; one thread waits for them.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([signals] {
        int number = 0;
        while (sigwait(&signals, &number) != 0) {
        }
        source.request_stop();
    }).detach();
    return source.get_token();
}

Result<std::uint64_t> machine_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    for (std::uint64_t kib = 0; file >> name >> kib; file.ignore(64, '\n'))
        if (name == "MemTotal:") return kib << 10;
    return fail(ErrorCode::kIo, "/proc/meminfo does not say how much memory there is");
}

Result<Registration> register_node(const NodeConfig& config, const RegisterOptions& options) {
    GYM_CHECK(check_memory(options));
    GYM_TRY(const std::string device, check_device(config, options.device));
    const SystemClock clock;
    Registration out;
    GYM_TRY(out.round_trip_ms, check_network(config, clock));
    GYM_TRY(auto key_and_origin, key_of(config));
    auto& [key, key_created] = key_and_origin;
    out.address = key.address();
    out.key_created = key_created;
    GYM_TRY(const auto coordinator, rpc::connect(config.client({}), key.clone(), clock));
    GYM_TRY(const Benchmark benchmark, run_benchmark(config.engine(), kBenchmarkMs));
    out.flops_per_second = benchmark.flops_per_second;
    rpc::NodeProfile profile;
    profile.role = options.role;
    profile.device = device;
    profile.memory_bytes = options.memory_bytes;
    profile.flops_per_second = benchmark.flops_per_second;
    profile.software_version = kSoftwareVersion;
    GYM_TRY(out.is_new, coordinator->register_node(profile));
    return out;
}

Status start_worker(const NodeConfig& config, const WorkerHooks& hooks,
                    const std::stop_token& stop) {
    // Before a unit is taken: one that cannot be computed would only be held until it expires.
    GYM_TRY(const std::string device, device_of(config));
    GYM_TRY(const crypto::PrivateKey key, load_key(config));
    GYM_TRY(const NodeLock lock, NodeLock::acquire(config));
    const SystemClock clock;
    GYM_TRY(const auto coordinator, rpc::connect(config.client(stop), key.clone(), clock));
    GYM_TRY(const rpc::NetworkInfo network, coordinator->network());
    GYM_TRY(const auto chain, open_chain(config, network));
    GYM_CHECK(greet_chain(chain.get(), network));
    WorkerOptions options;
    options.data_dir = config.data_dir;
    options.engine = config.engine();
    options.defend_disputes = config.defend_disputes;
    options.chain = chain.get();
    options.chain_wait = std::chrono::seconds(config.chain_wait_s);
    options.checkpoint_every = std::chrono::seconds(config.checkpoint_s);
    options.on_event = hooks.on_event;
    options.on_progress = hooks.on_progress;
    GYM_TRY(const auto disputes,
            DisputeThread::start(config, network, *coordinator, key, player::Role::kDefend,
                                 [&hooks](const player::PlayerEvent& event) {
                                     if (hooks.on_dispute) hooks.on_dispute(event);
                                 }));
    if (disputes) {
        options.claims = &disputes->claims();
        options.check_signing = [&disputes] { return disputes->lasting_failure(); };
    }
    GYM_TRY(const auto worker, Worker::open(*coordinator, key, clock, options));
    spdlog::info("worker {} at {}, on {}, {} threads", key.address().hex(), config.coordinator,
                 device, options.engine.threads);
    {
        const Heartbeat heartbeat(
            *coordinator, [&] { return worker->activity(); }, key, network.domain(),
            network.heartbeat_every_ms);
        GYM_CHECK(run_worker(*worker, options, stop));
    }
    sign_off(config, key, clock);
    spdlog::info("stopped");
    return {};
}

}  // namespace gym::worker
