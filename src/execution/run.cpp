#include "gym/execution/run.hpp"

#include <string>
#include <utility>

#include "gym/commit/tensor_root.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"

namespace gym::execution {

engine::UnitSpec unit_spec(const protocol::RoundTerms& round,
                           const protocol::SlotAssignment& slot) {
    engine::UnitSpec spec;
    spec.job_seed = round.job_seed;
    spec.round = round.round;
    spec.slot = slot.slot;
    spec.steps = slot.steps;
    spec.checkpoint_every = round.checkpoint_every;
    spec.program_root = round.program_root;
    spec.dataset_root = round.dataset_root;
    spec.base_state_root = round.base_state_root;
    return spec;
}

Result<TrainRun> run_train(const protocol::RoundTerms& round, const protocol::SlotAssignment& slot,
                           const TrainInputs& inputs, engine::RunOptions options,
                           const crypto::Signature* challenge) {
    const engine::UnitSpec spec = unit_spec(round, slot);
    std::vector<Digest> leaves;
    if (challenge != nullptr) {
        options.trace_step = protocol::trace_step(spec.steps);
        options.trace = [&](const engine::TraceEntry& entry) {
            const auto chunks = commit::chunk_leaves(entry.output);
            leaves.insert(leaves.end(), chunks.begin(), chunks.end());
        };
    }
    TrainRun out;
    GYM_TRY(out.result,
            engine::run_unit({*inputs.program, inputs.base, *inputs.dataset, spec}, options));
    if (challenge != nullptr) out.trace = protocol::trace_at(*challenge, spec.steps, leaves);
    return out;
}

program::DeltaGroups groups_of(std::span<const protocol::IncludedDelta> included) {
    program::DeltaGroups groups;
    for (const protocol::IncludedDelta& delta : included) {
        groups.held += delta.held && !delta.is_withdrawn() ? 1 : 0;
        groups.withdrawn += delta.is_withdrawn() ? 1 : 0;
        groups.withdrawn_held += delta.held && delta.is_withdrawn() ? 1 : 0;
    }
    return groups;
}

Result<Digest> run_prefix(const protocol::RoundTerms& round, const protocol::SlotAssignment& slot,
                          std::uint32_t steps, const TrainInputs& inputs,
                          engine::StepOptions options) {
    const engine::UnitSpec spec = unit_spec(round, slot);
    if (steps == 0 || steps > spec.steps)
        return fail(ErrorCode::kOutOfRange, "a prefix of " + std::to_string(steps) +
                                                " steps, the unit has 1 to " +
                                                std::to_string(spec.steps));
    const engine::Unit unit{*inputs.program, inputs.base, *inputs.dataset, spec};
    GYM_CHECK(engine::check_inputs(unit, options.engine.threads));
    GYM_TRY(engine::State before, engine::with_fresh_optimizer(unit.train, unit.base));
    Digest link;
    options.after_step = [&](const engine::Trainer&, const engine::StepRecord& done) -> Status {
        link = engine::record_hash(link, done);
        return {};
    };
    GYM_CHECK(engine::run_steps(unit, std::move(before), {0, steps}, options));
    return link;
}

Result<AggregateRun> run_aggregate(AggregateInputs inputs, const engine::EngineOptions& options,
                                   const crypto::Signature* challenge) {
    GYM_TRY(
        engine::AggregateResult result,
        engine::run_aggregate(*inputs.program, std::move(inputs.base), std::move(inputs.momentum),
                              inputs.deltas, inputs.groups, options));
    AggregateRun out{std::move(result), {}};
    if (challenge != nullptr) out.trace = records_trace(out.result.records, *challenge);
    return out;
}

Result<EvaluationRun> run_evaluation(const EvaluationInputs& inputs, std::uint32_t windows_max,
                                     const engine::EngineOptions& options,
                                     const engine::EvaluationProgress& progress,
                                     const crypto::Signature* challenge) {
    EvaluationRun out;
    GYM_TRY(const program::Program evaluation, program::evaluation_program(*inputs.program));
    GYM_TRY(out.result, engine::evaluate(evaluation, inputs.state, *inputs.dataset, windows_max,
                                         options, progress));
    out.records_root = engine::records_root(out.result.records);
    out.flops = program::flops_per_step(evaluation) * out.result.records.size();
    out.state_root = engine::state_root(inputs.state, options.threads);
    if (challenge != nullptr) out.trace = records_trace(out.result.records, *challenge);
    return out;
}

Digest records_trace(std::span<const engine::StepRecord> records,
                     const crypto::Signature& challenge) {
    std::vector<Digest> leaves;
    leaves.reserve(records.size());
    for (const engine::StepRecord& record : records)
        leaves.push_back(engine::record_hash({}, record));
    return protocol::trace_at(challenge, 1, leaves);
}

}  // namespace gym::execution
