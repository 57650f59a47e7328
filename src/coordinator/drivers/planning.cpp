#include "drivers/planning.hpp"

#include <map>
#include <set>

#include "drivers/stake_gate.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/coordinator/turns.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/registry/waiting_jobs.hpp"

namespace gym::coordinator {
namespace {

using registry::JobStatus;

/// The budget that covers everything that was or may still be paid and round `number`. Reports on
/// rejected units count too: a job owner whose own verifiers find the faults of its own workers
/// would otherwise empty the escrow before honest workers are paid from it.
Result<Amount> budget_for_round(const Context& context, db::Transaction& tx,
                                const registry::Job& job, std::uint64_t number) {
    GYM_TRY(protocol::Work work, registry::billable_work(tx, job.id));
    GYM_TRY(const Amount per_unit,
            Amount(job.artifacts->flops_per_step).mul_div(Amount(job.terms.steps), Amount(1)));
    const std::uint64_t slots = has_slots(job.terms, number) ? job.terms.slots_max : 0;
    GYM_TRY(const Amount round, per_unit.mul_div(Amount(slots), Amount(1)));
    GYM_TRY(work.training_flops, work.training_flops.plus(round));
    // The round's aggregate is taken to be as large as the largest so far.
    GYM_TRY(const Amount aggregate, registry::aggregate_flops_max(tx, job.id));
    GYM_TRY(work.report_flops, work.report_flops.plus(aggregate));
    // Evaluations are no units before they are done.
    GYM_TRY(const Bytes evaluation, context.deps.blobs.get(job.artifacts->evaluate_program_blob));
    GYM_TRY(const std::uint64_t each,
            context.deps.compute.evaluation_flops(evaluation, job.terms.evaluate_windows));
    GYM_TRY(const std::uint64_t rounds, registry::rounds_to_evaluate(tx, job.id));
    GYM_TRY(const Amount evaluations, Amount(each).mul_div(Amount(rounds + 1), Amount(1)));
    GYM_TRY(work.report_flops, work.report_flops.plus(evaluations));
    return protocol::cost_bound(registry::work_price(job), context.options.cost_rates(), work);
}

SizeLimits limits_of(const Context& context) {
    return {context.options.blob_bytes_max, context.options.deltas_bytes_max};
}

/// Pauses a job whose deltas are too large, or whose budget does not cover `needed`, unless money
/// came in the meantime: decided under the job's lock, so that what is added later finds a paused
/// job and resumes it.
/// @return the job's reason; absent if it continues.
Result<std::optional<std::string>> pause_job(const Context& context, db::Transaction& tx,
                                             const Digest& id, const Amount& needed) {
    using Out = std::optional<std::string>;
    GYM_TRY(const registry::Job job, registry::lock_job(tx, id));
    Out reason = size_pause(job, limits_of(context));
    if (!reason) reason = budget_pause(job, needed);
    if (reason)
        GYM_CHECK(registry::set_job_status(tx, id, JobStatus::kPaused, *reason, context.now()));
    return reason;
}

using Staked = std::optional<Stakes>;  ///< absent: no stake is needed, or it is not looked at yet

/// Workers that may get no unit now.
struct Busy {
    /// Until their unit is done, or, of a job with an overlap, the one before it; it may not be
    /// assigned yet.
    std::set<Address> working;
    std::set<Address> held_up;  ///< with a unit that is late, or that a report disputes: it is not
                                ///< known for how long
};

/// @param last round of a job whose rounds overlap: its units keep nobody from the next round.
Result<Busy> busy_workers(db::Transaction& tx, const std::optional<registry::Round>& last) {
    Busy out;
    // Before the units, because each statement sees what is committed by then: a round that is
    // opened in between is in both lists. The other way round it would be in neither.
    GYM_TRY(const auto recorded, registry::rounds_in_state(tx, registry::RoundState::kRecorded));
    for (const registry::Round& round : recorded)
        for (const protocol::SlotAssignment& slot : round.record.slots)
            out.working.insert(slot.worker);
    GYM_TRY(const auto units, registry::busy_units(tx));
    std::map<Address, std::vector<registry::Unit>> of_worker;
    for (const registry::Unit& unit : units)
        of_worker[unit.worker].push_back(unit);
    for (const auto& [worker, open] : of_worker) {
        if (is_disputed(open) || is_late(open))
            out.held_up.insert(worker);
        else if (last ? !is_free_after(*last, open) : !is_free(open))
            out.working.insert(worker);
    }
    return out;
}

/// Live workers that may take part, now or when their unit is done.
Result<std::vector<Candidate>> candidates(const Context& context, db::Transaction& tx,
                                          const std::optional<registry::Round>& overlapped,
                                          UnixMs now_ms) {
    registry::NodeFilter filter;
    filter.role = records::NodeRole::kWorker;
    filter.eligible_only = true;
    filter.seen_since_ms = now_ms - context.options.node_live_ms;
    filter.limit = registry::kNodesListMax;
    GYM_TRY(auto nodes, registry::list_nodes(tx, filter));
    GYM_TRY(const Busy busy, busy_workers(tx, overlapped));
    std::vector<Candidate> out;
    for (registry::Node& node : nodes) {
        if (!context.admits(node.profile.role, node.address) || busy.held_up.contains(node.address))
            continue;
        const bool free = !busy.working.contains(node.address);
        out.push_back({std::move(node), free});
    }
    return out;
}

/// More jobs than this do not wait in turn: those behind them take what is free.
constexpr std::uint32_t kTurnsMax = 1'000;

/// Workers that get no unit of a job, by its id: a prefix of it would not be paid, and nobody works
/// for a job that cannot owe it anything.
using Barred = std::map<Digest, std::set<Address>>;

/// Those that have too little at stake for the job's shortest unit get none, either.
Status bar_without_stake(const Context& context, const Staked& staked,
                         std::span<const Candidate> workers, const protocol::UnitPay& least,
                         std::set<Address>& barred) {
    if (!staked) return {};
    GYM_TRY(const Amount needed, protocol::stake_needed(context.options.stake, least));
    for (const Candidate& worker : workers) {
        const auto stake = staked->find(worker.node.address);
        if (stake == staked->end() || stake->second < needed) barred.insert(worker.node.address);
    }
    return {};
}

Result<std::vector<Turn>> turns_of_others(const Context& context, db::Transaction& tx,
                                          Barred& barred, const Staked& staked,
                                          std::span<const Candidate> workers, UnixMs now_ms) {
    GYM_TRY(const auto waiting, registry::waiting_jobs(tx, now_ms, kTurnsMax));
    std::vector<Turn> out;
    out.reserve(waiting.size());
    for (const registry::WaitingJob& job : waiting) {
        auto& none = barred[job.id];
        GYM_CHECK(bar_without_stake(
            context, staked, workers,
            {job.price_wei_per_pflop, job.least.flops_per_step, job.least.steps}, none));
        out.push_back(
            {job.id, job.since_ms, job.unit_ms,
             slots_of_round(job.slots_max, job.delta_bytes, context.options.deltas_bytes_max),
             job.workers_min, job.worker_memory, job.least, std::move(none)});
    }
    return out;
}

/// The workers of the job's round, at least its minimum; empty while it waits for them.
Result<std::vector<registry::Node>> workers_of_round(const Context& context, db::Transaction& tx,
                                                     const registry::Job& job,
                                                     const std::optional<registry::Round>& last,
                                                     std::uint64_t number, const Staked& staked) {
    const UnixMs now_ms = context.now();
    const auto since = last ? last->aggregated_at_ms : job.started_at_ms;
    const bool overlaps = job.terms.elastic.overlap != 0;
    GYM_TRY(auto all, candidates(context, tx, overlaps ? last : std::nullopt, now_ms));
    GYM_TRY(Barred barred, registry::unpayable_workers(tx, now_ms));
    GYM_CHECK(bar_without_stake(context, staked, all, least_pay(job), barred[job.id]));
    const Turn turn{job.id,
                    since.value_or(now_ms),
                    job.terms.lifecycle.unit_ms,
                    slots_of_round(job, context.options.deltas_bytes_max),
                    job.terms.workers_min,
                    job.artifacts->worker_memory,
                    least_unit(job),
                    barred[job.id]};
    GYM_TRY(const auto others, turns_of_others(context, tx, barred, staked, all, now_ms));
    GYM_TRY(const auto before, registry::newest_beacon(tx));
    auto workers =
        choose_workers({job.id, number, before},
                       workers_of_turn(turn, others, std::move(all), now_ms), turn.slots);
    if (workers.size() < job.terms.workers_min) workers.clear();
    return workers;
}

/// Asked only where the job's steps depend on it.
Result<Paces> paces_of(const Context& context, db::Transaction& tx, const registry::Job& job,
                       const std::vector<registry::Node>& workers, const Staked& staked) {
    Paces out;
    if (!job.terms.elastic.adapt_steps) return out;
    std::vector<Address> addresses;
    addresses.reserve(workers.size());
    for (const registry::Node& worker : workers)
        addresses.push_back(worker.address);
    GYM_TRY(out.measured, registry::paces_of(tx, addresses));
    GYM_TRY(out.expired, registry::expired_in_a_row(tx, addresses));
    if (!staked) return out;
    const protocol::UnitPay whole{job.terms.price_wei_per_pflop, job.artifacts->flops_per_step,
                                  job.terms.steps};
    for (const Address& worker : addresses)
        if (const auto stake = staked->find(worker); stake != staked->end())
            out.backed[worker] =
                protocol::steps_backed(context.options.stake, whole, stake->second);
    return out;
}

/// The result of planning a round: nothing yet, a plan that wants its roots, a round, or a pause.
struct Planned {
    std::optional<Plan> plan;
    std::optional<registry::Round> round;
    std::optional<std::string> paused;  ///< why
};

/// @param staked what workers have at stake; absent: nobody needs any. @param roots of the base
/// state that the plan begins from; nullptr: not computed yet.
Result<Planned> plan_or_record(const Context& context, db::Transaction& tx,
                               const registry::Job& job, const Staked& staked,
                               const Compute::RoundRoots* roots) {
    GYM_TRY(const auto last, registry::last_round(tx, job.id));
    const auto number = next_round(job, last);
    if (!number) return Planned{};
    GYM_TRY(const Amount needed, budget_for_round(context, tx, job, *number));
    if (needed > job.budget_wei || size_pause(job, limits_of(context))) {
        GYM_TRY(auto paused, pause_job(context, tx, job.id, needed));
        return Planned{{}, {}, std::move(paused)};
    }
    // No other job may take the same workers between here and the record.
    if (roots != nullptr) GYM_CHECK(registry::lock_epochs(tx));
    std::vector<registry::Node> workers;
    if (has_slots(job.terms, *number)) {
        GYM_TRY(workers, workers_of_round(context, tx, job, last, *number, staked));
        if (workers.empty()) return Planned{};
    }
    std::vector<protocol::IncludedDelta> included;
    if (last) {
        GYM_TRY(included, registry::included_deltas(tx, job.id, last->round));
    }
    GYM_TRY(const auto paces, paces_of(context, tx, job, workers, staked));
    Plan plan = make_plan(job, last, std::move(included), workers, paces);
    if (roots == nullptr) return Planned{std::move(plan), {}, {}};
    plan.record.trace_root = roots->trace_root;
    plan.record.initial_state_root = roots->initial_state_root;
    plan.record.delta_codec = roots->delta_codec;
    GYM_TRY(registry::Round round,
            registry::record_round(tx, plan.record, plan.base, plan.momentum, context.now()));
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
    // Stakes are read from the chain only when a round could begin.
    GYM_TRY(Planned outcome, context.transact([&](db::Transaction& tx) {
        return plan_or_record(context, tx, job, std::nullopt, nullptr);
    }));
    Staked staked;
    if (outcome.plan) {
        GYM_TRY(staked, stakes_of_workers(context));
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
