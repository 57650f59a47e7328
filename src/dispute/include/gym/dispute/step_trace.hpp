#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/step_inputs.hpp"
#include "gym/engine/unit.hpp"

/// Answers of a dispute about a unit above the level of primitives: roots after steps, and roots
/// of the trace leaves of one step. Nothing of it is kept while a unit is trained.
namespace gym::dispute {

/// Options that do not change a bit of the results.
struct RerunOptions {
    engine::EngineOptions engine;
    std::function<void(const engine::UnitProgress&)> progress;  ///< after every step
    std::stop_token cancel;                                     ///< looked at before every step
    /// After every step: the steps done, and the trainer, whose state() it may ask for. What it
    /// fails with ends the run.
    std::function<Status(std::uint64_t steps, const engine::Trainer&)> after_step;
};

struct UnitStates {
    Digest initial_root;              ///< of the training state before step 0: fresh moments
    std::vector<Digest> state_roots;  ///< after every step
    std::vector<engine::StepRecord> records;
};

/// Runs the whole unit once and hashes the state after every step.
/// @errors of run_unit().
[[nodiscard]] Result<UnitStates> unit_states(const engine::Unit& unit,
                                             const RerunOptions& options = {});

/// The training state before step `step`, by running all steps before it.
/// @errors of run_unit(); kOutOfRange if the unit has no such step.
[[nodiscard]] Result<engine::State> state_before(const engine::Unit& unit, std::uint64_t step,
                                                 const RerunOptions& options = {});

/// The same from the state after `done` steps on. @errors also kShapeMismatch.
[[nodiscard]] Result<engine::State> state_before(const engine::Unit& unit, std::uint64_t step,
                                                 engine::State after_done, std::uint64_t done,
                                                 const RerunOptions& options = {});

/// One step and what it starts from.
struct StepTrace {
    std::uint64_t step = 0;
    engine::State before;
    engine::StepInputs inputs;
    engine::StepRecord record;
    std::vector<Digest> leaf_roots;    ///< tensor roots of the trace leaves; their Merkle root is
                                       ///< the root of the step's trace tree
    std::vector<Digest> before_roots;  ///< tensor roots of the state before the step
    Digest state_root;                 ///< after the step
};

/// Is shown the bytes of each trace leaf that an op computes, borrowed during the call.
using LeafSink = std::function<void(std::uint32_t leaf, ByteView bytes)>;

/// Runs step `step` from the state before it, with the engine's fused kernels.
/// @errors of run_unit(); kOutOfRange if the unit has no such step; kShapeMismatch if `before` is
/// not a training state of the program.
[[nodiscard]] Result<StepTrace> trace_step(const engine::Unit& unit, const TraceProgram& trace,
                                           std::uint64_t step, engine::State before,
                                           const engine::EngineOptions& options = {},
                                           const LeafSink& sink = {});

/// Only the trace leaf roots of that step. @errors as trace_step().
[[nodiscard]] Result<std::vector<Digest>> leaf_roots(const engine::Unit& unit,
                                                     const TraceProgram& trace, std::uint64_t step,
                                                     const engine::State& before,
                                                     const engine::EngineOptions& options = {},
                                                     const LeafSink& sink = {});

/// The state's tensor roots after a step by those before it and its trace leaves.
/// @pre as many roots as the program has slots and leaves.
[[nodiscard]] std::vector<Digest> next_state_roots(const TraceProgram& trace,
                                                   std::span<const Digest> before_roots,
                                                   std::span<const Digest> leaf_roots);

}  // namespace gym::dispute
