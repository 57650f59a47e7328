#pragma once

#include <cstdint>

#include "gym/program/program.hpp"

namespace gym::engine {

/// Bytes of a device's scratch buffers (gym/kernels/cuda/scratch.hpp) when every op of the program
/// has run and the roots of its state and outputs were taken: each buffer as large as the op that
/// needs it largest.
[[nodiscard]] std::uint64_t device_scratch_bytes(const program::Program& program);

}  // namespace gym::engine
