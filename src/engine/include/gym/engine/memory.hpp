#pragma once

#include <cstdint>

#include "gym/common/memory.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Memory for running a program on the CPU, in bytes.
struct MemoryNeed {
    std::uint64_t state = 0;      ///< parameters and optimizer state, and the program's constants
    std::uint64_t temps = 0;      ///< activations and gradients: the arena of the memory plan
    std::uint64_t workspace = 0;  ///< of the kernels: quantised operands, a thread's attention

    [[nodiscard]] std::uint64_t total() const { return state + temps + workspace; }
};

/// Exact for state and temps; the workspace is an estimate, high rather than low.
/// @param options threads and isa count. @errors as Engine::create's for these.
[[nodiscard]] Result<MemoryNeed> memory_need(const program::Program& program,
                                             const EngineOptions& options = {});

using gym::available_memory_bytes;
using gym::memory_text;

}  // namespace gym::engine
