// From a block's exact dot to a result, in few instructions: what product.cu does for each result.
// Exponents become factors once for a row or a column, and not once for a result.
#pragma once

#include "gym/kernels/q14.h"

namespace gym::kernels::cuda {

/// The exact dot of two blocks: 2^14 high + low, 0 <= low < 2^14. |high| <= 2^22, since no dot is
/// larger than 2^36.
struct BlockDot {
    int32_t high, low;
};

/// @param dot |dot| <= 2^36.
GYM_HD BlockDot narrow(int64_t dot) {
    return {static_cast<int32_t>(dot >> 14), static_cast<int32_t>(dot & 0x3FFF)};
}

/// 2^14 hh + 2^7 (ss - hh - ll) + ll. Bits carry from low to high in two steps of 7, so that
/// nothing needs more than 32 bits.
/// @param hh, ll, ss |hh| + |ll| + |ss| < 2^31 - 2^25.
GYM_HD BlockDot block_dot(int32_t hh, int32_t ll, int32_t ss) {
    const int32_t middle = ss - hh - ll;
    const int32_t carried = middle + (ll >> 7);
    const uint32_t wrapped = static_cast<uint32_t>(middle) * 128U + static_cast<uint32_t>(ll);
    return {hh + (carried >> 7), static_cast<int32_t>(wrapped & 0x3FFFU)};
}

/// One of the two factors of a result, for its row or its column, as the bits of an f32:
/// 2^(exponent - less), and NaN where the exponent is kExponentPoisoned. Positive, so that bits
/// have the order of values, with NaN the largest.
/// @param exponent -100 to 128, or poisoned.
GYM_HD uint32_t scale_bits(int32_t exponent, int32_t less) {
    constexpr int32_t kBias = 127, kMantissaBits = 23;
    if (exponent == kExponentPoisoned) return f32::kNanBits;
    return static_cast<uint32_t>(exponent - less + kBias) << kMantissaBits;
}
/// less, for a dot and for a total of terms (2^16 times a dot): both factors of a result together
/// have twice as much.
inline constexpr int32_t kDotLess = 13, kTotalLess = 21;

/// f32::scale2(value, exponent_a + exponent_b - 2 less), of an integer |value| <= 2^63. Times the
/// smaller factor, at least 2^-121, value stays exact. If that product is beyond f32, the smaller
/// factor is above 2^64, and so is the larger one: the result is infinite either way. So only the
/// second product rounds. scale2 rounds once, too, unless the result is 0 anyway.
GYM_HD float scaled(float value, uint32_t scale_a, uint32_t scale_b) {
    const float small = f32::from_bits(scale_a < scale_b ? scale_a : scale_b);
    const float large = f32::from_bits(scale_a < scale_b ? scale_b : scale_a);
    return f32::canonical(value * small * large);
}

/// q14_finish(q14_block_term(dot, 0), exponent_a, exponent_b), of exponents as scale_bits(exponent,
/// kDotLess). f32 has 2^14 high and low exactly, and the fma rounds their sum once, to nearest
/// even: that is f32(dot), and f32(dot * 2^16) is 2^16 times that. Of dot = 0 it is +0, as f32(0).
GYM_HD float finish_block(BlockDot dot, uint32_t scale_a, uint32_t scale_b) {
    const float value = f32::raw_fma(f32::from_i32(dot.high), 0x1p14F, f32::from_i32(dot.low));
    return scaled(value, scale_a, scale_b);
}

/// q14_finish(total, exponent_a, exponent_b), of exponents as scale_bits(exponent, kTotalLess).
GYM_HD float finish_total(int64_t total, uint32_t scale_a, uint32_t scale_b) {
    return scaled(f32::from_i64(total), scale_a, scale_b);
}

/// q14_block_term(dot, shift) without branches: 2^17 dot, shifted to the right by one more, so that
/// there is always a half to round by. From a shift of 56 on all terms are 0.
/// @param dot |dot| <= 2^36. @param shift not negative.
GYM_HD int64_t block_term(int64_t dot, int32_t shift) {
    constexpr uint32_t kAllGone = 56;
    const auto wanted = static_cast<uint32_t>(shift);
    const uint32_t right = (wanted < kAllGone ? wanted : kAllGone) + 1;
    const int64_t wide = dot * (int64_t{1} << 17);
    const int64_t odd = (wide >> right) & 1;
    return (wide + (int64_t{1} << (right - 1)) - 1 + odd) >> right;
}

}  // namespace gym::kernels::cuda
