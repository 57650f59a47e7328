// Layer norm and elementwise macros: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "cpu/maps.hpp"
#include "cpu/ordinary.hpp"
#include "gym/kernels/programs.h"
#include "gym/kernels/rows.h"

namespace gym::kernels::GYM_KERNEL_ISA {

void layernorm_rows(const LayernormForward& call, MacroRange rows, float* scratch) {
    const int64_t width = call.width;
    const float count = static_cast<float>(width);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * width;
        float* y = call.y + r * width;
        const float mean = f32::div(row_sum(x, width), count);
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i)
            scratch[i] = x[i] - mean;
        const float variance = f32::div(row_sum_of_products(scratch, scratch, width), count);
        const float rstd = f32::rsqrt(f32::add(variance, call.epsilon));
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i) {
            y[i] = f32::fma(scratch[i] * rstd, call.gamma[i], call.beta[i]);
        }
        call.mean[r] = mean;
        call.rstd[r] = rstd;
    }
}

void layernorm_grad_rows(const LayernormBackward& call, MacroRange rows, uint32_t* magnitudes,
                         float* scratch) {
    const int64_t width = call.width;
    const float count = static_cast<float>(width);
    float* n = scratch;
    float* g = scratch + width;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * width;
        const float* dy = call.dy + r * width;
        float* dx = call.dx + r * width;
        const float mean = call.mean[r], rstd = call.rstd[r];
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i) {
            n[i] = (x[i] - mean) * rstd;
            g[i] = dy[i] * call.gamma[i];
            const uint32_t product = magnitude_bits(dy[i] * n[i]), own = magnitude_bits(dy[i]);
            magnitudes[i] = product > magnitudes[i] ? product : magnitudes[i];
            magnitudes[width + i] = own > magnitudes[width + i] ? own : magnitudes[width + i];
        }
        const float a = f32::div(row_sum(g, width), count);
        const float b = f32::div(row_sum_of_products(g, n, width), count);
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i) {
            dx[i] = f32::mul((g[i] - a) - n[i] * b, rstd);
        }
    }
}

void layernorm_grad_columns(const LayernormBackward& call, MacroRange rows,
                            const ColumnScales& scales, int64_t* totals) {
    const int64_t width = call.width;
    const float *first = scales.first, *second = scales.second;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * width;
        const float* dy = call.dy + r * width;
        const float mean = call.mean[r], rstd = call.rstd[r];
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i) {
            const float product = dy[i] * ((x[i] - mean) * rstd);
            // Poisoned columns pass through here too, so the conversion must be the total one.
            totals[i] += f32::to_i32(product * first[i] * second[i]);
            totals[width + i] += f32::to_i32(dy[i] * first[width + i] * second[width + i]);
        }
    }
}

void sum_tensors_range(const TensorSum& call, MacroRange range) {
    const TensorSum c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i)
        c.out[i] = sum_of_element(c, i);
}

namespace {

constexpr float kGelu0 = 0x1.988454p+0f;  // 2 sqrt(2/pi)
constexpr float kGelu1 = 0x1.2444f2p-4f;  // that times 0.044715
constexpr float kGelu2 = 0x1.b6676cp-3f;  // three times as much

inline __attribute__((always_inline)) float gelu_grad(float x, float s, float dy) {
    const float square = x * x;
    const float u = f32::raw_fma(x * f32::raw_fma(square, kGelu2, kGelu0), 1.0f - s, 1.0f);
    return f32::mul(dy, s * u);
}

}  // namespace

void gelu_grad_range(const float* x, const float* dy, float* dx, MacroRange range) {
    map_blocks(
        range.begin, range.end, {0.0f, f32::kSigmoidOrdinaryMax}, dx,
        [=](int64_t i) __attribute__((always_inline)) {
            return x[i] * f32::raw_fma(x[i] * x[i], kGelu1, kGelu0);
        },
        [=](int64_t i, float w) __attribute__((always_inline)) {
            return gelu_grad(x[i], f32::sigmoid_ordinary(w), dy[i]);
        },
        [=](int64_t i, float w)
            __attribute__((always_inline)) { return gelu_grad(x[i], f32::sigmoid(w), dy[i]); });
}

void adamw_range(const AdamwStep& call, MacroRange range) {
    const AdamwStep c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i) {
        const float h = c.g[i] * c.clip;
        const float m = f32::fma(c.m[i], c.beta1, h * c.one_minus_beta1);
        const float v = f32::fma(c.v[i], c.beta2, (h * h) * c.one_minus_beta2);
        const float u = (m * c.r1) / (f32::raw_sqrt(v * c.r2) + c.epsilon);
        const float decayed = f32::raw_fma(c.p[i], c.weight_decay, u);
        c.p_next[i] = f32::sub(c.p[i], c.learning_rate * decayed);
        c.m_next[i] = m;
        c.v_next[i] = v;
    }
}

void adamw_kept_range(const AdamwStep& call, MacroRange range) {
    const AdamwStep c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i) {
        // All are read before any is written: an output may lie over another one's old value.
        const float p = c.p[i], m = c.m[i], v = c.v[i];
        c.p_next[i] = f32::canonical(p);
        c.m_next[i] = f32::canonical(m);
        c.v_next[i] = f32::canonical(v);
    }
}

void random_mask_blocks(const int32_t* position, const RandomMask& mask, float* out, int64_t count,
                        MacroRange blocks) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
        const PhiloxBlock words = random_mask_words(position, mask.op, static_cast<uint64_t>(b));
        const int64_t left = count - 4 * b < 4 ? count - 4 * b : 4;
        for (int64_t i = 0; i < left; ++i)
            out[4 * b + i] = words.word[i] < mask.threshold ? 0.0f : mask.value;
    }
}

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
