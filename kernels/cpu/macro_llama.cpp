// RMS norm, rotary positions, SwiGLU: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "cpu/maps.hpp"
#include "gym/kernels/programs.h"

namespace gym::kernels::GYM_KERNEL_ISA {

void rmsnorm_rows(const RmsnormForward& call, MacroRange rows) {
    const int64_t width = call.width;
    const float count = static_cast<float>(width);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * width;
        float* y = call.y + r * width;
        const float mean_square = f32::div(row_sum_of_products(x, x, width), count);
        const float rstd = f32::rsqrt(f32::add(mean_square, call.epsilon));
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i)
            y[i] = f32::mul(x[i] * rstd, call.gamma[i]);
        call.rstd[r] = rstd;
    }
}

void rmsnorm_grad_rows(const RmsnormBackward& call, MacroRange rows, float* products,
                       float* scratch) {
    const int64_t width = call.width;
    const float count = static_cast<float>(width);
    float* n = scratch;
    float* g = scratch + width;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * width;
        const float* dy = call.dy + r * width;
        float* dx = call.dx + r * width;
        float* product = products + r * width;
        const float rstd = call.rstd[r];
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i) {
            n[i] = x[i] * rstd;
            g[i] = dy[i] * call.gamma[i];
            product[i] = dy[i] * n[i];
        }
        const float b = f32::div(row_sum_of_products(g, n, width), count);
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < width; ++i)
            dx[i] = f32::mul(g[i] - n[i] * b, rstd);
    }
}

namespace {

/// A head is two halves; `sine` has the sign of the direction.
inline __attribute__((always_inline)) void turn_head(const float* x, const float* cosine,
                                                     const float* sine, int64_t half, bool inverse,
                                                     float* y) {
    const float* second = x + half;
    float* y_second = y + half;
    if (inverse) {
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < half; ++i) {
            y[i] = f32::add(x[i] * cosine[i], second[i] * sine[i]);
            y_second[i] = f32::sub(second[i] * cosine[i], x[i] * sine[i]);
        }
    } else {
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < half; ++i) {
            y[i] = f32::sub(x[i] * cosine[i], second[i] * sine[i]);
            y_second[i] = f32::add(second[i] * cosine[i], x[i] * sine[i]);
        }
    }
}

}  // namespace

void rope_rows(const Rotation& call, MacroRange rows) {
    const int64_t size = 2 * call.half;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * call.columns;
        float* y = call.y + r * call.columns;
        const int64_t position = r % call.context * call.half;
        for (int64_t h = 0; h < call.heads; ++h)
            turn_head(x + h * size, call.cosine + position, call.sine + position, call.half,
                      call.inverse, y + h * size);
        for (int64_t i = call.heads * size; i < call.columns; ++i)
            y[i] = x[i];
    }
}

void swiglu_range(const float* gate, const float* up, float* y, MacroRange range) {
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i)
        y[i] = f32::mul(f32::silu(gate[i]), up[i]);
}

void swiglu_grad_range(const SwigluBackward& call, MacroRange range) {
    const SwigluBackward c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i) {
        const float s = f32::sigmoid(c.gate[i]);
        const float u = f32::raw_fma(c.gate[i], 1.0f - s, 1.0f);
        c.d_gate[i] = f32::mul(c.dy[i] * c.up[i], s * u);
        c.d_up[i] = f32::mul(c.dy[i], f32::silu(c.gate[i]));
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
