#pragma once

// Faults on purpose, for tests and for the demo's cheating worker. The shipped programs contain
// none of this: only a target that links the object library gym_engine_fault_injection (which
// defines GYM_FAULT_INJECTION) has set_fault_hook() and an executor that calls it.

#ifdef GYM_FAULT_INJECTION

#include <cstdint>
#include <functional>
#include <span>

namespace gym::engine {

/// Called after each op with its output, which it may change. `run` counts the runs of one Engine
/// from EngineOptions::first_run on; of a Trainer it is the step of the unit, so that a step that
/// is run again alone, for a dispute, has the fault of the first time.
using FaultHook =
    std::function<void(std::uint64_t run, std::uint32_t op, std::span<std::uint8_t> output)>;

/// Installs the process-wide hook (empty removes it). Not thread-safe: call it before running
/// units.
void set_fault_hook(FaultHook hook);

/// Hook that the executor of this build calls.
void call_fault_hook(std::uint64_t run, std::uint32_t op, std::span<std::uint8_t> output);

}  // namespace gym::engine

#endif  // GYM_FAULT_INJECTION
