// exp, log, tanh, sigmoid, silu, gelu (tanh form) and rsqrt as straight-line programs over the
// elementwise primitives: no branch, no table, no libm. Each is within 2 ulp of the correctly
// rounded value everywhere, subnormal results included (tests/unit/kernels/programs_test.cpp
// measures it).
//
// Polynomial coefficients are minimax fits of this project. A result kept in two floats (`high`,
// `low`) stands for their exact sum.
#pragma once

#include "gym/kernels/f32.h"

namespace gym::kernels::f32 {

struct TwoFloats {
    float high;
    float low;
};

/// exp(high + low) = fraction * 2^exponent, before the last rounding into the result's range.
struct ExpParts {
    float fraction;
    int32_t exponent;
};

/// @param x high in [-200, 90] (or NaN), |low| below about one ulp of high.
GYM_HD ExpParts exp_parts(TwoFloats x) {
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    constexpr float kShift = 0x1.8p23f, kLog2E = 0x1.715476p+0f;
    constexpr float kLn2High = 0x1.62e430p-1f, kLn2Low = -0x1.05c610p-29f;
    const float shifted = raw_fma(x.high, kLog2E, kShift);
    const float n = shifted - kShift;
    const float r_high = raw_fma(n, -kLn2High, x.high);  // exact
    const float low = raw_fma(n, -kLn2Low, x.low);
    const float r = r_high + low;
    const float r_low = (r_high - r) + low;
    // (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
    float q = 0x1.a1253ep-13f;
    q = raw_fma(q, r, 0x1.6d437ap-10f);
    q = raw_fma(q, r, 0x1.1110e0p-7f);
    q = raw_fma(q, r, 0x1.5554e8p-5f);
    q = raw_fma(q, r, 0x1.555556p-3f);
    q = raw_fma(q, r, 0.5f);
    const float tail = raw_fma(r * r, q, r_low);
    const float sum = 1.0f + r;
    const float sum_low = r - (sum - 1.0f);
    const uint32_t exponent = to_bits(shifted) - to_bits(kShift);
    return {sum + (sum_low + tail), static_cast<int32_t>(exponent)};
}

/// x * 2^n with one rounding, for 0.25 <= |x| <= 4 (or zero) and n <= 250: both factors are powers
/// of two in range and the first product is exact. Below 2^-250 the result is zero in any case.
GYM_HD float scale_fraction(float x, int32_t n) {
    n = n < -250 ? -250 : n;
    const int32_t half = n >> 1;
    return x * power_of_two(half) * power_of_two(n - half);
}

GYM_HD float clamp_keeping_nan(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

GYM_HD float exp(float x) {
    const ExpParts parts = exp_parts({clamp_keeping_nan(x, -110.0f, 90.0f), 0.0f});
    return canonical(scale_fraction(parts.fraction, parts.exponent));
}

// The *_ordinary versions leave out what only the ends of the range need. Where they are allowed,
// every scaling by a power of two is exact, so they give the same bits as the full programs.

inline constexpr float kExpOrdinaryMax = 80.0f;
/// exp(x) for |x| <= kExpOrdinaryMax.
GYM_HD float exp_ordinary(float x) {
    const ExpParts parts = exp_parts({x, 0.0f});
    return parts.fraction * power_of_two(parts.exponent);
}

/// log(negative) is NaN, log(+-0) is -Inf.
GYM_HD float log(float x) {
    constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;  // n * high is exact
    const bool subnormal = x < 0x1p-126f;
    const float scaled = subnormal ? x * 0x1p23f : x;
    // Split at sqrt(1/2): the fraction is in [0.7071, 1.4142).
    const uint32_t offset = to_bits(scaled) - 0x3F3504F3u;
    const int32_t exponent = static_cast<int32_t>(offset) >> 23;
    const float fraction = from_bits(to_bits(scaled) - (static_cast<uint32_t>(exponent) << 23));
    const float n = from_i32(exponent - (subnormal ? 23 : 0));
    const float f = fraction - 1.0f;
    // (log(1 + f) - f + f^2 / 2) / f^3.
    float p = 0x1.1d8f60p-4f;
    p = raw_fma(p, f, -0x1.d636d0p-4f);
    p = raw_fma(p, f, 0x1.dea2c0p-4f);
    p = raw_fma(p, f, -0x1.fcf4a8p-4f);
    p = raw_fma(p, f, 0x1.23d214p-3f);
    p = raw_fma(p, f, -0x1.555b4ap-3f);
    p = raw_fma(p, f, 0x1.999d5ap-3f);
    p = raw_fma(p, f, -0x1.fffffcp-3f);
    p = raw_fma(p, f, 0x1.555554p-2f);
    const float half_square = 0.5f * f * f;
    const float cubic = raw_fma(f * f, f * p, n * kLn2Low);
    const float finite = raw_fma(n, kLn2High, f - (half_square - cubic));
    const float infinity = from_bits(kInfinityBits);
    const float at_zero = x == 0.0f ? -infinity : finite;
    const float in_domain = x < 0.0f ? from_bits(kNanBits) : at_zero;
    return canonical(((x == infinity) | (x != x)) ? x : in_domain);
}

GYM_HD float tanh(float x) {
    const float magnitude = from_bits(to_bits(x) & ~kSignBit);
    const uint32_t sign = to_bits(x) & kSignBit;
    // (tanh(x) / x - 1) / x^2 as a polynomial in x^2, for |x| < 0.625.
    const float z = x * x;
    float p = 0x1.2c7d78p-9f;
    p = raw_fma(p, z, -0x1.1168b4p-7f);
    p = raw_fma(p, z, 0x1.64a940p-6f);
    p = raw_fma(p, z, -0x1.ba08c2p-5f);
    p = raw_fma(p, z, 0x1.1110eap-3f);
    p = raw_fma(p, z, -0x1.555556p-2f);
    const float small = raw_fma(z * magnitude, p, magnitude);
    const ExpParts parts = exp_parts({clamp_keeping_nan(magnitude + magnitude, 0.0f, 90.0f), 0.0f});
    const float grown = scale_fraction(parts.fraction, parts.exponent);
    const float large = 1.0f - 2.0f / (grown + 1.0f);
    const float result = magnitude < 0.625f ? small : large;
    return canonical(from_bits(to_bits(result) | sign));
}

/// (a.high + a.low) / (1 + e) with about half an ulp of error, for e <= 1.
GYM_HD float divide_by_one_plus(TwoFloats a, float e) {
    const float divisor = 1.0f + e;
    const float divisor_low = e - (divisor - 1.0f);
    const float inverse = 1.0f / divisor;
    const float quotient = a.high * inverse;
    const float residual =
        raw_fma(-quotient, divisor, a.high) + raw_fma(-quotient, divisor_low, a.low);
    return raw_fma(residual, inverse, quotient);
}

/// factor * sigmoid(w) for w = +-(magnitude): with e = exp(-|w|) it is factor / (1 + e) for w >= 0
/// and factor * e / (1 + e) below, where e may be far below what an f32 holds.
GYM_HD float times_sigmoid(float factor, TwoFloats negative_magnitude, bool negative) {
    // exp(-200) times the largest factor is still far below the smallest subnormal.
    const bool clamped = negative_magnitude.high < -200.0f;
    const TwoFloats w{clamped ? -200.0f : negative_magnitude.high,
                      clamped ? 0.0f : negative_magnitude.low};
    const ExpParts parts = exp_parts(w);
    const float e = scale_fraction(parts.fraction, parts.exponent);
    // The factor's own exponent is taken out, so that products and residuals stay normal.
    const int32_t field = static_cast<int32_t>((to_bits(factor) >> 23) & 0xFFu);
    const bool tiny = field == 0;
    const float lifted = tiny ? factor * 0x1p23f : factor;
    const int32_t lifted_field = static_cast<int32_t>((to_bits(lifted) >> 23) & 0xFFu);
    const bool ordinary = (lifted_field != 0) & (lifted_field != 255);
    const uint32_t mantissa = (to_bits(lifted) & 0x807FFFFFu) | 0x3F800000u;
    const float unit = ordinary ? from_bits(mantissa) : factor;
    const int32_t unit_exponent = ordinary ? lifted_field - 127 - (tiny ? 23 : 0) : 0;
    const float high = negative ? unit * parts.fraction : unit;
    const float low = negative ? raw_fma(unit, parts.fraction, -high) : 0.0f;
    const float quotient = divide_by_one_plus({high, low}, e);
    return scale_fraction(high == 0.0f ? high : quotient,  // keeps the sign of zero
                          unit_exponent + (negative ? parts.exponent : 0));
}

/// The same for 2^-20 <= |factor| <= 2^20 and -80 <= negative_magnitude.high.
GYM_HD float times_sigmoid_ordinary(float factor, TwoFloats negative_magnitude, bool negative) {
    const ExpParts parts = exp_parts(negative_magnitude);
    const float power = power_of_two(parts.exponent);
    const float product = factor * parts.fraction;
    const float product_low = raw_fma(factor, parts.fraction, -product);
    const TwoFloats a{negative ? product : factor, negative ? product_low : 0.0f};
    return divide_by_one_plus(a, parts.fraction * power) * (negative ? power : 1.0f);
}

GYM_HD float sigmoid(float x) {
    const float magnitude = from_bits(to_bits(x) & ~kSignBit);
    return canonical(times_sigmoid(1.0f, {-magnitude, 0.0f}, x < 0.0f));
}

inline constexpr float kSigmoidOrdinaryMax = 80.0f;
/// sigmoid(x) for |x| <= kSigmoidOrdinaryMax.
GYM_HD float sigmoid_ordinary(float x) {
    const float magnitude = from_bits(to_bits(x) & ~kSignBit);
    return times_sigmoid_ordinary(1.0f, {-magnitude, 0.0f}, x < 0.0f);
}

/// x * sigmoid(x); silu(-Inf) is -0.
GYM_HD float silu(float x) {
    const float magnitude = from_bits(to_bits(x) & ~kSignBit);
    const float infinity = from_bits(kInfinityBits);
    const float result = times_sigmoid(x, {-magnitude, 0.0f}, x < 0.0f);
    const float at_infinity = x > 0.0f ? x : -0.0f;
    return canonical(magnitude == infinity ? at_infinity : result);
}

/// -2 sqrt(2/pi) (m + 0.044715 m^3) for 0 <= m <= 16: what gelu's exponential is taken of.
///
/// It is kept in two floats: an error of half an ulp in it would be dozens of ulp in the far
/// negative tail.
GYM_HD TwoFloats gelu_argument(float magnitude) {
    constexpr TwoFloats kLinear{0x1.988454p+0f, -0x1.857936p-25f};  // 2 sqrt(2/pi)
    constexpr TwoFloats kCubic{0x1.2444f2p-4f, 0x1.49b16ap-29f};    // that times 0.044715
    const float square = magnitude * magnitude;
    const float square_low = raw_fma(magnitude, magnitude, -square);
    const float product = kCubic.high * square;
    const float product_low = raw_fma(kCubic.high, square, -product) +
                              raw_fma(kCubic.high, square_low, kCubic.low * square);
    const float sum = kLinear.high + product;
    const float back = sum - kLinear.high;
    const float sum_low =
        (kLinear.high - (sum - back)) + (product - back) + (product_low + kLinear.low);
    const float w = magnitude * sum;
    const float w_low = raw_fma(magnitude, sum, -w) + magnitude * sum_low;
    return {-w, -w_low};
}

/// x * sigmoid(2 * sqrt(2/pi) * (x + 0.044715 x^3)), which is 0.5 x (1 + tanh(...)); gelu(-Inf) is
/// -0.
GYM_HD float gelu(float x) {
    const float infinity = from_bits(kInfinityBits);
    const float absolute = from_bits(to_bits(x) & ~kSignBit);
    const float magnitude = absolute > 16.0f ? 16.0f : absolute;  // exp(-2u) is 0 long before
    const float result = times_sigmoid(x, gelu_argument(magnitude), x < 0.0f);
    const float at_infinity = x > 0.0f ? x : -0.0f;
    return canonical(absolute == infinity ? at_infinity : result);
}

inline constexpr float kGeluOrdinaryMin = 0x1p-20f, kGeluOrdinaryMax = 8.0f;
/// gelu(x) for kGeluOrdinaryMin <= |x| <= kGeluOrdinaryMax.
GYM_HD float gelu_ordinary(float x) {
    const float magnitude = from_bits(to_bits(x) & ~kSignBit);
    return times_sigmoid_ordinary(x, gelu_argument(magnitude), x < 0.0f);
}

/// 1 / sqrt(x): rsqrt(+-0) is +-Inf, rsqrt(negative) is NaN.
GYM_HD float rsqrt(float x) {
    return canonical(1.0f / raw_sqrt(x));
}

}  // namespace gym::kernels::f32
