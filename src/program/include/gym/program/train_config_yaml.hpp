#pragma once

#include <memory>
#include <string>

#include "gym/common/result.hpp"
#include "gym/common/yaml.hpp"
#include "gym/program/train_program.hpp"

/// Reading model files (examples/gpt-tiny.yaml documents every key). Its own library,
/// gym::program_yaml, so that the engine-only build does without yaml-cpp.
namespace gym::program {

/// @errors kIo, kInvalidArgument with file, line and key; unknown keys are errors.
[[nodiscard]] Result<TrainConfig> load_train_config(const std::string& path);
/// The same for an imported model: a file without the key `model`. @errors also of
/// imported_model().
[[nodiscard]] Result<TrainConfig> load_train_config(const std::string& path,
                                                    std::shared_ptr<const Program> forward);
[[nodiscard]] Result<TrainConfig> parse_train_config(const std::string& text,
                                                     const std::string& origin);
/// Reads the keys of a model file from `map` (a job file has them under a key of its own).
[[nodiscard]] Result<TrainConfig> read_train_config(YamlMap& map);

}  // namespace gym::program
