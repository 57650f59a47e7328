#include "execute.hpp"

#include "fused.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/opcode.hpp"

namespace gym::engine {

using program::Opcode;

namespace {

using Fused = bool (*)(const OpCall&);

/// The fast version of an op. It may decline a case, or everything (false).
Fused fused_kernel(Opcode code) {
    switch (code) {
        case Opcode::row_sum:
            return fused_row_sum;
        case Opcode::column_sum:
            return fused_column_sum;
        case Opcode::sum_squares:
            return fused_sum_squares;
        case Opcode::matmul:
            return fused_matmul;
        case Opcode::layernorm:
            return fused_layernorm;
        case Opcode::layernorm_grad:
            return fused_layernorm_grad;
        case Opcode::gelu_grad:
            return fused_gelu_grad;
        case Opcode::attention:
            return fused_attention;
        case Opcode::attention_grad:
            return fused_attention_grad;
        case Opcode::cross_entropy:
            return fused_cross_entropy;
        case Opcode::cross_entropy_grad:
            return fused_cross_entropy_grad;
        case Opcode::embedding_grad:
            return fused_embedding_grad;
        case Opcode::adamw:
            return fused_adamw;
        case Opcode::rmsnorm:
            return fused_rmsnorm;
        case Opcode::rmsnorm_grad:
            return fused_rmsnorm_grad;
        case Opcode::rope:
            return fused_rope;
        case Opcode::repeat_heads:
            return fused_repeat_heads;
        case Opcode::repeat_heads_grad:
            return fused_repeat_heads_grad;
        case Opcode::swiglu:
            return fused_swiglu;
        case Opcode::swiglu_grad:
            return fused_swiglu_grad;
        case Opcode::sum_tensors:
            return fused_sum_tensors;
        case Opcode::adamw_guarded:
            return fused_adamw_guarded;
        case Opcode::random_mask:
            return fused_random_mask;
        case Opcode::block_dot:
            return fused_block_dot;
        default:
            return fast_elementwise;
    }
}

}  // namespace

bool has_fused_kernel(Opcode code) {
    return fused_kernel(code) != fast_elementwise;
}

void execute(const OpCall& call) {
    if (fused_kernel(call.op.code)(call)) return;
    if (!program::info(call.op.code).macro) {
        run_primitive(SlotTable(call.program.slots()), call.op, call.memory, &call.context.pool());
        return;
    }
    const auto first_temp = static_cast<program::SlotId>(call.program.slots().size());
    run_primitives(call.program.slots(), program::expand(call.program.slots(), call.op, first_temp),
                   call.memory);
}

}  // namespace gym::engine
