// Layer norm and RMS norm: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "cpu/maps.hpp"
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

}  // namespace gym::kernels::GYM_KERNEL_ISA
