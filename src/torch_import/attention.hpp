#pragma once

// Softmax attention as people write it, op by op: q @ k^T, a factor, no or a causal mask, softmax,
// @ v. Programs have it as one op, so scores are only remembered, by the storage of the tensor that
// stands for them, until the product with v. Whatever else reads them ends the import.

#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "symbols.hpp"

namespace gym::torch_import {

/// Whether a @ b is q @ k^T: batched, of tensors that depend on the inputs.
[[nodiscard]] bool begins_attention(const Tensor& a, const Tensor& b);
/// The scores a @ b. @throws c10::Error for shapes that no attention has.
Tensor begin_attention(Symbols& symbols, const Tensor& a, const Tensor& b);

// For scores (`Symbols::scores_of` is not null): the same after the op.
Tensor scale_scores(Symbols& symbols, const Tensor& scores, double factor);
/// `hidden` (..., T, T) of bool: true where a score counts for nothing. @throws unless it is
/// causal.
Tensor mask_scores(Symbols& symbols, const Tensor& scores, const Tensor& hidden);
/// `bias` (..., T, T) of 0, and -inf or as good as that where a score counts for nothing.
Tensor add_to_scores(Symbols& symbols, const Tensor& scores, const Tensor& bias);
Tensor softmax_scores(Symbols& symbols, const Tensor& scores);
/// Writes the attention: softmax(scores) @ v.
Tensor end_attention(Symbols& symbols, const Tensor& scores, const Tensor& v);

/// Whether masked scores filled with `value` are as good as gone.
[[nodiscard]] bool hides(double value);

/// a times, over or plus b where one of them is scores; none where neither is.
std::optional<Tensor> with_scores(Symbols& symbols, program::Opcode code, const Tensor& a,
                                  const Tensor& b);
/// aten::masked_fill(scores, hidden, value) and aten::where(shown, scores, value).
c10::IValue scores_masked_fill(Symbols& symbols, const std::vector<c10::IValue>& arguments);
c10::IValue scores_where(Symbols& symbols, const std::vector<c10::IValue>& arguments);

}  // namespace gym::torch_import
