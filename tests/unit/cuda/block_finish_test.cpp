#include "gym/kernels/cuda/block_finish.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "random_tensors.hpp"

namespace gym::kernels::cuda {
namespace {

constexpr std::int64_t kDotMax = std::int64_t{1} << 36;

void expect_the_definition(std::int64_t dot, std::int32_t a, std::int32_t b) {
    const std::uint32_t expected = f32::to_bits(q14_finish(q14_block_term(dot, 0), a, b));
    ASSERT_EQ(
        f32::to_bits(finish_block(narrow(dot), scale_bits(a, kDotLess), scale_bits(b, kDotLess))),
        expected)
        << "dot " << dot << ", exponents " << a << " and " << b;
}

void expect_the_totals_definition(std::int64_t total, std::int32_t a, std::int32_t b) {
    ASSERT_EQ(
        f32::to_bits(finish_total(total, scale_bits(a, kTotalLess), scale_bits(b, kTotalLess))),
        f32::to_bits(q14_finish(total, a, b)))
        << "total " << total << ", exponents " << a << " and " << b;
}

void expect_at_all_exponents(std::int64_t dot) {
    // Ordinary, at either end of f32's range, beyond it, into subnormals, and poisoned.
    constexpr std::array<std::array<std::int32_t, 2>, 10> kExponents{{{0, 0},
                                                                      {-3, 7},
                                                                      {64, 64},
                                                                      {128, 128},
                                                                      {-100, -100},
                                                                      {-60, -62},
                                                                      {-64, -70},
                                                                      {-100, 1},
                                                                      {129, 0},
                                                                      {-5, 129}}};
    for (const auto& [a, b] : kExponents) {
        expect_the_definition(dot, a, b);
        expect_the_definition(-dot, a, b);
    }
}

TEST(BlockFinish, RoundsLikeTheDefinitionAtItsBorders) {
    // Around every power of two that a dot can have: where high and low change, where f32 stops
    // having every integer, and at the largest dot.
    for (int power = 0; power <= 36; ++power)
        for (std::int64_t near = -70; near <= 70; ++near) {
            const std::int64_t dot = (std::int64_t{1} << power) + near;
            if (dot >= 0 && dot <= kDotMax) expect_at_all_exponents(dot);
        }
    // Ties: halfway between two f32, to either side of even, and one off.
    for (int power = 24; power < 36; ++power) {
        const std::int64_t ulp = std::int64_t{1} << (power - 23);
        for (std::int64_t odd = 0; odd < 4; ++odd)
            for (std::int64_t off = -1; off <= 1; ++off)
                expect_at_all_exponents((std::int64_t{1} << power) + odd * ulp + ulp / 2 + off);
    }
}

TEST(BlockFinish, RoundsLikeTheDefinitionAnywhere) {
    engine::testing::Rng rng(engine::testing::test_seed());
    std::uniform_int_distribution<std::int64_t> dots(-kDotMax, kDotMax);
    std::uniform_int_distribution<std::int32_t> exponents(-100, 129);
    for (int i = 0; i < 100'000 * engine::testing::test_scale(); ++i)
        expect_the_definition(dots(rng) >> (rng() % 36), exponents(rng), exponents(rng));
}

TEST(BlockFinish, TotalsRoundLikeTheDefinition) {
    engine::testing::Rng rng(engine::testing::test_seed());
    std::uniform_int_distribution<std::int32_t> exponents(-100, 129);
    std::uniform_int_distribution<std::int64_t> totals(INT64_MIN, INT64_MAX);
    for (std::int32_t a = -100; a <= 129; ++a)
        for (const std::int32_t b : {-100, -58, -1, 0, 42, 127, 128, 129})
            for (const std::int64_t total : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
                                             INT64_MAX, INT64_MIN, totals(rng)})
                expect_the_totals_definition(total, a, b);
    for (int i = 0; i < 100'000 * engine::testing::test_scale(); ++i)
        expect_the_totals_definition(totals(rng) >> (rng() % 64), exponents(rng), exponents(rng));
}

TEST(BlockFinish, PartsOfADotAreThoseOfItsThreeProducts) {
    engine::testing::Rng rng(engine::testing::test_seed());
    // hh, ll and ss have any values that the products of a block can have.
    std::uniform_int_distribution<std::int32_t> high(-(1 << 23), 1 << 23),
        low(-(1 << 29) - (1 << 23), (1 << 29) + (1 << 23)),
        sum(-(1 << 30) - (1 << 25), (1 << 30) + (1 << 25));
    const auto expect_parts = [](std::int64_t hh, std::int64_t ll, std::int64_t ss) {
        const std::int64_t dot = hh * 16384 + (ss - hh - ll) * 128 + ll;
        const BlockDot parts =
            block_dot(static_cast<std::int32_t>(hh), static_cast<std::int32_t>(ll),
                      static_cast<std::int32_t>(ss));
        ASSERT_EQ(std::int64_t{parts.high} * 16384 + parts.low, dot)
            << hh << ", " << ll << ", " << ss;
        ASSERT_GE(parts.low, 0);
        ASSERT_LT(parts.low, 16384);
    };
    for (const std::int64_t hh : {high.min(), -1, 0, 1, high.max()})
        for (const std::int64_t ll : {low.min(), -129, -128, -1, 0, 127, 128, low.max()})
            for (const std::int64_t ss : {sum.min(), -1, 0, 1, sum.max()})
                expect_parts(hh, ll, ss);
    for (int i = 0; i < 100'000 * engine::testing::test_scale(); ++i)
        expect_parts(high(rng), low(rng), sum(rng));
}

TEST(BlockFinish, TermsRoundLikeTheDefinition) {
    engine::testing::Rng rng(engine::testing::test_seed());
    std::uniform_int_distribution<std::int64_t> dots(-kDotMax, kDotMax);
    for (std::int32_t shift = 0; shift <= 300; ++shift) {
        const std::int64_t half = shift > 16 && shift < 53 ? std::int64_t{1} << (shift - 17) : 1;
        for (const std::int64_t dot : {std::int64_t{0}, half, -half, 3 * half, -3 * half, half + 1,
                                       half - 1, kDotMax, -kDotMax, dots(rng)}) {
            if (dot > kDotMax || dot < -kDotMax) continue;
            ASSERT_EQ(block_term(dot, shift), q14_block_term(dot, shift)) << dot << ", " << shift;
        }
    }
    for (int i = 0; i < 100'000 * engine::testing::test_scale(); ++i) {
        const std::int64_t dot = dots(rng) >> (rng() % 36);
        const auto shift = static_cast<std::int32_t>(rng() % 80);
        ASSERT_EQ(block_term(dot, shift), q14_block_term(dot, shift)) << dot << ", " << shift;
    }
}

}  // namespace
}  // namespace gym::kernels::cuda
