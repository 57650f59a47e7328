// Cross-entropy and the gradient of an embedding.
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

/// Softmax numerators are at most 1.
constexpr int32_t kNumeratorSumExponent = 1;

__device__ inline int64_t clamped(int32_t index, int64_t count) {
    const int64_t low = index < 0 ? 0 : index;
    return low < count ? low : count - 1;
}

struct CrossEntropyRow {
    CrossEntropyForward call;
    float* losses;

    __device__ void operator()() const {
        const int64_t row = blockIdx.x, width = call.width;
        const float* x = call.logits + row * width;
        float best = -f32::from_bits(f32::kInfinityBits);
        for (int64_t i = threadIdx.x; i < width; i += kRowThreads)
            best = f32::max(best, x[i]);
        const float m = block_reduce<kRowThreads>(best, F32Maximum());
        const float l = block_sum_with_exponent(
            width, kNumeratorSumExponent, [&](int64_t i) { return f32::exp(f32::sub(x[i], m)); });
        if (threadIdx.x != 0) return;
        const float target = x[clamped(call.targets[row], width)];
        losses[row] = f32::sub(f32::log(l), f32::sub(target, m));
        call.m[row] = m;
        call.l[row] = l;
    }
};

struct DivideBy {
    float* x;
    float divisor;

    __device__ void operator()(int64_t i) const { x[i] = f32::div(x[i], divisor); }
};

struct CrossEntropyGradElement {
    CrossEntropyBackward call;
    const float* d_loss;

    __device__ void operator()(int64_t i) const {
        const int64_t row = i / call.width, v = i % call.width;
        const float scale = f32::div(*d_loss, static_cast<float>(call.rows));
        const float wanted = v == clamped(call.targets[row], call.width) ? 1.0f : 0.0f;
        const float numerator = f32::exp(f32::sub(call.logits[i], call.m[row]));
        call.d_logits[i] = f32::mul(f32::sub(f32::div(numerator, call.l[row]), wanted), scale);
    }
};

struct ColumnMaximumElement {
    const float* x;
    int64_t columns;
    uint32_t* maxima;

    __device__ void operator()(int64_t i) const {
        atomicMax(maxima + i % columns, magnitude_bits(x[i]));
    }
};

struct ScatterElement {
    EmbeddingBackward call;
    const uint32_t* maxima;
    unsigned long long* totals;  // (vocabulary, width)

    __device__ void operator()(int64_t i) const {
        const int64_t row = i / call.width, column = i % call.width;
        const int64_t id = clamped(call.indices[row], call.vocabulary);
        const int32_t exponent = row_exponent_from_bits(maxima[column]);
        const auto term = static_cast<int64_t>(sum_term(call.dy[i], exponent));
        atomicAdd(totals + id * call.width + column, static_cast<unsigned long long>(term));
    }
};

struct FinishTableElement {
    const uint32_t* maxima;
    const unsigned long long* totals;
    int64_t width;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] =
            sum_finish(static_cast<int64_t>(totals[i]), row_exponent_from_bits(maxima[i % width]));
    }
};

}  // namespace

void macro_cross_entropy(Device& device, const CrossEntropyForward& call) {
    auto* losses = device.scratch_of<float>(kScratchMacro0, call.rows);
    launch<kRowThreads>(device, {call.rows}, CrossEntropyRow{call, losses});
    macro_row_sum(device, losses, {1, call.rows}, call.loss);
    for_each(device, 1, DivideBy{call.loss, static_cast<float>(call.rows)});
}

void macro_cross_entropy_grad(Device& device, const CrossEntropyBackward& call,
                              const float* d_loss) {
    for_each(device, call.rows * call.width, CrossEntropyGradElement{call, d_loss});
}

void macro_embedding_grad(Device& device, const EmbeddingBackward& call) {
    const int64_t cells = call.vocabulary * call.width;
    auto* maxima = device.scratch_of<uint32_t>(kScratchColumnMaxima, call.width);
    auto* totals = device.scratch_of<unsigned long long>(kScratchColumnTotals, cells);
    device.clear(maxima, static_cast<size_t>(call.width) * sizeof(uint32_t));
    device.clear(totals, static_cast<size_t>(cells) * sizeof(unsigned long long));
    for_each(device, call.rows * call.width, ColumnMaximumElement{call.dy, call.width, maxima});
    for_each(device, call.rows * call.width, ScatterElement{call, maxima, totals});
    for_each(device, cells, FinishTableElement{maxima, totals, call.width, call.d_table});
}

}  // namespace gym::kernels::cuda
