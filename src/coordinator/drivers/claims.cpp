#include "drivers/claims.hpp"

#include "drivers/game_state.hpp"
#include "drivers/withdrawn_deltas.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/report_claims.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

/// The salt of an announcement that may be out already stays: a claim that is there is kept.
Status file(const Context& context, const registry::Equivocation& found) {
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.subject = player::Subject::kConflict;
    claim.key = found.key;
    claim.evidence.commitment = found.first;
    claim.other = protocol::encode(found.second);
    GYM_TRY(const registry::Round round, context.transact([&](db::Transaction& tx) {
        return registry::get_round(tx, found.key.job_id, found.key.round);
    }));
    claim.evidence.record = protocol::unit_record(round.record, found.key.slot);
    // The chain is asked for the next epoch, in which the later one may be.
    if (!round.record.accept_late) claim.epoch_block = round.posted_block.value_or(0);
    claim.salt = crypto::random_digest();
    if (!context.deps.claims->contains(claim)) GYM_CHECK(context.deps.claims->save(claim));
    return context.transact([&](db::Transaction& tx) {
        return registry::mark_equivocation_filed(tx, found.unit, context.now());
    });
}

/// What a false report is about.
struct Reported {
    registry::Job job;
    registry::Round round;
    std::uint64_t epoch_block = 0;
    Digest dataset_blob;
};

Result<Reported> read_reported(db::Transaction& tx, const registry::FalseReport& found) {
    Reported out;
    GYM_TRY(out.job, registry::get_job(tx, found.key.job_id));
    GYM_TRY(out.round, registry::get_round(tx, found.key.job_id, found.key.round));
    out.epoch_block = out.round.posted_block.value_or(0);
    if (found.late) {
        GYM_TRY(const registry::Round next,
                registry::get_round(tx, found.key.job_id, found.key.round + 1));
        out.epoch_block = next.posted_block.value_or(0);
    }
    GYM_TRY(const auto dataset, registry::get_dataset(tx, out.job.dataset_root));
    out.dataset_blob = dataset.blob;
    return out;
}

/// As of two commitments, a claim that is there is kept.
Status file(const Context& context, const registry::FalseReport& found) {
    GYM_TRY(const Reported reported,
            context.transact([&](db::Transaction& tx) { return read_reported(tx, found); }));
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.subject = player::Subject::kReport;
    claim.key = found.key;
    claim.evidence.commitment = found.claim;
    claim.evidence.record = protocol::unit_record(reported.round.record, found.key.slot);
    claim.evidence.late = found.late;
    claim.program_blob = reported.job.artifacts->program_blob;
    claim.dataset_blob = reported.dataset_blob;
    claim.base_state_blob = reported.round.base.blob;
    claim.from_block = reported.epoch_block;
    claim.epoch_block = reported.epoch_block;
    claim.salt = crypto::random_digest();
    if (!context.deps.claims->contains(claim)) GYM_CHECK(context.deps.claims->save(claim));
    return context.transact([&](db::Transaction& tx) {
        return registry::mark_false_report_filed(tx, found.unit, found.draw, context.now());
    });
}

struct Aggregate {
    registry::Job job;
    registry::Round round;
    protocol::SignedCommitment commitment;
    std::vector<protocol::IncludedDelta> included;
};

/// @pre the unit is an aggregate that is signed.
Result<Aggregate> read_aggregate(db::Transaction& tx, const registry::Unit& unit) {
    Aggregate out;
    GYM_TRY(out.job, registry::get_job(tx, unit.key.job_id));
    GYM_TRY(out.round, registry::get_round(tx, unit.key.job_id, unit.key.round));
    GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
    if (!stored) return fail(ErrorCode::kInternal, "an aggregate has no commitment");
    out.commitment = stored->commitment;
    GYM_TRY(out.included, registry::included_deltas(tx, unit.key.job_id, unit.key.round));
    return out;
}

