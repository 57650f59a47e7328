#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/deploy.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// Stake that was taken back and waits; after a slash it is worth less than it was.
struct OpenThaw {
    Amount amount;
    std::uint64_t available_at_s = 0;
};

/// What an address has in Stake.
struct StakeState {
    Amount active;
    Amount thawing;
    std::uint64_t locks = 0;
    std::vector<OpenThaw> thaws;  ///< oldest first
    std::uint64_t thaw_period_s = 0;
    std::uint64_t chain_time_s = 0;
    Amount wallet;  ///< tokens that the address holds itself
};

/// @errors as chain::ChainClient.
[[nodiscard]] Result<StakeState> read_stake(chain::ChainClient& client,
                                            const chain::Deployment& contracts,
                                            const Address& owner);

}  // namespace gym::app
