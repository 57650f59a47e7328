#pragma once

#include <cstdint>

#include "gym/common/result.hpp"
#include "gym/game/state.hpp"

namespace gym::game {

/// The terms of disputes and of stake, fixed for good when the contracts are deployed.
struct DisputeParams : DisputeTerms {
    std::uint64_t window_blocks = 7'200;  ///< after an epoch's root, in which games are opened
    /// Before an epoch's block: a commitment that was published so early has to be in it.
    std::uint64_t notice_blocks = 64;
    std::uint64_t thaw_period_s = std::uint64_t{7} * 86'400;  ///< from thaw() to withdraw()
    std::uint32_t burned_ppm = 500'000;                       ///< of a slash, at least half
    /// Share of a slash, of provers beside the finder; burned if there are none.
    std::uint32_t compensation_ppm = 100'000;
    std::uint32_t block_time_s = 12;      ///< the longest that a block usually takes
    std::uint64_t inclusion_delay_s = 0;  ///< until a transaction is forced in; 0: not known
};

/// Checks that every side has its time and that no stake leaves before it could be slashed
/// (docs/adr/0004-dispute-game.md): settling >= 2 clocks, clock >= 2 inclusion delays,
/// thaw period >= window + 2 clocks, and the bounds of the contracts.
/// @errors kInvalidArgument naming both values and what to change.
Status check_dispute_params(const DisputeParams& params);

/// Terms of games about verifiers' reports (docs/adr/0045-verifiers-stake.md). A report comes after
/// its epoch's root, at most a window later, so these windows and the stake's thaw period are
/// longer by a window. @pre check_dispute_params.
[[nodiscard]] DisputeParams report_params(const DisputeParams& units);

}  // namespace gym::game
