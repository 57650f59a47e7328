#pragma once

#include <cstdint>
#include <vector>

#include "gym/program/program.hpp"
#include "memory_plan.hpp"

namespace gym::engine {

/// Bytes of what lies on a device as long as its engine does: of each slot outside of the arena, by
/// number, with 0 for the others, and at the end of two roots for each tensor of the state or each
/// output.
[[nodiscard]] std::vector<std::uint64_t> lasting_sizes(const program::Program& program,
                                                       const MemoryPlan& plan);

/// Bytes of a device's scratch buffers (gym/kernels/cuda/scratch.hpp) when every op of the program
/// has run and the roots of its state and outputs were taken: each buffer as large as the op that
/// needs it largest, and each as the driver rounds it up.
[[nodiscard]] std::uint64_t device_scratch_bytes(const program::Program& program);

}  // namespace gym::engine
