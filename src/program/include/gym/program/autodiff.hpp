#pragma once

#include <span>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/program/builder.hpp"

namespace gym::program {

/// Reverse-mode differentiation: appends to `builder` the ops that compute the gradient of `loss`
/// (one element) with respect to each slot of `wrt`, and returns the gradients' slots in that
/// order. Ops are visited from the last to the first; a slot used several times gets its
/// contributions added elementwise in that order (later uses first), each sum rounded to f32.
/// @errors kInvalidArgument if `loss` does not depend on a slot of `wrt`, or depends on it through
/// an op without a derivative (min, one_hot, a strided_copy that leaves elements out or repeats
/// them, ... and every *_grad).
[[nodiscard]] Result<std::vector<SlotId>> gradients(Builder& builder, SlotId loss,
                                                    std::span<const SlotId> wrt);

}  // namespace gym::program