Result<player::Claim> claim_on(const Context& context, const Aggregate& aggregate) {
    const registry::Round& round = aggregate.round;
    player::Claim claim;
    claim.role = player::Role::kDefend;
    claim.subject = player::Subject::kAggregate;
    claim.key = aggregate_key(round);
    claim.evidence.commitment = aggregate.commitment;
    claim.evidence.record = protocol::unit_record(round.record, claim.key.slot);
    claim.round = round.record;
    claim.program_blob = aggregate.job.artifacts->program_blob;
    claim.base_state_blob = round.base.blob;
    claim.momentum_blob = round.momentum.blob;
    claim.deltas = aggregate.included;
    GYM_CHECK(context.transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(claim.epoch, registry::epoch_commitments(tx, round.epoch));
        GYM_TRY(claim.withdrawn, sources_of(tx, round, claim.deltas));
        if (protocol::held_of(claim.deltas) == 0) return {};
        GYM_TRY(const registry::Round before,
                registry::get_round(tx, round.job_id, round.round - 1));
        GYM_TRY(auto epoch, registry::epoch_commitments(tx, before.epoch));
        claim.held = {before.record, std::move(epoch), before.base.blob};
        return {};
    }));
    claim.epoch_block = round.posted_block.value_or(0);
    // Where rounds overlap, an aggregate is signed before its round has an epoch.
    claim.from_block = round.posted_block ? *round.posted_block : context.deps.claims->head();
    return claim;
}

/// Whether the player defends the stored commitment.
bool is_kept(const player::ClaimStore& claims, const registry::Unit& unit,
             const protocol::SignedCommitment& stored) {
    player::Claim wanted;
    wanted.subject = player::Subject::kAggregate;
    wanted.key = unit.key;
    const auto kept = claims.find(wanted);
    return kept && kept->evidence.commitment == stored;
}

/// The coordinator's own units that are not final and that the player does not defend.
Result<std::vector<registry::Unit>> lost_claims(const Context& context) {
    registry::UnitFilter own;
    own.worker = context.deps.key.address();
    own.kind = protocol::UnitKind::kAggregate;
    own.states = registry::open_states();
    std::erase(own.states, UnitState::kAssigned);  // not signed yet
    own.limit = registry::kUnitsListMax;
    return context.transact([&](db::Transaction& tx) -> Result<std::vector<registry::Unit>> {
        GYM_TRY(auto units, registry::list_units(tx, own));
        std::vector<registry::Unit> out;
        for (registry::Unit& unit : units) {
            GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
            if (!stored) return fail(ErrorCode::kInternal, "an aggregate has no commitment");
            if (!is_kept(*context.deps.claims, unit, stored->commitment))
                out.push_back(std::move(unit));
        }
        return out;
    });
}

}  // namespace

protocol::UnitKey aggregate_key(const registry::Round& round) {
    return {round.job_id, round.round, protocol::kAggregateSlot, 0};
}

Status defend_aggregate(const Context& context, const registry::Job& job,
                        const registry::Round& round, const protocol::SignedCommitment& commitment,
                        const std::vector<protocol::IncludedDelta>& included) {
    if (context.deps.claims == nullptr) return {};
    GYM_TRY(const player::Claim claim, claim_on(context, {job, round, commitment, included}));
    return context.deps.claims->save(claim);
}

Status restore_claims(const Context& context, TickSummary& summary) {
    if (context.deps.claims == nullptr) return {};
    GYM_TRY(const auto lost, lost_claims(context));
    if (lost.empty()) return {};
    GYM_TRY(const auto games, game_watch(context));
    for (const registry::Unit& unit : lost) {
        if (games) {
            // The player forgets units that can no longer be in a game.
            GYM_TRY(const GameVerdict verdict, verdict_on(context, *games, unit));
            if (verdict != GameVerdict::kOpen) continue;
        }
        GYM_TRY(const Aggregate aggregate,
                context.transact([&](db::Transaction& tx) { return read_aggregate(tx, unit); }));
        GYM_TRY(const player::Claim claim, claim_on(context, aggregate));
        GYM_CHECK(context.deps.claims->save(claim));
        note(summary, protocol::name_unit(unit.key) + ": its claim was made again");
    }
    return {};
}

Status file_false_reports(const Context& context, TickSummary& summary) {
    if (context.deps.claims == nullptr) return {};
    GYM_TRY(const auto found, context.transact([](db::Transaction& tx) {
        return registry::unfiled_false_reports(tx);
    }));
    for (const registry::FalseReport& report : found) {
        GYM_CHECK(file(context, report));
        note(summary, protocol::name_unit(report.key) + ": the report of verifier " +
                          report.verifier.hex() + " is false, which is left to a game on chain");
    }
    return {};
}

Status file_conflicts(const Context& context, TickSummary& summary) {
    if (context.deps.claims == nullptr) return {};
    GYM_TRY(const auto found, context.transact([](db::Transaction& tx) {
        return registry::unfiled_equivocations(tx);
    }));
    for (const registry::Equivocation& equivocation : found) {
        GYM_CHECK(file(context, equivocation));
        note(summary, protocol::name_unit(equivocation.key) +
                          ": its worker signed twice, which is left to a game on chain");
    }
    return {};
}

}  // namespace gym::coordinator
