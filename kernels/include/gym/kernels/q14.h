// The Q14 product, in scalar form: what every GEMM of this project computes (docs/MACROS.md,
// PRODUCT). Operands A[M,K] and B[N,K] are cut along K into blocks; each row of a block has its
// own exponent; the dot products of the quantised rows are exact integers.
#pragma once

#include "gym/kernels/rows.h"

namespace gym::kernels {

inline constexpr int64_t kQ14BlockLength = 1024;
inline constexpr int64_t kQ14LengthMax = int64_t{1} << 20;
inline constexpr int32_t kQ14FractionBits = 13;
inline constexpr int32_t kQ14Max = 1 << kQ14FractionBits;  // |q| <= 8192
inline constexpr int32_t kQ14DigitBits = 7;

GYM_HD int64_t q14_block_count(int64_t length) {
    return (length + kQ14BlockLength - 1) / kQ14BlockLength;
}

/// rint(x * 2^(13-e)), in [-8192, 8192] when |x| < 2^e; 0 in a poisoned row.
GYM_HD int32_t q14_quantise(float x, int32_t exponent) {
    const bool poisoned = exponent == kExponentPoisoned;
    return f32::to_i32(f32::scale2(poisoned ? 0.0f : x, kQ14FractionBits - exponent));
}

/// Whether x can stand in a block with a *given* exponent e (softmax numerators use e = 0). A NaN,
/// an infinity or a magnitude above 2^e poisons the whole block.
GYM_HD bool q14_fits(float x, int32_t exponent) {
    const float magnitude = f32::from_bits(magnitude_bits(x));
    return magnitude <= f32::scale2(1.0f, exponent) &&
           magnitude < f32::from_bits(f32::kInfinityBits);
}

// q = 128 * high + low with high in [-64, 64] and low in [-64, 63].
GYM_HD int32_t q14_high_digit(int32_t q) {
    return (q + 64) >> kQ14DigitBits;
}
GYM_HD int32_t q14_low_digit(int32_t q) {
    return q - q14_high_digit(q) * (1 << kQ14DigitBits);
}

/// T_b = RNE(dot * 2^(16-shift)) as an integer, modulo 2^64; 0 from shift = 56 on.
/// @param dot exact dot product of two quantised blocks, |dot| <= 2^36.
/// @param shift h_b >= 0: how far the block's exponents lie below the rows' exponents. A primitive
/// may be given any dot and, of any exponents, any shift.
GYM_HD int64_t q14_block_term(int64_t dot, int64_t shift) {
    if (shift < -47) return 0;
    if (shift <= 16)
        return static_cast<int64_t>(static_cast<uint64_t>(dot)
                                    << static_cast<uint32_t>(16 - shift));
    if (shift >= 56) return 0;  // |dot| / 2^40 < 1/2
    const auto right = static_cast<uint32_t>(shift - 16);
    const int64_t floor = dot >> right;
    const int64_t rest = dot - floor * (int64_t{1} << right);
    const int64_t half = int64_t{1} << (right - 1);
    const bool up = rest > half || (rest == half && (floor & 1) != 0);
    return floor + (up ? 1 : 0);
}

/// @param total sum of the blocks' terms. @param exponent_a, exponent_b maxima over the rows'
/// blocks.
GYM_HD float q14_finish(int64_t total, int32_t exponent_a, int32_t exponent_b) {
    const bool poisoned = exponent_a == kExponentPoisoned || exponent_b == kExponentPoisoned;
    const float value = f32::scale2(f32::from_i64(total), exponent_a + exponent_b - 42);
    return poisoned ? f32::from_bits(f32::kNanBits) : value;
}

/// q14_finish() for the primitive, whose exponents may be any.
GYM_HD float q14_finish_any(int64_t total, int32_t exponent_a, int32_t exponent_b) {
    const bool poisoned = exponent_a == kExponentPoisoned || exponent_b == kExponentPoisoned;
    const int32_t scale = bounded_exponent(int64_t{exponent_a} + exponent_b - 42);
    return poisoned ? f32::from_bits(f32::kNanBits) : f32::scale2(f32::from_i64(total), scale);
}

/// A row of an operand: `length` elements, `stride` apart.
struct Q14Row {
    const float* data;
    int64_t length;
    int64_t stride;
};

GYM_HD int64_t q14_block_end(int64_t begin, int64_t length) {
    return begin + kQ14BlockLength < length ? begin + kQ14BlockLength : length;
}

/// Maximum of the exponents of a row's blocks; -100 for an empty row.
GYM_HD int32_t q14_row_exponent(Q14Row row) {
    int32_t maximum = kExponentMin;
    for (int64_t k = 0; k < row.length; k += kQ14BlockLength) {
        const int64_t end = q14_block_end(k, row.length);
        const int32_t e = row_exponent(row.data + k * row.stride, end - k, row.stride);
        maximum = e > maximum ? e : maximum;
    }
    return maximum;
}

/// One element of the product: the definition, as short as it can be said.
/// @param a, b rows of equal length <= kQ14LengthMax.
GYM_HD float q14_dot(Q14Row a, Q14Row b) {
    const int32_t exponent_a = q14_row_exponent(a);
    const int32_t exponent_b = q14_row_exponent(b);
    int64_t total = 0;
    for (int64_t begin = 0; begin < a.length; begin += kQ14BlockLength) {
        const int64_t end = q14_block_end(begin, a.length);
        const int32_t ea = row_exponent(a.data + begin * a.stride, end - begin, a.stride);
        const int32_t eb = row_exponent(b.data + begin * b.stride, end - begin, b.stride);
        int64_t dot = 0;
        for (int64_t k = begin; k < end; ++k) {
            dot += static_cast<int64_t>(q14_quantise(a.data[k * a.stride], ea)) *
                   q14_quantise(b.data[k * b.stride], eb);
        }
        total += q14_block_term(dot, (exponent_a - ea) + (exponent_b - eb));
    }
    return q14_finish(total, exponent_a, exponent_b);
}

}  // namespace gym::kernels
