// Sums of squares and the embedding's gradient: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/rows.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

inline __attribute__((always_inline)) int64_t square_term(float x, float first, float second) {
    return static_cast<int32_t>(f32::raw_rint(x * x * first * second));
}

}  // namespace

uint32_t squares_magnitude(const float* x, MacroRange range) {
    uint32_t amax = 0;
    for (int64_t i = range.begin; i < range.end; ++i) {
        const uint32_t bits = magnitude_bits(x[i] * x[i]);
        amax = bits > amax ? bits : amax;
    }
    return amax;
}

int64_t squares_total(const float* x, MacroRange range, int32_t exponent) {
    // scale2 by two normal factors: a step up is exact, a step down is the second factor alone.
    const int32_t n = 30 - exponent;
    const int32_t up = n > 100 ? 100 : n;
    const float first = f32::power_of_two(up), second = f32::power_of_two(n - up);
    int64_t total = 0;
    for (int64_t i = range.begin; i < range.end; ++i)
        total += square_term(x[i], first, second);
    return total;
}

void column_exponents(const float* x, int64_t rows, int64_t row_stride, MacroRange columns,
                      int32_t* exponents) {
    for (int64_t c = columns.begin; c < columns.end; ++c)
        exponents[c] = 0;
    for (int64_t r = 0; r < rows; ++r) {
        const float* row = x + r * row_stride;
        GYM_VECTOR_LOOP
        for (int64_t c = columns.begin; c < columns.end; ++c) {
            const int32_t bits = static_cast<int32_t>(magnitude_bits(row[c]));
            exponents[c] = bits > exponents[c] ? bits : exponents[c];
        }
    }
    for (int64_t c = columns.begin; c < columns.end; ++c) {
        exponents[c] = row_exponent_from_bits(static_cast<uint32_t>(exponents[c]));
    }
}

namespace {

constexpr int64_t kColumnTile = 64;

/// Columns first .. first + width of every id.
inline __attribute__((always_inline)) void embedding_grad_tile(const EmbeddingBackward& call,
                                                               const EmbeddingOrder& order,
                                                               int64_t first, int64_t width) {
    float up[kColumnTile], factor[kColumnTile];
    for (int64_t c = 0; c < width; ++c) {
        const int32_t e = order.exponents[first + c];
        const int32_t n = 30 - e;
        const int32_t step = n > 100 ? 100 : n;
        up[c] = e == kExponentPoisoned ? 0.0f : f32::power_of_two(step);
        factor[c] = f32::power_of_two(n - step);
    }
    for (int64_t v = 0; v < call.vocabulary; ++v) {
        int64_t total[kColumnTile] = {};
        for (int32_t k = order.starts[v]; k < order.starts[v + 1]; ++k) {
            const float* dy = call.dy + order.order[k] * call.width + first;
            // Poisoned columns pass through here too, so the conversion must be the total one.
            for (int64_t c = 0; c < width; ++c)
                total[c] += f32::to_i32(dy[c] * up[c] * factor[c]);
        }
        float* out = call.d_table + v * call.width + first;
        for (int64_t c = 0; c < width; ++c) {
            out[c] = sum_finish(total[c], order.exponents[first + c]);
        }
    }
}

}  // namespace

void embedding_grad_columns(const EmbeddingBackward& call, const EmbeddingOrder& order,
                            MacroRange columns) {
    int64_t c = columns.begin;
    for (; c + kColumnTile <= columns.end; c += kColumnTile) {
        embedding_grad_tile(call, order, c, kColumnTile);
    }
    if (c < columns.end) embedding_grad_tile(call, order, c, columns.end - c);
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
