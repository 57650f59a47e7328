// The macros of Llama-style models over threads; the arithmetic is in macro_llama.cpp.
#include <cstring>

#include "cpu/macro_threads.hpp"
#include "gym/kernels/rows.h"

namespace gym::kernels {

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

void macro_rope(const Context& context, const Rotation& call) {
    const auto rows = GYM_SELECT_KERNEL(context.isa(), rope_rows);
    context.pool().parallel_for(call.rows, row_grain(call.columns),
                                [&](LoopChunk chunk) { rows(call, range_of(chunk)); });
}

void macro_repeat_heads(const Context& context, const HeadGroups& shape, const float* few,
                        float* many) {
    const int64_t group = heads_per_group(shape), size = shape.size;
    const auto head_bytes = static_cast<size_t>(size) * sizeof(float);
    context.pool().parallel_for(shape.rows, row_grain(many_columns(shape)), [&](LoopChunk chunk) {
        for (int64_t r = chunk.begin; r < chunk.end; ++r) {
            const float* from = few + r * few_columns(shape);
            float* to = many + r * many_columns(shape);
            std::memcpy(to, from, head_bytes * static_cast<size_t>(shape.heads));
            from += shape.heads * size;
            to += shape.heads * size;
            // The keys' heads, then the values': equally far apart on both sides.
            for (int64_t head = 0; head < 2 * shape.heads; ++head)
                std::memcpy(to + head * size, from + head / group * size, head_bytes);
        }
    });
}

void macro_repeat_heads_grad(const Context& context, const HeadGroups& shape, const float* many,
                             float* few) {
    const int64_t group = heads_per_group(shape), size = shape.size;
    const auto q_bytes = static_cast<size_t>(shape.heads * size) * sizeof(float);
    context.pool().parallel_for(shape.rows, row_grain(many_columns(shape)), [&](LoopChunk chunk) {
        for (int64_t r = chunk.begin; r < chunk.end; ++r) {
            const float* from = many + r * many_columns(shape);
            float* to = few + r * few_columns(shape);
            std::memcpy(to, from, q_bytes);
            from += shape.heads * size;
            to += shape.heads * size;
            for (int64_t i = 0; i < 2 * shape.kv_heads * size; ++i)
                to[i] = exact_sum(from + i / size * group * size + i % size, group, size);
        }
    });
}

void macro_swiglu(const Context& context, const float* gate, const float* up, float* y,
                  int64_t count) {
    const auto range = GYM_SELECT_KERNEL(context.isa(), swiglu_range);
    context.pool().parallel_for(count, kGrainElements,
                                [&](LoopChunk chunk) { range(gate, up, y, range_of(chunk)); });
}

void macro_swiglu_grad(const Context& context, const SwigluBackward& call) {
    const auto range = GYM_SELECT_KERNEL(context.isa(), swiglu_grad_range);
    context.pool().parallel_for(call.count, kGrainElements,
                                [&](LoopChunk chunk) { range(call, range_of(chunk)); });
}

}  // namespace gym::kernels
