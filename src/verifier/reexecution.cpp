#include "gym/verifier/reexecution.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "gym/engine/outer_state.hpp"
#include "gym/execution/run.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/evaluation.hpp"

namespace gym::verifier {
namespace {

Result<Reexecution> reexecute_train(node::InputLoader& loader, const records::VerifyTask& task,
                                    const crypto::Signature& challenge,
                                    const ReexecutionOptions& options) {
    const protocol::SlotAssignment* const slot = task.record.find_slot(task.unit.slot);
    if (slot == nullptr)
        return fail(ErrorCode::kMismatch, "the task's round record is without the unit's slot");
    GYM_TRY(const execution::TrainInputs inputs,
            loader.load_train(task.record, *slot, task.inputs));
    engine::RunOptions run;
    run.engine = options.engine;
    run.progress = options.progress;
    run.cancel = options.stop;
    GYM_TRY(execution::TrainRun again,
            execution::run_train(task.record, *slot, inputs, run, &challenge));
    return Reexecution{again.roots(), std::move(again.result.records), again.trace};
}

/// @pre check_task(): held deltas come with their round.
node::DeltaRound round_of(const records::VerifyTask& task, bool held) {
    if (held) return {task.earlier->record, task.earlier->inputs};
    return {*task.round, task.inputs};
}

/// A delta of the cache stays on the disk: with all deltas of a round in memory, verifiers would
/// need as much as the coordinator's machine. One that the cache cannot keep is in memory.
Result<engine::Delta> load_delta(node::DeltaLoader& deltas, const program::Program& train,
                                 const records::VerifyTask& task, const game::OuterDelta& delta,
                                 const ReexecutionOptions& options) {
    const node::DeltaRunOptions run{options.engine, options.progress, options.stop};
    if (delta.is_withdrawn()) {
        // A run of its unit gives another one: that is why.
        records::UnitInputs nowhere = task.inputs;
        nowhere.dataset_blob.reset();
        const node::DeltaRound stored{*task.round, nowhere};
        auto opened = deltas.open(train, stored, delta);
        if (opened.ok()) return opened;
        GYM_TRY(const blob::VerifiedBlob blob, deltas.load(stored, delta, run));
        return engine::Delta::decode(train, blob);
    }
    const node::DeltaRound round = round_of(task, delta.held);
    auto opened = deltas.open(train, round, delta);
    if (opened.ok()) return opened;
    GYM_TRY(const blob::VerifiedBlob blob, deltas.load(round, delta, run));
    opened = deltas.open(train, round, delta);
    if (opened.ok()) return opened;
    auto decoded = engine::Delta::decode(train, blob);
    if (decoded.ok()) return decoded;
    // Bytes that are not a delta are not its unit's result: run the unit as if they were withheld.
    GYM_CHECK(deltas.run_again(round, delta, run));
    return decoded;
}

/// What the outer step begins from beside the base state.
Result<engine::State> outer_state_of(node::InputLoader& loader, const records::VerifyTask& task,
                                     const program::Program& train, const engine::State& base) {
    const Digest& root = task.record.momentum_root;
    if (task.inputs.momentum_blob) return loader.load_state(*task.inputs.momentum_blob, root);
    GYM_TRY(engine::State zero, engine::zero_outer_state(train, base));
    if (engine::state_root(zero) == root) return zero;
    return fail(ErrorCode::kMismatch,
                "the task is without the momentum that its round record names");
}

/// The outer step: its results are the next base state and the next momentum. A game about it goes
/// by the record's trace root, as it does for train units.
Result<Reexecution> reexecute_aggregate(node::InputLoader& loader, node::DeltaLoader& delta_loader,
                                        const records::VerifyTask& task,
                                        const crypto::Signature& challenge,
                                        const ReexecutionOptions& options) {
    execution::AggregateInputs inputs;
    GYM_TRY(inputs.program, loader.load_program(task.record, task.inputs.program_blob));
    GYM_TRY(inputs.base, loader.load_base(task.record, *inputs.program, task.inputs));
    GYM_TRY(inputs.momentum, outer_state_of(loader, task, *inputs.program, inputs.base));
    for (const protocol::IncludedDelta& delta : task.deltas) {
        GYM_TRY(engine::Delta decoded, load_delta(delta_loader, *inputs.program, task,
                                                  game::outer_delta_of(delta), options));
        inputs.deltas.push_back(std::move(decoded));
    }
    inputs.groups = execution::groups_of(task.deltas);
    GYM_TRY(execution::AggregateRun again,
            execution::run_aggregate(std::move(inputs), options.engine, &challenge));
    return Reexecution{again.roots(), std::move(again.result.records), again.trace};
}

/// Its verifier is paid by what the commitment counts.
/// @return the windows of the evaluation.
Result<std::uint32_t> checked_windows(const records::VerifyTask& task,
                                      const program::Program& train) {
    const protocol::UnitCommitment& commitment = task.commitment.commitment;
    GYM_TRY(const std::uint32_t windows, engine::evaluation_windows(train, commitment.steps));
    GYM_TRY(const std::uint64_t flops, program::evaluation_flops(train, windows));
    const std::uint64_t tokens = task.record.tokens_per_step * commitment.steps;
    if (flops == commitment.flops && tokens == commitment.tokens) return windows;
    return fail(ErrorCode::kMismatch, "the evaluation is said to be " +
                                          std::to_string(commitment.flops) + " FLOPs and " +
                                          std::to_string(commitment.tokens) + " tokens, and is " +
                                          std::to_string(flops) + " and " + std::to_string(tokens));
}

/// The validation losses of the state that a round ended in.
Result<Reexecution> reexecute_evaluation(node::InputLoader& loader, const records::VerifyTask& task,
                                         const crypto::Signature& challenge,
                                         const ReexecutionOptions& options) {
    const protocol::UnitCommitment& commitment = task.commitment.commitment;
    execution::EvaluationInputs inputs;
    GYM_TRY(inputs.program, loader.load_program(task.record, task.inputs.program_blob));
    GYM_TRY(const std::uint32_t windows, checked_windows(task, *inputs.program));
    GYM_TRY(inputs.dataset, loader.load_dataset(task.record, task.inputs));
    GYM_TRY(inputs.state,
            loader.load_state(task.inputs.base_state_blob, commitment.final_state_root));
    const auto progress = [&](std::uint32_t done, std::uint32_t all, float) {
        if (options.progress)
            options.progress({.step = done / (windows / commitment.steps),
                              .steps = all / (windows / commitment.steps)});
        return !options.stop.stop_requested();
    };
    GYM_TRY(execution::EvaluationRun again,
            execution::run_evaluation(inputs, windows, options.engine, progress, &challenge));
    return Reexecution{again.roots(), std::move(again.result.records), again.trace};
}

/// Whoever is shown a list that no aggregate can be made from is shown none.
Status check_deltas(const records::VerifyTask& task) {
    const std::span<const protocol::IncludedDelta> deltas(task.deltas);
    if (deltas.empty() || deltas.size() > program::kDeltasMax)
        return fail(ErrorCode::kMismatch, "an aggregate of " + std::to_string(deltas.size()) +
                                              " deltas; there are 1 to " +
                                              std::to_string(program::kDeltasMax));
    for (std::size_t i = 0; i < deltas.size(); ++i) {
        const std::string slot = "slot " + std::to_string(deltas[i].slot);
        if (deltas[i].slot >= protocol::kSlotsMax)
            return fail(ErrorCode::kMismatch,
                        "a delta of " + slot + ", which no worker of the round has committed");
        if (i > 0 && !protocol::is_in_order(deltas.subspan(i - 1, 2)))
            return fail(ErrorCode::kMismatch,
                        "the aggregate's deltas do not ascend by slot: " + slot +
                            " is behind slot " + std::to_string(deltas[i - 1].slot));
    }
    const std::size_t withdrawn = protocol::withdrawn_of(deltas);
    if (withdrawn > 0 && !task.record.subtract)
        return fail(ErrorCode::kMismatch,
                    "deltas are withdrawn, and the round record says that none are");
    if (withdrawn > protocol::kWithdrawnMax || withdrawn == deltas.size())
        return fail(ErrorCode::kMismatch,
                    std::to_string(withdrawn) + " of " + std::to_string(deltas.size()) +
                        " deltas are withdrawn: one at least goes in, and at most " +
                        std::to_string(protocol::kWithdrawnMax) + " are withdrawn");
    return {};
}

/// The whole record is that of the head, which the commitment names.
Status check_whole(const records::VerifyTask& task) {
    if (!task.round)
        return fail(ErrorCode::kMismatch, "the task of an aggregate is without its round's record");
    GYM_CHECK(protocol::validate(*task.round));
    if (protocol::head_of(*task.round) != task.record)
        return fail(ErrorCode::kMismatch,
                    "the round record of the aggregate's task is not that of its head");
    return {};
}

/// Held deltas come with the round that they are from, and none went in there already.
Status check_held(const records::VerifyTask& task) {
    if (protocol::held_of(task.deltas) == 0) return {};
    if (!task.earlier)
        return fail(ErrorCode::kMismatch,
                    "the task of an aggregate with held deltas is without their round");
    GYM_CHECK(protocol::validate(task.earlier->record));
    if (protocol::hash(task.earlier->record) != task.record.previous_record)
        return fail(ErrorCode::kMismatch, "the held deltas' round is not the round before");
    if (!task.earlier->inputs.dataset_blob)
        return fail(ErrorCode::kMismatch, "the held deltas' round is without the dataset");
    for (const protocol::IncludedDelta& delta : task.deltas)
        if (delta.held && !delta.is_withdrawn() &&
            std::ranges::find(task.round->included, delta.unit, &protocol::IncludedDelta::unit) !=
                task.round->included.end())
            return fail(ErrorCode::kMismatch, "the held delta of slot " +
                                                  std::to_string(delta.slot) +
                                                  " went into the base state before");
    return {};
}

/// The evaluation is of the state that the aggregate says that the round ended in.
Status check_evaluation(const crypto::Eip712Domain& domain, const records::VerifyTask& task) {
    const protocol::UnitCommitment& commitment = task.commitment.commitment;
    if (commitment.steps == 0 || commitment.steps > protocol::kEvaluationWindowsMax)
        return fail(ErrorCode::kMismatch, "an evaluation of " + std::to_string(commitment.steps) +
                                              " batches; there are 1 to " +
                                              std::to_string(protocol::kEvaluationWindowsMax));
    Digest ended = task.record.base_state_root;
    if (task.aggregate) {
        const protocol::UnitCommitment& made = task.aggregate->commitment;
        GYM_CHECK(protocol::verify_signature(domain, *task.aggregate, task.committer));
        if (made.kind != protocol::UnitKind::kAggregate || made.slot != protocol::kAggregateSlot ||
            made.round_record != commitment.round_record)
            return fail(ErrorCode::kMismatch,
                        "the evaluation's aggregate is that of another round");
        ended = made.final_state_root;
    }
    if (commitment.final_state_root == ended) return {};
    return fail(ErrorCode::kMismatch, "the evaluation is of state " +
                                          commitment.final_state_root.hex() +
                                          ", and its round ended in " + ended.hex());
}

}  // namespace

Status check_task(const crypto::Eip712Domain& domain, const records::VerifyTask& task) {
    GYM_CHECK(protocol::validate(task.record));
    if (task.record.job_id != task.unit.job_id || task.record.round != task.unit.round)
        return fail(ErrorCode::kMismatch, "the round record is of another job or round");
    const protocol::UnitCommitment& commitment = task.commitment.commitment;
    GYM_CHECK(protocol::verify_signature(domain, task.commitment, task.committer));
    if (commitment.slot != task.unit.slot || commitment.attempt != task.unit.attempt)
        return fail(ErrorCode::kMismatch, "the commitment is of another unit");
    if (task.late && (commitment.kind != protocol::UnitKind::kTrain || !task.record.accept_late))
        return fail(ErrorCode::kMismatch,
                    "the unit is said to be late, which its round record does not allow");
    if (commitment.kind == protocol::UnitKind::kTrain)
        return protocol::check_against_round(commitment, task.record, task.committer,
                                             task.unit.attempt);
    if (commitment.round_record != protocol::hash(task.record))
        return fail(ErrorCode::kMismatch, "the commitment names another round record");
    if (commitment.kind == protocol::UnitKind::kEvaluate) return check_evaluation(domain, task);
    GYM_CHECK(check_whole(task));
    if (!task.inputs.dataset_blob)
        return fail(ErrorCode::kMismatch,
                    "the task of an aggregate is without the dataset, from which a delta that is "
                    "withheld is made again");
    GYM_CHECK(check_deltas(task));
    return check_held(task);
}

Result<Reexecution> reexecute(node::InputLoader& loader, node::DeltaLoader& deltas,
                              const records::VerifyTask& task, const crypto::Signature& challenge,
                              const ReexecutionOptions& options) {
    switch (task.commitment.commitment.kind) {
        case protocol::UnitKind::kTrain:
            return reexecute_train(loader, task, challenge, options);
        case protocol::UnitKind::kAggregate:
            return reexecute_aggregate(loader, deltas, task, challenge, options);
        case protocol::UnitKind::kEvaluate:
            return reexecute_evaluation(loader, task, challenge, options);
    }
    return fail(ErrorCode::kInvalidArgument, "units of this kind are not verified by re-execution");
}

}  // namespace gym::verifier
