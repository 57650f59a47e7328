// Audits of verifiers: a report that agrees with the commitment may be a copy of it, and only a
// re-execution with the verifier's own trace positions can show that.
#include "drivers/audits.hpp"

#include "drivers/membership.hpp"
#include "drivers/reexecution.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/registry/audits.hpp"

namespace gym::coordinator {
namespace {

using registry::AuditResult;

struct Audit {
    registry::Unit unit;
    registry::Round round;
    protocol::UnitCommitment claim;
    protocol::Report report;
};

Result<std::optional<Audit>> read_next(const Context& context, const registry::Job& job) {
    return context.transact([&](db::Transaction& tx) -> Result<std::optional<Audit>> {
        GYM_TRY(const auto unit, registry::next_audit(tx, job.id));
        if (!unit) return std::optional<Audit>();
        Audit out;
        out.unit = *unit;
        GYM_TRY(out.round, registry::get_round(tx, job.id, unit->key.round));
        GYM_TRY(const auto stored, registry::find_commitment(tx, unit->id));
        GYM_TRY(const auto reports, registry::list_reports(tx, unit->id));
        if (!stored || reports.empty() || !reports.back().revealed)
            return fail(ErrorCode::kInternal, "a unit to audit has no commitment or no report");
        out.claim = stored->commitment.commitment;
        out.report = *reports.back().revealed;
        return std::optional(std::move(out));
    });
}

/// The claim of the worker that the re-execution refutes; absent if all roots are equal.
std::optional<protocol::Reason> refuted(const Audit& audit, const Compute::Reexecuted& mine) {
    const protocol::UnitKey& key = audit.unit.key;
    const protocol::UnitRoots claimed = protocol::roots_of(audit.claim);
    switch (protocol::compare(claimed, mine.roots)) {
        case protocol::Difference::kNone:
            break;
        case protocol::Difference::kRecords:
            return protocol::result_differs(key, "records root", claimed.records,
                                            mine.roots.records);
        case protocol::Difference::kFinalState:
            return protocol::result_differs(key, "final state root", claimed.final_state,
                                            mine.roots.final_state);
        case protocol::Difference::kDelta:
            return protocol::result_differs(key, "delta root", claimed.delta, mine.roots.delta);
    }
    return std::nullopt;
}

Status fail_report(const Context& context, db::Transaction& tx, const registry::Job& job,
                   const Audit& audit, const std::optional<protocol::Reason>& fault,
                   TickSummary& summary) {
    const UnixMs now_ms = context.now();
    const protocol::LifecycleParams& params = job.terms.lifecycle;
    if (fault) {
        GYM_TRY(const registry::Unit rejected,
                registry::advance(tx, audit.unit.id, protocol::event::FaultProven{}, params, now_ms,
                                  fault));
        GYM_CHECK(exclude_worker(context, tx, rejected, now_ms));
    }
    GYM_CHECK(exclude_verifier(context, tx, audit.report.verifier, audit.unit, params, now_ms));
    note(summary, protocol::name_unit(audit.unit.key) + ": verifier " +
                      audit.report.verifier.hex() + " reported without re-execution");
    // Perhaps it never looked at the other units that it passed.
    return registry::require_audits_of(tx, audit.report.verifier);
}

Status conclude(const Context& context, const registry::Job& job, const Audit& audit,
                const Result<Compute::Reexecuted>& mine, TickSummary& summary) {
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit now, registry::get_unit(tx, audit.unit.id));
        // A game may have made another open state of it; the report is the same.
        if (now.ended_at_ms) return {};
        const std::uint32_t draw = audit.report.draw;
        if (!mine.ok()) {
            note(summary, protocol::name_unit(audit.unit.key) + ": its report cannot be audited, " +
                              mine.error().message);
            return registry::finish_audit(tx, audit.unit.id, draw, AuditResult::kImpossible);
        }
        const auto fault = refuted(audit, *mine);
        const bool failed = fault || mine->trace != audit.report.trace;
        GYM_CHECK(registry::finish_audit(tx, audit.unit.id, draw,
                                         failed ? AuditResult::kFailed : AuditResult::kPassed));
        if (failed) return fail_report(context, tx, job, audit, fault, summary);
        note(summary, protocol::name_unit(audit.unit.key) + ": its report passed the audit");
        return {};
    });
}

}  // namespace

bool is_audited(const Context& context, const Digest& unit, std::uint32_t draw) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.audit.v1")).fixed(unit).u32(draw);
    const crypto::Signature lot = context.deps.key.sign_digest(commit::sha256(encoder.view()));
    return protocol::is_sampled(commit::sha256(lot.view()), unit, context.options.audit_ppm);
}

Status audit_reports(const Context& context, const registry::Job& job, TickSummary& summary) {
    GYM_TRY(const auto audit, read_next(context, job));
    if (!audit) return {};
    const auto mine =
        reexecute(context, job, audit->round, audit->unit, &audit->report.challenge_signature);
    if (!mine.ok() &&
        (mine.error().code == ErrorCode::kUnavailable || mine.error().code == ErrorCode::kTimeout))
        return mine.error();
    return conclude(context, job, *audit, mine, summary);
}

}  // namespace gym::coordinator
