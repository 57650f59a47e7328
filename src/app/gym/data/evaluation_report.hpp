#pragma once

#include <cstdint>

#include "cli/cli_context.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/program/program.hpp"

namespace gym::app {

/// engine::evaluate() with a bar on a terminal, ended by SIGINT or SIGTERM.
[[nodiscard]] Result<engine::Evaluation> evaluate_with_progress(
    const program::Program& program, const engine::State& state, const blob::Dataset& dataset,
    std::uint32_t windows, const engine::EngineOptions& options);

/// @param asked the number of windows requested; fewer are explained on standard error.
void print_evaluation(const CliContext& context, const engine::Evaluation& result,
                      std::uint32_t asked);

}  // namespace gym::app
