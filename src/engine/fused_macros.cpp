#include "fused.hpp"
#include "gym/kernels/macros.hpp"
#include "macro_arguments.hpp"

namespace gym::engine {

bool fused_row_sum(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_row_sum(call.context, call.input(0), x.count, x.length, call.output(0));
    return true;
}

bool fused_column_sum(const OpCall& call) {
    const std::int64_t columns = elements(call.output_slot(0));
    kernels::macro_column_sum(call.context, call.input(0), elements(call.input_slot(0)) / columns,
                              columns, call.output(0));
    return true;
}

bool fused_sum_squares(const OpCall& call) {
    kernels::macro_sum_squares(call.context, call.scratch, call.input(0),
                               elements(call.input_slot(0)), call.output(0));
    return true;
}

bool fused_sum_tensors(const OpCall& call) {
    kernels::macro_sum_tensors(call.context, arguments::sum_tensors(call));
    return true;
}

bool fused_matmul(const OpCall& call) {
    kernels::macro_matmul(call.context, call.scratch, arguments::matmul(call), call.input(0),
                          call.input(1), call.output(0));
    return true;
}

bool fused_layernorm(const OpCall& call) {
    kernels::macro_layernorm(call.context, call.scratch, arguments::layernorm(call));
    return true;
}

bool fused_layernorm_grad(const OpCall& call) {
    kernels::macro_layernorm_grad(call.context, call.scratch, arguments::layernorm_grad(call));
    return true;
}

bool fused_rmsnorm(const OpCall& call) {
    kernels::macro_rmsnorm(call.context, arguments::rmsnorm(call));
    return true;
}

bool fused_rmsnorm_grad(const OpCall& call) {
    kernels::macro_rmsnorm_grad(call.context, call.scratch, arguments::rmsnorm_grad(call));
    return true;
}

bool fused_gelu_grad(const OpCall& call) {
    kernels::macro_gelu_grad(call.context, call.input(0), call.input(1), call.output(0),
                             elements(call.output_slot(0)));
    return true;
}

bool fused_swiglu(const OpCall& call) {
    kernels::macro_swiglu(call.context, call.input(0), call.input(1), call.output(0),
                          elements(call.output_slot(0)));
    return true;
}

bool fused_swiglu_grad(const OpCall& call) {
    kernels::macro_swiglu_grad(call.context, arguments::swiglu_grad(call));
    return true;
}

bool fused_rope(const OpCall& call) {
    kernels::macro_rope(call.context, arguments::rope(call));
    return true;
}

bool fused_repeat_heads(const OpCall& call) {
    kernels::macro_repeat_heads(call.context, arguments::head_groups(call, call.output_slot(0)),
                                call.input(0), call.output(0));
    return true;
}

bool fused_repeat_heads_grad(const OpCall& call) {
    kernels::macro_repeat_heads_grad(call.context, arguments::head_groups(call, call.input_slot(0)),
                                     call.input(0), call.output(0));
    return true;
}

bool fused_attention(const OpCall& call) {
    kernels::macro_attention(call.context, call.scratch, arguments::attention(call));
    return true;
}

bool fused_attention_grad(const OpCall& call) {
    kernels::macro_attention_grad(call.context, call.scratch, arguments::attention_grad(call));
    return true;
}

bool fused_cross_entropy(const OpCall& call) {
    kernels::macro_cross_entropy(call.context, call.scratch, arguments::cross_entropy(call));
    return true;
}

bool fused_cross_entropy_grad(const OpCall& call) {
    kernels::CrossEntropyBackward gradient = arguments::cross_entropy_grad(call);
    gradient.d_loss = *call.input(4);
    kernels::macro_cross_entropy_grad(call.context, gradient);
    return true;
}

bool fused_embedding_grad(const OpCall& call) {
    kernels::macro_embedding_grad(call.context, call.scratch, arguments::embedding_grad(call));
    return true;
}

namespace {

kernels::AdamwStep adamw_step(const OpCall& call) {
    kernels::AdamwStep step = arguments::adamw(call);
    step.learning_rate = *call.input(4);
    step.clip = *call.input(5);
    step.r1 = *call.input(6);
    step.r2 = *call.input(7);
    return step;
}

}  // namespace

bool fused_adamw(const OpCall& call) {
    kernels::macro_adamw(call.context, adamw_step(call));
    return true;
}

bool fused_adamw_guarded(const OpCall& call) {
    kernels::macro_adamw_guarded(call.context, adamw_step(call), *call.input(8) > 0.0F);
    return true;
}

bool fused_random_mask(const OpCall& call) {
    kernels::fill_random_mask(call.context, call.input<std::int32_t>(0),
                              arguments::random_mask(call.op), call.output(0),
                              elements(call.output_slot(0)));
    return true;
}

}  // namespace gym::engine
