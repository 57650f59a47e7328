#include "gym/quality/usefulness.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "gym/quality/novelty.hpp"
#include "random_seed.hpp"

namespace gym::quality {
namespace {

std::uint32_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

std::uint32_t useful(float before, float after, float baseline) {
    return usefulness_ppm({bits(before), bits(after), bits(baseline)}).value();
}

TEST(Usefulness, IsThePartOfTheReferencesDrop) {
    EXPECT_EQ(useful(4.0F, 3.0F, 2.0F), 500'000U);
    EXPECT_EQ(useful(4.0F, 2.0F, 2.0F), 1'000'000U);
    EXPECT_EQ(useful(4.0F, 3.25F, 1.0F), 250'000U);
    EXPECT_EQ(useful(4.0F, 3.0F, 1.0F), 333'333U);
    EXPECT_EQ(useful(3.0F, 1.0F, 0.0F), 666'666U);
}

TEST(Usefulness, IsClamped) {
    EXPECT_EQ(useful(4.0F, 1.0F, 2.0F), 1'000'000U);
    EXPECT_EQ(useful(4.0F, 4.0F, 2.0F), 0U);
    EXPECT_EQ(useful(4.0F, 5.0F, 2.0F), 0U);
    EXPECT_EQ(useful(4.0F, 3.9F, 4.0F), 1'000'000U);  // the reference brings nothing
    EXPECT_EQ(useful(4.0F, 3.9F, 5.0F), 1'000'000U);
    EXPECT_EQ(useful(4.0F, 4.0F, 4.0F), 0U);
    EXPECT_EQ(useful(0.0F, 0.0F, 0.0F), 0U);
    EXPECT_EQ(useful(1.0F, 0.0F, -0.0F), 1'000'000U);
}

TEST(Usefulness, IsExactAtBothEndsOfTheRange) {
    constexpr float kLeast = std::numeric_limits<float>::denorm_min();
    constexpr float kMost = std::numeric_limits<float>::max();
    EXPECT_EQ(useful(3 * kLeast, 2 * kLeast, 0.0F), 333'333U);
    EXPECT_EQ(useful(kMost, 0.0F, 0.0F), 1'000'000U);
    // One unit in 2^277 more than nothing, and less than everything.
    EXPECT_EQ(useful(kMost, kLeast, 0.0F), 999'999U);
    EXPECT_EQ(useful(kMost, std::nextafter(kMost, 0.0F), 0.0F), 0U);
    // The normal numbers begin where the subnormal ones end.
    constexpr float kNormal = std::numeric_limits<float>::min();
    EXPECT_EQ(useful(2 * kNormal, kNormal, 0.0F), 500'000U);
    EXPECT_EQ(useful(kNormal, kNormal / 2, 0.0F), 500'000U);
}

TEST(Usefulness, RefusesWhatIsNoLoss) {
    const std::uint32_t one = bits(1.0F);
    for (const std::uint32_t bad : {bits(std::numeric_limits<float>::infinity()), 0x7fc00000U,
                                    0x7f800001U, 0xff800000U, 0xffffffffU}) {
        for (const LossBits& losses :
             {LossBits{bad, one, one}, LossBits{one, bad, one}, LossBits{one, one, bad}})
            EXPECT_EQ(usefulness_ppm(losses).error().code, ErrorCode::kInvalidArgument) << bad;
    }
    const auto negative = usefulness_ppm({one, bits(-1.0F), one});
    ASSERT_FALSE(negative.ok());
    EXPECT_EQ(negative.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(negative.error().message.find("after"), std::string::npos);
}

class UsefulnessTest : public ::testing::Test {
  protected:
    /// Losses near each other, far apart and anything.
    std::uint32_t any_loss() {
        const std::uint32_t finite = 0x7f7fffff;
        switch (random_() % 3) {
            case 0:
                return static_cast<std::uint32_t>(random_() % (finite + 1));
            case 1:
                return bits(2.0F) + static_cast<std::uint32_t>(random_() % 64);
            default:
                return bits(static_cast<float>(random_() % 8));
        }
    }
    std::mt19937_64 random_{testing::random_seed()};
};

TEST_F(UsefulnessTest, IsTheQuotientOfIntegersWhereTheyFit) {
    for (std::uint64_t i = 0; i < 20'000 * testing::test_scale(); ++i) {
        // Multiples of 2^-10 below 2^14: exact in 24 bits, the quotient in 64.
        const std::uint64_t baseline = random_() % (1 << 22), drop = 1 + random_() % (1 << 22);
        const std::uint64_t part = random_() % (drop + 1);
        const auto loss = [](std::uint64_t value) { return static_cast<float>(value) / 1024.0F; };
        ASSERT_EQ(useful(loss(baseline + drop), loss(baseline + drop - part), loss(baseline)),
                  part * kPpm / drop);
    }
}

TEST_F(UsefulnessTest, IsMonotone) {
    // The order of positive binary32 numbers is that of their bits.
    for (std::uint64_t i = 0; i < 20'000 * testing::test_scale(); ++i) {
        const LossBits from{any_loss(), any_loss(), any_loss()};
        const std::uint32_t other = any_loss();
        const std::uint32_t value = usefulness_ppm(from).value();
        ASSERT_LE(value, kPpm);
        const auto with = [&](std::uint32_t LossBits::*which) {
            LossBits out = from;
            out.*which = other;
            return usefulness_ppm(out).value();
        };
        const auto ordered = [](std::uint32_t below, std::uint32_t a, std::uint32_t b) {
            return below == 0 ? a <= b : a >= b;
        };
        const auto text =
            ::testing::PrintToString(std::tuple(from.before, from.after, from.baseline, other));
        ASSERT_TRUE(ordered(other >= from.before ? 0 : 1, value, with(&LossBits::before))) << text;
        ASSERT_TRUE(ordered(other >= from.baseline ? 0 : 1, value, with(&LossBits::baseline)))
            << text;
        ASSERT_TRUE(ordered(other <= from.after ? 0 : 1, value, with(&LossBits::after))) << text;
    }
}

TEST(Quality, IsTheProductRoundedDown) {
    EXPECT_EQ(quality_ppm(1'000'000, 1'000'000).value(), 1'000'000U);
    EXPECT_EQ(quality_ppm(500'000, 500'000).value(), 250'000U);
    EXPECT_EQ(quality_ppm(999'999, 999'999).value(), 999'998U);
    EXPECT_EQ(quality_ppm(1, 999'999).value(), 0U);
    EXPECT_EQ(quality_ppm(0, 1'000'000).value(), 0U);
    EXPECT_EQ(quality_ppm(1'000'001, 0).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(quality_ppm(0, 1'000'001).error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace gym::quality
