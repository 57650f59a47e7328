#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"

namespace gym::contracts {

/// That there is code at `address`. @param name for people: "job escrow".
/// @errors kNotFound naming the contract, the address and the remedy; those of the chain.
Status check_contract(chain::ChainClient& client, const Address& address, const char* name);

struct AccountOptions {
    std::string url;              ///< JSON-RPC endpoint
    std::filesystem::path store;  ///< SQLite file that remembers the transactions
    /// How long execute() waits; the default is two epochs of a public chain until it is final.
    std::uint32_t timeout_ms = 600'000;
    chain::OnSent on_sent;  ///< called for each transaction; may be empty
    /// How long a nonce that another program of this key took has to be final before the call is
    /// sent again with another one.
    std::uint32_t supersede_after_ms = 60'000;
};

/// One key on one chain, with its transactions remembered in a file: a program that was interrupted
/// continues where it stopped. Not thread-safe.
class Account {
  public:
    /// @errors of the store and the chain.
    static Result<std::unique_ptr<Account>> open(const AccountOptions& options,
                                                 crypto::PrivateKey key);
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

    [[nodiscard]] const Address& address() const noexcept { return key_.address(); }
    [[nodiscard]] std::uint64_t chain_id() const noexcept { return chain_id_; }
    [[nodiscard]] chain::ChainClient& client() noexcept { return *client_; }
    [[nodiscard]] chain::TxManager& manager() noexcept { return *manager_; }

    /// Sends `call`, once per `id`, or once per call if it is empty, and waits until it is final.
    /// Sends again an intent that ended under this id without taking effect
    /// (TxManager::submit_idempotent), and one whose nonce another program of this key took
    /// meanwhile: that transaction can never be mined.
    /// @errors kInsufficientFunds at once if the account cannot pay for the gas, kConflict with the
    /// contract's reason, kTimeout.
    [[nodiscard]] Result<chain::Outcome> execute(const ContractCall& call, std::string id = {});
    /// Signs a permit and moves `amount` of this account's tokens into the job escrow, for `owner`;
    /// once per `id`, or once per call if it is empty. It succeeded only if the escrow's own event
    /// in the receipt says so. @errors kNotFound before anything is signed if there is no contract;
    /// as execute(); kMismatch if the transaction moved nothing, or something else.
    [[nodiscard]] Result<chain::Outcome> deposit(const Deployment& contracts, const Address& owner,
                                                 const Amount& amount, std::string id = {});

    /// As deposit(), into the stake of `owner`.
    [[nodiscard]] Result<chain::Outcome> stake(const Deployment& contracts, const Address& owner,
                                               const Amount& amount, std::string id = {});

  private:
    /// This account's signature that lets `spender` take `amount` for a while.
    struct Permit {
        crypto::Signature signature;
        std::uint64_t deadline_s = 0;
        std::string name;  ///< another one for each permit: part of an intent's id
    };
    [[nodiscard]] Result<Permit> permit(const Deployment& contracts, const Address& spender,
                                        const Amount& amount);
    Status check_gas_money(const ContractCall& call);
    /// The receipt of a transaction that succeeded.
    [[nodiscard]] Result<chain::Receipt> receipt_of(const chain::Outcome& outcome);
    Account(crypto::PrivateKey key, const AccountOptions& options)
        : key_(std::move(key)), timeout_ms_(options.timeout_ms), on_sent_(options.on_sent) {}

    SystemClock clock_;
    crypto::PrivateKey key_;
    std::uint32_t timeout_ms_;
    chain::OnSent on_sent_;
    std::uint64_t chain_id_ = 0;
    std::unique_ptr<chain::ChainClient> client_;
    std::unique_ptr<chain_store::SqliteChainStore> store_;
    std::unique_ptr<chain::IntentStore> intents_;
    std::unique_ptr<chain::TxManager> manager_;
};

}  // namespace gym::contracts
