#include "gym/protocol/stake_rule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace gym::protocol {
namespace {

constexpr std::uint64_t kPflop = 1'000'000'000'000'000;

/// A step of 10^15 FLOPs, so that each pays the price.
UnitPay unit(std::uint32_t steps, std::uint64_t price) {
    return {Amount(price), kPflop, steps};
}

TEST(StakeRuleTest, AUnitNeedsAMultipleOfItsPay) {
    const StakeRule rule{Amount(100), 40};
    EXPECT_EQ(stake_needed(rule, unit(10, 5)).value(), Amount(40 * 10 * 5 + 1));
    EXPECT_EQ(stake_needed(rule, unit(1, 1)).value(), Amount(100)) << "never less than the minimum";
    EXPECT_EQ(stake_needed({Amount(100), 0}, unit(10, 5)).value(), Amount(100));
    EXPECT_TRUE(stake_needed({Amount(), 40}, unit(10, 5))->is_zero()) << "no stake is needed";
}

TEST(StakeRuleTest, AStakeBacksTheStepsWhosePayItCovers) {
    const StakeRule rule{Amount(100), 40};
    const UnitPay whole = unit(10, 5);  // 200 for each step
    EXPECT_EQ(steps_backed(rule, whole, Amount(99)), 0U) << "below the minimum";
    EXPECT_EQ(steps_backed(rule, whole, Amount(200)), 0U);
    EXPECT_EQ(steps_backed(rule, whole, Amount(201)), 1U);
    EXPECT_EQ(steps_backed(rule, whole, Amount(1'999)), 9U);
    EXPECT_EQ(steps_backed(rule, whole, Amount(2'001)), 10U);
    EXPECT_EQ(steps_backed(rule, whole, Amount(1'000'000)), 10U) << "no more than it has";
    EXPECT_EQ(steps_backed({Amount(), 40}, whole, Amount()), 10U);
    for (std::uint32_t steps = 1; steps <= 10; ++steps) {
        const Amount needed = stake_needed(rule, unit(steps, 5)).value();
        EXPECT_EQ(steps_backed(rule, whole, needed), steps);
    }
}

TEST(StakeRuleTest, APayBeyondAllBoundsIsBackedByNoStake) {
    std::array<std::uint8_t, 32> bytes;
    bytes.fill(0xff);
    const UnitPay huge{Amount::from_be32(bytes), std::numeric_limits<std::uint64_t>::max(),
                       std::numeric_limits<std::uint32_t>::max()};
    EXPECT_FALSE(stake_needed({Amount(1), 40}, huge).ok());
    EXPECT_EQ(steps_backed({Amount(1), 40}, huge, Amount(1'000)), 0U);
}

}  // namespace
}  // namespace gym::protocol
