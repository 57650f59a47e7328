// The measured peaks of this machine: the bounds that kernels are compared with.
#pragma once

#include "gym/kernels/context.hpp"

namespace gym::bench {

/// i16 multiply-adds a second on all threads of `context`: the instruction that the Q14 product is
/// made of, on registers alone. Zero at the scalar level.
[[nodiscard]] double integer_peak(const kernels::Context& context);

}  // namespace gym::bench
