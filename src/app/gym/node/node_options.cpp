#include "node/node_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <variant>

namespace gym::app {
namespace {

using node::NodeConfig;

using Member = std::variant<std::string NodeConfig::*, std::filesystem::path NodeConfig::*,
                            std::uint32_t NodeConfig::*, bool NodeConfig::*>;

/// An option and the member of the configuration that it sets.
struct NodeOption {
    const char* flag;
    Member member;
    const char* help;
};

const std::array<NodeOption, 14> kNodeOptions{{
    {"--coordinator", &NodeConfig::coordinator, "Coordinator to dial, host:port"},
    {"--tls-ca", &NodeConfig::tls_ca_file,
     "PEM file with the CA of the coordinator's certificate, or \"system\""},
    {"--insecure", &NodeConfig::insecure,
     "Dial another machine without TLS: anyone on the path can read and alter the traffic"},
    {"--chain-rpc", &NodeConfig::chain_rpc,
     "JSON-RPC endpoint of the chain, http(s)://host:port, to check the coordinator against"},
    {"--commitment-log", &NodeConfig::commitment_log,
     "CommitmentLog contract (default: the one that the coordinator names)"},
    {"--dispute-game", &NodeConfig::dispute_game,
     "DisputeGame contract; required for a worker with stake"},
    {"--checkpoint-seconds", &NodeConfig::checkpoint_s,
     "Save a unit's progress every so many seconds; 0: after every step"},
    {"--data-dir", &NodeConfig::data_dir,
     "Folder for the key, blobs and commitments (default ~/.gym)"},
    {"--keystore", &NodeConfig::keystore_file, "Keystore file, relative to the data directory"},
    {"--passphrase-file", &NodeConfig::passphrase_file,
     "File with the key's passphrase, mode 0600 (or set GYM_PASSPHRASE)"},
    {"--threads", &NodeConfig::threads, "Number of compute threads; 0: all"},
    {"--isa", &NodeConfig::isa, "Instruction set: auto, scalar, avx2, avx512 or amx"},
    {"--device", &NodeConfig::device, "Device to compute on: cpu, cuda or cuda:N"},
    {"--api", &NodeConfig::api, "gym-api to ask for balances, http://host:port"},
}};

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

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
    const std::string flag = std::string(" ") + option.flag;
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
    command.add_option("--log-level", log_level, "Log level: trace, debug, info, warn or error");
}

std::string NodeOptions::given() const {
    std::string out;
    if (!config_file.empty()) out = " --config " + shell_word(config_file);
    for (const std::size_t i : given_)
        out += command_text(kNodeOptions[i], values_);
    return out;
}

Result<node::NodeConfig> NodeOptions::resolve() const {
    GYM_TRY(NodeConfig config, node::load_node_config(config_file));
    for (const std::size_t i : given_)
        std::visit([&](auto member) { config.*member = values_.*member; }, kNodeOptions[i].member);
    return config;
}

}  // namespace gym::app
