#pragma once

#include <memory>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/chain/deploy.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/devnet/layout.hpp"

namespace gym::devnet {

/// A key holder's access to the chain, with a transaction store of its own below layout.root. Not
/// thread-safe.
class Wallet {
  public:
    static Result<std::unique_ptr<Wallet>> open(const Layout& layout, const std::string& holder);

    [[nodiscard]] const Address& address() const { return address_; }
    [[nodiscard]] chain::ChainClient& client() { return *client_; }
    [[nodiscard]] chain::TxManager& manager() { return *manager_; }

    /// Signs a permit and deposits `amount` of the token into the job escrow for this holder; once
    /// per `id`.
    /// @errors as chain::TxManager::execute.
    Status deposit(const chain::Deployment& deployment, const std::string& id,
                   const Amount& amount);
    /// Claims what `claim` allows; success also if it was claimed before.
    Status claim(const chain::Deployment& deployment, const std::string& id,
                 const chain::Claim& claim);

  private:
    Wallet() = default;
    SystemClock clock_;
    Address address_;
    std::uint64_t chain_id_ = 0;
    std::unique_ptr<chain::ChainClient> client_;
    std::unique_ptr<chain_store::SqliteChainStore> store_;
    std::unique_ptr<chain::IntentStore> intents_;
    std::unique_ptr<crypto::PrivateKey> key_;
    std::unique_ptr<chain::TxManager> manager_;
};

}  // namespace gym::devnet
