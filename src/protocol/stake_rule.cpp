#include "gym/protocol/stake_rule.hpp"

#include <algorithm>

#include "gym/protocol/price_floor.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::protocol {
namespace {

/// For `steps`, rounded up, so that no unit is backed by less than its pay demands.
Result<Amount> stake_of_pay(const StakeRule& rule, const UnitPay& unit, std::uint32_t steps) {
    GYM_TRY(const Amount flops, Amount(unit.flops_per_step).mul_div(Amount(steps), Amount(1)));
    GYM_TRY(const Amount times, flops.mul_div(Amount(rule.per_unit_pay), Amount(1)));
    GYM_TRY(const Amount stake, times.mul_div(unit.price_wei_per_pflop, Amount(kFlopsPerPflop)));
    return stake.plus(Amount(1));
}

}  // namespace

Result<Amount> unit_value(const UnitPay& unit) {
    GYM_TRY(const Amount step, work_value(unit.flops_per_step, unit.price_wei_per_pflop));
    return step.mul_div(Amount(unit.steps), Amount(1));
}

Result<Amount> stake_needed(const StakeRule& rule, const UnitPay& unit) {
    if (!rule.needs_stake() || rule.per_unit_pay == 0) return rule.minimum;
    GYM_TRY(const Amount of_pay, stake_of_pay(rule, unit, unit.steps));
    return std::max(rule.minimum, of_pay);
}

std::uint32_t steps_backed(const StakeRule& rule, const UnitPay& unit, const Amount& stake) {
    if (stake < rule.minimum) return 0;
    std::uint32_t low = 0, high = unit.steps;
    while (low < high) {
        const std::uint32_t middle = high - (high - low) / 2;  // above low
        UnitPay part = unit;
        part.steps = middle;
        const auto needed = stake_needed(rule, part);
        if (needed.ok() && *needed <= stake)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

}  // namespace gym::protocol
