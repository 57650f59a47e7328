#pragma once

#include <optional>
#include <string>

#include "gym/engine/record.hpp"

namespace gym::engine {

/// Why a run cannot continue after this step: its loss is NaN or infinite, and no guard skipped the
/// step. Names the step and what to try. Absent: it can.
[[nodiscard]] std::optional<std::string> divergence(const StepRecord& record);

/// Whether the state after this step may hold NaN: its loss or gradient is not finite, and no guard
/// skipped it. Such a state is not worth keeping.
[[nodiscard]] bool spoils_state(const StepRecord& record);

}  // namespace gym::engine
