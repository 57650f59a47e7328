#pragma once

#include <cstdint>

namespace gym::engine {

/// Counters of Philox that belong to no op (kernels::RandomPosition::op, 24 bits;
/// docs/NUMERICS.md). No program has that many ops, so these never meet an op's own words.
inline constexpr std::uint32_t kRandomOpBatch = 0xFFFFFF;  ///< windows of a step
inline constexpr std::uint32_t kRandomOpInitial =
    0xFFFFFE;  ///< initial parameters; step = slot index
inline constexpr std::uint32_t kRandomOpGenerate = 0xFFFFFD;  ///< sampling of generated tokens
inline constexpr std::uint32_t kProgramOpsMax = 0x800000;

/// Steps of a unit: what the step field of a random position holds.
inline constexpr std::uint32_t kUnitStepsMax = 1U << 20;
inline constexpr std::uint32_t kBatchWindowsMax = 1U << 16;
inline constexpr std::uint32_t kWindowTokensMax = 1U << 20;

}  // namespace gym::engine
