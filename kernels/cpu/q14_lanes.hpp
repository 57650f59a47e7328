// Sixteen results of the Q14 product: from exact sums to f32 (lanes.hpp).
#pragma once

#include "cpu/lanes.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels::GYM_KERNEL_ISA {

#if GYM_KERNEL_LEVEL >= 2

/// One pair of i16 in every lane.
using Pair = Ints;
GYM_LANES Pair splat_pair(int32_t pair) {
    return splat(pair);
}
/// sum += b[2i] x[2i] + b[2i+1] x[2i+1] in each lane.
GYM_LANES void add_pair_products(Ints& sum, Ints b, Pair x) {
#if defined(__GNUC__) && !defined(__clang__)
    // As an intrinsic, GCC 12 copies every accumulator twice an iteration: more copies than
    // products.
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum.v) : "v"(b.v), "v"(x.v));
#else
    sum.v = _mm512_dpwssd_epi32(sum.v, b.v, x.v);
#endif
}
/// high += sum >> 16: the product of the halves with 0 and 1.
GYM_LANES void add_upper_half(Ints& high, Ints sum) {
    add_pair_products(high, sum, splat(0x00010000));
}
/// *p, or zero.
GYM_LANES Ints load_unless(bool zero, const Ints* p) {
    return {_mm512_maskz_load_epi32(zero ? __mmask16{0} : __mmask16{0xFFFF}, p)};
}
GYM_LANES Floats to_floats(Ints x) {
    return {_mm512_cvtepi32_ps(x.v)};
}

/// f32(2^16 * high + low) for |high| <= 2^20, 0 <= low < 2^16: both are f32, so one rounding.
GYM_LANES Floats join_halves(Ints high, Ints low) {
    return {_mm512_fmadd_ps(_mm512_cvtepi32_ps(high.v), _mm512_set1_ps(65536.0f),
                            _mm512_cvtepi32_ps(low.v))};
}

/// Exponents of sixteen vectors less a bias, ready for scaled().
struct Scaler {
    __m512 exponents;  // NaN where a vector is poisoned
};
GYM_LANES Scaler scaler(Ints exponents, int32_t bias) {
    const __mmask16 poisoned =
        _mm512_cmpgt_epi32_mask(exponents.v, _mm512_set1_epi32(kExponentMax));
    const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7FC00000));
    return {_mm512_mask_mov_ps(_mm512_cvtepi32_ps((exponents - splat(bias)).v), poisoned, nan)};
}
/// A row's exponent, ready for scaled().
using RowScale = float;  // NaN where it is poisoned
GYM_LANES void store_row_scales(RowScale* to, Ints exponents) {
    store(to, Floats{scaler(exponents, 0).exponents});
}
/// q14_finish(): value * 2^(row + exponent - bias) with one rounding, NaN for a poisoned pair. The
/// instruction passes the exponent's NaN on as it is.
GYM_LANES Floats scaled(Floats value, RowScale row, Scaler columns) {
    return {_mm512_scalef_ps(value.v, _mm512_add_ps(columns.exponents, _mm512_set1_ps(row)))};
}

/// Sixteen i64.
struct Longs {
    __m512i a, b;
};
GYM_LANES Longs operator+(Longs x, Longs y) {
    return {_mm512_add_epi64(x.a, y.a), _mm512_add_epi64(x.b, y.b)};
}
/// (2^16 * high + low) << shift, 0 <= shift <= 16.
GYM_LANES Longs shifted(Ints high, Ints low, Ints shift) {
    const auto half = [](__m256i h, __m256i l, __m256i s) {
        const __m512i dot = _mm512_add_epi64(_mm512_slli_epi64(_mm512_cvtepi32_epi64(h), 16),
                                             _mm512_cvtepi32_epi64(l));
        return _mm512_sllv_epi64(dot, _mm512_cvtepi32_epi64(s));
    };
    return {half(_mm512_castsi512_si256(high.v), _mm512_castsi512_si256(low.v),
                 _mm512_castsi512_si256(shift.v)),
            half(_mm512_extracti64x4_epi64(high.v, 1), _mm512_extracti64x4_epi64(low.v, 1),
                 _mm512_extracti64x4_epi64(shift.v, 1))};
}

/// The digits (q14.h) of thirty-two i16, and their sums.
GYM_LANES void store_digits(Ints q, int8_t* high_out, int8_t* low_out, int8_t* sum_out) {
    const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(q.v, _mm512_set1_epi16(64)), 7);
    const __m512i low = _mm512_sub_epi16(q.v, _mm512_slli_epi16(high, 7));
    const auto put = [](int8_t* to, __m512i digits) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(digits));
    };
    put(high_out, high);
    put(low_out, low);
    put(sum_out, _mm512_add_epi16(high, low));
}

GYM_LANES Floats rounded(Longs x) {
    return {_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtepi64_ps(x.a)),
                               _mm512_cvtepi64_ps(x.b), 1)};
}

#else

/// One pair of i16 in every lane.
struct Pair {
    __m256i half;
};
GYM_LANES Pair splat_pair(int32_t pair) {
    return {_mm256_set1_epi32(pair)};
}
/// sum += b[2i] x[2i] + b[2i+1] x[2i+1] in each lane.
GYM_LANES void add_pair_products(Ints& sum, Ints b, Pair x) {
    sum.a = _mm256_add_epi32(sum.a, _mm256_madd_epi16(b.a, x.half));
    sum.b = _mm256_add_epi32(sum.b, _mm256_madd_epi16(b.b, x.half));
}
/// high += sum >> 16
GYM_LANES void add_upper_half(Ints& high, Ints sum) {
    high = high + shift_right_signed<16>(sum);
}
/// *p, or zero.
GYM_LANES Ints load_unless(bool zero, const Ints* p) {
    return zero ? splat(0) : *p;
}
GYM_LANES Floats to_floats(Ints x) {
    return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}

