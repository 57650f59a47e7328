#pragma once

#include <memory>
#include <string>

#include "gym/common/result.hpp"
#include "gym/common/yaml.hpp"
#include "gym/program/train_program.hpp"

/// Reading model files (examples/gpt-tiny.yaml documents every key). Its own library,
/// gym::program_yaml, so that the engine-only build does without yaml-cpp.
namespace gym::program {

/// A model file may name a preset (presets.hpp), as `preset: NAME`, `model: NAME` or within
/// `model`: then every key has the preset's value as its default.
inline constexpr const char* kPresetKey = "preset";

/// @param path a model file, or the name of a preset.
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

/// A model file with every key of the architecture, in the order of docs/PROGRAMS.md, which reads
/// as `config`. Not for imported models.
[[nodiscard]] std::string train_config_text(const TrainConfig& config);

/// The same of a preset, after comments that say what it is. @errors of preset_config().
[[nodiscard]] Result<std::string> preset_text(std::string_view name);

}  // namespace gym::program
