#pragma once

#include <cstdint>

#include "gym/common/memory.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Memory for running a program, in bytes: of the host or of a CUDA device.
struct MemoryNeed {
    std::uint64_t state = 0;      ///< parameters and optimizer state, and the program's constants
    std::uint64_t temps = 0;      ///< activations and gradients: the arena of the memory plan
    std::uint64_t workspace = 0;  ///< of the kernels: quantised operands, attention's scores

    [[nodiscard]] std::uint64_t total() const { return state + temps + workspace; }
};

/// Exact for state and temps of a CPU, whose workspace is an estimate, high rather than low. On a
/// device, where state has the inputs and roots, too: what its driver takes for the program's
/// allocations (cuda::allocated_bytes()), and room for the driver itself. @param options threads,
/// isa and device count; the device need not be there. @errors as Engine::create's for these,
/// kInvalidArgument for a device that has no such name.
[[nodiscard]] Result<MemoryNeed> memory_need(const program::Program& program,
                                             const EngineOptions& options = {});

/// What the host takes of a unit that a GPU trains, beside its base state: a copy of the training
/// state, and the delta.
[[nodiscard]] std::uint64_t host_bytes_beside_gpu(const program::Program& train);

/// The same on both kinds of device, with one thread of a CPU.
struct DeviceNeeds {
    MemoryNeed cpu, gpu;
};
[[nodiscard]] Result<DeviceNeeds> device_needs(const program::Program& program);

using gym::available_memory_bytes;
using gym::memory_text;

}  // namespace gym::engine
