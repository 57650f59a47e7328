#include "gym/node/doctor.hpp"

#include <filesystem>
#include <utility>

#include "dispute_check.hpp"
#include "gym/chain/client.hpp"
#include "gym/common/file.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/engine/device.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/node/funding.hpp"
#include "gym/node/machine.hpp"
#include "gym/node/node_lock.hpp"
#include "gym/rpc/client.hpp"
#include "offered_memory.hpp"

namespace gym::node {
namespace {

constexpr std::uint64_t kFreeBytesMin = std::uint64_t{2} << 30;
constexpr std::int64_t kBenchmarkMs = 500;
constexpr std::int64_t kClockSkewMsMax = 30'000;
// Somebody waits for the answer.
constexpr chain::HttpOptions kDoctorHttp{.timeout_ms = 5'000, .attempts = 1};

Finding bad(std::string check, std::string remedy) {
    return {std::move(check), false, std::move(remedy)};
}
Finding good(std::string check, std::string detail) {
    return {std::move(check), true, std::move(detail)};
}

std::string mib(std::uint64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

/// Whether a node computes on the GPU now. A look at what it uses would find the card full, and
/// take memory from it.
bool works_on_gpu(const NodeConfig& config) {
    return config.device != "cpu" && NodeLock::held(config);
}

Finding check_memory(const NodeConfig& config) {
    const bool on_cpu = config.device == "cpu";
    const auto memory = device_memory_bytes(config);
    // Without its device a node is told why by "engine", once.
    if (!memory.ok()) return bad("memory", on_cpu ? memory.error().message : "see \"engine\"");
    const auto lent = lent_memory(config, {});
    if (!lent.ok()) return bad("memory", lent.error().message);
    std::string text =
        "lends " + mib(*lent) + " of the " + (on_cpu ? "machine's " : "GPU's ") + mib(*memory);
    if (works_on_gpu(config)) return good("memory", text + ", in use by the node");
    if (!on_cpu) {
        const auto free = engine::free_device_bytes(config.device);
        if (!free.ok()) return bad("memory", "see \"engine\"");
        text += ", of which " + mib(*free) + " are free now";
    }
    if (*memory < config.memory_bytes) text += "; `memory` asks for more, all of it is lent";
    return good("memory", text);
}

Finding check_disk(const NodeConfig& config) {
    std::error_code code;
    std::filesystem::create_directories(config.data_dir, code);
    const auto space = std::filesystem::space(config.data_dir, code);
    if (code)
        return bad("disk",
                   config.data_dir.string() + ": " + code.message() + ": choose another data_dir");
    // Free space on a file system that is mounted read-only is of no use.
    const std::filesystem::path probe = config.data_dir / "doctor";
    const Status written = write_file_atomic(probe, as_bytes("?"), 0600);
    std::filesystem::remove(probe, code);
    if (!written.ok()) return bad("disk", written.error().message + ": choose another data_dir");
    const std::string text = mib(space.available) + " free";
    if (space.available < kFreeBytesMin) return bad("disk", text + ": at least 2 GiB are needed");
    return good("disk", text);
}

Finding check_engine(const NodeConfig& config) {
    if (works_on_gpu(config))
        return good("engine", "in use: the node of this data_dir works on " + config.device +
                                  ", which is not measured beside it");
    const auto device = device_of(config);
    if (!device.ok()) return bad("engine", device.error().message);
    const auto benchmark = measure_device(config, kBenchmarkMs);
    if (!benchmark.ok()) return bad("engine", benchmark.error().message);
    return good("engine", speed_text(static_cast<double>(benchmark->flops_per_second)) + " on " +
                              *device + " with " + std::to_string(config.threads_used()) +
                              " threads");
}

Finding check_coordinator(rpc::Coordinator& coordinator, const NodeConfig& config) {
    const auto network = coordinator.network();
    if (!network.ok())
        return bad("coordinator", network.error().message +
                                      " (is `coordinator` right, does a firewall block outgoing "
                                      "calls?)");
    const std::int64_t skew_ms = SystemClock().now_ms() - network->server_ms;
    if (std::abs(skew_ms) > kClockSkewMsMax)
        return bad("coordinator", "this machine's clock is " + std::to_string(skew_ms / 1000) +
                                      " s off: set it (for example with chrony)");
    return good("coordinator",
                config.coordinator + " serves chain " + std::to_string(network->chain_id));
}

Finding check_chain(rpc::Coordinator& coordinator, const NodeConfig& config) {
    const auto network = coordinator.network();
    if (!network.ok()) return bad("chain", "not checked: the coordinator did not answer");
    const auto chain = open_chain(config, *network);
    if (!chain.ok()) return bad("chain", chain.error().message);
    if (*chain == nullptr)
        return good("chain", "not asked (without chain_rpc the coordinator is believed)");
    const Status checked = (*chain)->check();
    if (!checked.ok()) return bad("chain", checked.error().message + ": is `chain_rpc` right?");
    return good("chain", "contract " + network->commitment_log.hex() + " on chain " +
                             std::to_string(network->chain_id));
}

/// Registration and stake. @param advice which stake and gas are missing.
std::vector<Finding> check_standing(const Result<records::NodeStatus>& status,
                                    const std::string& advice) {
    if (!status.ok()) return {bad("registration", status.error().message)};
    if (!status->excluded_because.empty())
        return {bad("registration", "excluded: " + status->excluded_because)};
    std::vector<Finding> out{good("registration", std::string(records::to_string(status->role)))};
    out.push_back(status->stake_because.empty()
                      ? good("stake", "this network's requirement for " +
                                          std::string(records::to_string(status->role)) + "s")
                      : bad("stake", advice.empty() ? status->stake_because
                                                    : status->stake_because + "; " + advice));
    return out;
}

Finding check_no_disputes(const NodeConfig& config, const records::NetworkDescription& network,
                          player::Role role, const Address& self) {
    if (role == player::Role::kChallenge) {
        const Status none = check_defends_no_reports(network);
        if (!none.ok()) return bad("disputes", none.error().message);
        return good(
            "disputes",
            "not played: without dispute_game the verifier reports, but opens no games on chain");
    }
    const Status nothing = check_plays_nothing(config, network, self);
    if (!nothing.ok()) return bad("disputes", nothing.error().message);
    return good("disputes",
                "not played, as long as this key has no stake: set dispute_game "
                "before `gym stake add`");
}

/// Whether the node could play a game now.
Finding check_disputes(const NodeConfig& config, const records::NetworkDescription& network,
                       player::Role role, const Address& self) {
    if (config.dispute_game.empty()) return check_no_disputes(config, network, role, self);
    const auto game = configured_game(config);
    if (!game.ok()) return bad("disputes", game.error().message);
    const auto client = chain::make_http_client(config.chain_rpc, kDoctorHttp);
    if (!client.ok()) return bad("disputes", client.error().in("chain_rpc").message);
    const Status found = check_game(**client, *game, network);
    if (!found.ok()) return bad("disputes", found.error().message);
    const auto money = game_money(**client, *game, network, role, self);
    if (!money.ok()) return bad("disputes", money.error().message);
    std::string missing = money_missing(*money, self);
    if (!missing.empty()) return bad("disputes", std::move(missing));
    return good("disputes", "contract " + game->hex() + "; " + money->ether.to_tokens() +
                                " ether, a game may cost " + money->ether_needed.to_tokens());
}

/// Findings from calls that the node's key signs.
std::vector<Finding> check_as(rpc::Coordinator& coordinator, const NodeConfig& config,
                              const Address& self) {
    const auto status = coordinator.node_status(std::nullopt);
    const auto network = coordinator.network();
    const bool needs_stake =
        status.ok() && !status->stake_because.empty() && status->role == records::NodeRole::kWorker;
    std::vector<Finding> out = check_standing(
        status, needs_stake && network.ok() ? funding_advice(config, *network, self) : "");
    const bool verifies = status.ok() && status->role == records::NodeRole::kVerifier;
    out.push_back(network.ok()
                      ? check_disputes(config, *network,
                                       verifies ? player::Role::kChallenge : player::Role::kDefend,
                                       self)
                      : bad("disputes", "not checked: the coordinator did not answer"));
    return out;
}

}  // namespace

std::vector<Finding> run_doctor(const NodeConfig& config) {
    std::vector<Finding> findings{check_memory(config), check_disk(config), check_engine(config)};
    const auto key = load_key(config);
    findings.push_back(key.ok() ? good("key", crypto::to_checksum(key->address()))
                                : bad("key", key.error().message));
    rpc::ClientConfig client = config.client({});
    client.attempts_max = 1;
    const SystemClock clock;
    // The call for the network's description is not signed, so any key will do for it.
    const auto coordinator =
        rpc::connect(client, key.ok() ? key->clone() : crypto::PrivateKey::generate(), clock);
    if (!coordinator.ok()) {
        findings.push_back(
            bad("coordinator", config.coordinator.empty()
                                   ? "no network is named: `gym network add NAME URL --operator "
                                     "0xADDRESS` adds one (its operator publishes both), or name "
                                     "a coordinator, host:port"
                                   : coordinator.error().message));
        for (const char* check : {"chain", "registration", "disputes"})
            findings.push_back(bad(check, "not checked: no coordinator could be asked"));
        return findings;
    }
    findings.push_back(check_coordinator(**coordinator, config));
    findings.push_back(check_chain(**coordinator, config));
    if (!key.ok()) {
        for (const char* check : {"registration", "disputes"})
            findings.push_back(bad(check, "not checked: that needs the key"));
        return findings;
    }
    const auto asked = check_as(**coordinator, config, key->address());
    findings.insert(findings.end(), asked.begin(), asked.end());
    return findings;
}

}  // namespace gym::node
