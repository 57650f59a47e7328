#pragma once

#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/program.hpp"

namespace gym::app {

/// The train program of weights on disk: that of `model` (a preset or a model file), of an exported
/// folder, or of a folder whose config.json describes a known architecture.
/// @errors kInvalidArgument where nothing says which model the weights are of; those of
/// load_train_config(), read_model_folder() and parse_hf_config().
[[nodiscard]] Result<program::Program> program_of_weights(const std::string& weights,
                                                          const std::string& model);

/// Files of the tokenizer in a folder of weights; none if there is no folder, or no tokenizer in it
/// that is known, which a line on standard error says. @errors kIo.
[[nodiscard]] Result<std::vector<interchange::NamedFile>> tokenizer_beside(
    const std::string& weights);

}  // namespace gym::app
