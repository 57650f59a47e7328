// Layer norm, GELU's gradient, AdamW.
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"
#include "scratch.hpp"

namespace gym::kernels::cuda {

namespace {

struct LayernormRow {
    LayernormForward call;

    __device__ void operator()() const {
        const int64_t row = blockIdx.x, width = call.width;
        const float count = static_cast<float>(width);
        const float* x = call.x + row * width;
        float* y = call.y + row * width;
        const float mean = f32::div(block_exact_sum(width, [&](int64_t i) { return x[i]; }), count);
        const float squares = block_exact_sum(width, [&](int64_t i) {
            const float centred = f32::sub(x[i], mean);
            return f32::mul(centred, centred);
        });
        const float rstd = f32::rsqrt(f32::add(f32::div(squares, count), call.epsilon));
        for (int64_t i = threadIdx.x; i < width; i += kRowThreads) {
            const float normal = f32::mul(f32::sub(x[i], mean), rstd);
            y[i] = f32::fma(normal, call.gamma[i], call.beta[i]);
        }
        if (threadIdx.x == 0) {
            call.mean[row] = mean;
            call.rstd[row] = rstd;
        }
    }
};

struct LayernormGradRow {
    LayernormBackward call;
    float* products;

    __device__ void operator()() const {
        const int64_t row = blockIdx.x, width = call.width;
        const float count = static_cast<float>(width);
        const float* x = call.x + row * width;
        const float* dy = call.dy + row * width;
        const float mean = call.mean[row], rstd = call.rstd[row];
        const auto n = [&](int64_t i) { return f32::mul(f32::sub(x[i], mean), rstd); };
        const auto g = [&](int64_t i) { return f32::mul(dy[i], call.gamma[i]); };
        const float a = f32::div(block_exact_sum(width, g), count);
        const float b = f32::div(
            block_exact_sum(width, [&](int64_t i) { return f32::mul(g(i), n(i)); }), count);
        for (int64_t i = threadIdx.x; i < width; i += kRowThreads) {
            const float inner = f32::sub(f32::sub(g(i), a), f32::mul(n(i), b));
            products[row * width + i] = f32::mul(dy[i], n(i));
            call.dx[row * width + i] = f32::mul(inner, rstd);
        }
    }
};

struct GeluGradElement {
    const float* x;
    const float* dy;
    float* dx;

    __device__ void operator()(int64_t i) const {
        const float c0 = f32::from_bits(0x3FCC422Au);  // 2 sqrt(2/pi)
        const float c1 = f32::from_bits(0x3D922279u);  // c0 * 0.044715
        const float c2 = f32::from_bits(0x3E5B33B6u);  // 3 c1
        const float square = x[i] * x[i];
        const float s = f32::sigmoid(x[i] * f32::raw_fma(square, c1, c0));
        const float u = f32::raw_fma(x[i] * f32::raw_fma(square, c2, c0), 1.0f - s, 1.0f);
        dx[i] = f32::mul(dy[i], s * u);
    }
};

struct AdamwElement {
    AdamwStep c;
    AdamwScalars s;

    __device__ void operator()(int64_t i) const {
        if (s.keep != nullptr && !(*s.keep > 0.0f)) {
            // All are read before any is written: an output may lie over another one's old value.
            const float p = c.p[i], m = c.m[i], v = c.v[i];
            c.p_next[i] = f32::canonical(p);
            c.m_next[i] = f32::canonical(m);
            c.v_next[i] = f32::canonical(v);
            return;
        }
        const float h = c.g[i] * *s.clip;
        const float p = c.p[i];
        const float m = f32::fma(c.m[i], c.beta1, h * c.one_minus_beta1);
        const float v = f32::fma(c.v[i], c.beta2, (h * h) * c.one_minus_beta2);
        const float u = (m * *s.r1) / (f32::raw_sqrt(v * *s.r2) + c.epsilon);
        const float decayed = f32::raw_fma(p, c.weight_decay, u);
        c.p_next[i] = f32::sub(p, *s.learning_rate * decayed);
        c.m_next[i] = m;
        c.v_next[i] = v;
    }
};

}  // namespace

void macro_layernorm(Device& device, const LayernormForward& call) {
    launch<kRowThreads>(device, {call.rows}, LayernormRow{call});
}

void macro_layernorm_grad(Device& device, const LayernormBackward& call) {
    auto* products = device.scratch_of<float>(kScratchMacro0, call.rows * call.width);
    launch<kRowThreads>(device, {call.rows}, LayernormGradRow{call, products});
    macro_column_sum(device, products, call.rows, call.width, call.dgamma);
    macro_column_sum(device, call.dy, call.rows, call.width, call.dbeta);
}

void macro_gelu_grad(Device& device, const float* x, const float* dy, float* dx, int64_t count) {
    for_each(device, count, GeluGradElement{x, dy, dx});
}

void macro_adamw(Device& device, const AdamwStep& call, const AdamwScalars& scalars) {
    for_each(device, call.count, AdamwElement{call, scalars});
}

}  // namespace gym::kernels::cuda
