#include "gym/dispute/outer_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"
#include "gym/program/train_program.hpp"
#include "random_seed.hpp"

namespace gym::dispute {
namespace {

namespace f = kernels::f32;

/// The mean is the momentum after a step from none.
std::uint32_t mean(const std::vector<float>& deltas, std::uint32_t held) {
    const kernels::ExactFloatEnvironment environment;
    TraceHeader header;
    header.outer_momentum = f::to_bits(0.5F);
    const auto count = static_cast<std::uint32_t>(deltas.size());
    return f::to_bits(outer_element(header, {}, deltas.data(), {count, held}).momentum);
}

constexpr std::uint32_t kNan = 0x7FC00000;

/// The contract's test has the same numbers.
TEST(OuterStep, AWithdrawnDeltaIsSubtracted) {
    const auto mean = [](const program::DeltaGroups& groups) {
        TraceHeader header;
        const std::array<float, 3> deltas{3, 6, 5};
        const kernels::ExactFloatEnvironment environment;
        return outer_element(header, {}, deltas.data(), {3, groups}).momentum;
    };
    EXPECT_EQ(mean({0, 1, 0}), 2.0F) << "(6 + 12 - 10) / 4";
    EXPECT_EQ(mean({0, 1, 1}), 3.25F) << "(6 + 12 - 5) / 4";
    EXPECT_EQ(f::to_bits(mean({1, 1, 1})), 0x40155555U) << "(6 + 6 - 5) / 3";
    EXPECT_EQ(mean({2, 1, 0}), -0.5F) << "(3 + 6 - 10) / 2";
}

TEST(OuterStep, AHeldDeltaCountsHalf) {
    EXPECT_EQ(mean({3, 6}, 0), f::to_bits(4.5F));
    EXPECT_EQ(mean({3, 6}, 1), f::to_bits(4)) << "(3 + 3 + 6) / 3";
    EXPECT_EQ(mean({3, 6}, 2), f::to_bits(4.5F)) << "only held ones";
    EXPECT_EQ(mean({1, 2, 4, 8}, 2), f::to_bits(3)) << "(1 + 1 + 2 + 2 + 4 + 8) / 6";
}

/// As contracts/test/OuterStep.t.sol.
TEST(OuterStep, DoublesStrangeNumbers) {
    const float large = f::from_bits(0x7F000000), infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(mean({large, 0}, 0), 0x7E800000U);
    EXPECT_EQ(mean({large, 0}, 1), kNan) << "doubled it is infinite";
    EXPECT_EQ(mean({0, large}, 1), f::to_bits(f::div(large, 3)));
    EXPECT_EQ(mean({1, infinity}, 1), kNan);
    EXPECT_EQ(mean({f::from_bits(kNan), 1}, 1), kNan);
    EXPECT_EQ(mean({-0.0F, -0.0F}, 1), 0U) << "an exact sum has no -0";
}

/// Half the weight is the weight of one in a list that has each of the others twice.
TEST(OuterStep, IsTheMeanOfAListThatHasTheOthersTwice) {
    std::mt19937_64 rng(gym::testing::random_seed());
    for (int i = 0; i < 500; ++i) {
        const std::size_t count = 2 + rng() % (program::kDeltasMax / 2 - 1);
        const auto held = static_cast<std::uint32_t>(1 + rng() % (count - 1));
        std::vector<float> deltas, twice;
        std::normal_distribution<float> number(0, 1);
        for (std::size_t k = 0; k < count; ++k) {
            deltas.push_back(number(rng));
            twice.insert(twice.end(), k < count - held ? 2 : 1, deltas.back());
        }
        // Doubling may take a bit of the sum that two of one keep.
        const float a = f::from_bits(mean(deltas, held)), b = f::from_bits(mean(twice, 0));
        EXPECT_NEAR(a, b, 1e-6F);
    }
}

program::DeltaGroups random_groups(std::mt19937_64& rng, std::uint32_t count) {
    const std::uint32_t withdrawn = rng() % 2 == 0 ? 0 : rng() % (program::kWithdrawnMax + 1);
    const std::uint32_t added = count - withdrawn;
    return {rng() % 3 == 0 ? 0 : rng() % (added + 1), withdrawn, rng() % (withdrawn + 1)};
}

/// A long column is looked at in parts: bit for bit what one exact sum of all values gives.
TEST(OuterStep, OfPartsIsThatOfAllValues) {
    std::mt19937_64 rng(gym::testing::random_seed());
    const kernels::ExactFloatEnvironment environment;
    TraceHeader header;
    header.outer_momentum = f::to_bits(0.9F);
    header.outer_learning_rate = f::to_bits(0.7F);
    for (int round = 0; round < 100; ++round) {
        const auto count =
            round == 0 ? program::kDeltasMax : static_cast<std::uint32_t>(1025 + rng() % 7168);
        const DeltaCount counted{count, random_groups(rng, count)};
        std::vector<float> values(count);
        for (float& value : values)
            value = std::ldexp(std::normal_distribution<float>()(rng),
                               static_cast<int>(rng() % (round % 2 == 0 ? 3 : 60)));
        if (round % 20 == 7) values[rng() % count] = std::numeric_limits<float>::infinity();
        if (round % 20 == 8) values[rng() % count] = f::from_bits(kNan);
        const std::vector<ColumnPart> parts = column_parts_of(values, counted);
        ASSERT_EQ(parts.size(), (count + 1023) / 1024);
        const OuterElement whole = outer_element(header, {1, 2}, values.data(), counted);
        const OuterElement made = outer_element(header, {1, 2}, parts, counted);
        ASSERT_EQ(f::to_bits(made.base), f::to_bits(whole.base)) << count;
        ASSERT_EQ(f::to_bits(made.momentum), f::to_bits(whole.momentum)) << count;
    }
}

TEST(OuterStep, HasPartsWhereAColumnIsLong) {
    EXPECT_EQ(column_parts(1), 0U);
    EXPECT_EQ(column_parts(1024), 0U);
    EXPECT_EQ(column_parts(1025), 2U);
    EXPECT_EQ(column_parts(program::kDeltasMax), 8U);
    // Cursors may say any number, and contracts count in 256 bits.
    EXPECT_EQ(column_parts((std::uint64_t{1} << 42) + 4'100), (std::uint64_t{1} << 32) + 5);
    EXPECT_EQ(column_parts(~std::uint64_t{0}), std::uint64_t{1} << 54);
}

/// Values lie apart where a block of all deltas is looked at.
TEST(OuterStep, TakesValuesThatLieApart) {
    const kernels::ExactFloatEnvironment environment;
    const std::vector<float> apart{3, -9, 6, -9, 5};
    const OuterElement element = outer_element({}, {}, apart.data(), {3, 1}, 2);
    EXPECT_EQ(f::to_bits(element.momentum), mean({3, 6, 5}, 1));
}

}  // namespace
}  // namespace gym::dispute
