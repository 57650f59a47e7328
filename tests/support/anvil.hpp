#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/chain/private_chain.hpp"
#include "gym/chain/tx_manager.hpp"

namespace gym::testing {

/// A transaction that the node signs.
struct NodeTransaction {
    Address from;
    std::optional<Address> to{};  ///< none: a contract is created
    Bytes data{};
    Amount value_wei{};
    std::optional<Amount> gas_price_wei{};  ///< none: the node's choice
    std::uint64_t gas = 15'000'000;         ///< below EIP-7825's bound
};

/// A number as JSON-RPC has it: "0x10".
std::string quantity(const Amount& amount);

/// A private chain for one test, in a temporary folder; both go with the object, also when the test
/// fails. Setting it up aborts on failure: a test cannot go on without its chain.
class TestAnvil {
  public:
    explicit TestAnvil(chain::AnvilOptions options = {});
    ~TestAnvil();
    TestAnvil(const TestAnvil&) = delete;
    TestAnvil& operator=(const TestAnvil&) = delete;

    chain::PrivateAnvil& node() { return *node_; }
    chain::ChainClient& client() { return *client_; }
    [[nodiscard]] const std::string& url() const { return node_->rpc_url(); }
    [[nodiscard]] std::uint64_t chain_id() const { return options_.chain_id; }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

    /// Ends the node (by SIGKILL if `crash`) without starting it again.
    void stop(bool crash);
    /// Starts it again on the same port.
    void start();
    /// Writes down all blocks, receipts and states as they are now, for the next start() of a node
    /// that persists: what a crash does not take from a node with a database.
    void save();
    /// A node method whose failure fails the test program.
    std::string rpc(const std::string& method, const std::string& params_json);
    /// A key of this chain, by index, with 1,000 ETH.
    crypto::PrivateKey funded_key(std::uint32_t index);
    /// An account whose transactions the node signs; others after anvil_autoImpersonateAccount.
    Address node_account();
    /// Sends a transaction and waits for its block, on a chain that mines each at once.
    chain::Receipt transact(const NodeTransaction& tx);
    void mine(std::uint32_t count) { rpc("anvil_mine", "[" + std::to_string(count) + "]"); }

  private:
    chain::AnvilOptions options_;
    std::filesystem::path folder_;
    std::optional<chain::PrivateAnvil> node_;
    std::unique_ptr<chain::ChainClient> client_;
};

/// Policy for tests: quick polls, this chain.
chain::TxPolicy test_policy(std::uint64_t chain_id);

}  // namespace gym::testing
