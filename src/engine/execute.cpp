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
        case Opcode::kRowSum:
            return fused_row_sum;
        case Opcode::kColumnSum:
            return fused_column_sum;
        case Opcode::kSumSquares:
            return fused_sum_squares;
        case Opcode::kMatmul:
            return fused_matmul;
        case Opcode::kLayernorm:
            return fused_layernorm;
        case Opcode::kLayernormGrad:
            return fused_layernorm_grad;
        case Opcode::kGeluGrad:
            return fused_gelu_grad;
        case Opcode::kAttention:
        case Opcode::kAttentionDocuments:
            return fused_attention;
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocumentsGrad:
            return fused_attention_grad;
        case Opcode::kCrossEntropy:
            return fused_cross_entropy;
        case Opcode::kCrossEntropyGrad:
            return fused_cross_entropy_grad;
        case Opcode::kEmbeddingGrad:
            return fused_embedding_grad;
        case Opcode::kAdamw:
            return fused_adamw;
        case Opcode::kRmsnorm:
            return fused_rmsnorm;
        case Opcode::kRmsnormGrad:
            return fused_rmsnorm_grad;
        case Opcode::kRope:
            return fused_rope;
        case Opcode::kRepeatHeads:
            return fused_repeat_heads;
        case Opcode::kRepeatHeadsGrad:
            return fused_repeat_heads_grad;
        case Opcode::kSwiglu:
            return fused_swiglu;
        case Opcode::kSwigluGrad:
            return fused_swiglu_grad;
        case Opcode::kSumTensors:
            return fused_sum_tensors;
        case Opcode::kAdamwGuarded:
            return fused_adamw_guarded;
        case Opcode::kRandomMask:
            return fused_random_mask;
        case Opcode::kBlockDot:
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
