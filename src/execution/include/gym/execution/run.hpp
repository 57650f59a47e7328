#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/delta_groups.hpp"
#include "gym/program/program.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/round_record.hpp"

/// Units as their round record defines them. Workers run them, and verifiers, referees, auditors
/// and players run them again, all by these functions: none can mean another unit, or another
/// result, by the same record.
namespace gym::execution {

/// The engine's terms for the train unit in a slot of a round.
[[nodiscard]] engine::UnitSpec unit_spec(const protocol::RoundTerms& round,
                                         const protocol::SlotAssignment& slot);

/// Decoded inputs of a round's train units. Program and dataset are shared with other rounds.
struct TrainInputs {
    std::shared_ptr<const program::Program> program;
    std::shared_ptr<const blob::Dataset> dataset;
    engine::State base;
};

struct TrainRun {
    engine::UnitResult result;
    Digest trace;  ///< for a report (protocol::trace_at()); zero without a challenge

    [[nodiscard]] protocol::UnitRoots roots() const {
        return {result.records_root, result.final_state_root, result.delta.root()};
    }
};
/// Runs the train unit in a slot. Checks every input against the round's terms.
/// @param options `trace` and `trace_step` are the challenge's if there is one.
/// @param challenge a verifier's signature, which draws the positions of its report's trace;
/// nullptr: no trace. @errors of engine::run_unit().
[[nodiscard]] Result<TrainRun> run_train(const protocol::RoundTerms& round,
                                         const protocol::SlotAssignment& slot,
                                         const TrainInputs& inputs, engine::RunOptions options = {},
                                         const crypto::Signature* challenge = nullptr);

/// Runs the first steps of the train unit in a slot. Checks every input against the round's terms.
/// @param options `after_step` is this function's own.
/// @return the link of the unit's record chain after them, which commits to the records of all of
/// them (engine::record_chain()); protocol::UnitPrefix names it.
/// @errors of engine::check_inputs() and engine::run_steps(); kOutOfRange unless the slot has so
/// many steps, and at least one.
[[nodiscard]] Result<Digest> run_prefix(const protocol::RoundTerms& round,
                                        const protocol::SlotAssignment& slot, std::uint32_t steps,
                                        const TrainInputs& inputs,
                                        engine::StepOptions options = {});

/// Decoded inputs of a round's aggregate.
struct AggregateInputs {
    std::shared_ptr<const program::Program> program;  ///< the job's train program
    engine::State base;
    engine::State momentum;  ///< empty: zeros
    /// That it includes, in the order of a record's list: in memory or, of a store, open.
    std::vector<engine::Delta> deltas;
    program::DeltaGroups groups;  ///< what each of them counts
};

/// What each of an aggregate's deltas counts.
/// @pre in the order of a record's list.
[[nodiscard]] program::DeltaGroups groups_of(std::span<const protocol::IncludedDelta> included);

struct AggregateRun {
    engine::AggregateResult result;
    Digest trace;  ///< as of TrainRun

    [[nodiscard]] protocol::UnitRoots roots() const {
        return {result.records_root, result.base_root, result.momentum_root};
    }
};
/// Runs a round's aggregate: the outer step over its deltas. @errors of engine::run_aggregate().
/// @param inputs moved: base and momentum need no second copy.
[[nodiscard]] Result<AggregateRun> run_aggregate(AggregateInputs inputs,
                                                 const engine::EngineOptions& options = {},
                                                 const crypto::Signature* challenge = nullptr);
/// Decoded inputs of the evaluation of a round's next base state.
struct EvaluationInputs {
    std::shared_ptr<const program::Program> program;  ///< the job's train or evaluation program
    std::shared_ptr<const blob::Dataset> dataset;
    engine::State state;  ///< the parameters that are evaluated
};

struct EvaluationRun {
    engine::Evaluation result;
    Digest records_root;
    std::uint64_t flops = 0;
    Digest state_root;  ///< of what was evaluated
    Digest trace;       ///< as of TrainRun

    [[nodiscard]] protocol::UnitRoots roots() const {
        return {records_root, state_root, result.root};
    }
};
/// Runs a round's evaluation unit: a step for each batch of validation windows, which changes
/// nothing. In the place of a delta's its root is that of the evaluation, which has the mean loss.
/// @errors of engine::evaluate().
[[nodiscard]] Result<EvaluationRun> run_evaluation(const EvaluationInputs& inputs,
                                                   std::uint32_t windows_max,
                                                   const engine::EngineOptions& options = {},
                                                   const engine::EvaluationProgress& progress = {},
                                                   const crypto::Signature* challenge = nullptr);

/// The trace of a report on a unit of the coordinator, whose leaves are the hashes of its step
/// records.
[[nodiscard]] Digest records_trace(std::span<const engine::StepRecord> records,
                                   const crypto::Signature& challenge);

}  // namespace gym::execution
