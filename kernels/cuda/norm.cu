// Layer norm and RMS norm: one block of threads a row.
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"

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

struct RmsnormRow {
    RmsnormForward call;

    __device__ void operator()() const {
        const int64_t row = blockIdx.x, width = call.width;
        const float* x = call.x + row * width;
        float* y = call.y + row * width;
        const float squares =
            block_exact_sum(width, [&](int64_t i) { return f32::mul(x[i], x[i]); });
        const float mean_square = f32::div(squares, static_cast<float>(width));
        const float rstd = f32::rsqrt(f32::add(mean_square, call.epsilon));
        for (int64_t i = threadIdx.x; i < width; i += kRowThreads)
            y[i] = f32::mul(f32::mul(x[i], rstd), call.gamma[i]);
        if (threadIdx.x == 0) call.rstd[row] = rstd;
    }
};

struct RmsnormGradRow {
    RmsnormBackward call;
    float* products;

    __device__ void operator()() const {
        const int64_t row = blockIdx.x, width = call.width;
        const float* x = call.x + row * width;
        const float* dy = call.dy + row * width;
        const float rstd = call.rstd[row];
        const auto n = [&](int64_t i) { return f32::mul(x[i], rstd); };
        const auto g = [&](int64_t i) { return f32::mul(dy[i], call.gamma[i]); };
        const float total = block_exact_sum(width, [&](int64_t i) { return f32::mul(g(i), n(i)); });
        const float b = f32::div(total, static_cast<float>(width));
        for (int64_t i = threadIdx.x; i < width; i += kRowThreads) {
            products[row * width + i] = f32::mul(dy[i], n(i));
            call.dx[row * width + i] = f32::mul(f32::sub(g(i), f32::mul(n(i), b)), rstd);
        }
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

void macro_rmsnorm(Device& device, const RmsnormForward& call) {
    launch<kRowThreads>(device, {call.rows}, RmsnormRow{call});
}

void macro_rmsnorm_grad(Device& device, const RmsnormBackward& call) {
    auto* products = device.scratch_of<float>(kScratchMacro0, call.rows * call.width);
    launch<kRowThreads>(device, {call.rows}, RmsnormGradRow{call, products});
    macro_column_sum(device, products, call.rows, call.width, call.dgamma);
}

}  // namespace gym::kernels::cuda
