#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/stake.hpp"

namespace gym::app {

/// Stake that is being released and thaws.
struct OpenThaw {
    Amount amount;  ///< when it began
    Amount worth;   ///< what `gym stake withdraw` would pay for it now: less after a slash
    std::uint64_t available_at_s = 0;
};

/// Stake of an address, as the contract holds it.
struct StakeState {
    Amount active;
    Amount thawing;
    std::uint64_t locks = 0;
    std::vector<OpenThaw> thaws;  ///< oldest first
    Amount slashed;               ///< what proven faults took so far
    std::uint64_t thaw_period_s = 0;
    std::uint64_t chain_time_s = 0;
    Amount wallet;  ///< tokens that the address holds itself
    contracts::Stake::Keys keys;
};

/// What `events` left of an owner's thaws: the last `count` of them, oldest first, with what each
/// is worth as Stake.sol computes it. @param events all of the owner's, in the chain's order.
/// @errors kMismatch: the events are not all, or of several owners.
[[nodiscard]] Result<std::vector<OpenThaw>> open_thaws(
    std::span<const contracts::StakeEvent> events, std::uint64_t count);

/// @errors as chain::ChainClient.
[[nodiscard]] Result<StakeState> read_stake(chain::ChainClient& client,
                                            const contracts::Deployment& contracts,
                                            const Address& owner);

}  // namespace gym::app
