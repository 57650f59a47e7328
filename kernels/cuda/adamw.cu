// AdamW for several tensors at once.
#include <algorithm>

#include "entries.cuh"
#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/programs.h"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kThreads = kTilePartWords;
constexpr int kTensorsAtOnce = 48;
/// What a block takes of a tensor.
constexpr int64_t kTilesPerBlock = 4;
constexpr int kResults = 3;

struct AdamwTensor {
    int64_t begin;  ///< blocks of the tensors before it
    int64_t count;
    const float *p, *m, *v, *g;
    float *p_next, *m_next, *v_next;
    float weight_decay;
};

/// New values of an element.
struct Moved {
    float p, m, v;
};

/// @tparam kSumsOnly nothing is written: the results' bits are summed as memory is (checks.hpp).
template <bool kSumsOnly>
struct AdamwTensors {
    AdamwTensor tensor[kTensorsAtOnce];
    int tensors;
    float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon;
    AdamwScalars s;
    unsigned long long* sums;

    __device__ Moved moved(const AdamwTensor& c, int64_t i) const {
        // All are read before any is written: an output may lie over another one's old value.
        const float p = c.p[i], m = c.m[i], v = c.v[i];
        if (s.keep != nullptr && !(*s.keep > 0.0f))
            return {f32::canonical(p), f32::canonical(m), f32::canonical(v)};
        const float h = c.g[i] * *s.clip;
        const float m_next = f32::fma(m, beta1, h * one_minus_beta1);
        const float v_next = f32::fma(v, beta2, (h * h) * one_minus_beta2);
        const float u = (m_next * *s.r1) / (f32::raw_sqrt(v_next * *s.r2) + epsilon);
        const float decayed = f32::raw_fma(p, c.weight_decay, u);
        return {f32::sub(p, *s.learning_rate * decayed), m_next, v_next};
    }

    __device__ void operator()() const {
        const int own = entry_of(tensor, tensors, blockIdx.x);
        const AdamwTensor& c = tensor[own];
        const int64_t first = (blockIdx.x - c.begin) * kTilesPerBlock;
        uint64_t totals[kResults] = {};
        GYM_KEEP_LOOP
        for (int part = 0; part < kTileParts; ++part) {
            uint64_t parts[kResults] = {};
            uint32_t weight = check_weight(first * kTilePartWords + threadIdx.x);
            GYM_KEEP_LOOP
            for (int64_t tile = first; tile < first + kTilesPerBlock; ++tile) {
                const int64_t i = tile * kTileWords + part * kTilePartWords + threadIdx.x;
                if (i >= c.count) break;
                const Moved next = moved(c, i);
                if constexpr (kSumsOnly) {
                    parts[0] += uint64_t{f32::to_bits(next.p)} * weight;
                    parts[1] += uint64_t{f32::to_bits(next.m)} * weight;
                    parts[2] += uint64_t{f32::to_bits(next.v)} * weight;
                    weight += check_weight_step(kTilePartWords);
                } else {
                    c.p_next[i] = next.p;
                    c.m_next[i] = next.m;
                    c.v_next[i] = next.v;
                }
            }
            GYM_UNROLL
            for (int k = 0; k < kResults; ++k)
                totals[k] += parts[k] * part_factor(part);
        }
        if constexpr (kSumsOnly) add_up(own, totals);
    }

    __device__ void add_up(int own, const uint64_t (&totals)[kResults]) const {
        GYM_UNROLL
        for (int k = 0; k < kResults; ++k) {
            const int64_t total = block_reduce<kThreads>(static_cast<int64_t>(totals[k]), Sum());
            if (threadIdx.x == 0)
                atomicAdd(
                    sums + (own * kResults + k) * Checks::kSpread + blockIdx.x % Checks::kSpread,
                    static_cast<unsigned long long>(total));
        }
    }
};

/// Calls run(part, tensors, blocks) for every launch's part of the steps.
template <bool kSumsOnly, typename Run>
void in_launches(std::span<const AdamwStep> steps, const AdamwScalars& scalars, const Run& run) {
    while (!steps.empty()) {
        const auto part = steps.first(std::min<std::size_t>(kTensorsAtOnce, steps.size()));
        const AdamwStep& all = part.front();
        AdamwTensors<kSumsOnly> kernel{};
        kernel.beta1 = all.beta1;
        kernel.one_minus_beta1 = all.one_minus_beta1;
        kernel.beta2 = all.beta2;
        kernel.one_minus_beta2 = all.one_minus_beta2;
        kernel.epsilon = all.epsilon;
        kernel.s = scalars;
        int64_t blocks = 0;
        for (const AdamwStep& step : part) {
            constexpr int64_t kElements = kTilesPerBlock * kTileWords;
            kernel.tensor[kernel.tensors++] = {
                blocks, step.count,  step.p,      step.m,      step.v,
                step.g, step.p_next, step.m_next, step.v_next, step.weight_decay};
            blocks += (step.count + kElements - 1) / kElements;
        }
        run(kernel, blocks);
        steps = steps.subspan(part.size());
    }
}

}  // namespace

void macro_adamw(Device& device, std::span<const AdamwStep> steps, const AdamwScalars& scalars) {
    in_launches<false>(steps, scalars, [&](const AdamwTensors<false>& kernel, int64_t blocks) {
        launch<kThreads>(device, {blocks}, kernel);
    });
}

std::vector<Checks::Sum> sum_adamw(Device& device, Checks& checks, std::span<const AdamwStep> steps,
                                   const AdamwScalars& scalars) {
    std::vector<Checks::Sum> out;
    in_launches<true>(steps, scalars, [&](AdamwTensors<true>& kernel, int64_t blocks) {
        const Checks::Cells cells = checks.reserve(kernel.tensors * kResults);
        kernel.sums = cells.words;
        launch<kThreads>(device, {blocks}, kernel);
        for (int i = 0; i < kernel.tensors * kResults; ++i)
            out.push_back(cells.first + i);
    });
    return out;
}

}  // namespace gym::kernels::cuda
