#include "round_plan.hpp"

namespace gym::coordinator {
namespace {

protocol::RoundRecord first_record(const registry::Job& job) {
    const registry::JobArtifacts& artifacts = *job.artifacts;
    protocol::RoundRecord record;
    record.job_id = job.id;
    record.round = 1;
    record.base_state_root = artifacts.base_state_root;
    record.momentum_root = artifacts.momentum_root;
    record.program_root = artifacts.program_root;
    record.evaluate_program_root = artifacts.evaluate_program_root;
    record.dataset_root = job.dataset_root;
    record.job_seed = artifacts.seed;
    record.steps = job.terms.steps;
    record.checkpoint_every = job.terms.checkpoint_every;
    record.tokens_per_step = artifacts.tokens_per_step;
    record.flops_per_step = artifacts.flops_per_step;
    record.sampling = job.terms.sampling;
    return record;
}

/// Which deltas of `last` went into the next base state, ascending by slot.
Result<std::vector<protocol::IncludedDelta>> included_deltas(db::Transaction& tx,
                                                             const registry::Round& last) {
    registry::UnitFilter filter;
    filter.job_id = last.job_id;
    filter.round = last.round;
    filter.kind = protocol::UnitKind::kTrain;
    filter.limit = registry::kUnitsListMax;
    GYM_TRY(const auto units, registry::list_units(tx, filter));
    std::vector<protocol::IncludedDelta> out;
    for (const registry::Unit& unit : units)
        if (unit.included) out.push_back({unit.key.slot, unit.id, *unit.delta_root});
    return out;
}

}  // namespace

Result<Plan> make_plan(db::Transaction& tx, const registry::Job& job,
                       const std::optional<registry::Round>& last,
                       const std::vector<registry::Node>& workers) {
    Plan plan;
    plan.record = first_record(job);
    plan.base = {job.artifacts->base_state_root, job.artifacts->base_state_blob};
    plan.momentum = {job.artifacts->momentum_root, job.artifacts->momentum_blob};
    if (last) {
        plan.base = *last->next_base;
        plan.momentum = *last->next_momentum;
        plan.record.round = last->round + 1;
        plan.record.previous_record = last->record_hash;
        plan.record.base_state_root = plan.base.root;
        plan.record.momentum_root = plan.momentum.root;
        plan.record.aggregate_program_root = last->aggregate_program_root.value_or(Digest{});
        GYM_TRY(plan.record.included, included_deltas(tx, *last));
    }
    std::uint32_t slot = 0;
    for (const registry::Node& worker : workers)
        plan.record.slots.push_back(
            {slot++, worker.address,
             protocol::sampling_rate_ppm(worker.valid_run, job.terms.sampling)});
    return plan;
}

}  // namespace gym::coordinator
