#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/positions.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/delta_groups.hpp"

namespace gym::blob {
class Dataset;
}

namespace gym::engine {

/// A unit of training: `steps` inner optimizer steps from a public base state. A pure function of
/// this, the program, the base state and the dataset: whoever runs it gets the same bits.
struct UnitSpec {
    Digest job_seed;
    std::uint64_t round = 0;
    std::uint32_t slot = 0;
    std::uint32_t steps = 0;  ///< 1 .. kUnitStepsMax
    std::uint32_t checkpoint_every =
        0;  ///< gradient and state roots every so many steps, always at the last
    Digest program_root;
    Digest dataset_root;
    Digest base_state_root;  ///< state_root of the base state (parameters alone)

    friend bool operator==(const UnitSpec&, const UnitSpec&) = default;
};

/// A unit with its inputs, borrowed during a call.
struct Unit {
    const program::Program& train;
    const State& base;
    const blob::Dataset& dataset;
    const UnitSpec& spec;
};
/// Whether the inputs are the spec's. @errors kMismatch: one does not hash to the root that the
/// spec names; kInvalidArgument: zero steps; kOutOfRange: more than kUnitStepsMax.
Status check_inputs(const Unit& unit, unsigned threads);

struct UnitProgress {
    std::uint64_t step = 0;  ///< steps done
    std::uint64_t steps = 0;
    float loss = 0;
    double tokens_per_second = 0;
};

/// Position of a run after `records.size()` steps. A run that resumes here gives the bits of
/// a run that was never interrupted.
struct UnitPosition {
    State state;  ///< the training state after those steps
    std::vector<StepRecord> records;
};

/// Steps `begin` to `end` - 1 of a unit.
struct StepRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Nothing here changes a bit.
struct StepOptions {
    EngineOptions engine;
    std::function<void(const UnitProgress&)> progress;  ///< after every step
    /// After every step and `progress`: the trainer, whose state() it may ask for, and the step's
    /// record. Its error ends the run.
    std::function<Status(const Trainer&, const StepRecord&)> after_step;
    std::function<void(const TraceEntry&)> trace;  ///< the macro outputs of `trace_step`
    std::uint64_t trace_step = ~std::uint64_t{0};  ///< none by default
    std::stop_token cancel;  ///< looked at before the first and after every step
};

/// Runs steps of a unit from the training state before them: the loop under every run of a unit,
/// whoever runs it and why. Does not check the inputs (check_inputs()).
/// @errors of Trainer::create() and Trainer::step(); kCancelled; those of after_step.
[[nodiscard]] Result<Trainer> run_steps(const Unit& unit, State before, const StepRange& steps,
                                        const StepOptions& options);

struct RunOptions {
    EngineOptions engine;
    /// Goes on from here; its state is moved from, or there would be two of them in memory during
    /// the run. nullptr: from the base state.
    UnitPosition* resume = nullptr;
    std::function<void(const UnitProgress&)> progress;  ///< after every step
    /// After every step and `progress`: the trainer, whose state() it may ask for, and all records
    /// so far, borrowed.
    std::function<void(const Trainer&, std::span<const StepRecord>)> after_step;
    std::function<void(const TraceEntry&)> trace;  ///< the macro outputs of `trace_step`
    std::uint64_t trace_step = ~std::uint64_t{0};  ///< none by default
    std::stop_token cancel;  ///< looked at before the first and after every step
};

struct UnitResult {
    std::vector<StepRecord> records;
    Digest records_root;
    State final_state;  ///< the training state after the last step
    Digest final_state_root;
    blob::VerifiedBlob delta;  ///< codec 0, see encode_delta()
    std::uint64_t tokens = 0;
    std::uint64_t flops = 0;
    float last_loss = 0;
};

/// Runs a unit. The inner optimizer state is fresh.
/// @errors of check_inputs() and run_steps(); kInvalidArgument: zero batch; kOutOfRange: the
/// dataset is shorter than one window, memory. Of a position to resume from: kMismatch unless its
/// records are those of the first steps in order, and its state hashes to the last record's root
/// where there is one; kShapeMismatch.
[[nodiscard]] Result<UnitResult> run_unit(const Unit& unit, const RunOptions& options = {});

struct AggregateResult {
    program::Program program;  ///< the outer step over this number of deltas, derived from `train`
    State base;
    State momentum;  ///< the outer state (outer_state.hpp): with an update, more than momenta
    Digest base_root;
    Digest momentum_root;
    std::vector<StepRecord> records;  ///< one: state_root = root over base then momentum tensors
    Digest records_root;
    std::uint64_t flops = 0;
};

/// Into how many ranges an aggregate is cut (parameter_ranges.hpp). Changes no bit.
enum class RangeCount : std::uint64_t {
    kAny = 0,  ///< as many as suit the threads and the model
};

/// The outer step as a unit of its own: exact mean of `deltas` (in slot order) and Nesterov. Of a
/// program with an update (program::update_codec()) the step moves the residual to u, and the base
/// by what the rows of u say (publish_rows()); they are the update in the new outer state.
/// Works range by range, on several at once: of stored deltas (Delta::open()) no more is in memory
/// than 128 KiB each and thread, and 1 GiB together.
/// @param groups what each of them counts (program::aggregate_program()).
/// @param train the job's train program, whose outer constants and parameters define the step; not
/// an aggregate program, which is derived here and returned.
/// @param base moved, it needs no second copy. @param momentum the outer state after the last
/// round, likewise; empty: zeros (round 0).
/// @errors kInvalidArgument: no deltas, more than program::kDeltasMax, or not a train program;
/// kShapeMismatch: base, momentum or a delta is not the program's; those of the deltas' readers.
/// @param elements_max as of program::aggregate_program().
[[nodiscard]] Result<AggregateResult> run_aggregate(
    const program::Program& train, State base, State momentum, std::span<const Delta> deltas,
    const program::DeltaGroups& groups = {}, const EngineOptions& options = {},
    std::uint64_t elements_max = program::kSlotElementsMax, RangeCount ranges = RangeCount::kAny);

/// All-zero momentum shaped like `base`: of a program without an update, its zero_outer_state().
[[nodiscard]] State zero_momentum(const State& base);

}  // namespace gym::engine
