#pragma once

#include <cstdint>

namespace gym::engine {

// The op field of random positions (kernels::RandomPosition; docs/NUMERICS.md, "Randomness").
inline constexpr std::uint32_t kRandomOpBatch = 0;         ///< windows of a step
inline constexpr std::uint32_t kRandomOpInitialFirst = 1;  ///< initial values of slot s: this + s
inline constexpr std::uint32_t kRandomOpGenerate = 0xFFFFFF;  ///< sampling of generated tokens

/// Steps of a unit: what the step field of a random position holds.
inline constexpr std::uint32_t kUnitStepsMax = 1U << 20;
inline constexpr std::uint32_t kBatchWindowsMax = 1U << 16;
inline constexpr std::uint32_t kWindowTokensMax = 1U << 20;

}  // namespace gym::engine
