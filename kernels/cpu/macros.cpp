// Macros over threads: how rows, columns and elements are shared out. What macros.cpp and
// macros_X.cpp share out, macro_X.cpp computes. Here: sums, the product, cross-entropy, the
// embedding's gradient.
#include "gym/kernels/macros.hpp"

#include "cpu/macro_threads.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/rows.h"
#include "gym/kernels/vector_ops.hpp"

namespace gym::kernels {
namespace {

MatrixView matrix(const float* data, int64_t rows, int64_t columns) {
    return {data, rows, columns, columns};
}

}  // namespace

void macro_row_sum(const Context& context, const float* x, int64_t rows, int64_t length,
                   float* out) {
    context.pool().parallel_for(rows, row_grain(length), [&](LoopChunk chunk) {
        for (int64_t r = chunk.begin; r < chunk.end; ++r) {
            out[r] = row_sum(context.isa(), x + r * length, length);
        }
    });
}

void macro_column_sum(const Context& context, const float* x, int64_t rows, int64_t columns,
                      float* out) {
    constexpr int64_t kColumnGrain = 64;
    context.pool().parallel_for(columns, kColumnGrain, [&](LoopChunk chunk) {
        column_sums(context.isa(), x, rows, columns, {chunk.begin, chunk.end}, out);
    });
}

void macro_sum_squares(const Context& context, MacroWorkspace& workspace, const float* x,
                       int64_t count, float* out) {
    const auto magnitude = GYM_SELECT_KERNEL(context.isa(), squares_magnitude);
    const auto total_of = GYM_SELECT_KERNEL(context.isa(), squares_total);
    const int threads = context.threads();
    auto* magnitudes = shared_array<uint32_t>(workspace.shared_index, threads);
    auto* totals = shared_array<int64_t>(workspace.shared, threads);
    for (int t = 0; t < threads; ++t) {
        magnitudes[t] = 0;
        totals[t] = 0;
    }
    context.pool().parallel_for(count, kGrainElements, [&](LoopChunk chunk) {
        magnitudes[chunk.thread] = magnitude(x, range_of(chunk));
    });
    uint32_t amax = 0;
    for (int t = 0; t < threads; ++t)
        amax = magnitudes[t] > amax ? magnitudes[t] : amax;
    const int32_t exponent = row_exponent_from_bits(amax);
    if (exponent == kExponentPoisoned) {
        *out = f32::from_bits(f32::kNanBits);
        return;
    }
    context.pool().parallel_for(count, kGrainElements, [&](LoopChunk chunk) {
        totals[chunk.thread] = total_of(x, range_of(chunk), exponent);
    });
    int64_t total = 0;
    for (int t = 0; t < threads; ++t)
        total += totals[t];
    *out = sum_finish(total, exponent);
}

void macro_matmul(const Context& context, MacroWorkspace& workspace, MatmulShape shape,
                  const float* a, const float* b, float* out) {
    const MatrixView a_view =
        shape.transpose_a ? matrix(a, shape.k, shape.m) : matrix(a, shape.m, shape.k);
    const MatrixView b_view =
        shape.transpose_b ? matrix(b, shape.k, shape.n) : matrix(b, shape.n, shape.k);
    q14_multiply(context, {a_view, shape.transpose_a ? Along::kColumns : Along::kRows},
                 {b_view, shape.transpose_b ? Along::kColumns : Along::kRows}, workspace.factors,
                 {out, shape.n});
}

void macro_cross_entropy(const Context& context, MacroWorkspace& workspace,
                         const CrossEntropyForward& call) {
    workspace.prepare(context);
    const auto rows = GYM_SELECT_KERNEL(context.isa(), cross_entropy_rows);
    auto* losses = shared_array<float>(workspace.shared, call.rows);
    context.pool().parallel_for(call.rows, row_grain(call.width), [&](LoopChunk chunk) {
        rows(call, range_of(chunk), losses, workspace.thread(chunk.thread).floats(0, call.width));
    });
    *call.loss = f32::div(row_sum(context.isa(), losses, call.rows), static_cast<float>(call.rows));
}

void macro_cross_entropy_grad(const Context& context, const CrossEntropyBackward& call) {
    const auto rows = GYM_SELECT_KERNEL(context.isa(), cross_entropy_grad_rows);
    context.pool().parallel_for(call.rows, row_grain(call.width),
                                [&](LoopChunk chunk) { rows(call, range_of(chunk)); });
}

namespace {

/// Counting sort of the rows by id.
EmbeddingOrder order_rows(MacroWorkspace& workspace, const EmbeddingBackward& call,
                          const int32_t* exponents) {
    const int64_t vocabulary = call.vocabulary;
    auto* starts = shared_array<int32_t>(workspace.shared_index, vocabulary + 1 + call.rows);
    int32_t* order = starts + vocabulary + 1;
    const auto id = [&](int64_t r) {
        const int64_t index = call.indices[r] < 0 ? 0 : call.indices[r];
        return index < vocabulary ? index : vocabulary - 1;
    };
    for (int64_t v = 0; v <= vocabulary; ++v)
        starts[v] = 0;
    for (int64_t r = 0; r < call.rows; ++r)
        ++starts[id(r)];
    int32_t end = 0;
    for (int64_t v = 0; v < vocabulary; ++v)
        starts[v] = end += starts[v];
    starts[vocabulary] = end;
    // From the back, each id's end moves down to its start.
    for (int64_t r = call.rows; r-- > 0;)
        order[--starts[id(r)]] = static_cast<int32_t>(r);
    return {order, starts, exponents};
}

}  // namespace

void macro_embedding_grad(const Context& context, MacroWorkspace& workspace,
                          const EmbeddingBackward& call) {
    constexpr int64_t kColumnGrain = 64;
    const auto exponents_of = GYM_SELECT_KERNEL(context.isa(), column_exponents);
    const auto columns = GYM_SELECT_KERNEL(context.isa(), embedding_grad_columns);
    auto* exponents = shared_array<int32_t>(workspace.shared, call.width);
    const EmbeddingOrder order = order_rows(workspace, call, exponents);
    context.pool().parallel_for(call.width, kColumnGrain, [&](LoopChunk chunk) {
        exponents_of(call.dy, call.rows, call.width, range_of(chunk), exponents);
        columns(call, order, range_of(chunk));
    });
}

}  // namespace gym::kernels
