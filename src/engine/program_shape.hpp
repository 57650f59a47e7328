#pragma once

#include <cstdint>

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// What the input "batch" (windows, window_tokens + 1) of a language-model program says.
struct WindowShape {
    std::uint32_t windows = 0;
    std::uint32_t window_tokens = 0;
};

/// @errors kInvalidArgument if the program has no such input.
[[nodiscard]] Result<WindowShape> window_shape(const program::Program& program);

/// How many tokens the model knows: the width of its logits; 0 if it has none.
[[nodiscard]] std::uint32_t vocabulary(const program::Program& program);

/// Indices are clamped, so a larger vocabulary would train silently on wrong tokens.
/// @errors kInvalidArgument.
Status check_vocabulary(const program::Program& program, const blob::Dataset& dataset);

}  // namespace gym::engine
