#pragma once

#include "gym/chain/client.hpp"
#include "gym/contracts/rewards_distributor.hpp"

namespace gym::app {

/// The payout roots that the chain has.
struct PayoutRoots {
    contracts::RootSubmitted pending;  ///< epoch 0: none waits
    contracts::RootSubmitted active;   ///< epoch 0: none has become active yet
    /// Nothing before it can differ from what it was made of.
    [[nodiscard]] const contracts::RootSubmitted& newest() const {
        return pending.epoch != 0 ? pending : active;
    }
};

/// @errors those of the node.
[[nodiscard]] Result<PayoutRoots> payout_roots(chain::ChainClient& client,
                                               const contracts::RewardsDistributor& distributor);

}  // namespace gym::app
