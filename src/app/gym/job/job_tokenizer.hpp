#pragma once

#include <optional>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/registry/datasets.hpp"

namespace gym::app {

/// The root of the tokenizer in the folder of weights that a job begins from; absent if `init` is
/// no folder, or one without a tokenizer that is known. @errors kIo.
[[nodiscard]] Result<std::optional<Digest>> tokenizer_of_weights(const std::string& init);

/// @errors kMismatch where the weights have one tokenizer and the dataset names another.
[[nodiscard]] Status check_tokenizer(const std::optional<Digest>& of_weights,
                                     const registry::Dataset& dataset);

}  // namespace gym::app
