#include "drivers/job.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "drivers/audits.hpp"
#include "drivers/disputes.hpp"
#include "drivers/evaluation.hpp"
#include "drivers/game_state.hpp"
#include "drivers/games.hpp"
#include "drivers/planning.hpp"
#include "drivers/prefixes.hpp"
#include "drivers/report_checks.hpp"
#include "drivers/round.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/protocol/dispute_window.hpp"
#include "gym/protocol/price_floor.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/orders.hpp"

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

/// What the job needs. Everybody may read why a job failed: not the name of a dataset, nor where
/// the operator keeps it. @param what names it in the error.
Result<Bytes> load_given(const Context& context, const Digest& blob, const std::string& what) {
    auto stored = context.deps.blobs.get(blob);
    if (stored.ok()) return stored;
    spdlog::warn("{}: {}", what, stored.error().message);
    return fail(stored.error().code, what + (stored.error().code == ErrorCode::kNotFound
                                                 ? " is not in the network's store"
                                                 : " cannot be read from the network's store"));
}

/// Whoever stored the job: gym-api is not the only one that can.
Status check_price(const Context& context, const registry::Job& job) {
    const std::string why =
        protocol::below_floor(job.terms.price_wei_per_pflop, context.options.price_per_pflop_min);
    return why.empty() ? Status() : Status(fail(ErrorCode::kInvalidArgument, why));
}

Result<registry::JobArtifacts> make_artifacts(const Context& context, const registry::Job& job) {
    GYM_CHECK(check_price(context, job));
    GYM_TRY(const registry::Dataset dataset, context.transact([&](db::Transaction& tx) {
        return registry::get_dataset(tx, job.dataset_root);
    }));
    GYM_TRY(const Bytes tokens,
            load_given(context, dataset.blob, "the text of dataset " + dataset.root.hex()));
    registry::JobArtifacts out;
    out.seed = job_seed(job.id);
    Bytes weights;
    std::optional<Compute::GivenState> given;
    if (job.init) {
        GYM_TRY(weights, load_given(context, job.init->blob, "the state that the job begins from"));
        given = Compute::GivenState{job.init->root, weights};
    }
    GYM_TRY(const Compute::Prepared prepared,
            context.deps.compute.prepare(job.spec_yaml, tokens, job.dataset_root, out.seed, given));
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
    out.worker_memory = prepared.worker_memory;
    out.delta_bytes = prepared.delta_bytes;
    out.state_bytes = std::max(prepared.base.bytes.size(), prepared.momentum.bytes.size());
    return out;
}

Status set_status(const Context& context, const registry::Job& job, JobStatus status,
                  const std::string& reason, TickSummary& summary) {
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::set_job_status(tx, job.id, status, reason, context.now());
    }));
    note_status(summary, job.id, status, reason);
    return {};
}

/// Carries out the owner's request. @return the job as it is afterwards.
Result<registry::Job> obey(const Context& context, const registry::Job& job, TickSummary& summary) {
    if (!job.request) return job;
    bool answered = false;
    GYM_TRY(const registry::Job after,
            context.transact([&](db::Transaction& tx) -> Result<registry::Job> {
                // Under its lock: the owner may have thought better of it since `job` was read.
                GYM_TRY(const registry::Job now, registry::lock_job(tx, job.id));
                const auto next = answer_request(now);
                answered = next.has_value();
                if (!next) return now;
                GYM_CHECK(registry::set_job_status(tx, job.id, next->status, next->reason,
                                                   context.now(), now.request));
                return registry::get_job(tx, job.id);
            }));
    if (answered) note_status(summary, after.id, after.status, after.status_reason);
    return after;
}

Status complete_if_done(const Context& context, const registry::Job& job, TickSummary& summary) {
    if (!is_complete(job, 0)) return {};
    GYM_TRY(const auto open, context.transact([&](db::Transaction& tx) {
        return registry::open_rounds(tx, job.id);
    }));
    if (!is_complete(job, open.size())) return {};
    return set_status(context, job, JobStatus::kCompleted, "", summary);
}

/// Prepares a submitted job's programs and initial state, once its budget is locked. A
/// job that cannot run fails with the reason; the error is only what may work later.
Status prepare_job(const Context& context, const registry::Job& job, TickSummary& summary) {
    GYM_TRY(const auto order, context.transact([&](db::Transaction& tx) {
        return registry::order_of_job(tx, job.id);
    }));
    if (order.state == registry::OrderState::kWaiting ||
        order.state == registry::OrderState::kLocking)
        return {};
    if (order.state == registry::OrderState::kRefused)
        return set_status(context, job, JobStatus::kFailed, "order: " + order.reason, summary);
    GYM_TRY(const auto window_ms, dispute_window_ms(context));
    if (window_ms) {
        // Whatever gym-api let in: a fault that is found too late for the chain costs no stake.
        const std::string why = protocol::outlasts_window(job.terms.lifecycle, *window_ms);
        if (!why.empty()) return set_status(context, job, JobStatus::kFailed, why, summary);
    }
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

}  // namespace

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
    GYM_CHECK(check_reports(context, job, summary));
    GYM_CHECK(tend_prefixes(context, job, summary));
    GYM_TRY(const auto rounds, context.transact([&](db::Transaction& tx) {
        return registry::open_rounds(tx, job_id);
    }));
    for (const registry::Round& round : rounds)
        GYM_CHECK(step_round(context, job, round, summary));
    if (job.status == JobStatus::kRunning) GYM_CHECK(plan_round(context, job, summary));
    GYM_CHECK(evaluate_base(context, job, summary));
    if (job.status != JobStatus::kRunning) return {};
    GYM_TRY(job,
            context.transact([&](db::Transaction& tx) { return registry::get_job(tx, job_id); }));
    return complete_if_done(context, job, summary);
}

}  // namespace gym::coordinator
