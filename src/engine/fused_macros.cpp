#include "fused.hpp"
#include "gym/kernels/macros.hpp"
#include "slot_shape.hpp"

namespace gym::engine {
namespace {

using program::Dims;

kernels::AttentionShape attention_shape(const OpCall& call) {
    const Dims& qkv = call.input_slot(0).dims;
    const auto context = static_cast<std::int64_t>(call.op.attributes[0]);
    const auto heads = static_cast<std::int64_t>(call.op.attributes[1]);
    return {qkv[0] / context, context, heads, qkv[1] / (3 * heads), call.op.f32(2)};
}

}  // namespace

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

bool fused_matmul(const OpCall& call) {
    const Dims& out = call.output_slot(0).dims;
    const bool transpose_a = call.op.attributes[0] == 1;
    const std::int64_t k = call.input_slot(0).dims[transpose_a ? 0 : 1];
    kernels::macro_matmul(call.context, call.scratch,
                          {out[0], out[1], k, transpose_a, call.op.attributes[1] == 1},
                          call.input(0), call.input(1), call.output(0));
    return true;
}

bool fused_layernorm(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_layernorm(call.context, call.scratch,
                             {.rows = x.count,
                              .width = x.length,
                              .epsilon = call.op.f32(0),
                              .x = call.input(0),
                              .gamma = call.input(1),
                              .beta = call.input(2),
                              .y = call.output(0),
                              .mean = call.output(1),
                              .rstd = call.output(2)});
    return true;
}

bool fused_layernorm_grad(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_layernorm_grad(call.context, call.scratch,
                                  {.rows = x.count,
                                   .width = x.length,
                                   .x = call.input(0),
                                   .gamma = call.input(1),
                                   .mean = call.input(2),
                                   .rstd = call.input(3),
                                   .dy = call.input(4),
                                   .dx = call.output(0),
                                   .dgamma = call.output(1),
                                   .dbeta = call.output(2)});
    return true;
}

bool fused_gelu_grad(const OpCall& call) {
    kernels::macro_gelu_grad(call.context, call.input(0), call.input(1), call.output(0),
                             elements(call.output_slot(0)));
    return true;
}

bool fused_attention(const OpCall& call) {
    kernels::macro_attention(call.context, call.scratch,
                             {.shape = attention_shape(call),
                              .qkv = call.input(0),
                              .o = call.output(0),
                              .m = call.output(1),
                              .l = call.output(2)});
    return true;
}

bool fused_attention_grad(const OpCall& call) {
    kernels::macro_attention_grad(call.context, call.scratch,
                                  {.shape = attention_shape(call),
                                   .qkv = call.input(0),
                                   .o = call.input(1),
                                   .m = call.input(2),
                                   .l = call.input(3),
                                   .d_o = call.input(4),
                                   .d_qkv = call.output(0)});
    return true;
}

bool fused_cross_entropy(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_cross_entropy(call.context, call.scratch,
                                 {.rows = x.count,
                                  .width = x.length,
                                  .logits = call.input(0),
                                  .targets = call.input<std::int32_t>(1),
                                  .loss = call.output(0),
                                  .m = call.output(1),
                                  .l = call.output(2)});
    return true;
}

bool fused_cross_entropy_grad(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_cross_entropy_grad(call.context, {.rows = x.count,
                                                     .width = x.length,
                                                     .logits = call.input(0),
                                                     .targets = call.input<std::int32_t>(1),
                                                     .m = call.input(2),
                                                     .l = call.input(3),
                                                     .d_loss = *call.input(4),
                                                     .d_logits = call.output(0)});
    return true;
}

bool fused_embedding_grad(const OpCall& call) {
    const Rows dy = rows_of(call.input_slot(0));
    kernels::macro_embedding_grad(call.context, call.scratch,
                                  {.rows = dy.count,
                                   .width = dy.length,
                                   .vocabulary = call.output_slot(0).dims[0],
                                   .dy = call.input(0),
                                   .indices = call.input<std::int32_t>(1),
                                   .d_table = call.output(0)});
    return true;
}

namespace {

kernels::AdamwStep adamw_step(const OpCall& call) {
    return {.count = elements(call.output_slot(0)),
            .p = call.input(0),
            .m = call.input(1),
            .v = call.input(2),
            .g = call.input(3),
            .learning_rate = *call.input(4),
            .clip = *call.input(5),
            .r1 = *call.input(6),
            .r2 = *call.input(7),
            .beta1 = call.op.f32(0),
            .one_minus_beta1 = call.op.f32(1),
            .beta2 = call.op.f32(2),
            .one_minus_beta2 = call.op.f32(3),
            .epsilon = call.op.f32(4),
            .weight_decay = call.op.f32(5),
            .p_next = call.output(0),
            .m_next = call.output(1),
            .v_next = call.output(2)};
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

bool fused_sum_tensors(const OpCall& call) {
    kernels::TensorSum sum{.count = elements(call.output_slot(0)),
                           .parts = static_cast<int>(call.op.inputs.size()),
                           .x = {},
                           .out = call.output(0)};
    for (std::size_t k = 0; k < call.op.inputs.size(); ++k)
        sum.x[k] = call.input(k);
    kernels::macro_sum_tensors(call.context, sum);
    return true;
}

bool fused_random_mask(const OpCall& call) {
    kernels::fill_random_mask(call.context, call.input<std::int32_t>(0),
                              {static_cast<std::uint32_t>(call.op.attributes[0]),
                               static_cast<std::uint32_t>(call.op.attributes[1]), call.op.f32(2)},
                              call.output(0), elements(call.output_slot(0)));
    return true;
}

}  // namespace gym::engine
