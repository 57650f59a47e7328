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
    ASSERT_EQ(f32::to_bits(finish_block(dot, a, b)), expected)
        << "dot " << dot << ", exponents " << a << " and " << b;
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

}  // namespace
}  // namespace gym::kernels::cuda
