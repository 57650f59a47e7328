#include "cuda_execute.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/program/opcode.hpp"

namespace gym::engine {
namespace {

namespace cuda = kernels::cuda;
using program::Opcode;

std::int64_t elements(const program::Slot& slot) {
    return static_cast<std::int64_t>(program::element_count(slot.dims));
}

cuda::Rows rows_of(const program::Slot& slot) {
    const std::int64_t length = slot.dims.back();
    return {elements(slot) / length, length};
}

kernels::AttentionShape attention_shape(const CudaCall& call) {
    const auto& qkv = call.input_slot(0).dims;
    const auto context = static_cast<std::int64_t>(call.op.attributes[0]);
    const auto heads = static_cast<std::int64_t>(call.op.attributes[1]);
    return {qkv[0] / context, context, heads, qkv[1] / (3 * heads), call.op.f32(2)};
}

/// `many` is the slot in which every query head has its own keys and values.
kernels::HeadGroups head_groups(const CudaCall& call, const program::Slot& many) {
    const auto heads = static_cast<std::int64_t>(call.op.attributes[0]);
    return {many.dims[0], heads, static_cast<std::int64_t>(call.op.attributes[1]),
            many.dims[1] / (3 * heads)};
}

void rmsnorm(const CudaCall& call) {
    const cuda::Rows x = rows_of(call.input_slot(0));
    cuda::macro_rmsnorm(call.device, {.rows = x.count,
                                      .width = x.length,
                                      .epsilon = call.op.f32(0),
                                      .x = call.input(0),
                                      .gamma = call.input(1),
                                      .y = call.output(0),
                                      .rstd = call.output(1)});
}

void rmsnorm_grad(const CudaCall& call) {
    const cuda::Rows x = rows_of(call.input_slot(0));
    cuda::macro_rmsnorm_grad(call.device, {.rows = x.count,
                                           .width = x.length,
                                           .x = call.input(0),
                                           .gamma = call.input(1),
                                           .rstd = call.input(2),
                                           .dy = call.input(3),
                                           .dx = call.output(0),
                                           .dgamma = call.output(1)});
}

void rope(const CudaCall& call) {
    const auto& x = call.input_slot(0).dims;
    const auto& table = call.input_slot(1).dims;
    cuda::macro_rope(call.device, {.rows = x[0],
                                   .columns = x[1],
                                   .context = table[0],
                                   .heads = static_cast<std::int64_t>(call.op.attributes[0]),
                                   .half = table[1],
                                   .inverse = call.op.attributes[1] == 1,
                                   .x = call.input(0),
                                   .cosine = call.input(1),
                                   .sine = call.input(2),
                                   .y = call.output(0)});
}

void repeat_heads(const CudaCall& call) {
    cuda::macro_repeat_heads(call.device, head_groups(call, call.output_slot(0)), call.input(0),
                             call.output(0));
}

void repeat_heads_grad(const CudaCall& call) {
    cuda::macro_repeat_heads_grad(call.device, head_groups(call, call.input_slot(0)), call.input(0),
                                  call.output(0));
}

void swiglu(const CudaCall& call) {
    cuda::macro_swiglu(call.device, call.input(0), call.input(1), call.output(0),
                       elements(call.output_slot(0)));
}

void swiglu_grad(const CudaCall& call) {
    cuda::macro_swiglu_grad(call.device, {.count = elements(call.output_slot(0)),
                                          .gate = call.input(0),
                                          .up = call.input(1),
                                          .dy = call.input(2),
                                          .d_gate = call.output(0),
                                          .d_up = call.output(1)});
}

void matmul(const CudaCall& call) {
    const bool transpose_a = call.op.attributes[0] == 1, transpose_b = call.op.attributes[1] == 1;
    const auto& a = call.input_slot(0).dims;
    const auto& out = call.output_slot().dims;
    cuda::macro_matmul(call.device,
                       {out[0], out[1], transpose_a ? a[0] : a[1], transpose_a, transpose_b},
                       call.input(0), call.input(1), call.output());
}

void layernorm(const CudaCall& call) {
    const cuda::Rows x = rows_of(call.input_slot(0));
    cuda::macro_layernorm(call.device, {.rows = x.count,
                                        .width = x.length,
                                        .epsilon = call.op.f32(0),
                                        .x = call.input(0),
                                        .gamma = call.input(1),
                                        .beta = call.input(2),
                                        .y = call.output(0),
                                        .mean = call.output(1),
                                        .rstd = call.output(2)});
}

void layernorm_grad(const CudaCall& call) {
    const cuda::Rows x = rows_of(call.input_slot(0));
    cuda::macro_layernorm_grad(call.device, {.rows = x.count,
                                             .width = x.length,
                                             .x = call.input(0),
                                             .gamma = call.input(1),
                                             .mean = call.input(2),
                                             .rstd = call.input(3),
                                             .dy = call.input(4),
                                             .dx = call.output(0),
                                             .dgamma = call.output(1),
                                             .dbeta = call.output(2)});
}

void attention(const CudaCall& call) {
    cuda::macro_attention(call.device, {.shape = attention_shape(call),
                                        .qkv = call.input(0),
                                        .o = call.output(0),
                                        .m = call.output(1),
                                        .l = call.output(2)});
}

void attention_grad(const CudaCall& call) {
    cuda::macro_attention_grad(call.device, {.shape = attention_shape(call),
                                             .qkv = call.input(0),
                                             .o = call.input(1),
                                             .m = call.input(2),
                                             .l = call.input(3),
                                             .d_o = call.input(4),
                                             .d_qkv = call.output(0)});
}

void cross_entropy(const CudaCall& call) {
    const cuda::Rows x = rows_of(call.input_slot(0));
    cuda::macro_cross_entropy(call.device, {.rows = x.count,
                                            .width = x.length,
                                            .logits = call.input(0),
                                            .targets = call.input<std::int32_t>(1),
                                            .loss = call.output(0),
                                            .m = call.output(1),
                                            .l = call.output(2)});
}

void cross_entropy_grad(const CudaCall& call) {
    const cuda::Rows x = rows_of(call.input_slot(0));
    cuda::macro_cross_entropy_grad(call.device,
                                   {.rows = x.count,
                                    .width = x.length,
                                    .logits = call.input(0),
                                    .targets = call.input<std::int32_t>(1),
                                    .m = call.input(2),
                                    .l = call.input(3),
                                    .d_loss = 0.0F,
                                    .d_logits = call.output(0)},
                                   call.input(4));
}

void embedding_grad(const CudaCall& call) {
    const cuda::Rows dy = rows_of(call.input_slot(0));
    cuda::macro_embedding_grad(call.device, {.rows = dy.count,
                                             .width = dy.length,
                                             .vocabulary = call.output_slot().dims[0],
                                             .dy = call.input(0),
                                             .indices = call.input<std::int32_t>(1),
                                             .d_table = call.output(0)});
}

/// @param keep input 8 of adamw_guarded; nullptr of adamw.
void adamw(const CudaCall& call, const float* keep) {
    cuda::macro_adamw(call.device,
                      {.count = elements(call.output_slot()),
                       .p = call.input(0),
                       .m = call.input(1),
                       .v = call.input(2),
                       .g = call.input(3),
                       .learning_rate = 0.0F,
                       .clip = 0.0F,
                       .r1 = 0.0F,
                       .r2 = 0.0F,
                       .beta1 = call.op.f32(0),
                       .one_minus_beta1 = call.op.f32(1),
                       .beta2 = call.op.f32(2),
                       .one_minus_beta2 = call.op.f32(3),
                       .epsilon = call.op.f32(4),
                       .weight_decay = call.op.f32(5),
                       .p_next = call.output(0),
                       .m_next = call.output(1),
                       .v_next = call.output(2)},
                      {call.input(4), call.input(5), call.input(6), call.input(7), keep});
}

void sum_tensors(const CudaCall& call) {
    kernels::TensorSum sum{.count = elements(call.output_slot()),
                           .parts = static_cast<int>(call.op.inputs.size()),
                           .x = {},
                           .out = call.output()};
    for (std::size_t k = 0; k < call.op.inputs.size(); ++k)
        sum.x[k] = call.input(k);
    cuda::macro_sum_tensors(call.device, sum);
}

}  // namespace

bool run_cuda_macro(const CudaCall& call) {
    const program::Slot& x = call.op.inputs.empty() ? call.output_slot() : call.input_slot(0);
    switch (call.op.code) {
        case Opcode::row_sum:
            return cuda::macro_row_sum(call.device, call.input(0), rows_of(x), call.output()), true;
        case Opcode::column_sum: {
            const std::int64_t columns = elements(call.output_slot());
            cuda::macro_column_sum(call.device, call.input(0), elements(x) / columns, columns,
                                   call.output());
            return true;
        }
        case Opcode::sum_squares:
            return cuda::macro_sum_squares(call.device, call.input(0), elements(x), call.output()),
                   true;
        case Opcode::matmul:
            return matmul(call), true;
        case Opcode::layernorm:
            return layernorm(call), true;
        case Opcode::layernorm_grad:
            return layernorm_grad(call), true;
        case Opcode::gelu_grad:
            return cuda::macro_gelu_grad(call.device, call.input(0), call.input(1), call.output(),
                                         elements(x)),
                   true;
        case Opcode::attention:
            return attention(call), true;
        case Opcode::attention_grad:
            return attention_grad(call), true;
        case Opcode::cross_entropy:
            return cross_entropy(call), true;
        case Opcode::cross_entropy_grad:
            return cross_entropy_grad(call), true;
        case Opcode::embedding_grad:
            return embedding_grad(call), true;
        case Opcode::adamw:
            return adamw(call, nullptr), true;
        case Opcode::adamw_guarded:
            return adamw(call, call.input(8)), true;
        case Opcode::sum_tensors:
            return sum_tensors(call), true;
        case Opcode::rmsnorm:
            return rmsnorm(call), true;
        case Opcode::rmsnorm_grad:
            return rmsnorm_grad(call), true;
        case Opcode::rope:
            return rope(call), true;
        case Opcode::repeat_heads:
            return repeat_heads(call), true;
        case Opcode::repeat_heads_grad:
            return repeat_heads_grad(call), true;
        case Opcode::swiglu:
            return swiglu(call), true;
        case Opcode::swiglu_grad:
            return swiglu_grad(call), true;
        default:
            return false;
    }
}

}  // namespace gym::engine
