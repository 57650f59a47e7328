#include "gym/registry/audits.hpp"

namespace gym::registry {
namespace {

std::string_view name_of(AuditResult result) {
    switch (result) {
        case AuditResult::kPassed:
            return "passed";
        case AuditResult::kFailed:
            return "failed";
        case AuditResult::kImpossible:
            break;
    }
    return "impossible";
}

}  // namespace

Status require_audit(db::Transaction& tx, const Digest& unit, std::uint32_t draw) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.report SET audit = 'due' WHERE unit_id = $1 AND draw = $2 "
                    "AND audit IS NULL",
                    {unit, draw}));
    return {};
}

Status require_audits_of(db::Transaction& tx, const Address& verifier) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.report p SET audit = 'due' FROM registry.unit u "
                    "WHERE p.verifier = $1 AND p.accepted_seq IS NULL AND p.is_equal "
                    "AND p.audit IS NULL AND u.id = p.unit_id AND u.ended_at_ms IS NULL "
                    "AND u.kind = 'train' AND p.draw = u.draws - 1",
                    {verifier}));
    return {};
}

Result<std::optional<Unit>> next_audit(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT u.id FROM registry.report p JOIN registry.unit u ON u.id = "
                             "p.unit_id AND p.draw = u.draws - 1 WHERE p.audit = 'due' "
                             "AND u.ended_at_ms IS NULL AND u.job_id = $1 "
                             "ORDER BY u.deadline_ms, u.id LIMIT 1",
                             {job_id}));
    if (!row) return std::optional<Unit>();
    GYM_TRY(Unit unit, get_unit(tx, row->get<Digest>(0)));
    return std::optional<Unit>(std::move(unit));
}

Result<bool> is_audit_due(db::Transaction& tx, const Digest& unit, std::uint32_t draw) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT EXISTS (SELECT FROM registry.report p JOIN registry.unit u ON u.id "
                        "= p.unit_id AND p.draw = u.draws - 1 WHERE p.unit_id = $1 AND p.draw = $2 "
                        "AND p.audit = 'due' AND u.ended_at_ms IS NULL)",
                        {unit, draw}));
    return row.get<bool>(0);
}

Status finish_audit(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                    AuditResult result) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.report SET audit = $3 WHERE unit_id = $1 AND draw = $2 AND "
                    "audit = 'due'",
                    {unit, draw, name_of(result)}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "no audit of a report on unit " + unit.hex() + " is due");
}

Status refute_report(db::Transaction& tx, const Digest& unit, const protocol::Reason& reason) {
    GYM_CHECK(
        tx.exec("UPDATE registry.unit SET reason_code = $2, reason = $3 WHERE id = $1 "
                "AND state = 'disputed' AND reason_code <> $4",
                {unit, protocol::to_string(reason.code), reason.sentence,
                 protocol::to_string(protocol::ReasonCode::kChallenged)}));
    return {};
}

}  // namespace gym::registry
