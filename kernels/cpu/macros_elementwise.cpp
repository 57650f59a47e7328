// Elementwise macros over threads; the arithmetic is in macro_elementwise.cpp.
#include "cpu/macro_threads.hpp"
#include "gym/kernels/macros.hpp"

namespace gym::kernels {

void macro_gelu_grad(const Context& context, const float* x, const float* dy, float* dx,
                     int64_t count) {
    const auto range = GYM_SELECT_KERNEL(context.isa(), gelu_grad_range);
    context.pool().parallel_for(count, kGrainElements,
                                [&](LoopChunk chunk) { range(x, dy, dx, range_of(chunk)); });
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

void macro_adamw(const Context& context, const AdamwStep& call) {
    const auto range = GYM_SELECT_KERNEL(context.isa(), adamw_range);
    context.pool().parallel_for(call.count, kGrainElements,
                                [&](LoopChunk chunk) { range(call, range_of(chunk)); });
}

void macro_adamw_guarded(const Context& context, const AdamwStep& call, bool keep) {
    if (keep) return macro_adamw(context, call);
    const auto range = GYM_SELECT_KERNEL(context.isa(), adamw_kept_range);
    context.pool().parallel_for(call.count, kGrainElements,
                                [&](LoopChunk chunk) { range(call, range_of(chunk)); });
}

void macro_sum_tensors(const Context& context, const TensorSum& call) {
    const auto range = GYM_SELECT_KERNEL(context.isa(), sum_tensors_range);
    context.pool().parallel_for(call.count, kGrainElements,
                                [&](LoopChunk chunk) { range(call, range_of(chunk)); });
}

void fill_random_mask(const Context& context, const int32_t* position, RandomMask mask, float* out,
                      int64_t count) {
    const auto blocks = GYM_SELECT_KERNEL(context.isa(), random_mask_blocks);
    context.pool().parallel_for((count + 3) / 4, kGrainElements / 4, [&](LoopChunk chunk) {
        blocks(position, mask, out, count, range_of(chunk));
    });
}

}  // namespace gym::kernels
