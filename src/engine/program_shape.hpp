#pragma once

#include <cstdint>
#include <span>

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Dims of the input "batch" (windows, window_tokens + 1) of a language-model program.
struct WindowShape {
    std::uint32_t windows = 0;
    std::uint32_t window_tokens = 0;
    std::uint32_t stride = 1;   ///< windows begin at multiples of it: rows, padded or with labels
    std::uint32_t classes = 0;  ///< of a classifier: the last token of a window is one of so many
};

/// @errors kInvalidArgument if the program has no such input.
[[nodiscard]] Result<WindowShape> window_shape(const program::Program& program);

/// How many tokens the model knows: the width of its logits or, of a classifier, the rows of the
/// table that its inputs are looked up in; 0 if it has none.
[[nodiscard]] std::uint32_t vocabulary(const program::Program& program);

/// @pre a classifier. @errors kInvalidArgument for a token that is not one of its classes.
Status check_class(const WindowShape& shape, std::uint32_t token);

/// @errors kInvalidArgument for a window whose last token is not a class: targets are clamped, too.
Status check_classes(const WindowShape& shape, std::span<const std::int32_t> tokens);

/// Indices are clamped, so a larger vocabulary would train silently on wrong tokens.
/// @errors kInvalidArgument.
Status check_vocabulary(const program::Program& program, const blob::Dataset& dataset);

}  // namespace gym::engine
