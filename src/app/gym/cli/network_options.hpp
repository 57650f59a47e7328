#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/network_choice.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/node/node_config.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// How long commands that must not fail half-way ask a gym-api that restarts.
inline constexpr std::chrono::seconds kApiRetryFor{20};

/// Which gym-api, and the key for what needs one.
struct ApiOptions {
    std::string url;
    std::string key_file;
    NetworkChoice network;

    void add_to(CLI::App& command, bool with_key);
    /// named_url(), else http://127.0.0.1:8080.
    [[nodiscard]] std::string base_url() const;
    /// --api, else --network's, else $GYM_API, else the default network's; absent without any. A
    /// default network that cannot be read is a notice on standard error.
    [[nodiscard]] std::optional<std::string> named_url() const;
    /// From --api-key-file (mode 0600), else $GYM_API_KEY. @errors kUnauthenticated without either.
    [[nodiscard]] Result<std::string> key() const;
    /// Whether there is a key, which client() sends.
    [[nodiscard]] bool has_key() const { return key().ok(); }
    /// " --api-key-file FILE" as it was given, for a command that this one suggests; else empty.
    [[nodiscard]] std::string key_words() const;
    /// A client of base_url(), for what needs no key; it sends key() where there is one, because
    /// its owner sees more than others. A key that cannot be read, or that would leave this machine
    /// in the clear, is not sent: a notice on standard error says so.
    /// @param retry_for how long an unavailable gym-api is asked again.
    [[nodiscard]] client::ApiClient client(std::chrono::milliseconds retry_for = {}) const;
    /// The same with key(). @errors of key().
    [[nodiscard]] Result<client::ApiClient> client_with_key(
        std::chrono::milliseconds retry_for = {}) const;
};

/// The signing key: a folder with the key store of the node commands.
struct KeyOptions {
    std::string data_dir;
    std::string keystore;
    std::string passphrase_file;

    void add_to(CLI::App& command, bool signs);
    [[nodiscard]] Result<node::NodeConfig> config() const;
    /// The address in the keystore; nothing is decrypted. @errors as crypto::keystore_address.
    [[nodiscard]] Result<Address> address() const;
};

/// Which chain, and where our contracts are on it.
struct ChainOptions {
    std::string url;
    std::string deployment;
    NetworkChoice network;

    void add_to(CLI::App& command);
    /// Whether a chain or contracts are named at all, by option, variable or network.
    [[nodiscard]] bool is_named() const;
    /// --chain, else --network's, else $GYM_CHAIN, else the default network's.
    /// @errors kInvalidArgument without any; as NetworkChoice::load.
    [[nodiscard]] Result<std::string> rpc_url() const;
    /// Contract addresses come from a file that the user chose, or from a profile that the
    /// network's operator signed with the key that the user accepted; never from the API: whoever
    /// names the contract receives the money. --deployment, else --network's, else $GYM_DEPLOYMENT,
    /// else the default network's. @errors as rpc_url(), contracts::load_deployment.
    [[nodiscard]] Result<contracts::Deployment> contracts() const;
};

/// An amount of tokens on the command line, more than nothing.
/// @errors kInvalidArgument with what is expected instead.
[[nodiscard]] Result<Amount> tokens_argument(const std::string& text);

/// What a price is for, and one that is written right.
struct PriceUnit {
    const char* per;      ///< "10^15 operations"
    const char* example;  ///< "--price 10"
    bool may_be_zero = false;
};
inline constexpr PriceUnit kWorkPrice{"10^15 operations", "--price 10"};
inline constexpr PriceUnit kDataPrice{"a million tokens of text", "--price 0.25; 0: free", true};
inline constexpr PriceUnit kDataPriceMax{"a million tokens of text", "--max-data-price 0.25", true};
/// The price that an option names. @errors kInvalidArgument with its unit and the example.
[[nodiscard]] Result<Amount> price_argument(const char* flag, const std::string& text,
                                            const PriceUnit& unit);
/// The address behind `flag`, absent where it was not given.
/// @errors kInvalidArgument: no address, a mistyped one, or the zero address, which is nobody's.
[[nodiscard]] Result<std::optional<Address>> address_option(const char* flag,
                                                            const std::string& text);
/// What --address says, else the address of the key. @errors as address_option(), KeyOptions.
[[nodiscard]] Result<Address> asked_address(const std::string& text, const KeyOptions& keys);

}  // namespace gym::app
