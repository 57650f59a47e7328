#pragma once

#include "gym/kernels/macros.hpp"
#include "slot_shape.hpp"

/// Arguments of a macro's kernel, read from an op: the same for every device. `Call` is OpCall or
/// CudaCall; pointers are its memory's. Scalars that a kernel may read on the host are left 0.
namespace gym::engine::arguments {

template <class Call>
kernels::MatmulShape matmul(const Call& call) {
    const program::Dims& out = call.output_slot(0).dims;
    const bool transpose_a = call.op.attributes[0] == 1;
    const std::int64_t k = call.input_slot(0).dims[transpose_a ? 0 : 1];
    return {out[0], out[1], k, transpose_a, call.op.attributes[1] == 1};
}

template <class Call>
kernels::TensorSum sum_tensors(const Call& call) {
    kernels::TensorSum sum{.count = elements(call.output_slot(0)),
                           .parts = static_cast<int>(call.op.inputs.size()),
                           .x = {},
                           .out = call.output(0)};
    for (std::size_t k = 0; k < call.op.inputs.size(); ++k)
        sum.x[k] = call.input(k);
    return sum;
}

template <class Call>
kernels::LayernormForward layernorm(const Call& call) {
    const Rows x = rows_of(call.input_slot(0));
    return {.rows = x.count,
            .width = x.length,
            .epsilon = call.op.f32(0),
            .x = call.input(0),
            .gamma = call.input(1),
            .beta = call.input(2),
            .y = call.output(0),
            .mean = call.output(1),
            .rstd = call.output(2)};
}

template <class Call>
kernels::LayernormBackward layernorm_grad(const Call& call) {
    const Rows x = rows_of(call.input_slot(0));
    return {.rows = x.count,
            .width = x.length,
            .x = call.input(0),
            .gamma = call.input(1),
            .mean = call.input(2),
            .rstd = call.input(3),
            .dy = call.input(4),
            .dx = call.output(0),
            .dgamma = call.output(1),
            .dbeta = call.output(2)};
}

template <class Call>
kernels::RmsnormForward rmsnorm(const Call& call) {
    const Rows x = rows_of(call.input_slot(0));
    return {.rows = x.count,
            .width = x.length,
            .epsilon = call.op.f32(0),
            .x = call.input(0),
            .gamma = call.input(1),
            .y = call.output(0),
            .rstd = call.output(1)};
}

template <class Call>
kernels::RmsnormBackward rmsnorm_grad(const Call& call) {
    const Rows x = rows_of(call.input_slot(0));
    return {.rows = x.count,
            .width = x.length,
            .x = call.input(0),
            .gamma = call.input(1),
            .rstd = call.input(2),
            .dy = call.input(3),
            .dx = call.output(0),
            .dgamma = call.output(1)};
}

template <class Call>
kernels::Rotation rope(const Call& call) {
    const program::Dims& x = call.input_slot(0).dims;
    const program::Dims& table = call.input_slot(1).dims;
    return {.rows = x[0],
            .columns = x[1],
            .context = table[0],
            .heads = static_cast<std::int64_t>(call.op.attributes[0]),
            .half = table[1],
            .inverse = call.op.attributes[1] == 1,
            .x = call.input(0),
            .cosine = call.input(1),
            .sine = call.input(2),
            .y = call.output(0)};
}

/// @param many the slot in which every query head has its own keys and values.
template <class Call>
kernels::HeadGroups head_groups(const Call& call, const program::Slot& many) {
    const auto heads = static_cast<std::int64_t>(call.op.attributes[0]);
    return {many.dims[0], heads, static_cast<std::int64_t>(call.op.attributes[1]),
            many.dims[1] / (3 * heads)};
}

template <class Call>
kernels::SwigluBackward swiglu_grad(const Call& call) {
    return {.count = elements(call.output_slot(0)),
            .gate = call.input(0),
            .up = call.input(1),
            .dy = call.input(2),
            .d_gate = call.output(0),
            .d_up = call.output(1)};
}

template <class Call>
kernels::AttentionShape attention_shape(const Call& call) {
    const program::Dims& qkv = call.input_slot(0).dims;
    const auto context = static_cast<std::int64_t>(call.op.attributes[0]);
    const auto heads = static_cast<std::int64_t>(call.op.attributes[1]);
    return {qkv[0] / context,     context,        heads,
            qkv[1] / (3 * heads), call.op.f32(2), call.op.attributes[3] == 0};
}

template <class Call>
kernels::AttentionForward attention(const Call& call) {
    return {.shape = attention_shape(call),
            .qkv = call.input(0),
            .o = call.output(0),
            .m = call.output(1),
            .l = call.output(2),
            .documents =
                call.op.code == program::Opcode::kAttentionDocuments ? call.input(1) : nullptr};
}

template <class Call>
kernels::AttentionBackward attention_grad(const Call& call) {
    return {.shape = attention_shape(call),
            .qkv = call.input(0),
            .o = call.input(1),
            .m = call.input(2),
            .l = call.input(3),
            .d_o = call.input(4),
            .d_qkv = call.output(0),
            .documents =
                call.op.code == program::Opcode::kAttentionDocumentsGrad ? call.input(5) : nullptr};
}

template <class Call>
kernels::CrossEntropyForward cross_entropy(const Call& call) {
    const Rows x = rows_of(call.input_slot(0));
    return {.rows = x.count,
            .width = x.length,
            .logits = call.input(0),
            .targets = call.template input<std::int32_t>(1),
            .loss = call.output(0),
            .m = call.output(1),
            .l = call.output(2)};
}

template <class Call>
kernels::CrossEntropyBackward cross_entropy_grad(const Call& call) {
    const Rows x = rows_of(call.input_slot(0));
    return {.rows = x.count,
            .width = x.length,
            .logits = call.input(0),
            .targets = call.template input<std::int32_t>(1),
            .m = call.input(2),
            .l = call.input(3),
            .d_loss = 0.0F,
            .d_logits = call.output(0)};
}

template <class Call>
kernels::EmbeddingBackward embedding_grad(const Call& call) {
    const Rows dy = rows_of(call.input_slot(0));
    return {.rows = dy.count,
            .width = dy.length,
            .vocabulary = call.output_slot(0).dims[0],
            .dy = call.input(0),
            .indices = call.template input<std::int32_t>(1),
            .d_table = call.output(0)};
}

template <class Call>
kernels::AdamwStep adamw(const Call& call) {
    return {.count = elements(call.output_slot(0)),
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
            .v_next = call.output(2)};
}

inline kernels::RandomMask random_mask(const program::Op& op) {
    return {static_cast<std::uint32_t>(op.attributes[0]),
            static_cast<std::uint32_t>(op.attributes[1]), op.f32(2)};
}

}  // namespace gym::engine::arguments
