// Audits of verifiers: a report that agrees with the commitment may be a copy of it, and only a
// re-execution with the verifier's own trace positions can show that.
#include "drivers/audits.hpp"

#include "drivers/membership.hpp"
#include "drivers/reexecution.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/registry/audits.hpp"
#include "gym/registry/report_claims.hpp"

namespace gym::coordinator {
namespace {

using registry::AuditResult;

struct Audit {
    registry::Unit unit;
    registry::Round round;
    protocol::UnitCommitment claim;
    protocol::Report report;
};

Result<Audit> read_audit(db::Transaction& tx, const Digest& id) {
    Audit out;
    GYM_TRY(out.unit, registry::get_unit(tx, id));
    GYM_TRY(out.round, registry::get_round(tx, out.unit.key.job_id, out.unit.key.round));
    GYM_TRY(const auto stored, registry::find_commitment(tx, id));
    GYM_TRY(const auto reports, registry::list_reports(tx, id));
    if (!stored || reports.empty() || !reports.back().revealed)
        return fail(ErrorCode::kInternal, "a unit to audit has no commitment or no report");
    out.claim = stored->commitment.commitment;
    out.report = *reports.back().revealed;
    return out;
}

Result<std::optional<Audit>> read_next(const Context& context, const registry::Job& job) {
    return context.transact([&](db::Transaction& tx) -> Result<std::optional<Audit>> {
        GYM_TRY(const auto unit, registry::next_audit(tx, job.id));
        if (!unit) return std::optional<Audit>();
        GYM_TRY(Audit out, read_audit(tx, unit->id));
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

/// Writes what was found. Much may have happened since the audit began: a unit that ended, a report
/// that is not the last one any more, and an audit that another instance finished stay as they are.
Status conclude(const Context& context, const registry::Job& job,
                const ReexecutionBoard::Finished& finished, TickSummary& summary) {
    const Result<Compute::Reexecuted>& mine = finished.result;
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        const auto& [unit, draw] = finished.key;
        GYM_TRY(const bool due, registry::is_audit_due(tx, unit, draw));
        if (!due) return {};
        GYM_TRY(const Audit audit, read_audit(tx, unit));
        if (!mine.ok()) {
            GYM_CHECK(registry::finish_audit(tx, unit, draw, AuditResult::kImpossible));
            note(summary, protocol::name_unit(audit.unit.key) + ": its report cannot be audited, " +
                              mine.error().message);
            return {};
        }
        GYM_CHECK(registry::check_report_claims(tx, unit, mine->roots, context.now()));
        const auto fault = refuted(audit, *mine);
        const bool failed = fault || mine->trace != audit.report.trace;
        GYM_CHECK(registry::finish_audit(tx, unit, draw,
                                         failed ? AuditResult::kFailed : AuditResult::kPassed));
        if (failed) return fail_report(context, tx, job, audit, fault, summary);
        note(summary, protocol::name_unit(audit.unit.key) + ": its report passed the audit");
        return {};
    });
}

Status begin_next(const Context& context, const registry::Job& job) {
    if (!context.audits->has_room(job.id, context.now())) return {};
    GYM_TRY(const auto audit, read_next(context, job));
    if (!audit) return {};
    const ReexecutionBoard::Key key{audit->unit.id, audit->report.draw};
    context.audits->begin(job.id, key);
    context.deps.background->run(
        [context, job, key, round = audit->round, unit = audit->unit,
         challenge = audit->report.challenge_signature](const std::stop_token& stop) {
            auto mine = reexecute(context, job, round, unit, &challenge, stop);
            context.audits->finish(job.id, key, std::move(mine), context.now());
        });
    return {};
}

}  // namespace

bool is_audited(const Context& context, const Digest& unit, std::uint32_t draw) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.audit.v1")).fixed(unit).u32(draw);
    const crypto::Signature lot = context.deps.key.sign_digest(commit::sha256(encoder.view()));
    return protocol::is_sampled(commit::sha256(lot.view()), unit, context.options.audit_ppm);
}

Status audit_reports(const Context& context, const registry::Job& job, TickSummary& summary) {
    GYM_CHECK(begin_next(context, job));
    const auto finished = context.audits->take(job.id);
    if (!finished) return {};
    const auto& mine = finished->result;
    // It stays due, and the next tick begins it anew.
    if (!mine.ok() && may_work_later(mine.error().code)) {
        summary.errors.push_back("job " + short_id(job.id) + ": audit: " + mine.error().message);
        return {};
    }
    return conclude(context, job, *finished, summary);
}

}  // namespace gym::coordinator
