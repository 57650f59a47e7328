#pragma once

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// The logits of `train`'s model for a single window. A program has one batch size; if `train` is a
/// model that the builder could have written, the same model is written again for one window, which
/// makes each generated token as many times cheaper. Any other program gives its own logits part.
[[nodiscard]] Result<program::Program> generation_program(const program::Program& train);

}  // namespace gym::engine
