#include "drivers/planning.hpp"

#include <algorithm>
#include <tuple>

#include "drivers/membership.hpp"
#include "drivers/stake_gate.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::coordinator {
namespace {

using registry::JobStatus;

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

/// The budget that covers everything that was or may still be paid and one more round. Reports on
/// rejected units count too: a job owner whose own verifiers find the faults of its own workers
/// would otherwise empty the escrow before honest workers are paid from it.
Result<Amount> budget_for_round(const Context& context, db::Transaction& tx,
                                const registry::Job& job) {
    GYM_TRY(protocol::Work work, registry::billable_work(tx, job.id));
    GYM_TRY(const Amount per_unit,
            Amount(job.artifacts->flops_per_step).mul_div(Amount(job.terms.steps), Amount(1)));
    GYM_TRY(const Amount round, per_unit.mul_div(Amount(job.terms.slots_max), Amount(1)));
    GYM_TRY(work.training_flops, work.training_flops.plus(round));
    // The round's aggregate is taken to be as large as the largest so far.
    GYM_TRY(const Amount aggregate, registry::aggregate_flops_max(tx, job.id));
    GYM_TRY(work.report_flops, work.report_flops.plus(aggregate));
    return protocol::cost_bound(registry::work_price(job), context.options.cost_rates(), work);
}

std::string out_of_budget_reason(const Amount& needed, const registry::Job& job) {
    return "budget: with another round the job may cost " + needed.to_tokens() +
           " tokens in all, its budget is " + job.budget_wei.to_tokens() +
           "; `gym job fund` adds to it and resumes the job";
}

/// Pauses a job whose budget does not cover `needed`, unless money came in the meantime: decided
/// under the job's lock, so that what is added later finds a paused job and resumes it.
/// @return the job's reason; absent if it goes on.
Result<std::optional<std::string>> pause_without_budget(const Context& context, db::Transaction& tx,
                                                        const Digest& id, const Amount& needed) {
    using Out = std::optional<std::string>;
    GYM_TRY(const registry::Job job, registry::lock_job(tx, id));
    if (job.status != JobStatus::kRunning || needed <= job.budget_wei) return Out();
    std::string reason = out_of_budget_reason(needed, job);
    GYM_CHECK(registry::set_job_status(tx, id, JobStatus::kPaused, reason, context.now()));
    return Out(std::move(reason));
}

using Staked = std::optional<std::set<Address>>;

/// Live workers without open work or dispute, in an order that the round's inputs fix.
Result<std::vector<registry::Node>> choose_workers(const Context& context, db::Transaction& tx,
                                                   const registry::Job& job, std::uint64_t round,
                                                   UnixMs now_ms, const Staked& staked) {
    registry::NodeFilter filter;
    filter.role = records::NodeRole::kWorker;
    filter.eligible_only = true;
    filter.seen_since_ms = now_ms - context.options.node_live_ms;
    filter.limit = 10'000;
    GYM_TRY(const auto nodes, registry::list_nodes(tx, filter));
    std::vector<std::tuple<Digest, registry::Node>> ranked;
    for (const registry::Node& node : nodes) {
        if (!context.admits(node.profile.role, node.address)) continue;
        if (staked && !staked->contains(node.address)) continue;
        registry::UnitFilter busy;
        busy.worker = node.address;
        busy.states = {protocol::UnitState::kAssigned, protocol::UnitState::kDisputed};
        GYM_TRY(auto open, registry::list_units(tx, busy));
        // A bond keeps nobody from work: what the worker does meanwhile is void if the game shows
        // a fault.
        std::erase_if(open, [](const registry::Unit& unit) { return is_only_challenged(unit); });
        if (!open.empty()) continue;
        commit::Encoder encoder;
        encoder.raw(as_bytes("gym.slot.v1")).fixed(job.id).u64(round).fixed(node.address);
        ranked.emplace_back(commit::sha256(encoder.view()), node);
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    const std::uint64_t fit = context.options.deltas_bytes_max / delta_bytes_max(job);
    const std::uint64_t slots = std::min<std::uint64_t>(
        {job.terms.slots_max, registry::kJobSlotsMax, std::max<std::uint64_t>(fit, 1)});
    std::vector<registry::Node> out;
    for (const auto& [rank, node] : ranked)
        if (out.size() < slots) out.push_back(node);
    return out;
}

/// What a round is recorded with; its roots for disputes are computed apart.
struct Plan {
    protocol::RoundRecord record;
    registry::StateRef base;
    registry::StateRef momentum;
};

/// The round after `last` (the first one if there is none) for these workers, one slot each.
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
        GYM_TRY(plan.record.included, registry::included_deltas(tx, job.id, last->round));
    }
    std::uint32_t slot = 0;
    for (const registry::Node& worker : workers)
        plan.record.slots.push_back(
            {slot++, worker.address,
             protocol::sampling_rate_ppm(worker.valid_run, job.terms.sampling)});
    return plan;
}

