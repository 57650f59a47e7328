#include "gym/protocol/unit_fit.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gym/protocol/price_floor.hpp"

namespace gym::protocol {
namespace {

TEST(UnitFit, CountsTheStepsThatAMachineDoesBeforeTheDeadline) {
    const UnitLength unit{1'000, 20, 10'000};  // 20,000 FLOPs in ten seconds
    EXPECT_EQ(steps_in_time(unit, 2'000), 20U);
    EXPECT_EQ(steps_in_time(unit, 1'999), 19U);
    EXPECT_EQ(steps_in_time(unit, 99), 0U);
    EXPECT_EQ(steps_in_time(unit, 1'000'000), 20U) << "no more than it has";
    EXPECT_TRUE(is_in_time(unit, 2'000));
    EXPECT_FALSE(is_in_time(unit, 1'999));
}

TEST(UnitFit, WhatIsNotKnownIsFastEnough) {
    EXPECT_TRUE(is_in_time({0, 20, 10'000}, 1));
    EXPECT_TRUE(is_in_time({1'000, 20, 10'000}, 0));
}

TEST(UnitFit, NothingOverflows) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    constexpr auto kSteps = std::numeric_limits<std::uint32_t>::max();
    EXPECT_EQ(steps_in_time({kMost, kSteps, std::numeric_limits<std::int64_t>::max()}, kMost),
              kSteps);
    EXPECT_EQ(steps_in_time({kMost, kSteps, 999}, kMost), 0U);
    EXPECT_EQ(steps_in_time({1, 1, -1}, kMost), 0U);
}

TEST(PriceFloor, SaysBothPricesWhereOneIsTooLow) {
    const Amount floor = Amount::parse_tokens(kPricePerPflopMinGym).value();
    EXPECT_FALSE(floor.is_zero());
    EXPECT_EQ(below_floor(floor, floor), "");
    EXPECT_EQ(below_floor(Amount::parse_tokens("0.09").value(), floor),
              "'price_per_pflop' is 0.09, this network takes no job below 0.1");
}

}  // namespace
}  // namespace gym::protocol
