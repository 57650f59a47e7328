#include "gym/node/registration.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "gym/crypto/keystore.hpp"
#include "gym/node/funding.hpp"
#include "gym/node/machine.hpp"
#include "gym/node/node_lock.hpp"
#include "gym/rpc/client.hpp"
#include "offered_memory.hpp"

namespace gym::node {
namespace {

constexpr std::int64_t kBenchmarkMs = 1'500;
constexpr std::int64_t kClockSkewMsMax = 30'000;
constexpr unsigned kAttemptsBeforeWork = 3;  // the caller waits for the answer
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
    GYM_TRY(crypto::PrivateKey key, open_key(config, passphrase));
    return std::pair(std::move(key), is_new);
}

/// A GPU is measured alone. @return nothing for a CPU.
Result<std::optional<NodeLock>> lock_gpu(const NodeConfig& config) {
    if (config.device == "cpu") return std::optional<NodeLock>();
    GYM_TRY(NodeLock lock, NodeLock::acquire(config));
    return std::optional<NodeLock>(std::move(lock));
}

struct FirstAnswer {
    std::int64_t round_trip_ms = 0;  ///< of dialling and the answer
    records::NetworkDescription network;
};

/// Before there is a key: this question is not signed.
Result<FirstAnswer> check_network(const NodeConfig& config, const Clock& clock) {
    using SteadyClock = std::chrono::steady_clock;
    rpc::ClientConfig client = config.client({});
    client.attempts_max = kAttemptsBeforeWork;
    GYM_TRY(const auto coordinator, rpc::connect(client, crypto::PrivateKey::generate(), clock));
    const auto start = SteadyClock::now();
    GYM_TRY(records::NetworkDescription network, coordinator->network());
    const auto round_trip =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
    const std::int64_t skew_ms = clock.now_ms() - network.server_ms;
    if (std::abs(skew_ms) > kClockSkewMsMax)
        // A service that is started again may find it set: clocks are, some time after a boot.
        return fail(ErrorCode::kUnavailable,
                    "this machine's clock is " + std::to_string(skew_ms / 1000) +
                        " s off the coordinator's: set it (for example with chrony)");
    return FirstAnswer{round_trip.count(), std::move(network)};
}

}  // namespace

void leave_network(const NodeConfig& config, const crypto::PrivateKey& key, const Clock& clock,
                   const std::function<void(rpc::Coordinator&)>& last) {
    rpc::ClientConfig client = config.client({});
    client.call_ms_max = 2'000;
    client.attempts_max = 1;
    const auto coordinator = rpc::connect(client, key.clone(), clock);
    if (coordinator.ok() && last) last(**coordinator);
    if (coordinator.ok() && !(*coordinator)->leave().ok())
        spdlog::debug("could not sign off; the coordinator will notice the silence");
}

Result<Registration> register_node(const NodeConfig& config, const RegisterOptions& options) {
    const SystemClock clock;
    Registration out;
    GYM_TRY(out.device, device_of(config));
    GYM_TRY(out.lent_bytes, lent_memory(config, options));
    GYM_TRY(const FirstAnswer answer, check_network(config, clock));
    out.round_trip_ms = answer.round_trip_ms;
    GYM_TRY(auto key_and_origin, key_of(config));
    auto& [key, key_created] = key_and_origin;
    out.address = key.address();
    out.key_created = key_created;
    if (options.role == records::NodeRole::kWorker)
        out.missing = funding_advice(config, answer.network, out.address);
    if (options.tell && !out.missing.empty()) options.tell(out.missing);
    GYM_TRY(const auto coordinator, rpc::connect(config.client({}), key.clone(), clock));
    GYM_TRY(const auto lock, lock_gpu(config));
    GYM_TRY(const Benchmark benchmark, measure_device(config, kBenchmarkMs));
    // After the benchmark: what a driver keeps of a process that computes is no longer free.
    GYM_TRY(out.memory_bytes, usable_memory(config, out.lent_bytes, options));
    out.flops_per_second = benchmark.flops_per_second;
    records::NodeProfile profile;
    profile.role = options.role;
    profile.device = out.device;
    profile.memory_bytes = out.memory_bytes;
    profile.flops_per_second = benchmark.flops_per_second;
    profile.software_version = kSoftwareVersion;
    GYM_TRY(out.is_new, coordinator->register_node(profile));
    return out;
}

}  // namespace gym::node
