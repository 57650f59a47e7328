#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/interchange/safetensors.hpp"
#include "gym/program/program.hpp"

/// Weights on disk, in any form that training can begin from.
namespace gym::interchange {

inline constexpr std::size_t kShardsMax = 4096;
inline constexpr std::uint64_t kConfigBytesMax = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kIndexBytesMax = std::uint64_t{1} << 26;

struct LoadedWeights {
    engine::State base;                        ///< every value is finite
    std::string names;                         ///< the naming of the tensors; "state" for a state
    std::vector<std::filesystem::path> files;  ///< that the weights came from
    std::size_t tensors = 0;                   ///< in these files
};

/// The base state of `program` with the weights in `path`, which is one of
/// - a folder in Hugging Face form: config.json and model.safetensors, or the parts that
///   model.safetensors.index.json names;
/// - a safetensors file;
/// - a state of the program (`gym program run --state`), of which the parameters are taken.
/// Weights are F32, F16 or BF16 (widened exactly).
/// @errors kNotFound for a path, config or part that is not there; kMalformed naming file, tensor
/// and offset of what is broken; kInvalidArgument naming file and tensor of NaN and infinity, or
/// the setting of config.json in which the model is another; all tensors that do not fit, as
/// engine::Differences; kOutOfRange for more than this machine's memory holds.
[[nodiscard]] Result<LoadedWeights> load_weights(const std::filesystem::path& path,
                                                 const program::Program& program);

/// The same of safetensors files alone: one, or all parts of a model.
/// @param names one of naming_names(); empty: the one whose names the tensors have.
[[nodiscard]] Result<LoadedWeights> load_weight_files(
    const std::vector<std::filesystem::path>& files, const program::Program& program,
    const std::string& names = "");

/// The naming whose names `tensors` have: the program's own, or else that of its architecture.
[[nodiscard]] std::string naming_in(const program::Program& program,
                                    const std::vector<SafetensorsEntry>& tensors);

}  // namespace gym::interchange
