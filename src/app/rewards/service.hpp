#pragma once

#include <functional>
#include <memory>

#include "chain_adapter.hpp"
#include "gym/chain_store/postgres.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/sealer.hpp"
#include "gym/rewards/daemon.hpp"

namespace gym::app {

struct RewardsServiceOptions {
    rewards::RewardsConfig rewards;  ///< the domain is filled in from the deployment
    contracts::Deployment deployment;
    chain::TxPolicy policy;  ///< the chain id is filled in
    std::filesystem::path publish_folder;
    std::filesystem::path blob_folder;  ///< empty: files only in publish_folder
};

/// Everything that gym-rewards consists of, wired: database, chain, accounting, settlement,
/// transactions. Dropping it at any moment and making it again continues where the database says.
/// Not thread-safe.
class RewardsService {
  public:
    /// References must outlive it. @errors as the stores.
    static Result<std::unique_ptr<RewardsService>> create(db::Database& database,
                                                          chain::ChainClient& client,
                                                          const crypto::PrivateKey& settler,
                                                          const Clock& clock,
                                                          RewardsServiceOptions options);

    struct Tick {
        std::size_t seals = 0;  ///< written over the ledger's transfers
        rewards::TickReport rewards;
        chain::TickReport chain;
    };
    /// Seals the ledger if a second has passed since the last time, then one pass over feeds,
    /// epochs and transactions: history is sealed also while the chain is away. @errors
    /// kUnavailable, kTimeout: try again; others need a person.
    Result<Tick> tick();

  private:
    RewardsService(db::Database& database, chain::ChainClient& client,
                   const crypto::PrivateKey& settler, const Clock& clock,
                   const RewardsServiceOptions& options,
                   std::unique_ptr<chain::FollowerStore> follower);

    Result<std::size_t> seal();

    const Clock& clock_;
    crypto::PrivateKey key_;
    ledger::Sealer sealer_;
    UnixMs sealed_at_ = 0;
    bool fee_published_ = false;
    std::unique_ptr<chain::IntentStore> intents_;
    std::unique_ptr<chain::FollowerStore> follower_;
    chain::TxManager manager_;
    ContractChain contracts_;
    ChainFeed feed_;
    rewards::Accounting accounting_;
    rewards::Settlement settlement_;
    rewards::Daemon daemon_;
};

/// Writes epoch-N.json into `folder` and, if `blob_folder` is not empty, the blob; both atomically.
rewards::PublishFile publish_to(std::filesystem::path folder, std::filesystem::path blob_folder);

}  // namespace gym::app
