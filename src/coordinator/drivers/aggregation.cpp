// The outer step of a round: which deltas go in, the next base state, the unit that stands for it.
#include "drivers/aggregation.hpp"

#include "drivers/chosen_deltas.hpp"
#include "drivers/claims.hpp"
#include "drivers/own_units.hpp"
#include "gym/coordinator/decisions.hpp"

namespace gym::coordinator {
namespace {

struct Inputs {
    Bytes program, base, momentum;
};

Result<Inputs> load_inputs(const Context& context, const registry::Job& job,
                           const registry::Round& round) {
    Inputs in;
    const blob::BlobStore& blobs = context.deps.blobs;
    GYM_TRY(in.program, blobs.get(job.artifacts->program_blob));
    GYM_TRY(in.base, blobs.get(round.base.blob));
    GYM_TRY(in.momentum, blobs.get(round.momentum.blob));
    return in;
}

std::string held_text(std::span<const protocol::IncludedDelta> included) {
    const std::size_t held = protocol::held_of(included);
    const std::size_t withdrawn = protocol::withdrawn_of(included);
    std::string text =
        held == 0 ? "" : ", " + std::to_string(held) + " of them of the round before";
    if (withdrawn > 0) text += ", " + std::to_string(withdrawn) + " of them withdrawn";
    return text;
}

/// What was stored is still there, and stays until a row names it.
Status hold_results(const Context& context, const registry::AggregateOutcome& outcome) {
    std::vector<Digest> blobs{outcome.next_base.blob, outcome.next_momentum.blob};
    if (outcome.next_update_blob) blobs.push_back(*outcome.next_update_blob);
    if (outcome.aggregate_program_blob) blobs.push_back(*outcome.aggregate_program_blob);
    for (const Digest& blob : blobs) {
        GYM_TRY(const bool held, context.deps.blobs.hold(blob));
        if (!held)
            return fail(ErrorCode::kUnavailable,
                        "blob " + blob.hex() + " of the aggregate is not in the store any more");
    }
    return {};
}

/// The loss of the base that the round began from, if a round ended in it.
Result<std::optional<double>> loss_before(const Context& context, const registry::Round& round) {
    if (round.round == 1) return std::optional<double>();
    GYM_TRY(const registry::Round before, context.transact([&](db::Transaction& tx) {
        return registry::get_round(tx, round.job_id, round.round - 1);
    }));
    return before.validation_loss;
}

/// The round whose record names the aggregate of `round`'s deltas: itself or, where rounds overlap,
/// the next one. Absent: there is none yet.
Result<std::optional<registry::Round>> aggregating_round(const Context& context,
                                                         const registry::Job& job,
                                                         const registry::Round& round) {
    if (job.terms.elastic.overlap == 0) return std::optional(round);
    GYM_TRY(auto last, context.transact(
                           [&](db::Transaction& tx) { return registry::last_round(tx, job.id); }));
    if (last->round == round.round) last.reset();
    return last;
}

/// Of a round that none follows. If its job has ended its deltas are in no base state; the round
/// behind the last one that trains has none. Otherwise one will follow.
Status end_without(const Context& context, const registry::Job& job, const registry::Round& round,
                   TickSummary& summary) {
    if (!job.ended_at_ms && has_slots(job.terms, round.round)) return {};
    GYM_CHECK(context.transact(
        [&](db::Transaction& tx) { return registry::mark_aggregated(tx, job.id, round.round); }));
    note(summary, name_round(round) + ": no deltas to aggregate");
    return {};
}

Status store(db::Transaction& tx, const registry::Round& round, const registry::Round& target,
             const registry::AggregateOutcome& outcome, UnixMs now_ms) {
    if (target.round == round.round)
        return registry::set_aggregated(tx, round.job_id, round.round, outcome, now_ms);
    GYM_CHECK(registry::set_next_base(tx, round.job_id, target.round, outcome, now_ms));
    return registry::mark_aggregated(tx, round.job_id, round.round);
}

Status aggregate_into(const Context& context, const registry::Job& job,
                      const registry::Round& round, const registry::Round& target,
                      TickSummary& summary) {
    GYM_TRY(Inputs in, load_inputs(context, job, target));
    GYM_TRY(const ChosenDeltas deltas, choose_deltas(context, job, round, in.program, summary));
    const std::vector<protocol::IncludedDelta>& included = deltas.inclusion.included;

    // Blobs first: the transaction below names only what is stored. A crash in between repeats the
    // work.
    registry::AggregateOutcome outcome;
    outcome.next_base = target.base;
    outcome.next_momentum = target.momentum;
    std::optional<Compute::Aggregated> result;
    std::optional<protocol::SignedCommitment> commitment;
    if (!deltas.included.empty()) {
        GYM_TRY(result,
                context.deps.compute.aggregate(in.program, std::move(in.base),
                                               std::move(in.momentum), deltas.included, included));
        blob::BlobStore& blobs = context.deps.blobs;
        outcome.next_base.root = result->base.root;
        GYM_TRY(outcome.next_base.blob, blobs.put(result->base.bytes));
        outcome.next_momentum.root = result->momentum.root;
        GYM_TRY(outcome.next_momentum.blob, blobs.put(result->momentum.bytes));
        if (!result->update.empty()) {
            GYM_TRY(outcome.next_update_blob, blobs.put(result->update));
        }
        outcome.aggregate_program_root = result->program.root;
        GYM_TRY(outcome.aggregate_program_blob, blobs.put(result->program.bytes));
        commitment = sign_own_unit(context, target, protocol::UnitKind::kAggregate, result->roots(),
                                   {.steps = 1, .flops = result->flops});
        GYM_CHECK(defend_aggregate(context, job, target, *commitment, included));
    }
    if (!result) {
        GYM_TRY(outcome.validation_loss, loss_before(context, target));
    }
    GYM_CHECK(hold_results(context, outcome));
    const Status written = context.transact([&](db::Transaction& tx) -> Status {
        const UnixMs now_ms = context.now();
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(store(tx, round, target, outcome, now_ms));
        GYM_CHECK(registry::set_included(tx, target.round, included));
        if (commitment)
            GYM_CHECK(add_own_unit(context, tx, job, target, *commitment, result->records, now_ms));
        return {};
    });
    GYM_CHECK(written);
    note(summary, name_round(target) + ": aggregated " + std::to_string(included.size()) +
                      " deltas" + held_text(included));
    return {};
}

}  // namespace

Status aggregate_round(const Context& context, const registry::Job& job,
                       const registry::Round& round, TickSummary& summary) {
    GYM_TRY(const auto target, aggregating_round(context, job, round));
    if (!target) return end_without(context, job, round, summary);
    if (target->state == registry::RoundState::kRecorded) return {};
    GYM_TRY(const bool waits, awaits_deltas(context, job, round));
    if (waits) return {};
    return aggregate_into(context, job, round, *target, summary);
}

}  // namespace gym::coordinator
