#include "cuda_execute.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/program/opcode.hpp"
#include "macro_arguments.hpp"

namespace gym::engine {
namespace {

namespace cuda = kernels::cuda;
using program::Opcode;

void matmul(const CudaCall& call) {
    cuda::macro_matmul(call.device, arguments::matmul(call), call.input(0), call.input(1),
                       call.output());
}

}  // namespace

bool run_cuda_macro(const CudaCall& call) {
    const program::Slot& x = call.op.inputs.empty() ? call.output_slot() : call.input_slot(0);
    switch (call.op.code) {
        case Opcode::kRowSum:
            return cuda::macro_row_sum(call.device, call.input(0), device_rows(x), call.output()),
                   true;
        case Opcode::kColumnSum: {
            const std::int64_t columns = elements(call.output_slot());
            cuda::macro_column_sum(call.device, call.input(0), elements(x) / columns, columns,
                                   call.output());
            return true;
        }
        case Opcode::kSumSquares:
            return cuda::macro_sum_squares(call.device, call.input(0), elements(x), call.output()),
                   true;
        case Opcode::kMatmul:
            return matmul(call), true;
        case Opcode::kLayernorm:
            return cuda::macro_layernorm(call.device, arguments::layernorm(call)), true;
        case Opcode::kLayernormGrad:
            return cuda::macro_layernorm_grad(call.device, arguments::layernorm_grad(call)), true;
        case Opcode::kGeluGrad:
            return cuda::macro_gelu_grad(call.device, call.input(0), call.input(1), call.output(),
                                         elements(x)),
                   true;
        case Opcode::kAttention:
        case Opcode::kAttentionDocuments:
            return cuda::macro_attention(call.device, arguments::attention(call)), true;
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocumentsGrad:
            return cuda::macro_attention_grad(call.device, arguments::attention_grad(call)), true;
        case Opcode::kCrossEntropy:
            return cuda::macro_cross_entropy(call.device, arguments::cross_entropy(call)), true;
        case Opcode::kCrossEntropyGrad:
            return cuda::macro_cross_entropy_grad(call.device, arguments::cross_entropy_grad(call),
                                                  call.input(4)),
                   true;
        case Opcode::kEmbeddingGrad:
            return cuda::macro_embedding_grad(call.device, arguments::embedding_grad(call)), true;
        case Opcode::kAdamw:
        case Opcode::kAdamwGuarded: {
            const kernels::AdamwStep step = arguments::adamw(call);
            return cuda::macro_adamw(call.device, {&step, 1}, adamw_scalars(call)), true;
        }
        case Opcode::kSumTensors:
            return cuda::macro_sum_tensors(call.device, arguments::sum_tensors(call)), true;
        case Opcode::kRmsnorm:
            return cuda::macro_rmsnorm(call.device, arguments::rmsnorm(call)), true;
        case Opcode::kRmsnormGrad:
            return cuda::macro_rmsnorm_grad(call.device, arguments::rmsnorm_grad(call)), true;
        case Opcode::kRope:
            return cuda::macro_rope(call.device, arguments::rope(call)), true;
        case Opcode::kRepeatHeads:
            return cuda::macro_repeat_heads(call.device,
                                            arguments::head_groups(call, call.output_slot()),
                                            call.input(0), call.output()),
                   true;
        case Opcode::kRepeatHeadsGrad:
            return cuda::macro_repeat_heads_grad(call.device, arguments::head_groups(call, x),
                                                 call.input(0), call.output()),
                   true;
        case Opcode::kSwiglu:
            return cuda::macro_swiglu(call.device, call.input(0), call.input(1), call.output(),
                                      elements(x)),
                   true;
        case Opcode::kSwigluGrad:
            return cuda::macro_swiglu_grad(call.device, arguments::swiglu_grad(call)), true;
        default:
            return false;
    }
}

}  // namespace gym::engine
