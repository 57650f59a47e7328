// Scalar semantics of IEEE-754 binary32 in this project (docs/NUMERICS.md, "Scalars").
//
// Every kernel on every device gives the bits that these functions give. They hold only when
// compiled with -ffp-contract=off (nvcc: --fmad=false -prec-div=true -prec-sqrt=true -ftz=false)
// and run with rounding to nearest even and no flushing of subnormals (float_environment.hpp).
// Functions that may yield a NaN yield kNanBits; there is no other NaN in a tensor.
#pragma once

#include "gym/kernels/host_device.h"

namespace gym::kernels::f32 {

/// The only NaN that is ever stored (x86 itself would make 0xFFC00000).
inline constexpr uint32_t kNanBits = 0x7FC00000u;
inline constexpr uint32_t kInfinityBits = 0x7F800000u;
inline constexpr uint32_t kSignBit = 0x80000000u;
inline constexpr int32_t kInt32Min = INT32_MIN;
inline constexpr int64_t kInt64Min = INT64_MIN;

GYM_HD float from_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

GYM_HD uint32_t to_bits(float value) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(value);
#else
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
#endif
}

GYM_HD bool is_nan(float x) {
    return x != x;
}

/// `x`, or the one NaN. Inside a chain of operations only the last result needs it: an intermediate
/// NaN's payload can reach no other result.
GYM_HD float canonical(float x) {
    return x != x ? from_bits(kNanBits) : x;
}

GYM_HD float raw_sqrt(float x) {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return __builtin_sqrtf(x);
#endif
}

GYM_HD float raw_fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/// Round to nearest even, keeping the sign of zero.
GYM_HD float raw_rint(float x) {
#if defined(__CUDA_ARCH__)
    return rintf(x);
#else
    return __builtin_rintf(x);
#endif
}

GYM_HD float add(float a, float b) {
    return canonical(a + b);
}
GYM_HD float sub(float a, float b) {
    return canonical(a - b);
}
GYM_HD float mul(float a, float b) {
    return canonical(a * b);
}
GYM_HD float div(float a, float b) {
    return canonical(a / b);
}
GYM_HD float sqrt(float x) {
    return canonical(raw_sqrt(x));
}
/// a * b + c with one rounding.
GYM_HD float fma(float a, float b, float c) {
    return canonical(raw_fma(a, b, c));
}
GYM_HD float neg(float x) {
    return canonical(from_bits(to_bits(x) ^ kSignBit));
}
GYM_HD float abs(float x) {
    return canonical(from_bits(to_bits(x) & ~kSignBit));
}
GYM_HD float rint(float x) {
    return canonical(raw_rint(x));
}
GYM_HD float select(bool condition, float yes, float no) {
    return canonical(condition ? yes : no);
}

// Comparisons with NaN are false.
GYM_HD bool less(float a, float b) {
    return a < b;
}
GYM_HD bool less_equal(float a, float b) {
    return a <= b;
}
GYM_HD bool equal(float a, float b) {
    return a == b;
}

/// NaN if either is NaN; -0 < +0.
GYM_HD float max(float a, float b) {
    const uint32_t a_bits = to_bits(a), b_bits = to_bits(b);
    // Equal numbers have equal bits, except the zeros: and-ing the signs prefers +0.
    const float ordered = a > b ? a : b;
    const float result = a == b ? from_bits(a_bits & b_bits) : ordered;
    return ((a != a) | (b != b)) ? from_bits(kNanBits) : result;
}

/// NaN if either is NaN; -0 < +0.
GYM_HD float min(float a, float b) {
    const uint32_t a_bits = to_bits(a), b_bits = to_bits(b);
    const float ordered = a < b ? a : b;
    const float result = a == b ? from_bits(a_bits | b_bits) : ordered;
    return ((a != a) | (b != b)) ? from_bits(kNanBits) : result;
}

/// Index of the first element equal to the maximum in the order of max(): a NaN is above
/// everything.
/// @param x (count), count >= 1.
GYM_HD int64_t argmax(const float* x, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i) {
        const float old_best = canonical(x[best]);
        const float candidate = max(old_best, x[i]);
        if (to_bits(candidate) != to_bits(old_best)) best = i;
    }
    return best;
}

/// rint to i32; NaN and anything out of range give INT32_MIN.
GYM_HD int32_t to_i32(float x) {
    const bool in_range = (x >= -2147483648.0f) & (x < 2147483648.0f);
    const int32_t value = static_cast<int32_t>(raw_rint(in_range ? x : 0.0f));
    return in_range ? value : kInt32Min;
}

/// rint to i64; NaN and anything out of range give INT64_MIN.
GYM_HD int64_t to_i64(float x) {
    const bool in_range = (x >= -9223372036854775808.0f) & (x < 9223372036854775808.0f);
    const int64_t value = static_cast<int64_t>(raw_rint(in_range ? x : 0.0f));
    return in_range ? value : kInt64Min;
}

/// Round to nearest even.
GYM_HD float from_i64(int64_t x) {
#if defined(__CUDA_ARCH__)
    return __ll2float_rn(x);
#else
    return static_cast<float>(x);
#endif
}

/// Round to nearest even.
GYM_HD float from_i32(int32_t x) {
#if defined(__CUDA_ARCH__)
    return __int2float_rn(x);
#else
    return static_cast<float>(x);
#endif
}

/// 2^n for -126 <= n <= 127. Other n give no meaningful value (but are not undefined behaviour).
GYM_HD float power_of_two(int32_t n) {
    return from_bits((static_cast<uint32_t>(n) + 127u) << 23);
}

/// x * 2^n rounded once, for any n. Zeros and infinities stay what they are.
///
/// At most two exact steps of 2^+-100 bring n into the range of one multiplication. A step down
/// that is not exact leaves less than 2^-126, and then the last factor is at most 2^-27: the result
/// is zero with or without that rounding. A step up is exact or overflows, and then the result
/// overflows too.
GYM_HD float scale2(float x, int32_t n) {
    n = n < -326 ? -326 : n;
    n = n > 326 ? 326 : n;
    const int32_t first = n < -126 ? -100 : (n > 127 ? 100 : 0);
    n -= first;
    const int32_t second = n < -126 ? -100 : (n > 127 ? 100 : 0);
    n -= second;
    return canonical(x * power_of_two(first) * power_of_two(second) * power_of_two(n));
}

}  // namespace gym::kernels::f32
