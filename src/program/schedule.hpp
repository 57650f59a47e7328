#pragma once

#include <vector>

#include "gym/program/train_program.hpp"

namespace gym::program {

/// Learning rate of steps 0 .. total_steps: linear warm-up, then the schedule from the peak.
/// Computed with +, -, *, / of binary64: no library function has a say in a program root.
[[nodiscard]] std::vector<float> learning_rate_table(const OptimizerConfig& config);

/// (step + 1) / steps, then 1.
[[nodiscard]] std::vector<float> warmup_table(std::uint32_t steps);

/// cos(pi * turn) for turn in [0, 1], within 1e-15.
[[nodiscard]] double cosine_of_half_turns(double turn);

}  // namespace gym::program
