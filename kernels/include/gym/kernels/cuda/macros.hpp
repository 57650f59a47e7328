// The macros of docs/MACROS.md on a device, with the bits of their expansions: macros.hpp with a
// Device in the place of a Context. Pointers are device memory, in the same structs.
#pragma once

#include <span>
#include <vector>

#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/kernels/macros.hpp"

namespace gym::kernels::cuda {

/// out (rows): exact sums of the rows of x.
void macro_row_sum(Device& device, const float* x, Rows shape, float* out);
/// out (columns): exact sums of the columns of x (rows, columns).
void macro_column_sum(Device& device, const float* x, int64_t rows, int64_t columns, float* out);
/// out (1): exact sum of x[i] * x[i].
void macro_sum_squares(Device& device, const float* x, int64_t count, float* out);

/// out (count): exact sums over tensors.
void macro_sum_tensors(Device& device, const TensorSum& call);

void macro_matmul(Device& device, MatmulShape shape, const float* a, const float* b, float* out);

void macro_layernorm(Device& device, const LayernormForward& call);
void macro_layernorm_grad(Device& device, const LayernormBackward& call);
void macro_gelu_grad(Device& device, const float* x, const float* dy, float* dx, int64_t count);

void macro_rmsnorm(Device& device, const RmsnormForward& call);
void macro_rmsnorm_grad(Device& device, const RmsnormBackward& call);
void macro_rope(Device& device, const Rotation& call);
void macro_repeat_heads(Device& device, const HeadGroups& shape, const float* few, float* many);
void macro_repeat_heads_grad(Device& device, const HeadGroups& shape, const float* many,
                             float* few);
void macro_swiglu(Device& device, const float* gate, const float* up, float* y, int64_t count);
void macro_swiglu_grad(Device& device, const SwigluBackward& call);

void macro_attention(Device& device, const AttentionForward& call);
void macro_attention_grad(Device& device, const AttentionBackward& call);

void macro_cross_entropy(Device& device, const CrossEntropyForward& call);
/// @param d_loss (1) on the device; call.d_loss is not read.
void macro_cross_entropy_grad(Device& device, const CrossEntropyBackward& call,
                              const float* d_loss);

void macro_embedding_grad(Device& device, const EmbeddingBackward& call);

/// The numbers of an AdamwStep that a program computes: (1) each, on the device. The step's own
/// learning_rate, clip, r1 and r2 are not read.
struct AdamwScalars {
    const float* learning_rate;
    const float* clip;
    const float* r1;
    const float* r2;
    /// (1), where it is not above 0 the old values stay; nullptr: a step in any case.
    const float* keep = nullptr;
};
/// Steps of tensors that have all numbers but weight_decay in common, and of which none reads what
/// another one writes.
void macro_adamw(Device& device, std::span<const AdamwStep> steps, const AdamwScalars& scalars);
/// The sums that memory has after macro_adamw(), of p_next, m_next and v_next of each step; writes
/// nothing.
[[nodiscard]] std::vector<Checks::Sum> sum_adamw(Device& device, Checks& checks,
                                                 std::span<const AdamwStep> steps,
                                                 const AdamwScalars& scalars);

}  // namespace gym::kernels::cuda
