#include "cli/network_options.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "cli/rows.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"

namespace gym::app {
namespace {

constexpr const char* kDefaultApi = "http://127.0.0.1:8080";
constexpr std::size_t kShownMax = 80;
constexpr std::size_t kTokenDecimals = 18;

/// Of an amount that is refused.
std::string what_is_wrong(const std::string& text, const Result<Amount>& amount) {
    if (amount.ok()) return "it must be more than 0";
    if (amount.error().code == ErrorCode::kOutOfRange)
        return "it exceeds the largest possible amount";
    if (text.find_first_not_of("0123456789.") != std::string::npos)
        return "write only digits and a point, without sign, exponent or unit";
    const std::size_t point = text.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
    if (decimals > kTokenDecimals) return "it has " + std::to_string(decimals) + " decimals";
    return "write digits before and after a single point";
}

/// A file of secrets that would not be used later. A pipe is read only once, so not here.
CLI::Validator readable_secret() {
    return CLI::Validator(
        [](const std::string& path) {
            std::error_code unknown;
            const bool is_pipe = std::filesystem::exists(path, unknown) &&
                                 !std::filesystem::is_regular_file(path, unknown);
            if (is_pipe) return std::string();
            const auto secret = crypto::read_secret_file(path);
            return secret.ok() ? std::string() : secret.error().message;
        },
        "");
}

}  // namespace

void ApiOptions::add_to(CLI::App& command, bool with_key) {
    command.add_option("--api", url, "gym-api, http(s)://host:port (or set GYM_API)");
    network.add_to(command);
    if (with_key)
        command
            .add_option("--api-key-file", key_file,
                        "File with the API key, mode 0600 (or set GYM_API_KEY)")
            ->check(readable_secret());
}

std::string ApiOptions::base_url() const {
    return named_url().value_or(kDefaultApi);
}

std::optional<std::string> ApiOptions::named_url() const {
    const auto chosen = network.pick(
        url, "GYM_API", [](const profile::StoredNetwork& stored) { return stored.profile().api; });
    if (!chosen.ok()) print_notice("network", "not used: {}", chosen.error().message);
    if (!chosen.ok() || chosen->empty()) return std::nullopt;
    return *chosen;
}

Result<std::string> ApiOptions::key() const {
    if (!key_file.empty()) {
        GYM_TRY(const auto secret, crypto::read_secret_file(key_file));
        const ByteView bytes = secret.view();
        return std::string(bytes.begin(), bytes.end());
    }
    const std::string value = NetworkChoice::environment("GYM_API_KEY");
    if (!value.empty()) return value;
    return fail(ErrorCode::kUnauthenticated,
                "this needs an API key: --api-key-file or GYM_API_KEY (`gym-api keys create` makes "
                "one)");
}

std::string ApiOptions::key_words() const {
    return key_file.empty() ? "" : " --api-key-file " + key_file;
}

client::ApiClient ApiOptions::client(std::chrono::milliseconds retry_for) const {
    client::ApiClient without({.url = base_url(), .key = {}, .retry_for = retry_for});
    auto secret = key();
    if (!secret.ok()) {
        if (secret.error().code != ErrorCode::kUnauthenticated)
            print_notice("API key", "not used: {}", secret.error().message);
        return without;
    }
    const Status sealed = without.check_confidential(registry::Visibility::kPrivate);
    if (!sealed.ok()) {
        print_notice("API key", "not sent: {}", sealed.error().message);
        return without;
    }
    return client::ApiClient(
        {.url = base_url(), .key = *std::move(secret), .retry_for = retry_for});
}

Result<client::ApiClient> ApiOptions::client_with_key(std::chrono::milliseconds retry_for) const {
    GYM_TRY(std::string secret, key());
    return client::ApiClient({.url = base_url(), .key = std::move(secret), .retry_for = retry_for});
}

void KeyOptions::add_to(CLI::App& command, bool signs) {
    command.add_option("--data-dir", data_dir, "Folder of the key (default ~/.gym)");
    command.add_option("--keystore", keystore, "Keystore file, relative to the data directory");
    // Commands that only need the address take it too: one set of flags fits all of them.
    command.add_option(
        "--passphrase-file", passphrase_file,
        signs ? "File with the key's passphrase, mode 0600 (or set GYM_PASSPHRASE)"
              : "Ignored: this command reads only the address, which is not encrypted");
}

Result<node::NodeConfig> KeyOptions::config() const {
    GYM_TRY(node::NodeConfig config, node::load_node_config(""));
    if (!data_dir.empty()) config.data_dir = data_dir;
    if (!keystore.empty()) config.keystore_file = keystore;
    if (!passphrase_file.empty()) config.passphrase_file = passphrase_file;
    return config;
}

Result<Address> KeyOptions::address() const {
    GYM_TRY(const node::NodeConfig node, config());
    return node::key_address(node);
}

void ChainOptions::add_to(CLI::App& command) {
    command.add_option("--chain", url, "JSON-RPC endpoint, http(s)://host:port (or set GYM_CHAIN)");
    command.add_option("--deployment", deployment,
                       "deployment.json with the contracts' addresses (or set GYM_DEPLOYMENT)");
    network.add_to(command);
}

bool ChainOptions::is_named() const {
    const auto stored = network.load();
    return !url.empty() || !deployment.empty() || !stored.ok() || *stored ||
           !NetworkChoice::environment("GYM_CHAIN").empty() ||
           !NetworkChoice::environment("GYM_DEPLOYMENT").empty();
}

Result<std::string> ChainOptions::rpc_url() const {
    GYM_TRY(std::string chosen,
            network.pick(url, "GYM_CHAIN", [](const auto& stored) { return stored.chain_rpc; }));
    if (!chosen.empty()) return chosen;
    return fail(ErrorCode::kInvalidArgument,
                "no chain is named: add the network (`gym network add NAME URL`), or use --chain "
                "http://host:port or GYM_CHAIN");
}

Result<contracts::Deployment> ChainOptions::contracts() const {
    std::optional<contracts::Deployment> stored;
    GYM_TRY(const std::string file,
            network.pick(deployment, "GYM_DEPLOYMENT", [&](const profile::StoredNetwork& chosen) {
                stored = chosen.profile().contracts;
                return std::string();
            }));
    if (stored) return *stored;
    if (!file.empty()) return contracts::load_deployment(file);
    return fail(ErrorCode::kInvalidArgument,
                "no contracts are named: add the network (`gym network add NAME URL`), or use "
                "--deployment deployment.json or GYM_DEPLOYMENT");
}

Result<Amount> tokens_argument(const std::string& text) {
    auto amount = Amount::parse_tokens(text);
    if (amount.ok() && !amount->is_zero()) return amount;
    return fail(ErrorCode::kInvalidArgument,
                "'" + text.substr(0, kShownMax) + "' is not an amount of GYM: " +
                    what_is_wrong(text, amount) + " (like 12.5, with at most 18 decimals)");
}

Result<Amount> price_argument(const char* flag, const std::string& text, const PriceUnit& unit) {
    auto amount = Amount::parse_tokens(text);
    if (amount.ok() && (unit.may_be_zero || !amount->is_zero())) return amount;
    return fail(ErrorCode::kInvalidArgument,
                std::string(flag) + ": '" + text.substr(0, kShownMax) +
                    "' is not a price: " + what_is_wrong(text, amount) + ". It is GYM for " +
                    unit.per + ", like " + unit.example);
}

Result<std::optional<Address>> address_option(const char* flag, const std::string& text) {
    if (text.empty()) return std::optional<Address>();
    const auto address = crypto::parse_address(text);
    if (!address.ok())
        return fail(ErrorCode::kInvalidArgument,
                    std::string(flag) + ": " + address.error().message);
    if (address->is_zero())
        return fail(ErrorCode::kInvalidArgument,
                    std::string(flag) + ": GYM sent to the zero address is lost");
    return std::optional(*address);
}

Result<Address> asked_address(const std::string& text, const KeyOptions& keys) {
    GYM_TRY(const auto given, address_option("--address", text));
    if (given) return *given;
    return keys.address();
}

}  // namespace gym::app
