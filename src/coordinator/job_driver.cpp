#include "job_driver.hpp"

#include <algorithm>
#include <tuple>

#include "audits.hpp"
#include "disputes.hpp"
#include "games.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/nodes.hpp"
#include "round_driver.hpp"
#include "round_plan.hpp"
#include "stake_gate.hpp"

namespace gym::coordinator {
namespace {

using registry::JobStatus;

Digest job_seed(const Digest& job_id) {
    commit::Hasher hasher;
    return hasher.update(as_bytes("gym.seed.v1")).update(job_id).finish();
}

/// Errors that the same job file and the same dataset will always give.
bool is_permanent(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgument:
        case ErrorCode::kMalformed:
        case ErrorCode::kShapeMismatch:
        case ErrorCode::kNotFound:
        case ErrorCode::kOutOfRange:
        case ErrorCode::kMismatch:
            return true;
        default:
            return false;
    }
}

Result<Digest> keep(const Context& context, const Bytes& bytes) {
    return context.deps.blobs.put(bytes);
}

Result<registry::JobArtifacts> make_artifacts(const Context& context, const registry::Job& job) {
    GYM_TRY(const registry::Dataset dataset, context.transact([&](db::Transaction& tx) {
        return registry::get_dataset(tx, job.dataset_root);
    }));
    auto tokens = context.deps.blobs.get(dataset.blob);
    if (!tokens.ok()) return tokens.error().in("dataset " + dataset.name);
    registry::JobArtifacts out;
    out.seed = job_seed(job.id);
    GYM_TRY(const Compute::Prepared prepared,
            context.deps.compute.prepare(job.spec_yaml, *tokens, job.dataset_root, out.seed));
    out.program_root = prepared.program.root;
    GYM_TRY(out.program_blob, keep(context, prepared.program.bytes));
    out.evaluate_program_root = prepared.evaluate_program.root;
    GYM_TRY(out.evaluate_program_blob, keep(context, prepared.evaluate_program.bytes));
    out.logits_program_root = prepared.logits_program.root;
    GYM_TRY(out.logits_program_blob, keep(context, prepared.logits_program.bytes));
    out.base_state_root = prepared.base.root;
    GYM_TRY(out.base_state_blob, keep(context, prepared.base.bytes));
    out.momentum_root = prepared.momentum.root;
    GYM_TRY(out.momentum_blob, keep(context, prepared.momentum.bytes));
    out.tokens_per_step = prepared.tokens_per_step;
    out.flops_per_step = prepared.flops_per_step;
    out.parameters = prepared.parameters;
    return out;
}

void note_status(const Digest& id, JobStatus status, const std::string& reason,
                 TickSummary& summary) {
    note(summary, "job " + short_id(id) + ": " + std::string(to_string(status)) +
                      (reason.empty() ? "" : ", " + reason));
}

Status set_status(const Context& context, const registry::Job& job, JobStatus status,
                  const std::string& reason, TickSummary& summary) {
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::set_job_status(tx, job.id, status, reason, context.now());
    }));
    note_status(job.id, status, reason, summary);
    return {};
}

/// What `job` becomes by what was asked for. Absent: the request has to wait.
std::optional<std::pair<JobStatus, std::string>> answer(const registry::Job& job) {
    const auto request = job.request;
    if (!request) return std::nullopt;
    JobStatus next = job.status;
    std::string reason;
    if (*request == registry::JobRequest::kCancel) {
        next = JobStatus::kCancelled;
        reason = "cancelled by its owner";
    } else if (*request == registry::JobRequest::kPause && job.status == JobStatus::kRunning) {
        next = JobStatus::kPaused;
        reason = job.request_reason.empty() ? "paused by its owner" : job.request_reason;
    } else if (*request == registry::JobRequest::kResume && job.status == JobStatus::kPaused) {
        next = JobStatus::kRunning;
    } else if (job.status == JobStatus::kSubmitted) {
        return std::nullopt;  // kept until the job is prepared
    } else {
        reason = job.status_reason;
    }
    return std::pair(next, reason);
}

/// Does what was asked for. @return the job as it is afterwards.
Result<registry::Job> obey(const Context& context, const registry::Job& job, TickSummary& summary) {
    if (!job.request) return job;
    bool answered = false;
    GYM_TRY(const registry::Job after,
            context.transact([&](db::Transaction& tx) -> Result<registry::Job> {
                // Under its lock: the owner may have thought better of it since `job` was read.
                GYM_TRY(const registry::Job now, registry::lock_job(tx, job.id));
                const auto next = answer(now);
                answered = next.has_value();
                if (!next) return now;
                GYM_CHECK(registry::set_job_status(tx, job.id, next->first, next->second,
                                                   context.now(), now.request));
                return registry::get_job(tx, job.id);
            }));
    if (answered) note_status(after.id, after.status, after.status_reason, summary);
    return after;
}

Status complete_if_done(const Context& context, const registry::Job& job, TickSummary& summary) {
    if (job.status != JobStatus::kRunning || job.rounds_done < job.terms.rounds) return {};
    GYM_TRY(const auto open, context.transact([&](db::Transaction& tx) {
        return registry::open_rounds(tx, job.id);
    }));
    if (!open.empty()) return {};
    return set_status(context, job, JobStatus::kCompleted, "", summary);
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

}  // namespace

Status prepare_job(const Context& context, const registry::Job& job, TickSummary& summary) {
    const auto artifacts = make_artifacts(context, job);
    if (!artifacts.ok()) {
        if (!is_permanent(artifacts.error().code)) return artifacts.error();
        return set_status(context, job, JobStatus::kFailed, artifacts.error().message, summary);
    }
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::start_job(tx, job.id, *artifacts, context.now());
    }));
    note(summary, "job " + short_id(job.id) + ": started, program " +
                      artifacts->program_root.hex() + ", " + std::to_string(artifacts->parameters) +
                      " parameters");
    return {};
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
    if (outcome.paused) note_status(job.id, JobStatus::kPaused, *outcome.paused, summary);
    if (outcome.round)
        note(summary, name_round(*outcome.round) + ": recorded with " +
                          std::to_string(outcome.round->record.slots.size()) + " workers");
    return {};
}

Status step_job(const Context& context, const Digest& job_id, TickSummary& summary) {
    GYM_TRY(registry::Job job,
            context.transact([&](db::Transaction& tx) { return registry::get_job(tx, job_id); }));
    if (!job.ended_at_ms) {
        GYM_TRY(job, obey(context, job, summary));
    }
    if (job.status == JobStatus::kSubmitted) return prepare_job(context, job, summary);
    if (!job.artifacts) return {};
    GYM_CHECK(audit_reports(context, job, summary));
    GYM_CHECK(note_challenges(context, job, summary));
    GYM_CHECK(settle_deadlines(context, job, summary));
    GYM_CHECK(referee_disputes(context, job, summary));
    GYM_TRY(const auto rounds, context.transact([&](db::Transaction& tx) {
        return registry::open_rounds(tx, job_id);
    }));
    for (const registry::Round& round : rounds)
        GYM_CHECK(step_round(context, job, round, summary));
    if (job.status != JobStatus::kRunning) return {};
    GYM_CHECK(plan_round(context, job, summary));
    GYM_TRY(job,
            context.transact([&](db::Transaction& tx) { return registry::get_job(tx, job_id); }));
    return complete_if_done(context, job, summary);
}

}  // namespace gym::coordinator
