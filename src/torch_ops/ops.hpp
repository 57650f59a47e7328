#pragma once

// The differentiable ops of libgym_ops.so; library.cpp holds their schemas. Forward results and
// gradients have the bits of the same ops and of the program module's differentiation in an engine
// program.

#include <ATen/ATen.h>

#include <cstdint>

namespace gym::torch_ops {

using at::Tensor;

// Elementwise, with torch's broadcasting as far as the engine's rules go: equal dims, one element,
// a last dim of 1, or an operand that repeats over the leading dims.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor gelu(const Tensor& x);

/// op(a) @ op(b) of two matrices, op a transposition where requested. The Q14 product.
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b);
/// input (..., K) @ weight (N, K)^T + bias (N) -> (..., N).
Tensor linear(const Tensor& input, const Tensor& weight, const c10::optional<Tensor>& bias);
/// Over the last dim. gamma, beta (D).
Tensor layernorm(const Tensor& input, const Tensor& gamma, const Tensor& beta, double epsilon);
/// Attention: qkv (batch, context, 3 D) -> (batch, context, D); a row of qkv holds q, then k, then
/// v, each `heads` heads of D / heads values. Causal: no token reads a later one.
Tensor attention(const Tensor& qkv, std::int64_t heads, bool causal);
/// Over the last dim. gamma (D).
Tensor rmsnorm(const Tensor& input, const Tensor& gamma, double epsilon);
/// silu(gate) * up, of equal dims.
Tensor swiglu(const Tensor& gate, const Tensor& up);
/// Turns the first `heads` heads of each row by its position: x (..., context, columns), tables
/// (context, half a head); pairs are an element and the one half a head on.
Tensor rope(const Tensor& x, const Tensor& cosine, const Tensor& sine, std::int64_t heads);
/// Rows of q, k, v with fewer heads of k and v -> as attention() reads them.
Tensor repeat_heads(const Tensor& qkv, std::int64_t heads, std::int64_t kv_heads);
/// weight (V, D), indices (...) -> (..., D).
Tensor embedding(const Tensor& weight, const Tensor& indices);
/// Over the last dim.
Tensor softmax(const Tensor& input);
/// logits (..., V), targets (...) -> the mean loss, without dims.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets);
/// Exact sums over the last dim (..., 1), and over all dims but the last (D).
Tensor row_sum(const Tensor& x);
Tensor column_sum(const Tensor& x);

}  // namespace gym::torch_ops
