#pragma once

#include <memory>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/chain/deploy.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/clock.hpp"
#include "network_options.hpp"

namespace gym::app {

/// The user's key on a chain, with its transactions remembered in the data directory: a command
/// that was interrupted goes on where it stopped. Not thread-safe.
class ChainSender {
  public:
    /// @errors those of the keystore, the chain; kMismatch if the chain is not the deployment's.
    static Result<std::unique_ptr<ChainSender>> open(const KeyOptions& keys,
                                                     const ChainOptions& chain);

    [[nodiscard]] const Address& address() const noexcept { return manager_->sender(); }
    [[nodiscard]] const crypto::PrivateKey& key() const noexcept { return *key_; }
    [[nodiscard]] chain::ChainClient& client() noexcept { return *client_; }
    [[nodiscard]] const chain::Deployment& contracts() const noexcept { return contracts_; }

    /// Sends `call`, once per `id`, and waits until it is final. @errors kConflict with the
    /// contract's reason, kTimeout.
    [[nodiscard]] Result<chain::Outcome> execute(const chain::ContractCall& call,
                                                 const std::string& id);

  private:
    ChainSender() = default;
    SystemClock clock_;
    chain::Deployment contracts_;
    std::unique_ptr<crypto::PrivateKey> key_;
    std::unique_ptr<chain::ChainClient> client_;
    std::unique_ptr<chain_store::SqliteChainStore> store_;
    std::unique_ptr<chain::IntentStore> intents_;
    std::unique_ptr<chain::TxManager> manager_;
};

}  // namespace gym::app
