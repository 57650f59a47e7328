#pragma once

#include <cstdint>

namespace gym::protocol {

/// The most windows of an evaluation, and so the most batches: steps of its unit.
inline constexpr std::uint32_t kEvaluationWindowsMax = 65'536;

}  // namespace gym::protocol
