#include "payout_roots.hpp"
#include "gym/contracts/rewards_distributor.hpp"

namespace gym::app {

Result<PayoutRoots> payout_roots(chain::ChainClient& client,
                                 const contracts::RewardsDistributor& distributor) {
    PayoutRoots out;
    // In this order: a root that becomes active in between is found once at least.
    GYM_TRY(out.pending, distributor.pending_root(client));
    GYM_TRY(out.active, distributor.active_root(client));
    return out;
}

}  // namespace gym::app