/// What came of planning a round: nothing yet, a plan that wants its roots, a round, or a pause.
struct Planned {
    std::optional<Plan> plan;
    std::optional<registry::Round> round;
    std::optional<std::string> paused;  ///< why
};

/// @param staked who has the minimum of stake; absent: all. @param roots of the base state that the
/// plan begins from; nullptr: not computed yet.
Result<Planned> plan_or_record(const Context& context, db::Transaction& tx,
                               const registry::Job& job, const Staked& staked,
                               const Compute::RoundRoots* roots) {
    GYM_TRY(const auto last, registry::last_round(tx, job.id));
    if (last && !last->next_base) return Planned{};
    const std::uint64_t number = last ? last->round + 1 : 1;
    if (number > job.terms.rounds) return Planned{};
    GYM_TRY(const Amount needed, budget_for_round(context, tx, job));
    if (needed > job.budget_wei) {
        GYM_TRY(auto paused, pause_without_budget(context, tx, job.id, needed));
        return Planned{{}, {}, std::move(paused)};
    }
    const UnixMs now_ms = context.now();
    GYM_TRY(const auto workers, choose_workers(context, tx, job, number, now_ms, staked));
    if (workers.size() < job.terms.workers_min) return Planned{};
    GYM_TRY(Plan plan, make_plan(tx, job, last, workers));
    if (roots == nullptr) return Planned{std::move(plan), {}, {}};
    plan.record.trace_root = roots->trace_root;
    plan.record.initial_state_root = roots->initial_state_root;
    GYM_TRY(registry::Round round,
            registry::record_round(tx, plan.record, plan.base, plan.momentum, now_ms));
    return Planned{{}, std::move(round), {}};
}

Result<Compute::RoundRoots> roots_of(const Context& context, const registry::Job& job,
                                     const registry::StateRef& base) {
    GYM_TRY(const Bytes program, context.deps.blobs.get(job.artifacts->program_blob));
    GYM_TRY(const Bytes state, context.deps.blobs.get(base.blob));
    return context.deps.compute.round_roots(program, state);
}

}  // namespace

Status plan_round(const Context& context, const registry::Job& job, TickSummary& summary) {
    // The chain is asked for stakes only when a round could begin.
    GYM_TRY(Planned outcome, context.transact([&](db::Transaction& tx) {
        return plan_or_record(context, tx, job, std::nullopt, nullptr);
    }));
    Staked staked;
    if (outcome.plan) {
        GYM_TRY(staked, staked_workers(context));
    }
    if (staked) {
        GYM_TRY(outcome, context.transact([&](db::Transaction& tx) {
            return plan_or_record(context, tx, job, staked, nullptr);
        }));
    }
    if (outcome.plan) {
        // The job's lock is held: the last round, and with it the base state, is still the same.
        GYM_TRY(const Compute::RoundRoots roots, roots_of(context, job, outcome.plan->base));
        GYM_TRY(outcome, context.transact([&](db::Transaction& tx) {
            return plan_or_record(context, tx, job, staked, &roots);
        }));
    }
    if (outcome.paused) note_status(summary, job.id, JobStatus::kPaused, *outcome.paused);
    if (outcome.round)
        note(summary, name_round(*outcome.round) + ": recorded with " +
                          std::to_string(outcome.round->record.slots.size()) + " workers");
    return {};
}

}  // namespace gym::coordinator
