// Row exponents and exact sums (docs/NUMERICS.md, "Scalars"): the only ways in which the
// elements of a row meet. Maxima and integer sums are associative, so partial results may be formed
// in any order.
#pragma once

#include "gym/kernels/f32.h"

namespace gym::kernels {

inline constexpr int32_t kExponentMin = -100;
inline constexpr int32_t kExponentMax = 128;
/// Exponent of a row that holds a NaN or an infinity: every result that uses the row is NaN.
inline constexpr int32_t kExponentPoisoned = 129;
inline constexpr int64_t kExactSumLengthMax = int64_t{1} << 31;

/// Magnitude bits of x: order-preserving, so that a maximum over a row may be taken as integers.
GYM_HD uint32_t magnitude_bits(float x) {
    return f32::to_bits(x) & ~f32::kSignBit;
}

/// e with 2^(e-1) <= amax < 2^e, clamped to [-100, 128]; 129 if amax is infinite or NaN.
/// @param amax_bits maximum of magnitude_bits over the row (0 for an empty row).
GYM_HD int32_t row_exponent_from_bits(uint32_t amax_bits) {
    const int32_t exponent = static_cast<int32_t>(amax_bits >> 23) - 126;
    const int32_t clamped = exponent < kExponentMin ? kExponentMin : exponent;
    return amax_bits >= f32::kInfinityBits ? kExponentPoisoned : clamped;
}

/// @param x count elements, `stride` elements apart.
GYM_HD int32_t row_exponent(const float* x, int64_t count, int64_t stride = 1) {
    uint32_t amax = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = magnitude_bits(x[i * stride]);
        amax = bits > amax ? bits : amax;
    }
    return row_exponent_from_bits(amax);
}

/// An exponent, or a sum of some, that a primitive was given, which may be anything, for arithmetic
/// in i32. Results are those of unbounded arithmetic: scale2() has underflowed or overflowed long
/// before the bound.
GYM_HD int32_t bounded_exponent(int64_t exponent) {
    constexpr int32_t kBound = 1 << 20;
    if (exponent < -kBound) return -kBound;
    return exponent > kBound ? kBound : static_cast<int32_t>(exponent);
}

/// One term of an exact sum: rint(x * 2^(30-e)), in [-2^30, 2^30]; 0 in a poisoned row.
GYM_HD int32_t sum_term(float x, int32_t exponent) {
    const bool poisoned = exponent == kExponentPoisoned;
    return f32::to_i32(f32::scale2(poisoned ? 0.0f : x, 30 - exponent));
}

/// The f32 that an integer total of sum_terms stands for.
GYM_HD float sum_finish(int64_t total, int32_t exponent) {
    const float value = f32::scale2(f32::from_i64(total), exponent - 30);
    return exponent == kExponentPoisoned ? f32::from_bits(f32::kNanBits) : value;
}

/// Exact sum with a given exponent e. |x| <= 2^e must hold for the sum to mean anything; softmax
/// numerators use e = 1. A NaN or an infinity poisons the sum as with row_exponent().
GYM_HD float exact_sum_with_exponent(const float* x, int64_t count, int64_t stride,
                                     int32_t exponent) {
    int64_t total = 0;
    bool poisoned = exponent == kExponentPoisoned;
    for (int64_t i = 0; i < count; ++i) {
        const float value = x[i * stride];
        poisoned |= magnitude_bits(value) >= f32::kInfinityBits;
        total += f32::to_i32(f32::scale2(value, 30 - exponent));
    }
    return sum_finish(total, poisoned ? kExponentPoisoned : exponent);
}

/// Exact sum of a row. Empty: +0.
/// @param x count elements, `stride` elements apart; count <= kExactSumLengthMax.
GYM_HD float exact_sum(const float* x, int64_t count, int64_t stride = 1) {
    const int32_t exponent = row_exponent(x, count, stride);
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i)
        total += sum_term(x[i * stride], exponent);
    return sum_finish(total, exponent);
}

}  // namespace gym::kernels
