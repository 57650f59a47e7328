// RMS norm, rotary positions, shared heads, SwiGLU.
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"
#include "scratch.hpp"

namespace gym::kernels::cuda {

namespace {

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

struct RopeElement {
    Rotation c;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % c.columns, size = 2 * c.half;
        if (column >= c.heads * size) {
            c.y[i] = c.x[i];
            return;
        }
        const int64_t within = column % size;
        const bool first = within < c.half;
        const int64_t angle =
            i / c.columns % c.context * c.half + (first ? within : within - c.half);
        const float straight = f32::mul(c.x[i], c.cosine[angle]);
        const float across = f32::mul(c.x[first ? i + c.half : i - c.half], c.sine[angle]);
        c.y[i] = first == c.inverse ? f32::add(straight, across) : f32::sub(straight, across);
    }
};

struct RepeatHeadsElement {
    HeadGroups shape;
    const float* few;
    float* many;

    __device__ void operator()(int64_t i) const {
        const int64_t row = i / many_columns(shape), column = i % many_columns(shape);
        const int64_t head = column / shape.size;
        const int64_t from =
            head < shape.heads ? head : shape.heads + (head - shape.heads) / heads_per_group(shape);
        many[i] = few[row * few_columns(shape) + from * shape.size + column % shape.size];
    }
};

struct RepeatHeadsGradElement {
    HeadGroups shape;
    const float* many;
    float* few;

    __device__ void operator()(int64_t i) const {
        const int64_t row = i / few_columns(shape), column = i % few_columns(shape);
        const int64_t head = column / shape.size, value = column % shape.size;
        const float* from = many + row * many_columns(shape) + value;
        if (head < shape.heads) {
            few[i] = from[head * shape.size];
            return;
        }
        const int64_t first = shape.heads + (head - shape.heads) * heads_per_group(shape);
        few[i] = exact_sum(from + first * shape.size, heads_per_group(shape), shape.size);
    }
};

struct SwigluElement {
    const float* gate;
    const float* up;
    float* y;

    __device__ void operator()(int64_t i) const { y[i] = f32::mul(f32::silu(gate[i]), up[i]); }
};

struct SwigluGradElement {
    SwigluBackward c;

    __device__ void operator()(int64_t i) const {
        const float gate = c.gate[i], dy = c.dy[i];
        const float s = f32::sigmoid(gate);
        const float u = f32::raw_fma(gate, 1.0f - s, 1.0f);
        c.d_gate[i] = f32::mul(dy * c.up[i], s * u);
        c.d_up[i] = f32::mul(dy, f32::silu(gate));
    }
};

}  // namespace

void macro_rmsnorm(Device& device, const RmsnormForward& call) {
    launch<kRowThreads>(device, {call.rows}, RmsnormRow{call});
}

void macro_rmsnorm_grad(Device& device, const RmsnormBackward& call) {
    auto* products = device.scratch_of<float>(kScratchMacro0, call.rows * call.width);
    launch<kRowThreads>(device, {call.rows}, RmsnormGradRow{call, products});
    macro_column_sum(device, products, call.rows, call.width, call.dgamma);
}

void macro_rope(Device& device, const Rotation& call) {
    for_each(device, call.rows * call.columns, RopeElement{call});
}

void macro_repeat_heads(Device& device, const HeadGroups& shape, const float* few, float* many) {
    for_each(device, shape.rows * many_columns(shape), RepeatHeadsElement{shape, few, many});
}

void macro_repeat_heads_grad(Device& device, const HeadGroups& shape, const float* many,
                             float* few) {
    for_each(device, shape.rows * few_columns(shape), RepeatHeadsGradElement{shape, many, few});
}

void macro_swiglu(Device& device, const float* gate, const float* up, float* y, int64_t count) {
    for_each(device, count, SwigluElement{gate, up, y});
}

void macro_swiglu_grad(Device& device, const SwigluBackward& call) {
    for_each(device, call.count, SwigluGradElement{call});
}

}  // namespace gym::kernels::cuda
