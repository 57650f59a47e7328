// Rotary positions and shared heads over threads; the arithmetic is in macro_heads.cpp.
#include <cstring>

#include "cpu/macro_threads.hpp"
#include "gym/kernels/rows.h"

namespace gym::kernels {

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

}  // namespace gym::kernels
