#include "gym/devnet/services.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "gym/client/api_client.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/profile/profile.hpp"
#include "gym/registry/service_health.hpp"

namespace gym::devnet {

// Configuration files

namespace {

constexpr unsigned kBeaconDelayBlocks = 1;
constexpr const char* kMirror = "mirror";

Result<std::string> database_section(const Layout& layout, const std::string& user) {
    GYM_TRY(const db::ConnectionConfig access, database_access(layout));
    return fmt::format(
        "database:\n  host: {}\n  port: {}\n  database: {}\n  user: {}\n  password_file: {}\n",
        access.host, access.port, kDatabase, user, (layout.secrets() / ("db-" + user)).string());
}

/// Of the coordinator's file: its blobs go through the network's mirror.
std::string mirror_keys(const Layout& layout) {
    if (!layout.has_mirror()) return {};
    return fmt::format("blob_server:\n  address: 127.0.0.1\n  port: {}\nmirrors: [\"{}\"]\n",
                       layout.blob_port, layout.mirror_url());
}

std::string mirror_config(const Layout& layout) {
    return fmt::format(
        "listen:\n  address: 127.0.0.1\n  port: {}\n  port_file: {}\n  threads: 16\n"
        "folder: {}\norigins: [\"{}\"]\nbytes_max: 1073741824\n",
        layout.mirror_port, layout.port_file(kMirror).string(), (layout.nodes() / kMirror).string(),
        layout.blob_url());
}

Result<std::string> coordinator_config(const Layout& layout) {
    GYM_TRY(const contracts::Deployment deployment,
            contracts::load_deployment(layout.deployment()));
    GYM_TRY(const std::string database, database_section(layout, kDbCoordinator));
    return fmt::format(
        "listen:\n  address: {}\n  port_file: {}\n  heartbeat_every_ms: 2000\n  "
        "challenge_every_ms: 3000\n  challenge_answer_ms: 6000\n{}"
        "chain:\n  rpc_url: {}\n  deployment_file: {}\n  confirmations: 1\n  beacon_delay_blocks: "
        "{}\n  block_time_ms: {}\n"
        "operator:\n  keystore_file: {}\n  passphrase_file: {}\n"
        "blobs: {}\ndisputes_folder: {}\nengine:\n  threads: 2\ntick_interval_ms: "
        "100\nnode_live_ms: 15000\n"
        "minimum_stake: \"{}\"\nminimum_verifier_stake: \"{}\"\n{}",
        layout.grpc_address(), layout.port_file("coordinator").string(), database,
        layout.chain_url(), layout.deployment().string(), kBeaconDelayBlocks, kBlockTimeMs,
        layout.keystore(kCoordinator).string(), layout.passphrase(kCoordinator).string(),
        layout.blobs().string(), (layout.nodes() / kCoordinator).string(), kStakeTokens,
        deployment.verifier_stake.is_zero() ? "0" : kStakeTokens, mirror_keys(layout));
}

Result<std::string> rewards_config(const Layout& layout) {
    GYM_TRY(const std::string database, database_section(layout, kDbRewards));
    return fmt::format(
        "{}chain:\n  rpc_url: {}\n  deployment_file: {}\n"
        "settler:\n  keystore_file: {}\n  passphrase_file: {}\n"
        "publish_folder: {}\nblob_folder: {}\npoll_interval_ms: 250\n",
        database, layout.chain_url(), layout.deployment().string(),
        layout.keystore(kSettler).string(), layout.passphrase(kSettler).string(),
        layout.epochs().string(), layout.blobs().string());
}

Result<std::string> api_config(const Layout& layout) {
    GYM_TRY(const std::string database, database_section(layout, kDbApi));
    return fmt::format(
        "listen:\n  address: 127.0.0.1\n  port: {}\n  port_file: {}\n{}deployment: {}\n"
        "network_profile: {}\nblobs: {}\nnode_live_ms: 15000\n",
        layout.api_port, layout.port_file("api").string(), database, layout.deployment().string(),
        layout.profile().string(), layout.blobs().string());
}

Status write(const Layout& layout, const std::string& name, const std::string& text) {
    return write_file_atomic(layout.config() / (name + ".yaml"), as_bytes(text));
}

Result<profile::NetworkProfile> profile_of(const Layout& layout) {
    profile::NetworkProfile out;
    out.name = "devnet";
    out.coordinator = layout.grpc_address();
    out.coordinator_ca = profile::kNoTls;
    out.chain_rpc = {layout.chain_url()};
    GYM_TRY(out.contracts, contracts::load_deployment(layout.deployment()));
    out.api = layout.api_url();
    GYM_TRY(out.minimum_stake, Amount::parse_tokens(kStakeTokens));
    return out;
}

/// A newer one that says the same would only make its users fetch it.
Status write_profile(const Layout& layout) {
    GYM_TRY(profile::NetworkProfile profile, profile_of(layout));
    const auto content = read_file(layout.profile(), profile::kProfileBytesMax);
    if (content.ok()) {
        const auto there = profile::parse_profile(std::string(content->begin(), content->end()));
        if (there.ok()) profile.issued_at_ms = there->profile.issued_at_ms;
        if (there.ok() && there->profile == profile) return {};
    }
    profile.issued_at_ms = SystemClock().now_ms();
    GYM_TRY(const crypto::PrivateKey key, holder_key(layout, kDeployer));
    const std::string text = profile::to_json(profile::sign(std::move(profile), key)) + "\n";
    return write_file_atomic(layout.profile(), as_bytes(text));
}

}  // namespace

Status write_configs(const Layout& layout) {
    GYM_CHECK(write_profile(layout));
    GYM_TRY(const std::string coordinator, coordinator_config(layout));
    GYM_TRY(const std::string rewards, rewards_config(layout));
    GYM_TRY(const std::string api, api_config(layout));
    GYM_CHECK(write(layout, "coordinator", coordinator));
    GYM_CHECK(write(layout, "rewards", rewards));
    GYM_CHECK(write(layout, "api", api));
    if (layout.has_mirror()) GYM_CHECK(write(layout, kMirror, mirror_config(layout)));
    return {};
}

Status write_node_config(const Layout& layout, const std::string& name, const NodeTraits& traits) {
    GYM_TRY(const contracts::Deployment deployment,
            contracts::load_deployment(layout.deployment()));
    return write(
        layout, name,
        fmt::format("coordinator: {}\napi: {}\ndata_dir: {}\nkeystore_file: {}\n"
                    "passphrase_file: {}\nthreads: {}\n"
                    "chain_id: {}\nchain_rpc: {}\ncommitment_log: \"{}\"\ndispute_game: \"{}\"\n"
                    "beacon_delay_blocks: {}\n",
                    layout.grpc_address(), layout.api_url(), (layout.nodes() / name).string(),
                    layout.keystore(name).string(), layout.passphrase(name).string(),
                    traits.threads, deployment.chain_id, layout.chain_url(),
                    deployment.commitment_log.hex(), deployment.dispute_game.hex(),
                    kBeaconDelayBlocks));
}

// Processes

namespace {

constexpr int kReadyTimeoutMs = 60'000;
constexpr int kPollMs = 100;
constexpr int kRegisterTimeoutMs = 120'000;
constexpr int kKeyTimeoutMs = 30'000;
constexpr std::array kServices{"coordinator", "rewards", "api"};

std::string config_of(const Layout& layout, const std::string& name) {
    return (layout.config() / (name + ".yaml")).string();
}

/// The last line that a process wrote, which says why it ended.
std::string last_output(const Layout& layout, const std::string& name) {
    const std::filesystem::path log =
        (name == "anvil" ? layout.anvil() : layout.logs()) / (name + ".log");
    const auto bytes = read_file(log);
    std::string text = bytes.ok() ? std::string(bytes->begin(), bytes->end()) : std::string();
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text.substr(text.rfind('\n') + 1) + " (" + log.string() + ")";
}

Status check_running(const Layout& layout, const ProcessTable& processes, const std::string& name) {
    const auto entry = processes.find(name);
    if (entry.ok() && entry->running) return {};
    return fail(ErrorCode::kUnavailable, name + " ended: " + last_output(layout, name));
}

/// The port files come from the services themselves, so that another program which listens on one
/// of the ports is not taken for them.
bool all_listen(const Layout& layout) {
    std::error_code error;
    return std::filesystem::exists(layout.port_file("coordinator"), error) &&
           (!layout.has_mirror() || std::filesystem::exists(layout.port_file(kMirror), error)) &&
           std::filesystem::exists(layout.port_file("api"), error);
}

Status wait_healthy(const Layout& layout, const ProcessTable& processes) {
    const UnixMs since = SystemClock().now_ms();
    Status health = fail(ErrorCode::kUnavailable, "not all services listen");
    for (int waited_ms = 0; waited_ms < kReadyTimeoutMs; waited_ms += kPollMs) {
        for (const char* service : kServices)
            GYM_CHECK(check_running(layout, processes, service));
        if (layout.has_mirror()) GYM_CHECK(check_running(layout, processes, kMirror));
        if (all_listen(layout)) health = check_health(layout, since);
        if (health.ok()) return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
    return fail(ErrorCode::kTimeout,
                health.error().message + "; the logs are in " + layout.logs().string());
}

/// Unless it runs. @param program the configuration is added.
Status start_service(const Layout& layout, ProcessTable& processes, const std::string& name,
                     std::vector<std::string> program) {
    if (const auto entry = processes.find(name); entry.ok() && entry->running) return {};
    std::error_code error;
    std::filesystem::remove(layout.port_file(name), error);
    program.insert(program.end(), {"--config", config_of(layout, name)});
    return processes.start(
        name, {.argv = std::move(program), .log_file = layout.logs() / (name + ".log")});
}

Status register_worker(const Layout& layout, const Programs& programs, const std::string& name) {
    const auto output =
        run_command({.argv = {programs.path("gym"), "node", "register", "--config",
                              config_of(layout, name), "--gpu-type", "cpu", "--memory", "4GB"}},
                    kRegisterTimeoutMs);
    if (!output.ok()) return output.error().in("registering " + name);
    return {};
}

}  // namespace

Status check_health(const Layout& layout, UnixMs since) {
    GYM_TRY(const auto services, client::ApiClient({.url = layout.api_url(), .key = {}}).health());
    for (const char* name : {registry::kCoordinatorService, registry::kRewardsService})
        if (std::ranges::none_of(services, [&](const registry::ServiceHealth& service) {
                return service.service == name && service.seen_at_ms >= since;
            }))
            return fail(ErrorCode::kUnavailable, std::string(name) + " does not work yet");
    return {};
}

Status start_services(const Layout& layout, ProcessTable& processes, const Programs& programs) {
    for (const std::string service : kServices)
        GYM_CHECK(start_service(layout, processes, service, {programs.path("gym-" + service)}));
    if (layout.has_mirror())
        GYM_CHECK(start_service(layout, processes, kMirror, {programs.path("gym"), kMirror}));
    return wait_healthy(layout, processes);
}

Status start_verifier(const Layout& layout, ProcessTable& processes, const Programs& programs) {
    GYM_CHECK(write_node_config(layout, kVerifier, {.threads = 2}));
    return processes.start(kVerifier, {.argv = {programs.path("gym-verifier"), "--config",
                                                config_of(layout, kVerifier)},
                                       .log_file = layout.logs() / "verifier.log"});
}

Status start_worker(const Layout& layout, ProcessTable& processes, const Programs& programs,
                    const std::string& name, const WorkerProgram& program) {
    GYM_CHECK(write_node_config(layout, name, {}));
    GYM_CHECK(register_worker(layout, programs, name));
    SubprocessOptions options{.argv = program.argv, .log_file = layout.logs() / (name + ".log")};
    options.argv.insert(options.argv.end(), {"--config", config_of(layout, name)});
    return processes.start(name, std::move(options));
}

Status check_all_running(const Layout& layout, const ProcessTable& processes) {
    GYM_TRY(const auto entries, processes.list());
    for (const ProcessEntry& entry : entries)
        GYM_CHECK(check_running(layout, processes, entry.name));
    return {};
}

Status stop_all(const Layout& layout) {
    ProcessTable processes(layout.run());
    GYM_TRY(const auto entries, processes.list());
    // Nodes first, so that they can sign off; the chain last of the processes.
    const auto stop_if = [&](auto&& wanted) -> Status {
        for (const ProcessEntry& entry : entries)
            if (wanted(entry.name)) GYM_CHECK(processes.stop(entry.name));
        return {};
    };
    const auto is_node = [](const std::string& name) {
        return name.starts_with("worker-") || name == kVerifier;
    };
    GYM_CHECK(stop_if(is_node));
    GYM_CHECK(stop_if([&](const std::string& name) { return !is_node(name) && name != "anvil"; }));
    GYM_CHECK(stop_if([](const std::string& name) { return name == "anvil"; }));
    return stop_database(layout);
}

Result<std::string> ensure_api_key(const Layout& layout, const Programs& programs,
                                   const std::string& holder) {
    const std::filesystem::path file = layout.secrets() / ("api-key-" + holder);
    std::error_code error;
    if (std::filesystem::exists(file, error)) return ensure_secret(file);
    GYM_TRY(const Address owner, holder_address(layout, holder));
    GYM_TRY(std::string key,
            run_command({.argv = {programs.path("gym-api"), "--config", config_of(layout, "api"),
                                  "keys", "create", "--owner", owner.hex(), "--label", holder}},
                        kKeyTimeoutMs));
    while (!key.empty() && key.back() == '\n')
        key.pop_back();
    GYM_CHECK(write_file_atomic(file, as_bytes(key + "\n"), 0600));
    return key;
}

}  // namespace gym::devnet
