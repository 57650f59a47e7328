// The norms over threads; the arithmetic is in macro_norm.cpp.
#include <algorithm>
#include <vector>

#include "cpu/macro_threads.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/rows.h"

namespace gym::kernels {

void macro_layernorm(const Context& context, MacroWorkspace& workspace,
                     const LayernormForward& call) {
    workspace.prepare(context);
    const auto rows = GYM_SELECT_KERNEL(context.isa(), layernorm_rows);
    context.pool().parallel_for(call.rows, row_grain(call.width), [&](LoopChunk chunk) {
        rows(call, range_of(chunk), workspace.thread(chunk.thread).floats(0, call.width));
    });
}

namespace {

/// Zeros, `each` a thread.
template <typename T>
T* zeros_of_threads(AlignedBuffer& buffer, int threads, int64_t each) {
    auto* all = shared_array<T>(buffer, threads * each);
    std::fill_n(all, threads * each, T{});
    return all;
}

/// Makes the first thread's those of all.
template <typename T, typename Join>
void join_threads(T* all, int threads, int64_t each, Join join) {
    for (int t = 1; t < threads; ++t) {
        for (int64_t i = 0; i < each; ++i)
            all[i] = join(all[i], all[t * each + i]);
    }
}

}  // namespace

void macro_layernorm_grad(const Context& context, MacroWorkspace& workspace,
                          const LayernormBackward& call) {
    workspace.prepare(context);
    const auto rows = GYM_SELECT_KERNEL(context.isa(), layernorm_grad_rows);
    const auto columns = GYM_SELECT_KERNEL(context.isa(), layernorm_grad_columns);
    const int threads = context.threads();
    const int64_t width = call.width, grain = row_grain(width);
    auto* magnitudes = zeros_of_threads<uint32_t>(workspace.shared_index, threads, 2 * width);
    context.pool().parallel_for(call.rows, grain, [&](LoopChunk chunk) {
        rows(call, range_of(chunk), magnitudes + chunk.thread * 2 * width,
             workspace.thread(chunk.thread).floats(0, 2 * width));
    });
    join_threads(magnitudes, threads, 2 * width,
                 [](uint32_t a, uint32_t b) { return std::max(a, b); });

    std::vector<float> factors(static_cast<size_t>(4 * width));
    const ColumnScales scales{factors.data(), factors.data() + 2 * width};
    for (int64_t c = 0; c < 2 * width; ++c) {
        const int32_t exponent = row_exponent_from_bits(magnitudes[c]);
        if (exponent == kExponentPoisoned) continue;
        const int32_t n = 30 - exponent, first = std::min(n, 100);
        scales.first[c] = f32::power_of_two(first);
        scales.second[c] = f32::power_of_two(n - first);
    }
    auto* totals = zeros_of_threads<int64_t>(workspace.shared, threads, 2 * width);
    context.pool().parallel_for(call.rows, grain, [&](LoopChunk chunk) {
        columns(call, range_of(chunk), scales, totals + chunk.thread * 2 * width);
    });
    join_threads(totals, threads, 2 * width, [](int64_t a, int64_t b) { return a + b; });
    for (int64_t c = 0; c < width; ++c) {
        call.dgamma[c] = sum_finish(totals[c], row_exponent_from_bits(magnitudes[c]));
        call.dbeta[c] =
            sum_finish(totals[width + c], row_exponent_from_bits(magnitudes[width + c]));
    }
}

void macro_rmsnorm(const Context& context, const RmsnormForward& call) {
    const auto rows = GYM_SELECT_KERNEL(context.isa(), rmsnorm_rows);
    context.pool().parallel_for(call.rows, row_grain(call.width),
                                [&](LoopChunk chunk) { rows(call, range_of(chunk)); });
}

void macro_rmsnorm_grad(const Context& context, MacroWorkspace& workspace,
                        const RmsnormBackward& call) {
    workspace.prepare(context);
    const auto rows = GYM_SELECT_KERNEL(context.isa(), rmsnorm_grad_rows);
    auto* products = shared_array<float>(workspace.shared, call.rows * call.width);
    context.pool().parallel_for(call.rows, row_grain(call.width), [&](LoopChunk chunk) {
        rows(call, range_of(chunk), products,
             workspace.thread(chunk.thread).floats(0, 2 * call.width));
    });
    macro_column_sum(context, products, call.rows, call.width, call.dgamma);
}

}  // namespace gym::kernels
