#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Weights and the data that they are trained on have one tokenizer: one rule for the command line,
/// here and on a network, and Python.
namespace gym::tokenizer {

/// The root of the tokenizer in the folder of weights that a training begins from; absent if `init`
/// is no folder, or one without a tokenizer that is known. @errors kIo.
[[nodiscard]] Result<std::optional<Digest>> tokenizer_of_weights(const std::filesystem::path& init);

/// @param of_dataset zero: the dataset names no tokenizer. @param dataset names it in the error.
/// @errors kMismatch where the weights have one tokenizer and the dataset names another.
[[nodiscard]] Status check_same_tokenizer(const std::optional<Digest>& of_weights,
                                          const Digest& of_dataset, const std::string& dataset);

}  // namespace gym::tokenizer
