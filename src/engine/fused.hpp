#pragma once

#include "execute.hpp"

namespace gym::engine {

// One function per op that has a fast version (kernels/macros.hpp, kernels/vector_ops.hpp). Each
// returns whether it took the case; what it declines runs by the op's definition.
bool fused_row_sum(const OpCall& call);
bool fused_column_sum(const OpCall& call);
bool fused_sum_squares(const OpCall& call);
bool fused_matmul(const OpCall& call);
bool fused_layernorm(const OpCall& call);
bool fused_layernorm_grad(const OpCall& call);
bool fused_gelu_grad(const OpCall& call);
bool fused_attention(const OpCall& call);
bool fused_attention_grad(const OpCall& call);
bool fused_cross_entropy(const OpCall& call);
bool fused_cross_entropy_grad(const OpCall& call);
bool fused_embedding_grad(const OpCall& call);
bool fused_adamw(const OpCall& call);
bool fused_adamw_guarded(const OpCall& call);
bool fused_sum_tensors(const OpCall& call);
bool fused_random_mask(const OpCall& call);
bool fused_rmsnorm(const OpCall& call);
bool fused_rmsnorm_grad(const OpCall& call);
bool fused_rope(const OpCall& call);
bool fused_repeat_heads(const OpCall& call);
bool fused_repeat_heads_grad(const OpCall& call);
bool fused_swiglu(const OpCall& call);
bool fused_swiglu_grad(const OpCall& call);

bool fused_block_dot(const OpCall& call);

bool fast_elementwise(const OpCall& call);

}  // namespace gym::engine
