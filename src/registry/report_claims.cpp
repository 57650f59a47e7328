#include "gym/registry/report_claims.hpp"

#include "gym/protocol/report_claim.hpp"
#include "unit_rows.hpp"

namespace gym::registry {
namespace {

Result<FalseReport> to_false_report(const db::Row& row) {
    FalseReport out;
    out.unit = row.get<Digest>("unit_id");
    out.draw = row.get<std::uint32_t>("draw");
    out.key = {row.get<Digest>("job_id"), row.get<std::uint64_t>("round"),
               row.get<std::uint32_t>("slot"), row.get<std::uint32_t>("attempt")};
    out.verifier = row.get<Address>("verifier");
    out.late = row.get<bool>("late");
    GYM_TRY(const auto committed, protocol::decode_signed_commitment(row.get<Bytes>("commitment")));
    protocol::Report said;
    said.records_root = row.get<Digest>("records_root");
    said.final_state_root = row.get<Digest>("final_state_root");
    said.delta_root = row.get<Digest>("delta_root");
    out.claim.commitment = protocol::claim_of(said, committed.commitment);
    out.claim.signature = row.get<crypto::Signature>("signature");
    return out;
}

}  // namespace

Status store_report_claim(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                          const crypto::Signature& signature) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("INSERT INTO registry.report_claim (unit_id, draw, signature) VALUES ($1, $2, "
                    "$3)",
                    {unit, draw, signature}));
    return {};
}

Status check_report_claims(db::Transaction& tx, const Digest& unit,
                           const protocol::UnitRoots& roots, UnixMs now_ms) {
    GYM_TRY(
        [[maybe_unused]] const db::Rows rows,
        tx.exec(
            "UPDATE registry.report_claim c SET checked_at_ms = $5::bigint, false_at_ms = CASE "
            "WHEN "
            "(p.records_root, p.final_state_root, p.delta_root) IS DISTINCT FROM "
            "($2::bytea, $3::bytea, $4::bytea) THEN $5::bigint END FROM registry.report p WHERE "
            "c.unit_id = $1 AND p.unit_id = c.unit_id AND p.draw = c.draw AND "
            "c.checked_at_ms IS NULL",
            {unit, roots.records, roots.final_state, roots.delta, now_ms}));
    return {};
}

Status give_up_report_claims(db::Transaction& tx, const Digest& unit, UnixMs now_ms) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.report_claim SET checked_at_ms = $2 WHERE unit_id = $1 AND "
                    "checked_at_ms IS NULL",
                    {unit, now_ms}));
    return {};
}

Result<std::optional<Digest>> next_report_check(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT u.id FROM registry.report_claim c JOIN registry.unit u ON "
                             "u.id = c.unit_id WHERE c.checked_at_ms IS NULL AND u.job_id = $1 AND "
                             "u.state = 'slashed' ORDER BY u.id LIMIT 1",
                             {job_id}));
    return row ? std::optional(row->get<Digest>(0)) : std::nullopt;
}

Result<std::vector<FalseReport>> unfiled_false_reports(db::Transaction& tx, std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT c.unit_id, c.draw, c.signature, u.job_id, u.round, u.slot, u.attempt, "
                    "u.late, p.verifier, p.records_root, p.final_state_root, p.delta_root, "
                    "m.commitment FROM registry.report_claim c JOIN registry.report p ON "
                    "p.unit_id = c.unit_id AND p.draw = c.draw JOIN registry.unit u ON u.id = "
                    "c.unit_id JOIN registry.unit_commitment m ON m.unit_id = c.unit_id WHERE "
                    "c.false_at_ms IS NOT NULL AND c.filed_at_ms IS NULL ORDER BY c.false_at_ms, "
                    "c.unit_id, c.draw LIMIT $1",
                    {limit}));
    std::vector<FalseReport> out;
    for (const db::Row row : rows) {
        GYM_TRY(auto found, to_false_report(row));
        out.push_back(std::move(found));
    }
    return out;
}

Status mark_false_report_filed(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                               UnixMs now_ms) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.report_claim SET filed_at_ms = $3 WHERE unit_id = $1 AND draw "
                    "= $2 AND filed_at_ms IS NULL",
                    {unit, draw, now_ms}));
    return {};
}

}  // namespace gym::registry
