#include "calls/verifier_calls.hpp"

#include <algorithm>

#include "drivers/audits.hpp"
#include "drivers/membership.hpp"
#include "gym/protocol/report_claim.hpp"
#include "gym/registry/audits.hpp"
#include "gym/registry/report_claims.hpp"

namespace gym::coordinator {
namespace {

/// The unit, if this verifier holds this draw of it.
Result<registry::Unit> require_draw(db::Transaction& tx, const Address& verifier, const Digest& id,
                                    std::uint32_t draw) {
    GYM_CHECK(require_node(tx, verifier, records::NodeRole::kVerifier));
    GYM_TRY(registry::Unit unit, registry::get_unit(tx, id));
    if (unit.verifier != verifier || unit.status.draws != draw + 1)
        return fail(ErrorCode::kPermissionDenied,
                    "draw " + std::to_string(draw) + " of " + protocol::name_unit(unit.key) +
                        " is not assigned to verifier " + verifier.hex());
    return unit;
}

Result<std::optional<registry::StoredReport>> find_report(db::Transaction& tx, const Digest& unit,
                                                          std::uint32_t draw) {
    GYM_TRY(auto reports, registry::list_reports(tx, unit));
    for (registry::StoredReport& report : reports)
        if (report.draw == draw) return std::optional(std::move(report));
    return std::optional<registry::StoredReport>();
}

/// Everything a reveal is judged by, read once.
struct Case {
    registry::Unit unit;
    registry::Job job;
    registry::Round round;
    registry::StoredCommitment stored;
    registry::StoredReport report;
};

Result<Case> read_case(const Context& context, const protocol::Report& report) {
    return context.transact([&](db::Transaction& tx) -> Result<Case> {
        GYM_CHECK(require_node(tx, report.verifier, records::NodeRole::kVerifier));
        GYM_TRY(registry::Unit unit, registry::get_unit(tx, report.unit));
        GYM_TRY(auto committed, find_report(tx, report.unit, report.draw));
        if (!committed || committed->verifier != report.verifier)
            return fail(ErrorCode::kPermissionDenied,
                        "verifier " + report.verifier.hex() + " committed to no report on draw " +
                            std::to_string(report.draw) + " of " + protocol::name_unit(unit.key));
        GYM_TRY(registry::Job job, registry::get_job(tx, unit.key.job_id));
        GYM_TRY(registry::Round round,
                registry::get_round(tx, unit.key.job_id, unit.epoch_round()));
        GYM_TRY(auto stored, registry::find_commitment(tx, report.unit));
        if (!stored) return fail(ErrorCode::kInternal, "a drawn unit has no commitment");
        return Case{std::move(unit), std::move(job), std::move(round), std::move(*stored),
                    std::move(*committed)};
    });
}

/// Compares a report with what was committed. Absent: equal.
/// @errors kMalformed for records that do not decode.
Result<std::optional<protocol::Reason>> find_difference(const Context& context,
                                                        const registry::Unit& unit,
                                                        const registry::StoredCommitment& stored,
                                                        const protocol::Report& report,
                                                        ByteView records) {
    using Found = std::optional<protocol::Reason>;
    const protocol::UnitCommitment& claim = stored.commitment.commitment;
    switch (protocol::compare(protocol::roots_of(claim), protocol::roots_of(report))) {
        case protocol::Difference::kNone:
            return Found();
        case protocol::Difference::kFinalState:
            return Found(protocol::result_differs(unit.key, "final state root",
                                                  claim.final_state_root, report.final_state_root));
        case protocol::Difference::kDelta:
            return Found(protocol::result_differs(unit.key, "delta root", claim.delta_root,
                                                  report.delta_root));
        case protocol::Difference::kRecords:
            break;
    }
    // A commitment that was published on chain came without its records.
    if (stored.records.empty())
        return Found(protocol::result_differs(unit.key, "records root", claim.records_root,
                                              report.records_root));
    GYM_TRY(const auto difference, context.deps.compute.first_difference(stored.records, records));
    if (!difference)
        return fail(ErrorCode::kInternal, "two records roots differ and no record does");
    return Found(protocol::step_differs(unit.key, static_cast<std::uint32_t>(difference->step),
                                        claim.records_root, report.records_root));
}

/// A verifier that agrees on a unit of the coordinator's must have known its records before they
/// were disclosed. (The trace of a train unit is known only to those who run it: see audits.hpp.)
Status check_records_trace(const Context& context, const Case& facts,
                           const protocol::Report& report) {
    if (facts.unit.kind == protocol::UnitKind::kTrain) return {};
    GYM_TRY(const Digest trace,
            context.deps.compute.records_trace(facts.stored.records, report.challenge_signature));
    if (trace == report.trace) return {};
    return fail(ErrorCode::kMismatch,
                "report: its trace was not computed from " + protocol::name_unit(facts.unit.key));
}

/// Where verifiers have stake, they stand for what they report on train units.
/// @return the signature to keep.
Result<std::optional<crypto::Signature>> check_claim(
    const Context& context, const Case& facts, const protocol::Report& report,
    const std::optional<crypto::Signature>& claim) {
    using Kept = std::optional<crypto::Signature>;
    const Options& options = context.options;
    if (!options.wants_report_claims() || facts.unit.kind != protocol::UnitKind::kTrain)
        return Kept();
    if (!claim)
        return fail(ErrorCode::kInvalidArgument,
                    "report: it is not signed for the games about reports in " +
                        options.report_game.hex() +
                        ", which this network asks of its verifiers: install the newest gym, and "
                        "set `chain_rpc` and `dispute_game`, so that the verifier can defend it");
    const auto domain =
        protocol::report_domain(options.domain.chain_id.value_or(0), options.report_game);
    GYM_CHECK(protocol::check_report_claim(
        domain, report, {protocol::claim_of(report, facts.stored.commitment.commitment), *claim}));
    return claim;
}

Status decide(const Context& context, const Case& facts, const protocol::Report& report,
              ByteView records, const std::optional<protocol::Reason>& difference,
              const std::optional<crypto::Signature>& claim) {
    const protocol::LifecycleParams& params = facts.job.terms.lifecycle;
    return context.transact_feed([&](db::Transaction& tx) -> Status {
        const UnixMs now_ms = context.now();
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto known, find_report(tx, report.unit, report.draw));
        if (known && known->revealed_at_ms) return {};  // decided by an earlier call
        GYM_CHECK(require_draw(tx, report.verifier, report.unit, report.draw));
        GYM_CHECK(registry::advance(tx, report.unit, protocol::event::Revealed{}, params, now_ms));
        GYM_CHECK(registry::store_reveal(tx, report, records, !difference, now_ms));
        if (claim) GYM_CHECK(registry::store_report_claim(tx, report.unit, report.draw, *claim));
        const bool by_worker = facts.unit.kind == protocol::UnitKind::kTrain;
        if (!difference && by_worker && is_audited(context, report.unit, report.draw))
            GYM_CHECK(registry::require_audit(tx, report.unit, report.draw));
        GYM_CHECK(registry::advance(tx, report.unit, protocol::event::Compared{!difference}, params,
                                    now_ms, difference));
        return {};
    });
}

/// What a verifier is shown once it has committed to a report. The losses of an evaluation are all
/// that its report takes: a verifier that had them for any digest could tell them to the next one
/// that is drawn.
Bytes disclosed(const registry::Unit& unit, const registry::StoredCommitment& stored) {
    return unit.kind == protocol::UnitKind::kEvaluate ? Bytes() : stored.records;
}

}  // namespace

