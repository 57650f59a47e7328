#pragma once

#include "gym/chain/contracts.hpp"

namespace gym::app {

/// The payout roots that the chain has.
struct PayoutRoots {
    chain::RootSubmitted pending;  ///< epoch 0: none waits
    chain::RootSubmitted active;   ///< epoch 0: none has become active yet
    /// Nothing before it can differ from what it was made of.
    [[nodiscard]] const chain::RootSubmitted& newest() const {
        return pending.epoch != 0 ? pending : active;
    }
};

/// @errors those of the node.
[[nodiscard]] Result<PayoutRoots> payout_roots(chain::ChainClient& client,
                                               const chain::RewardsDistributor& distributor);

}  // namespace gym::app
