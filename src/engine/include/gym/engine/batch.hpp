#pragma once

#include <cstdint>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"

namespace gym::engine {

/// The tokens of one step: windows of window_tokens + 1 tokens (a program's input "batch"; all but
/// the last token of a window are inputs, all but the first are targets).
struct Batch {
    std::uint32_t windows = 0;
    std::uint32_t window_tokens = 0;
    std::vector<std::int32_t> tokens;  // (windows, window_tokens + 1)
    Digest root;                       ///< tensor root of `tokens`
};

/// Where window `i` of step `step` starts in the training split of `tokens` tokens: the high word
/// of Philox(key; step, i) * (number of start positions). A pure function, the same everywhere.
[[nodiscard]] std::uint64_t window_start(const BatchKey& key, std::uint64_t step, std::uint32_t i,
                                         std::uint64_t starts);

/// Where windows may begin in a split: at first + k * stride, k < count.
struct WindowStarts {
    std::uint64_t first = 0;
    std::uint64_t count = 0;  ///< at least 1
    std::uint64_t stride = 1;
};
/// @errors kInvalidArgument if the split has room for none.
[[nodiscard]] Result<WindowStarts> window_starts(const blob::Dataset& dataset, blob::Split split,
                                                 std::uint32_t window_tokens, std::uint32_t stride);

/// @param stride windows begin at multiples of so many tokens of the dataset, the tokens of both
/// splits counted together.
/// @errors kInvalidArgument if the training split is shorter than one window.
[[nodiscard]] Result<Batch> training_batch(const blob::Dataset& dataset, const BatchKey& key,
                                           std::uint64_t step, std::uint32_t windows,
                                           std::uint32_t window_tokens, std::uint32_t stride = 1);

/// Validation windows `first` .. `first + windows`, spread evenly over `split` out of `total`.
[[nodiscard]] Result<Batch> validation_batch(const blob::Dataset& dataset, std::uint32_t first,
                                             std::uint32_t windows, std::uint32_t total,
                                             std::uint32_t window_tokens, std::uint32_t stride = 1,
                                             blob::Split split = blob::Split::kValidation);

}  // namespace gym::engine
