#include "gym/kernels/f32.h"

#include <cfenv>
#include <cmath>
#include <limits>

#include "kernel_test_support.hpp"

namespace gym::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kSmallest = 0x1p-149f;
constexpr float kLargest = std::numeric_limits<float>::max();

uint32_t bits(float x) {
    return f32::to_bits(x);
}

TEST(F32, EveryNanBecomesTheOneNan) {
    for (const uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFF800001u, 0x7FFFFFFFu}) {
        const float x = number(nan);
        for (const float y :
             {f32::canonical(x), f32::neg(x), f32::abs(x), f32::add(x, 1.0f), f32::sub(1.0f, x),
              f32::mul(x, 0.0f), f32::div(x, x), f32::sqrt(x), f32::fma(1.0f, 1.0f, x),
              f32::max(x, 1.0f), f32::max(1.0f, x), f32::min(x, 1.0f), f32::min(1.0f, x),
              f32::select(true, x, 0.0f), f32::scale2(x, 3), f32::rint(x)}) {
            EXPECT_EQ(bits(y), f32::kNanBits);
        }
    }
}

TEST(F32, InvalidOperationsGiveTheOneNan) {
    for (const float y : {f32::sub(kInf, kInf), f32::mul(kInf, 0.0f), f32::div(0.0f, 0.0f),
                          f32::sqrt(-1.0f), f32::fma(kInf, 0.0f, 1.0f), f32::add(-kInf, kInf)}) {
        EXPECT_EQ(bits(y), f32::kNanBits);
    }
}

TEST(F32, MaxAndMinOrderZerosAndPassNan) {
    EXPECT_EQ(bits(f32::max(-0.0f, 0.0f)), bits(0.0f));
    EXPECT_EQ(bits(f32::max(0.0f, -0.0f)), bits(0.0f));
    EXPECT_EQ(bits(f32::max(-0.0f, -0.0f)), bits(-0.0f));
    EXPECT_EQ(bits(f32::min(-0.0f, 0.0f)), bits(-0.0f));
    EXPECT_EQ(bits(f32::min(0.0f, -0.0f)), bits(-0.0f));
    EXPECT_EQ(f32::max(-kInf, -kLargest), -kLargest);
    EXPECT_EQ(f32::min(kSmallest, 0.0f), 0.0f);
    EXPECT_EQ(f32::max(kSmallest, 0.0f), kSmallest);
}

TEST(F32, ArgmaxTakesTheLowestIndex) {
    const float ties[] = {1.0f, 3.0f, 2.0f, 3.0f};
    EXPECT_EQ(f32::argmax(ties, 4), 1);
    const float zeros[] = {-0.0f, 0.0f, 0.0f};
    EXPECT_EQ(f32::argmax(zeros, 3), 1);
    const float nans[] = {kInf, number(0xFFC00001u), number(f32::kNanBits)};
    EXPECT_EQ(f32::argmax(nans, 3), 1);
    const float one[] = {-kInf};
    EXPECT_EQ(f32::argmax(one, 1), 0);
}

TEST(F32, ComparisonsWithNanAreFalse) {
    const float nan = number(f32::kNanBits);
    EXPECT_FALSE(f32::less(nan, 1.0f) || f32::less(1.0f, nan) || f32::less_equal(nan, nan) ||
                 f32::equal(nan, nan));
    EXPECT_TRUE(f32::equal(-0.0f, 0.0f) && f32::less_equal(-0.0f, 0.0f));
}

TEST(F32, ConversionToIntegersRoundsTiesToEvenAndIsTotal) {
    EXPECT_EQ(f32::to_i32(0.5f), 0);
    EXPECT_EQ(f32::to_i32(1.5f), 2);
    EXPECT_EQ(f32::to_i32(2.5f), 2);
    EXPECT_EQ(f32::to_i32(-2.5f), -2);
    EXPECT_EQ(f32::to_i32(2147483520.0f), 2147483520);
    EXPECT_EQ(f32::to_i32(-2147483648.0f), INT32_MIN);
    for (const float x : {2147483648.0f, -2147483904.0f, kInf, -kInf, number(f32::kNanBits)}) {
        EXPECT_EQ(f32::to_i32(x), INT32_MIN);
    }
    EXPECT_EQ(f32::to_i64(9223371487098961920.0f), 9223371487098961920);
    for (const float x :
         {9223372036854775808.0f, -9223373136366403584.0f, kInf, number(0xFFC00000u)}) {
        EXPECT_EQ(f32::to_i64(x), INT64_MIN);
    }
}

TEST(F32, ConversionFromI64RoundsOnce) {
    EXPECT_EQ(f32::from_i64((int64_t{1} << 24) + 1), 16777216.0f);
    EXPECT_EQ(f32::from_i64((int64_t{1} << 24) + 3), 16777220.0f);
    // Through f64 this would be rounded twice and end one lower.
    EXPECT_EQ(f32::from_i64((int64_t{1} << 62) + (int64_t{1} << 38) + 1), 0x1.000002p62f);
    EXPECT_EQ(f32::from_i64(INT64_MIN), -0x1p63f);
}

/// ldexp in long double is exact here, and its conversion rounds once.
float scaled_reference(float x, int n) {
    return static_cast<float>(std::ldexp(static_cast<long double>(x), n));
}

TEST(F32, Scale2RoundsOnceForEveryExponent) {
    const std::vector<float> samples = sample_numbers((1u << 22) / test_scale() + 1);
    for (const int n :
         {-1000000, -327, -300, -278, -277, -227, -226, -200, -151,    -150,      -149,     -148,
          -127,     -126, -125, -100, -99,  -24,  -1,   0,    1,       23,        100,      126,
          127,      128,  149,  227,  228,  276,  277,  300,  1000000, INT32_MAX, INT32_MIN}) {
        const int reference_n = std::min(std::max(n, -2000), 2000);
        for (const float x : samples) {
            const float expected = f32::canonical(scaled_reference(x, reference_n));
            ASSERT_EQ(bits(f32::scale2(x, n)), bits(expected)) << x << " * 2^" << n;
        }
    }
}

TEST(F32, SubnormalsAreKept) {
    EXPECT_EQ(f32::mul(0x1p-100f, 0x1p-49f), kSmallest);
    EXPECT_EQ(f32::add(kSmallest, kSmallest), 2 * kSmallest);
    EXPECT_EQ(f32::sqrt(kSmallest), 0x1.6a09e6p-75f);
    EXPECT_EQ(bits(f32::mul(-0x1p-100f, 0x1p-51f)), bits(-0.0f));
}

TEST(F32, FmaRoundsOnce) {
    const float x = 1.0f + 0x1p-23f;
    EXPECT_EQ(f32::fma(x, x, -(1.0f + 0x1p-22f)), 0x1p-46f);
    EXPECT_EQ(f32::sub(f32::mul(x, x), 1.0f + 0x1p-22f), 0.0f);
}

}  // namespace
}  // namespace gym::kernels
