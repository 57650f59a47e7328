// The scalar semantics of Q14 against an independent reference.
#include "gym/kernels/q14.h"

#include "q14_cases.hpp"

namespace gym::kernels {
namespace {

TEST(Q14, ElementEqualsTheIndependentReference) {
    SCOPED_TRACE(seed_note());
    for (const Q14Case& c : Q14CaseMaker(test_seed()).all()) {
        SCOPED_TRACE(c.name);
        const std::vector<float> expected = q14_reference::product(c);
        // Every element of a large product would only repeat the same code.
        const int64_t step = c.m * c.n > 300 ? 7 : 1;
        for (int64_t i = 0; i < c.m * c.n; i += step) {
            const float got =
                q14_dot({c.a.data() + i / c.n * c.k, c.k, 1}, {c.b.data() + i % c.n * c.k, c.k, 1});
            ASSERT_EQ(f32::to_bits(got), f32::to_bits(expected[static_cast<size_t>(i)]))
                << c.m << "x" << c.n << "x" << c.k << " element " << i;
        }
    }
}

TEST(Q14, DigitsRebuildEveryQuantisedValue) {
    for (int32_t q = -kQ14Max; q <= kQ14Max; ++q) {
        const int32_t high = q14_high_digit(q), low = q14_low_digit(q);
        ASSERT_EQ(128 * high + low, q);
        ASSERT_TRUE(high >= -64 && high <= 64 && low >= -64 && low <= 63) << q;
        ASSERT_TRUE(high + low >= -128 && high + low <= 127) << q;
    }
}

TEST(Q14, QuantisationRoundsTiesToEvenAndReachesBothEnds) {
    EXPECT_EQ(q14_quantise(0x1.fffffep-1f, 0), 8192);
    EXPECT_EQ(q14_quantise(-0x1.fffffep-1f, 0), -8192);
    EXPECT_EQ(q14_quantise(0.5f, 0), 4096);
    EXPECT_EQ(q14_quantise(2.5f * 0x1p-13f, 0), 2);
    EXPECT_EQ(q14_quantise(3.5f * 0x1p-13f, 0), 4);
    EXPECT_EQ(q14_quantise(1.0f, kExponentPoisoned), 0);
    EXPECT_EQ(q14_quantise(number(f32::kInfinityBits), kExponentPoisoned), 0);
    EXPECT_EQ(q14_quantise(0x1p-101f, -100), 4096);
}

TEST(Q14, BlockTermsRoundTiesToEven) {
    EXPECT_EQ(q14_block_term(5, 0), 5 * 65536);
    EXPECT_EQ(q14_block_term(int64_t{1} << 36, 0), int64_t{1} << 52);
    EXPECT_EQ(q14_block_term(-3, 16), -3);
    EXPECT_EQ(q14_block_term(1, 17), 0);
    EXPECT_EQ(q14_block_term(3, 17), 2);
    EXPECT_EQ(q14_block_term(5, 17), 2);
    EXPECT_EQ(q14_block_term(-1, 17), 0);
    EXPECT_EQ(q14_block_term(-3, 17), -2);
    EXPECT_EQ(q14_block_term(7, 18), 2);
    EXPECT_EQ(q14_block_term(-(int64_t{1} << 36), 52), -1);
    EXPECT_EQ(q14_block_term(int64_t{1} << 36, 53), 0);  // a tie
    EXPECT_EQ(q14_block_term((int64_t{1} << 36) - 1, 54), 0);
    EXPECT_EQ(q14_block_term(-(int64_t{1} << 36), 456), 0);
}

TEST(Q14, FixedExponentAcceptsUpToItsPower) {
    EXPECT_TRUE(q14_fits(1.0f, 0));
    EXPECT_TRUE(q14_fits(-1.0f, 0));
    EXPECT_FALSE(q14_fits(0x1.000002p0f, 0));
    EXPECT_FALSE(q14_fits(number(f32::kNanBits), 0));
    EXPECT_TRUE(q14_fits(std::numeric_limits<float>::max(), 128));
    EXPECT_FALSE(q14_fits(number(f32::kInfinityBits), 128));
}

}  // namespace
}  // namespace gym::kernels
