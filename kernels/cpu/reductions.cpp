// Maxima and exact sums: compiled once a level (multiversion.hpp).
#include "cpu/maps.hpp"
#include "gym/kernels/rows.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

// Integers in the order of f32::max, NaN aside: -0 below +0.
inline __attribute__((always_inline)) int32_t order_key(uint32_t bits) {
    const int32_t value = static_cast<int32_t>(bits);
    return value ^ ((value >> 31) & 0x7FFFFFFF);
}

/// 2^n as two factors that are normal, for n in [-98, 130]. Multiplying by both is scale2: a step
/// up is exact, and a step down is a single factor.
struct Scale {
    float first;
    float second;
};

inline __attribute__((always_inline)) Scale sum_scale(int32_t exponent) {
    const int32_t n = 30 - exponent;
    const int32_t first = n > 100 ? 100 : n;
    return {f32::power_of_two(first), f32::power_of_two(n - first)};
}

// Quantised magnitudes are at most 2^30 (or the row is poisoned, and the total unused), so the
// plain conversion is f32::to_i32.
inline __attribute__((always_inline)) int64_t term(float x, Scale scale) {
    return static_cast<int32_t>(f32::raw_rint(x * scale.first * scale.second));
}

constexpr int64_t kColumnTile = 512;

}  // namespace

uint32_t row_magnitude_bits(const float* x, int64_t count) {
    uint32_t amax = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = magnitude_bits(x[i]);
        amax = bits > amax ? bits : amax;
    }
    return amax;
}

int64_t row_dot(const int16_t* a, const int16_t* b, int64_t count) {
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i)
        total += static_cast<int64_t>(int32_t{a[i]} * int32_t{b[i]});
    return total;
}

float row_max(const float* x, int64_t count) {
    uint32_t amax = 0;
    int32_t best = order_key(f32::kInfinityBits | f32::kSignBit);
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = f32::to_bits(x[i]);
        const uint32_t magnitude = bits & ~f32::kSignBit;
        const int32_t key = order_key(bits);
        amax = magnitude > amax ? magnitude : amax;
        best = key > best ? key : best;
    }
    if (amax > f32::kInfinityBits) return f32::from_bits(f32::kNanBits);
    return f32::from_bits(static_cast<uint32_t>(order_key(static_cast<uint32_t>(best))));
}

float row_sum(const float* x, int64_t count) {
    const int32_t exponent = row_exponent_from_bits(row_magnitude_bits(x, count));
    if (exponent == kExponentPoisoned) return f32::from_bits(f32::kNanBits);
    const Scale scale = sum_scale(exponent);
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i)
        total += term(x[i], scale);
    return sum_finish(total, exponent);
}

float row_sum_with_exponent(const float* x, int64_t count, int32_t exponent) {
    uint32_t amax = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = magnitude_bits(x[i]);
        amax = bits > amax ? bits : amax;
        total += f32::to_i32(f32::scale2(x[i], 30 - exponent));
    }
    return sum_finish(total, amax >= f32::kInfinityBits ? kExponentPoisoned : exponent);
}

float row_sum_of_products(const float* a, const float* b, int64_t count) {
    uint32_t amax = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t bits = magnitude_bits(a[i] * b[i]);
        amax = bits > amax ? bits : amax;
    }
    const int32_t exponent = row_exponent_from_bits(amax);
    if (exponent == kExponentPoisoned) return f32::from_bits(f32::kNanBits);
    const Scale scale = sum_scale(exponent);
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i)
        total += term(a[i] * b[i], scale);
    return sum_finish(total, exponent);
}

namespace {

inline __attribute__((always_inline)) void column_tile_sums(const float* x, int64_t rows,
                                                            int64_t row_stride, int64_t width,
                                                            float* y) {
    uint32_t amax[kColumnTile] = {};
    for (int64_t r = 0; r < rows; ++r) {
        const float* row = x + r * row_stride;
        for (int64_t c = 0; c < width; ++c) {
            const uint32_t bits = magnitude_bits(row[c]);
            amax[c] = bits > amax[c] ? bits : amax[c];
        }
    }
    float first[kColumnTile], second[kColumnTile];
    for (int64_t c = 0; c < width; ++c) {
        const int32_t exponent = row_exponent_from_bits(amax[c]);
        const bool poisoned = exponent == kExponentPoisoned;
        const Scale scale = sum_scale(poisoned ? 30 : exponent);
        first[c] = poisoned ? 0.0f : scale.first;
        second[c] = scale.second;
    }
    int64_t total[kColumnTile] = {};
    for (int64_t r = 0; r < rows; ++r) {
        const float* row = x + r * row_stride;
        // Poisoned columns pass through here too, so the conversion must be the total one.
        for (int64_t c = 0; c < width; ++c)
            total[c] += f32::to_i32(row[c] * first[c] * second[c]);
    }
    for (int64_t c = 0; c < width; ++c) {
        y[c] = sum_finish(total[c], row_exponent_from_bits(amax[c]));
    }
}

}  // namespace

void column_sums(const float* x, int64_t rows, int64_t row_stride, ColumnRange columns, float* y) {
    int64_t c = columns.begin;
    for (; c + kColumnTile <= columns.end; c += kColumnTile) {
        column_tile_sums(x + c, rows, row_stride, kColumnTile, y + c);
    }
    if (c < columns.end) column_tile_sums(x + c, rows, row_stride, columns.end - c, y + c);
}

void outer_step(const float* sums, const OuterRates& rates, int64_t count, float* base,
                float* momentum) {
    const float divisor = rates.divisor, mu = rates.momentum, rate = rates.rate;
    GYM_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i) {
        const float mean = f32::div(sums[i], divisor);
        const float next = f32::fma(momentum[i], mu, mean);
        momentum[i] = next;
        base[i] = f32::fma(f32::fma(next, mu, mean), rate, base[i]);
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
