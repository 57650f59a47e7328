#include "gym/node/node_config.hpp"

#include <arpa/inet.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/yaml.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/engine/device.hpp"

namespace gym::node {
namespace {

constexpr std::size_t kPassphraseBytesMax = 1024;
constexpr std::uint64_t kConfigBytesMax = std::uint64_t{1} << 20;
constexpr std::uint64_t kLentBytesMin = std::uint64_t{64} << 20;

std::filesystem::path expand_home(const std::string& text) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || !text.starts_with("~/")) return text;
    return std::filesystem::path(home) / text.substr(2);
}

bool is_ip_address(const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> out{};
    return ::inet_pton(AF_INET, text.c_str(), out.data()) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), out.data()) == 1;
}

Status check_listen(const YamlMap& map, const torrent::SwarmOptions& options) {
    constexpr std::uint16_t kPortMin = 1'024;
    if (!is_ip_address(options.address))
        return map.error_at("address", "must be an IP address of this machine, or 0.0.0.0; '" +
                                           options.address + "' is none");
    if (options.port != 0 && options.port < kPortMin)
        return map.error_at("port", "must be 0 or 1024 to 65535: other nodes connect to no other");
    return {};
}

Status read_torrents(YamlMap& parent, NodeConfig& config) {
    constexpr std::int64_t kSecondsMax = std::int64_t{366} * 86'400;
    if (!parent.has("torrents")) return {};
    GYM_TRY(YamlMap map, parent.map("torrents"));
    GYM_TRY(const bool enabled, map.boolean_or("enabled", false));
    torrent::SwarmOptions options;
    GYM_TRY(options.address, map.string_or("address", options.address));
    GYM_CHECK(map.read_integer("port", 0, 65'535, options.port));
    GYM_CHECK(check_listen(map, options));
    GYM_CHECK(
        map.read_integer("upload_bytes_per_s_max", 0, INT32_MAX, options.upload_bytes_per_s_max));
    GYM_CHECK(map.read_integer("connections_max", 2, 1'000, options.connections_max));
    GYM_TRY(const std::string seed_bytes, map.string_or("seed_bytes_max", "10GB"));
    const auto bytes = parse_size(seed_bytes);
    if (!bytes.ok()) return map.error_at("seed_bytes_max", bytes.error().message);
    options.seed_bytes_max = *bytes;
    GYM_CHECK(map.read_integer("seed_seconds_max", 0, kSecondsMax, options.seed_s_max));
    GYM_TRY(options.seed_ratio_max,
            map.real_or("seed_ratio_max", 0, 1'000, options.seed_ratio_max));
    GYM_CHECK(map.finish());
    if (enabled) config.torrents = options;
    return {};
}

Status read_keys(YamlMap& yaml, NodeConfig& config) {
    GYM_TRY(config.network, yaml.string_or("network", config.network));
    GYM_TRY(config.coordinator, yaml.string_or("coordinator", config.coordinator));
    GYM_TRY(config.tls_ca_file, yaml.string_or("tls_ca_file", config.tls_ca_file));
    GYM_TRY(config.api, yaml.string_or("api", config.api));
    GYM_TRY(const std::int64_t chain_id, yaml.integer_or("chain_id", 0, INT64_MAX, 0));
    config.chain_id = static_cast<std::uint64_t>(chain_id);
    GYM_TRY(config.insecure, yaml.boolean_or("insecure", config.insecure));
    GYM_TRY(config.chain_rpc, yaml.string_or("chain_rpc", config.chain_rpc));
    GYM_TRY(config.commitment_log, yaml.string_or("commitment_log", config.commitment_log));
    GYM_TRY(config.dispute_game, yaml.string_or("dispute_game", config.dispute_game));
    GYM_CHECK(yaml.read_integer("beacon_delay_blocks", 0, 10'000, config.beacon_delay_blocks));
    GYM_CHECK(yaml.read_integer("chain_wait_seconds", 1, 3'600, config.chain_wait_s));
    GYM_CHECK(yaml.read_integer("checkpoint_seconds", 0, 86'400, config.checkpoint_s));
    GYM_CHECK(yaml.read_integer("prefix_seconds", 0, 86'400, config.prefix_s));
    GYM_TRY(const std::string data_dir, yaml.string_or("data_dir", config.data_dir.string()));
    config.data_dir = expand_home(data_dir);
    GYM_TRY(config.keystore_file, yaml.string_or("keystore_file", config.keystore_file.string()));
    GYM_TRY(const std::string passphrase_file, yaml.string_or("passphrase_file", ""));
    config.passphrase_file = expand_home(passphrase_file);
    GYM_TRY(const std::int64_t threads, yaml.integer_or("threads", 0, 1024, 0));
    config.threads = static_cast<unsigned>(threads);
    GYM_TRY(config.isa, yaml.string_or("isa", config.isa));
    GYM_TRY(config.device, yaml.string_or("device", config.device));
    if (!engine::parse_device(config.device).ok())
        return yaml.error_at("device", "must be cpu, cuda or cuda:N, is '" + config.device + "'");
    if (yaml.has("memory")) {
        GYM_TRY(const std::string memory, yaml.string("memory"));
        const auto bytes = parse_lent_memory(memory);
        if (!bytes.ok()) return yaml.error_at("memory", "of " + bytes.error().message);
        config.memory_bytes = *bytes;
    }
    GYM_TRY(config.defend_disputes, yaml.boolean_or("defend_disputes", config.defend_disputes));
    GYM_CHECK(read_torrents(yaml, config));
    return yaml.finish();
}

/// Reads a line from the terminal without showing it; the terminal is put back whatever happens.
Result<crypto::SecretBytes> ask(const std::string& prompt) {
    termios shown{};
    if (tcgetattr(STDIN_FILENO, &shown) != 0)
        return fail(ErrorCode::kInvalidArgument, "the terminal cannot be read");
    termios hidden = shown;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    std::cerr << prompt << std::flush;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    std::string line;
    std::getline(std::cin, line);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    std::cerr << '\n';
    crypto::SecretBytes secret{std::string_view(line)};
    crypto::secure_clear({reinterpret_cast<std::uint8_t*>(line.data()), line.size()});
    if (secret.empty() || secret.size() > kPassphraseBytesMax)
        return fail(ErrorCode::kInvalidArgument, "a passphrase has 1 to 1024 characters");
    return secret;
}

/// Of what a configuration names, in its words: a service that starts again would find the same.
Error misconfigured(const Error& error) {
    return fail(ErrorCode::kInvalidArgument, error.message);
}

/// Whether the text of a configuration has nothing but comments, and so leaves every key out.
bool says_nothing(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string_view::npos && line[first] != '#') return false;
        begin = end + 1;
    }
    return true;
}

Status check_key_exists(const NodeConfig& config) {
    std::error_code ignored;
    if (std::filesystem::exists(config.keystore_path(), ignored)) return {};
    return fail(
        ErrorCode::kNotFound,
        "no key at " + config.keystore_path().string() +
            ": make one with `gym node register` (for other uses with `gym wallet new`), or "
            "name another with --keystore or --data-dir");
}

}  // namespace

std::filesystem::path NodeConfig::keystore_path() const {
    return data_dir / keystore_file;
}

std::filesystem::path NodeConfig::claims_folder() const {
    return data_dir / "disputes";
}

unsigned NodeConfig::threads_used() const {
    return threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

engine::EngineOptions NodeConfig::engine() const {
    // 0 is all of a GPU's memory.
    const bool by_default = memory_bytes == 0 && device == "cpu";
    return {threads_used(), isa, by_default ? kCpuMemoryBytes : memory_bytes, device};
}

engine::EngineOptions NodeConfig::games_engine() const {
    // `memory` of a GPU says nothing about the host, so its limit is what is free there.
    return {threads_used(), isa, device == "cpu" ? engine().memory_bytes_max : 0, "cpu"};
}

rpc::ClientConfig NodeConfig::client(const std::stop_token& stop) const {
    rpc::ClientConfig client;
    client.target = coordinator;
    client.tls_ca_file = tls_ca_file;
    client.allow_plaintext = insecure;
    client.chain_id = chain_id;
    client.stop = stop;
    return client;
}

std::filesystem::path default_data_dir() {
    const char* gym_home = std::getenv("GYM_HOME");
    return gym_home != nullptr && *gym_home != '\0' ? gym_home : expand_home("~/.gym");
}

Result<NodeConfig> load_node_config(const std::string& file) {
    NodeConfig config;
    config.data_dir = default_data_dir();
    if (!file.empty()) {
        const auto bytes = read_file(file, kConfigBytesMax);
        if (!bytes.ok()) return misconfigured(bytes.error());
        const std::string text(bytes->begin(), bytes->end());
        if (says_nothing(text)) return config;
        GYM_TRY(YamlMap yaml, YamlMap::parse(text, file));
        GYM_CHECK(read_keys(yaml, config));
    }
    return config;
}

Result<std::uint64_t> parse_size(const std::string& text) {
    struct Unit {
        std::string_view name;
        unsigned shift;
    };
    constexpr std::array<Unit, 9> kUnits{{{"", 0},
                                          {"KB", 10},
                                          {"KiB", 10},
                                          {"MB", 20},
                                          {"MiB", 20},
                                          {"GB", 30},
                                          {"GiB", 30},
                                          {"TB", 40},
                                          {"TiB", 40}}};
    // At most 15 digits before bytes, 5 before a unit: nothing here can overflow.
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    for (const Unit& unit : kUnits) {
        const std::size_t digits_max = unit.shift == 0 ? 15 : 5;
        if (digits == 0 || digits > digits_max || text.substr(digits) != unit.name) continue;
        return std::stoull(text.substr(0, digits)) << unit.shift;
    }
    return fail(ErrorCode::kInvalidArgument,
                "'" + text + "' is not a size such as 8GB, 512MB or 24GiB");
}

Result<std::uint64_t> parse_lent_memory(const std::string& text) {
    GYM_TRY(const std::uint64_t bytes, parse_size(text));
    if (bytes >= kLentBytesMin) return bytes;
    return fail(ErrorCode::kInvalidArgument,
                text + " is " + std::to_string(bytes) +
                    " bytes, too little for any program; add a unit, such as 8GB");
}

Result<crypto::SecretBytes> read_passphrase(const NodeConfig& config, bool confirm) {
    if (!config.passphrase_file.empty()) {
        auto secret = crypto::read_secret_file(config.passphrase_file);
        if (secret.ok()) return secret;
        return misconfigured(secret.error().in("passphrase"));
    }
    if (const char* value = std::getenv("GYM_PASSPHRASE"); value != nullptr && *value != '\0')
        return crypto::SecretBytes(std::string_view(value));
    if (isatty(STDIN_FILENO) == 0)
        return fail(ErrorCode::kInvalidArgument,
                    "no passphrase: name its file (--passphrase-file, or passphrase_file in the "
                    "configuration), set GYM_PASSPHRASE, or run in a terminal");
    GYM_TRY(crypto::SecretBytes secret, ask("Passphrase of the node's key: "));
    if (confirm) {
        GYM_TRY(const crypto::SecretBytes again, ask("Once more: "));
        if (!crypto::equal_constant_time(secret.view(), again.view()))
            return fail(ErrorCode::kInvalidArgument, "the two passphrases differ");
    }
    return secret;
}

Result<Address> key_address(const NodeConfig& config) {
    GYM_CHECK(check_key_exists(config));
    return crypto::keystore_address(config.keystore_path());
}

Result<crypto::PrivateKey> load_key(const NodeConfig& config) {
    GYM_CHECK(check_key_exists(config));
    GYM_TRY(const crypto::SecretBytes passphrase, read_passphrase(config, false));
    return open_key(config, passphrase);
}

Result<crypto::PrivateKey> open_key(const NodeConfig& config,
                                    const crypto::SecretBytes& passphrase) {
    auto key = crypto::load_keystore(config.keystore_path(), passphrase);
    if (key.ok() || key.error().code != ErrorCode::kPermissionDenied) return key;
    const std::string source = config.passphrase_file.empty() ? "GYM_PASSPHRASE or what was typed"
                                                              : config.passphrase_file.string();
    return fail(ErrorCode::kInvalidArgument,
                key.error().message + ": is " + source + " the one that this key was made with?");
}

}  // namespace gym::node