/// f32(2^16 * high + low) for |high| <= 2^20, 0 <= low < 2^16: both are f32, so one rounding.
GYM_LANES Floats join_halves(Ints high, Ints low) {
    const __m256 radix = _mm256_set1_ps(65536.0f);
    return {_mm256_fmadd_ps(_mm256_cvtepi32_ps(high.a), radix, _mm256_cvtepi32_ps(low.a)),
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(high.b), radix, _mm256_cvtepi32_ps(low.b))};
}

/// Exponents of sixteen vectors less a bias, ready for scaled().
struct Scaler {
    Ints exponents;
    Ints poisoned;
};
GYM_LANES Scaler scaler(Ints exponents, int32_t bias) {
    return {exponents - splat(bias), greater(exponents, splat(kExponentMax))};
}
/// A row's exponent, ready for scaled().
using RowScale = int32_t;
GYM_LANES void store_row_scales(RowScale* to, Ints exponents) {
    store(to, exponents);
}
/// q14_finish(): value * 2^(row + exponent - bias) with one rounding, NaN for a poisoned pair. A
/// value is zero or an integer's f32, at least 1, so the first factor leaves it normal (or
/// overflows, and so does the result).
GYM_LANES Floats scaled(Floats value, RowScale row, const Scaler& columns) {
    const Ints n = columns.exponents + splat(row);
    const Ints first = min(max(n, splat(-126)), splat(127));
    const Ints one = splat(127);
    const Floats product =
        value * floats(shift_left<23>(first + one)) * floats(shift_left<23>(n - first + one));
    const Ints nan = splat(static_cast<int32_t>(f32::kNanBits));
    const Ints a_poisoned = splat(row == kExponentPoisoned ? -1 : 0);
    return floats(select(columns.poisoned | a_poisoned, nan, bits(product)));
}

/// Sixteen i64.
struct Longs {
    __m256i quarter[4];
};
GYM_LANES Longs operator+(const Longs& x, const Longs& y) {
    Longs sum;
    for (int i = 0; i < 4; ++i)
        sum.quarter[i] = _mm256_add_epi64(x.quarter[i], y.quarter[i]);
    return sum;
}
/// (2^16 * high + low) << shift, 0 <= shift <= 16.
GYM_LANES Longs shifted(Ints high, Ints low, Ints shift) {
    const auto quarter = [](__m128i h, __m128i l, __m128i s) {
        const __m256i dot = _mm256_add_epi64(_mm256_slli_epi64(_mm256_cvtepi32_epi64(h), 16),
                                             _mm256_cvtepi32_epi64(l));
        return _mm256_sllv_epi64(dot, _mm256_cvtepi32_epi64(s));
    };
    return {{quarter(_mm256_castsi256_si128(high.a), _mm256_castsi256_si128(low.a),
                     _mm256_castsi256_si128(shift.a)),
             quarter(_mm256_extracti128_si256(high.a, 1), _mm256_extracti128_si256(low.a, 1),
                     _mm256_extracti128_si256(shift.a, 1)),
             quarter(_mm256_castsi256_si128(high.b), _mm256_castsi256_si128(low.b),
                     _mm256_castsi256_si128(shift.b)),
             quarter(_mm256_extracti128_si256(high.b, 1), _mm256_extracti128_si256(low.b, 1),
                     _mm256_extracti128_si256(shift.b, 1))}};
}

/// The digits (q14.h) of thirty-two i16, and their sums.
GYM_LANES void store_digits(Ints q, int8_t* high_out, int8_t* low_out, int8_t* sum_out) {
    const auto high_of = [](__m256i x) {
        return _mm256_srai_epi16(_mm256_add_epi16(x, _mm256_set1_epi16(64)), 7);
    };
    const auto put = [](int8_t* to, __m256i first, __m256i second) {
        // Packing works inside the halves of a register.
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xD8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    };
    const __m256i high_a = high_of(q.a), high_b = high_of(q.b);
    const __m256i low_a = _mm256_sub_epi16(q.a, _mm256_slli_epi16(high_a, 7));
    const __m256i low_b = _mm256_sub_epi16(q.b, _mm256_slli_epi16(high_b, 7));
    put(high_out, high_a, high_b);
    put(low_out, low_a, low_b);
    put(sum_out, _mm256_add_epi16(high_a, low_a), _mm256_add_epi16(high_b, low_b));
}

GYM_LANES Floats rounded(const Longs& x) {
    alignas(32) int64_t total[16];
    alignas(32) float value[16];
    __builtin_memcpy(total, &x, sizeof total);
    for (int i = 0; i < 16; ++i)
        value[i] = f32::from_i64(total[i]);
    return load(value);
}

#endif

GYM_LANES Longs load_longs(const int64_t* p) {
    Longs x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
GYM_LANES void store(int64_t* p, const Longs& x) {
    __builtin_memcpy(p, &x, sizeof x);
}

/// T_b of sixteen vectors (docs/NUMERICS.md) where some shift is above 16: there is rounding.
GYM_LANES Longs rounded_terms(Ints high, Ints low, int32_t a_shift, const int32_t* shifts) {
    alignas(64) int32_t highs[16], lows[16];
    alignas(64) int64_t terms[16];
    store(highs, high);
    store(lows, low);
    for (int i = 0; i < 16; ++i) {
        const int64_t dot = static_cast<int64_t>(highs[i]) * 65536 + lows[i];
        terms[i] = q14_block_term(dot, a_shift + shifts[i]);
    }
    return load_longs(terms);
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
