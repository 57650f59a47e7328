#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/measure/evaluation.hpp"

namespace gym::app {

/// deploy/config/evaluation.yaml documents every key. Paths are those of the file, relative ones to
/// its folder.
struct EvaluationFile {
    std::filesystem::path model;
    Digest seed;
    std::uint32_t base_steps = 0;
    std::uint32_t steps = 0;
    std::uint32_t windows = 0;
    std::filesystem::path reference;
    std::filesystem::path held_out;
    Digest salt;
};
/// @errors kIo, kInvalidArgument with file, line and key; unknown keys are errors.
[[nodiscard]] Result<EvaluationFile> load_evaluation_file(const std::filesystem::path& path);

struct OpenedEvaluation {
    measure::Evaluation evaluation;
    std::string model_yaml;  ///< the model file's text
};
/// The file with everything that it names. @errors also those of measure::Evaluation::create();
/// kInvalidArgument for the salt of the example.
[[nodiscard]] Result<OpenedEvaluation> open_evaluation(const std::filesystem::path& path);

}  // namespace gym::app
