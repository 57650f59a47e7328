#pragma once

// Between libtorch's tensors and the engine's ops: what may be passed, and one call that runs an
// op.

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

#include "gym/program/opcode.hpp"

namespace gym::torch_ops {

using at::Tensor;
using program::Opcode;

/// Refuses what the engine cannot read as it is: a tensor that is not a dense row-major FP32 tensor
/// in the CPU's memory with 1 to 5 dims (none counts as [1]) and at least one element.
/// @throws c10::Error naming the op, the argument and the remedy.
void require_f32(const char* op, const char* name, const Tensor& tensor);

/// Indices as the engine reads them, i32. @throws c10::Error as above, and c10::IndexError for an
/// index outside 0 .. bound - 1.
[[nodiscard]] Tensor indices_i32(const char* op, const char* name, const Tensor& indices,
                                 std::int64_t bound);

/// An uninitialised FP32 tensor.
[[nodiscard]] Tensor empty_f32(at::IntArrayRef dims);
/// One element.
[[nodiscard]] Tensor scalar_f32(float value);
/// (rows, last dim), sharing memory.
[[nodiscard]] Tensor as_rows(const Tensor& tensor);
/// A gradient that autograd hands over, in the layout that ops read. @throws c10::Error if the
/// gradient is itself to be differentiated: `op` has no second derivative.
[[nodiscard]] Tensor incoming(const char* op, const Tensor& gradient);

/// An op's attribute that is an f32.
[[nodiscard]] std::uint64_t f32_attribute(float value);

/// Runs one op of docs/NUMERICS.md with libtorch's number of threads (at::get_num_threads), which
/// changes no bit. Calls from several threads take turns.
/// @throws c10::Error beginning with `op` if the shapes break a rule of the op.
void run(const char* op, Opcode code, std::initializer_list<Tensor> inputs,
         std::initializer_list<Tensor> outputs, std::span<const std::uint64_t> attributes = {});

}  // namespace gym::torch_ops
