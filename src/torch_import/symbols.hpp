#pragma once

// Tensors whose values are known only when the program runs. The interpreter sees them as libtorch
// meta tensors, which have a shape and a layout but no values: every storage of such a tensor is
// one slot, and a view of it is a view of the slot's row-major elements.

#include <ATen/ATen.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "gym/engine/state.hpp"
#include "gym/program/builder.hpp"

namespace gym::torch_import {

using at::Tensor;
using program::Builder;
using program::Dims;
using program::DType;
using program::SlotId;

/// A size, count or index as programs hold it. @throws c10::Error for one beyond 2^31.
[[nodiscard]] std::uint32_t narrow(std::int64_t value);

/// The dims that slots have here: the last one, and all others as one, so that most reshapes cost
/// nothing.
[[nodiscard]] Dims slot_dims(at::IntArrayRef sizes);

/// Attention scores on their way from q @ k^T to the product with v (attention.hpp).
struct Scores {
    Tensor q, k;                      ///< (windows, heads, tokens, size), or without heads
    std::vector<std::int64_t> sizes;  ///< (windows, heads, tokens, tokens), or without heads
    double scale = 1;
    bool causal = false;   ///< masked
    bool softmax = false;  ///< of the above
};

class Symbols {
  public:
    [[nodiscard]] static bool is_symbolic(const Tensor& tensor) {
        return tensor.defined() && tensor.is_meta();
    }

    /// A meta tensor of these sizes for what `slot` will hold.
    Tensor make(SlotId slot, at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat);
    /// A meta tensor that stands for scores: no slot holds them.
    Tensor make_scores(Scores scores);
    /// nullptr for any other tensor.
    [[nodiscard]] const Scores* scores_of(const Tensor& tensor) const;
    /// Elements of the storage that a symbolic tensor is a view of.
    [[nodiscard]] std::int64_t elements_of(const Tensor& tensor) const;
    /// Program input "input<n>"; integers of any width are i32 there.
    Tensor input(std::size_t number, at::IntArrayRef sizes, at::ScalarType dtype);
    /// A trained tensor; the same memory under another name is the same slot.
    Tensor param(const std::string& name, const Tensor& value);

    /// The slot of a symbolic tensor, or of a constant's values, with dims slot_dims(sizes). Copies
    /// where the layout is not row-major. @throws c10::Error for dtypes that no program has.
    SlotId dense(const Tensor& tensor);
    /// The same, f32 alone. `what` names the operand in errors.
    SlotId dense_f32(const char* what, const Tensor& tensor);
    /// dense(), with exactly these dims.
    SlotId shaped(const Tensor& tensor, const Dims& dims);
    /// The slot of a matrix that lies transposed in memory, (columns, rows); kNoSlot if it does
    /// not.
    SlotId stored_transposed(const Tensor& tensor);
    /// From now on `tensor`, which must be all of its storage, is what `result` is.
    void rebind(const Tensor& tensor, const Tensor& result);

    [[nodiscard]] Builder& builder() { return builder_; }
    [[nodiscard]] const std::vector<engine::StateTensor>& weights() const { return weights_; }

  private:
    SlotId slot_of(const Tensor& tensor) const;
    /// kNoSlot if `tensor`, a view of `slot`, is not some of the rows of a matrix.
    SlotId some_rows(SlotId slot, const Tensor& tensor);
    SlotId constant(const Tensor& value);

    Builder builder_;
    std::unordered_map<const void*, SlotId> slots_;  ///< by storage
    std::unordered_map<const void*, Scores> scores_;
    std::vector<Tensor> alive_;                      ///< so that no storage's address comes again
    std::vector<std::pair<Tensor, Tensor>> params_;  ///< values and their symbols
    std::vector<engine::StateTensor> weights_;
    std::size_t constants_ = 0;
};

}  // namespace gym::torch_import
