#pragma once

#include <functional>
#include <memory>

#include "gym/chain/client.hpp"
#include "gym/chain/log_follower.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/rewards/daemon.hpp"
#include "gym/rewards/settlement_chain.hpp"

namespace gym::app {

/// The contracts, for settlement: an order is an intent of the transaction manager, under the same
/// id. References must outlive it. Not thread-safe.
class ContractChain final : public rewards::SettlementChain {
  public:
    ContractChain(chain::ChainClient& client, chain::TxManager& manager,
                  const contracts::Deployment& deployment);

    Result<rewards::OrderStatus> release(const std::string& id,
                                         const rewards::ReleaseOrder& order) override;
    Result<rewards::OrderStatus> submit_root(const std::string& id,
                                             const rewards::RootOrder& order) override;
    Result<rewards::OrderStatus> lock(const std::string& id,
                                      const registry::StoredOrder& order) override;
    Result<rewards::OrderStatus> unlock(const std::string& id,
                                        const rewards::UnlockOrder& order) override;
    Result<rewards::OrderStatus> show_leaf(const std::string& id,
                                           const rewards::LeafOrder& order) override;
    Result<rewards::Holdings> holdings(std::uint64_t block) override;
    Result<rewards::PayoutLimits> limits() override;

  private:
    /// Checks of the contracts' state before an order is sent, for the first time or again. Either
    /// may be empty.
    struct Asks {
        std::function<Result<bool>()> happened;        ///< in a finalized block
        std::function<Result<std::string>()> forbids;  ///< why not now; may be empty
        std::function<Result<std::string>()> ends;     ///< why never; may be empty
    };
    Result<rewards::OrderStatus> bring(const std::string& id, const contracts::ContractCall& call,
                                       const Asks& asks);
    Result<bool> is_locked(const registry::StoredOrder& order, chain::BlockTag at);
    Result<std::string> never_locked(const registry::StoredOrder& order);
    Result<bool> is_released(const rewards::ReleaseOrder& order);
    Result<std::string> above_caps(const rewards::ReleaseOrder& order);
    Result<bool> is_posted(const rewards::RootOrder& order);

    chain::ChainClient& client_;
    chain::TxManager& manager_;
    contracts::GymToken token_;
    contracts::JobEscrow escrow_;
    contracts::RewardsDistributor distributor_;
};

/// Follows the events of JobEscrow and RewardsDistributor and hands them on in the words of the
/// rewards module. References must outlive it. Not thread-safe.
class ChainFeed {
  public:
    using Handler = std::function<Status(const rewards::ChainEvent&)>;

    ChainFeed(chain::ChainClient& client, chain::FollowerStore& store,
              const contracts::Deployment& deployment);

    /// One pass; calls `handler` once per finalized event, in order (again after a crash).
    Result<rewards::ChainProgress> follow(const Handler& handler);

  private:
    Status deliver(const chain::LogKey& key, const chain::Log& log);

    contracts::JobEscrow escrow_;
    contracts::RewardsDistributor distributor_;
    chain::LogFollower follower_;
    const Handler* handler_ = nullptr;  // during follow() only
};

}  // namespace gym::app
