#include "node/node_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <variant>

#include "cli/network_choice.hpp"
#include "gym/common/file.hpp"
#include "gym/common/overloaded.hpp"
#include "gym/common/yaml_text.hpp"
#include "gym/node/stored_network.hpp"

namespace gym::app {
namespace {

using node::NodeConfig;

using Member = std::variant<std::string NodeConfig::*, std::filesystem::path NodeConfig::*,
                            std::uint32_t NodeConfig::*, bool NodeConfig::*>;

constexpr const char* kRememberedFile = "registered.yaml";  // in the data directory

/// An option, its key in a configuration file, and the member that both set.
struct NodeOption {
    const char* flag;
    const char* key;
    Member member;
    const char* help;
};

const std::array<NodeOption, 14> kNodeOptions{{
    {"--coordinator", "coordinator", &NodeConfig::coordinator, "Coordinator to dial, host:port"},
    {"--tls-ca", "tls_ca_file", &NodeConfig::tls_ca_file,
     "PEM file with the CA of the coordinator's certificate, or \"system\""},
    {"--insecure", "insecure", &NodeConfig::insecure,
     "Dial another machine without TLS: anyone on the path can read and alter the traffic"},
    {"--chain-rpc", "chain_rpc", &NodeConfig::chain_rpc,
     "JSON-RPC endpoint of the chain, http(s)://host:port, to check the coordinator against"},
    {"--commitment-log", "commitment_log", &NodeConfig::commitment_log,
     "CommitmentLog contract (default: the one that the coordinator names)"},
    {"--dispute-game", "dispute_game", &NodeConfig::dispute_game,
     "DisputeGame contract; required for a worker with stake"},
    {"--checkpoint-seconds", "checkpoint_seconds", &NodeConfig::checkpoint_s,
     "Save a unit's progress every so many seconds; 0: after every step"},
    {"--data-dir", "data_dir", &NodeConfig::data_dir,
     "Folder for the key, blobs and commitments (default ~/.gym)"},
    {"--keystore", "keystore_file", &NodeConfig::keystore_file,
     "Keystore file, relative to the data directory"},
    {"--passphrase-file", "passphrase_file", &NodeConfig::passphrase_file,
     "File with the key's passphrase, mode 0600 (or set GYM_PASSPHRASE)"},
    {"--threads", "threads", &NodeConfig::threads, "Number of compute threads; 0: all"},
    {"--isa", "isa", &NodeConfig::isa, "Instruction set: auto, scalar, avx2, avx512 or amx"},
    {"--device", "device", &NodeConfig::device, "Device to compute on: cpu, cuda or cuda:N"},
    {"--api", "api", &NodeConfig::api, "gym-api to ask for balances, http://host:port"},
}};

std::string shell_word(const std::string& text) {
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("_-./:,@%+=").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

/// " --flag value", or " --flag" for one without.
std::string command_text(const NodeOption& option, const NodeConfig& values) {
    std::string flag = std::string(" ") + option.flag;
    return std::visit(Overloaded{[&](std::string NodeConfig::*member) {
                                     return flag + " " + shell_word(values.*member);
                                 },
                                 [&](std::filesystem::path NodeConfig::*member) {
                                     return flag + " " + shell_word((values.*member).string());
                                 },
                                 [&](std::uint32_t NodeConfig::*member) {
                                     return flag + " " + std::to_string(values.*member);
                                 },
                                 [&](bool NodeConfig::*) { return flag; }},
                      option.member);
}

}  // namespace

void NodeOptions::add_to(CLI::App& command) {
    command.add_option("--config", config_file, "Node configuration (YAML)");
    add_network_option(command)->each([this](const std::string& name) { network = name; });
    for (std::size_t i = 0; i < kNodeOptions.size(); ++i) {
        const NodeOption& option = kNodeOptions[i];
        const auto keep = [this, i](auto member) {
            return [this, i, member](const auto& value) {
                values_.*member = value;
                given_.push_back(i);
            };
        };
        std::visit(Overloaded{[&](std::string NodeConfig::*member) {
                                  command.add_option_function<std::string>(
                                      option.flag, keep(member), option.help);
                              },
                              [&](std::filesystem::path NodeConfig::*member) {
                                  command.add_option_function<std::string>(
                                      option.flag, keep(member), option.help);
                              },
                              [&](std::uint32_t NodeConfig::*member) {
                                  command.add_option_function<std::uint32_t>(
                                      option.flag, keep(member), option.help);
                              },
                              [&](bool NodeConfig::*member) {
                                  command.add_flag_callback(
                                      option.flag, [set = keep(member)] { set(true); },
                                      option.help);
                              }},
                   option.member);
    }
    command.add_option("--log-level", log_level,
                       "Log level: trace, debug, info, warn, error or off");
}

std::string NodeOptions::given() const {
    std::string out;
    if (!config_file.empty()) out = " --config " + shell_word(config_file);
    if (!network.empty()) out += " --network " + shell_word(network);
    for (const std::size_t i : given_)
        out += command_text(kNodeOptions[i], values_);
    return out;
}

bool NodeOptions::has(std::string_view flag) const {
    return std::ranges::any_of(given_, [&](std::size_t i) { return kNodeOptions[i].flag == flag; });
}

std::string NodeOptions::named_device(const NodeConfig& config) const {
    return has("--device") || config.device != "cpu" ? config.device : "";
}

std::string NodeOptions::shell_option(std::string_view flag) const {
    for (const std::size_t i : given_)
        if (kNodeOptions[i].flag == flag) return command_text(kNodeOptions[i], values_);
    return {};
}

Result<node::NodeConfig> NodeOptions::load(bool remembered) const {
    std::string file = config_file;
    if (file.empty() && remembered) {
        const std::filesystem::path folder =
            has("--data-dir") ? values_.data_dir : node::default_data_dir();
        std::error_code ignored;
        if (std::filesystem::exists(folder / kRememberedFile, ignored))
            file = folder / kRememberedFile;
    }
    GYM_TRY(NodeConfig config, node::load_node_config(file));
    // --network is an option: it outranks the file's keys, and not the other options.
    if (!network.empty()) {
        node::forget_network(config);
        config.network = network;
    }
    for (const std::size_t i : given_)
        std::visit([&](auto member) { config.*member = values_.*member; }, kNodeOptions[i].member);
    return config;
}

Result<node::NodeConfig> NodeOptions::resolve(const NodeSources& sources) const {
    GYM_TRY(NodeConfig config, load(sources.remembered));
    GYM_CHECK(node::use_network(config, has("--tls-ca")));
    if (!sources.network || !config.coordinator.empty()) return config;
    return fail(ErrorCode::kInvalidArgument,
                "no network is named: add one with `gym network add NAME URL --operator 0xADDRESS` "
                "(its operator publishes both), then run `gym register` and `gym start`; or name "
                "its coordinator with --coordinator HOST:PORT or in a --config file");
}

std::uint64_t NodeOptions::remembered_memory(const std::string& device) const {
    if (!config_file.empty()) return 0;
    NodeOptions folder;  // the options of this command are not what was remembered
    if (has("--data-dir")) {
        folder.values_.data_dir = values_.data_dir;
        folder.given_ = given_;
        std::erase_if(folder.given_, [](std::size_t i) {
            return std::string_view(kNodeOptions[i].flag) != "--data-dir";
        });
    }
    const auto before = folder.load(true);
    return before.ok() && before->device == device ? before->memory_bytes : 0;
}

Status NodeOptions::remember(const NodeConfig& resolved) const {
    const auto absolute = [&](const std::string& path) {
        std::error_code ignored;
        return yaml_quoted(std::filesystem::absolute(path, ignored).string());
    };
    std::string out =
        "# Written by `gym node register`, read by the other commands of this node.\n";
    const auto add = [&](const std::string& key, const std::string& value) {
        out += key + ": " + value + "\n";
    };
    if (!resolved.network.empty()) add("network", yaml_quoted(resolved.network));
    add("device", yaml_quoted(resolved.device));
    add("memory", yaml_quoted(std::to_string(resolved.memory_bytes)));
    for (std::size_t i = 0; i < kNodeOptions.size(); ++i) {
        const NodeOption& option = kNodeOptions[i];
        const std::string_view flag = option.flag;
        if (!has(flag) || flag == "--data-dir" || flag == "--device") continue;
        std::visit(Overloaded{[&](std::string NodeConfig::*member) {
                                  const std::string& text = values_.*member;
                                  const bool is_file = flag == "--tls-ca" && text != "system";
                                  add(option.key, is_file ? absolute(text) : yaml_quoted(text));
                              },
                              [&](std::filesystem::path NodeConfig::*member) {
                                  // The keystore is relative to the data directory.
                                  const std::string text = (values_.*member).string();
                                  add(option.key,
                                      flag == "--keystore" ? yaml_quoted(text) : absolute(text));
                              },
                              [&](std::uint32_t NodeConfig::*member) {
                                  add(option.key, std::to_string(values_.*member));
                              },
                              [&](bool NodeConfig::*) { add(option.key, "true"); }},
                   option.member);
    }
    return write_file_atomic(resolved.data_dir / kRememberedFile, as_bytes(out), 0600);
}

}  // namespace gym::app
