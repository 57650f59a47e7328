#pragma once

#include <cstdint>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"

/// Stake and draws follow what a unit is worth (docs/REWARDS.md, "Stake and the value of a unit").
/// Pure functions.
namespace gym::protocol {

/// Enough where 5 % of the units are drawn, 30 % of the verifiers collude, the uptime bonus is 5 %,
/// and missed clocks cost half of a stake (SafeBounds::stake_per_unit_pay).
inline constexpr std::uint32_t kStakePerUnitPay = 120;

/// What a worker needs to have at stake for a unit.
struct StakeRule {
    Amount minimum;                  ///< of any unit, in wei; zero: no unit needs a stake
    std::uint32_t per_unit_pay = 0;  ///< times what the unit pays for compute

    [[nodiscard]] bool needs_stake() const { return !minimum.is_zero(); }
};

/// What a job pays, and how much a unit of it computes.
struct UnitPay {
    Amount price_wei_per_pflop;
    std::uint64_t flops_per_step = 0;
    std::uint32_t steps = 0;
};

/// What the unit counts in a worker's record (work_value()). @errors kOutOfRange.
[[nodiscard]] Result<Amount> unit_value(const UnitPay& unit);

/// Zero without a minimum. @errors kOutOfRange for a pay beyond 256 bits.
[[nodiscard]] Result<Amount> stake_needed(const StakeRule& rule, const UnitPay& unit);

/// The most steps, up to the unit's, for which the stake is enough; 0 below the minimum.
[[nodiscard]] std::uint32_t steps_backed(const StakeRule& rule, const UnitPay& unit,
                                         const Amount& stake);

}  // namespace gym::protocol
