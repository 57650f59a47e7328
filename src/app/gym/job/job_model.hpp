#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "gym/common/result.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/common/yaml_text.hpp"

/// The model of a job file: a preset, a model file, a TorchScript file or an imported program.
namespace gym::app {

/// Puts the model that the job file's `model` names, a string, into its place.
/// @param folder that relative paths are relative to.
/// @errors kIo, kNotFound; kMalformed, kInvalidArgument naming file, line and key.
Status inline_model(const std::filesystem::path& folder, const std::string& model, YamlText& job);

/// Puts the program of a file that `model.model.forward` names into the job, which is
/// self-contained then. Nothing happens where the model has no such key, or a program already.
/// @return where a TorchScript file's weights are, which the job begins from unless it says
/// something else; nullptr if there are none.
/// @errors as inline_model(); those of import_torchscript(); of train_program() for a model that
/// cannot be trained; kOutOfRange for one that a job has no room for.
[[nodiscard]] Result<std::shared_ptr<const TemporaryFolder>> import_model(
    const std::filesystem::path& folder, YamlText& job);

/// The state file in a folder of import_model().
[[nodiscard]] std::filesystem::path weights_in(const TemporaryFolder& folder);

}  // namespace gym::app