Result<Bytes> commit_report(const Context& context, const Address& verifier, const Digest& id,
                            std::uint32_t draw, const Digest& digest) {
    return context.transact_feed([&](db::Transaction& tx) -> Result<Bytes> {
        const UnixMs now_ms = context.now();
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit unit, require_draw(tx, verifier, id, draw));
        GYM_TRY(const auto stored, registry::find_commitment(tx, id));
        if (!stored) return fail(ErrorCode::kInternal, "a drawn unit has no commitment");
        GYM_TRY(const auto known, find_report(tx, id, draw));
        if (known && known->digest != digest)
            return fail(ErrorCode::kConflict, "another report on draw " + std::to_string(draw) +
                                                  " of " + protocol::name_unit(unit.key) +
                                                  " is committed to");
        if (known) return disclosed(unit, *stored);
        GYM_TRY(const registry::Job job, registry::get_job(tx, unit.key.job_id));
        GYM_CHECK(
            registry::advance(tx, id, protocol::event::Reported{}, job.terms.lifecycle, now_ms));
        GYM_CHECK(registry::store_report(tx, id, draw, verifier, digest, now_ms));
        return disclosed(unit, *stored);
    });
}

Result<RevealOutcome> reveal_report(const Context& context, const protocol::Report& report,
                                    ByteView records,
                                    const std::optional<crypto::Signature>& claim) {
    if (records.size() > context.options.records_bytes_max)
        return fail(ErrorCode::kOutOfRange, "report: the step records are too long");
    GYM_TRY(const Case facts, read_case(context, report));
    GYM_CHECK(protocol::check_reveal(context.options.domain, *facts.round.beacon,
                                     facts.report.digest, report));
    GYM_TRY(const Digest root, context.deps.compute.records_root(records));
    if (root != report.records_root)
        return fail(ErrorCode::kMismatch, "report: the step records hash to " + root.hex() +
                                              ", not to its records root " +
                                              report.records_root.hex());
    GYM_TRY(const auto difference,
            find_difference(context, facts.unit, facts.stored, report, records));
    if (!difference) GYM_CHECK(check_records_trace(context, facts, report));
    GYM_TRY(const auto kept, check_claim(context, facts, report, claim));
    GYM_CHECK(decide(context, facts, report, records, difference, kept));
    return RevealOutcome{!difference, difference ? difference->sentence : ""};
}

}  // namespace gym::coordinator
