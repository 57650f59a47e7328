#include "gym/execution/run.hpp"

#include <string>
#include <utility>

#include "gym/commit/tensor_root.hpp"

namespace gym::execution {

engine::UnitSpec unit_spec(const protocol::RoundRecord& record, std::uint32_t slot) {
    const protocol::SlotAssignment* const terms = record.find_slot(slot);
    engine::UnitSpec spec;
    spec.job_seed = record.job_seed;
    spec.round = record.round;
    spec.slot = slot;
    spec.steps = terms == nullptr ? 0 : terms->steps;
    spec.checkpoint_every = record.checkpoint_every;
    spec.program_root = record.program_root;
    spec.dataset_root = record.dataset_root;
    spec.base_state_root = record.base_state_root;
    return spec;
}

Result<TrainRun> run_train(const protocol::RoundRecord& record, std::uint32_t slot,
                           const TrainInputs& inputs, engine::RunOptions options,
                           const crypto::Signature* challenge) {
    const engine::UnitSpec spec = unit_spec(record, slot);
    if (spec.steps == 0)
        return fail(ErrorCode::kMismatch, "the round record has no slot " + std::to_string(slot));
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

Result<AggregateRun> run_aggregate(const AggregateInputs& inputs,
                                   const engine::EngineOptions& options,
                                   const crypto::Signature* challenge) {
    GYM_TRY(engine::AggregateResult result,
            engine::run_aggregate(*inputs.program, inputs.base, inputs.momentum, inputs.deltas,
                                  inputs.groups, options));
    AggregateRun out{std::move(result), {}};
    if (challenge != nullptr) out.trace = aggregate_trace(out.result.records, *challenge);
    return out;
}

Digest aggregate_trace(std::span<const engine::StepRecord> records,
                       const crypto::Signature& challenge) {
    std::vector<Digest> leaves;
    leaves.reserve(records.size());
    for (const engine::StepRecord& record : records)
        leaves.push_back(engine::record_hash({}, record));
    return protocol::trace_at(challenge, 1, leaves);
}

}  // namespace gym::execution
