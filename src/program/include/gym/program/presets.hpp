#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/program/train_program.hpp"

/// Models by name (docs/PROGRAMS.md, "Presets"). Job files name them, so an entry never changes: a
/// better one gets a new name.
namespace gym::program {

struct Preset {
    std::string_view name;     ///< a-z, 0-9, - and . alone, so that no model file has such a path
    std::string_view summary;  ///< one line
    std::string_view source;   ///< the paper or published configuration that the shape is from
    TrainConfig config;
    /// Tokens of the published model where the preset has fewer; else 0.
    std::uint32_t published_vocabulary = 0;
};

/// All of them: small ones, then families by size. Immutable, thread-safe.
[[nodiscard]] std::span<const Preset> presets();

/// nullptr if there is none of this name.
[[nodiscard]] const Preset* find_preset(std::string_view name);

/// @errors kNotFound with the names that there are.
[[nodiscard]] Result<TrainConfig> preset_config(std::string_view name);

/// `error`, why the model file `name` was not read; if there is none, with the presets that there
/// are.
[[nodiscard]] Error with_presets(Error error, std::string_view name);

}  // namespace gym::program
