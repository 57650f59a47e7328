// Commitments, evidence and reports of units.
#include "unit_rows.hpp"

namespace gym::registry {
namespace {

protocol::Report to_report(const db::Row& row, const StoredReport& stored) {
    protocol::Report out;
    out.unit = stored.unit;
    out.draw = stored.draw;
    out.verifier = stored.verifier;
    out.records_root = row.get<Digest>("records_root");
    out.final_state_root = row.get<Digest>("final_state_root");
    out.delta_root = row.get<Digest>("delta_root");
    out.trace = row.get<Digest>("trace");
    out.challenge_signature = row.get<crypto::Signature>("challenge_signature");
    out.salt = row.get<Digest>("salt");
    return out;
}

StoredReport to_stored_report(const db::Row& row) {
    StoredReport out;
    out.unit = row.get<Digest>("unit_id");
    out.draw = row.get<std::uint32_t>("draw");
    out.verifier = row.get<Address>("verifier");
    out.digest = row.get<Digest>("digest");
    out.committed_at_ms = row.get<UnixMs>("committed_at_ms");
    out.revealed_at_ms = row.get<std::optional<UnixMs>>("revealed_at_ms");
    if (!out.revealed_at_ms) return out;
    out.revealed = to_report(row, out);
    out.equal = row.get<bool>("is_equal");
    out.accepted = !row.is_null("accepted_seq");
    out.records = row.get<Bytes>("records");
    return out;
}

Result<std::vector<SignedUnit>> to_signed_units(const db::Rows& rows) {
    std::vector<SignedUnit> out;
    for (const db::Row row : rows) {
        GYM_TRY(auto commitment, protocol::decode_signed_commitment(row.get<Bytes>("commitment")));
        out.push_back({row.get<Digest>("id"), row.get<Address>("worker"), commitment});
    }
    return out;
}

}  // namespace

Status store_commitment(db::Transaction& tx, const Digest& unit,
                        const protocol::SignedCommitment& commitment, ByteView records,
                        UnixMs now_ms) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("INSERT INTO registry.unit_commitment (unit_id, commitment, leaf, "
                    "received_at_ms) VALUES ($1, $2, $3, $4)",
                    {unit, protocol::encode(commitment), protocol::commitment_leaf(commitment),
                     now_ms}));
    GYM_TRY([[maybe_unused]] const db::Rows record_rows,
            tx.exec("INSERT INTO registry.unit_records (unit_id, records) VALUES ($1, $2)",
                    {unit, records}));
    return {};
}

Result<std::optional<StoredCommitment>> find_commitment(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT commitment, leaf, received_at_ms, records FROM "
                             "registry.unit_commitment JOIN registry.unit_records USING (unit_id) "
                             "WHERE unit_id = $1",
                             {unit}));
    if (!row) return std::optional<StoredCommitment>();
    StoredCommitment out;
    GYM_TRY(out.commitment, protocol::decode_signed_commitment(row->get<Bytes>("commitment")));
    out.leaf = row->get<Digest>("leaf");
    out.received_at_ms = row->get<UnixMs>("received_at_ms");
    out.records = row->get<Bytes>("records");
    return std::optional<StoredCommitment>(std::move(out));
}

Result<std::vector<SignedUnit>> signed_commitments(db::Transaction& tx, const Address& worker,
                                                   std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT u.id, u.worker, c.commitment FROM registry.unit u "
                    "JOIN registry.unit_commitment c ON c.unit_id = u.id WHERE u.worker = $1 "
                    "ORDER BY u.round DESC, u.id LIMIT $2",
                    {worker, limit}));
    return to_signed_units(rows);
}

Result<std::vector<SignedUnit>> units_to_challenge(db::Transaction& tx, const Digest& job_id,
                                                   const Address& contract) {
    GYM_TRY(
        const db::Rows rows,
        tx.exec("SELECT u.id, u.worker, c.commitment FROM registry.unit u "
                "JOIN registry.unit_commitment c ON c.unit_id = u.id "
                "JOIN registry.round r ON r.job_id = u.job_id AND r.round = u.round + "
                "u.late::integer WHERE u.job_id = $1 AND u.state IN ('unsampled', 'verified') "
                "AND r.state IN ('aggregated', 'closed') AND u.worker IN (SELECT d.asserter FROM "
                "registry.disputed_unit d WHERE d.contract = $2 AND d.open_games > 0 "
                "AND NOT d.is_faulty) ORDER BY u.round, u.id",
                {job_id, contract}));
    return to_signed_units(rows);
}

Status store_equivocation(db::Transaction& tx, const Digest& unit,
                          const protocol::SignedCommitment& second, UnixMs now_ms) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("INSERT INTO registry.equivocation (unit_id, second, received_at_ms) VALUES "
                    "($1, $2, $3) ON CONFLICT (unit_id) DO NOTHING",
                    {unit, protocol::encode(second), now_ms}));
    return {};
}

Result<bool> has_equivocation(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT EXISTS (SELECT FROM registry.equivocation WHERE unit_id = $1)",
                        {unit}));
    return row.get<bool>(0);
}

Result<std::vector<Equivocation>> unfiled_equivocations(db::Transaction& tx, std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT u.id, u.job_id, u.round, u.slot, u.attempt, u.worker, c.commitment, "
                    "e.second, e.received_at_ms FROM registry.equivocation e "
                    "JOIN registry.unit u ON u.id = e.unit_id "
                    "JOIN registry.unit_commitment c ON c.unit_id = e.unit_id "
                    "WHERE e.filed_at_ms IS NULL ORDER BY e.received_at_ms, u.id LIMIT $1",
                    {limit}));
    std::vector<Equivocation> out;
    for (const db::Row row : rows) {
        Equivocation found;
        found.unit = row.get<Digest>("id");
        found.key = {row.get<Digest>("job_id"), row.get<std::uint64_t>("round"),
                     row.get<std::uint32_t>("slot"), row.get<std::uint32_t>("attempt")};
        found.worker = row.get<Address>("worker");
        GYM_TRY(found.first, protocol::decode_signed_commitment(row.get<Bytes>("commitment")));
        GYM_TRY(found.second, protocol::decode_signed_commitment(row.get<Bytes>("second")));
        found.received_at_ms = row.get<UnixMs>("received_at_ms");
        out.push_back(found);
    }
    return out;
}

Status mark_equivocation_filed(db::Transaction& tx, const Digest& unit, UnixMs now_ms) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.equivocation SET filed_at_ms = $2 WHERE unit_id = $1 AND "
                    "filed_at_ms IS NULL",
                    {unit, now_ms}));
    return {};
}

Status set_verifiers(db::Transaction& tx, std::span<const DrawnVerifier> drawn) {
    if (drawn.empty()) return {};
    const auto column = [&](const auto& value) { return column_of(drawn, value); };
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.unit u SET verifier = n.verifier FROM unnest($1::bytea[], "
                    "$2::bytea[]) AS n(id, verifier) WHERE u.id = n.id AND u.state = 'sampled'",
                    {column([](const DrawnVerifier& d) { return d.unit; }),
                     column([](const DrawnVerifier& d) { return d.verifier; })}));
    if (rows.affected() == drawn.size()) return {};
    return fail(ErrorCode::kConflict, drawn.size() == 1
                                          ? "unit " + drawn[0].unit.hex() + " waits for no verifier"
                                          : std::to_string(drawn.size() - rows.affected()) +
                                                " of " + std::to_string(drawn.size()) +
                                                " units wait for no verifier");
}

Status store_report(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                    const Address& verifier, const Digest& digest, UnixMs now_ms) {
    GYM_TRY(
        [[maybe_unused]] const db::Rows rows,
        tx.exec("INSERT INTO registry.report (unit_id, draw, verifier, digest, committed_at_ms) "
                "VALUES ($1, $2, $3, $4, $5)",
                {unit, draw, verifier, digest, now_ms}));
    return {};
}

Status store_reveal(db::Transaction& tx, const protocol::Report& report, ByteView records,
                    bool equal, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.report SET records_root = $3, final_state_root = $4, "
                    "delta_root = $5, trace = $6, challenge_signature = $7, salt = $8, records = "
                    "$9, is_equal = $10, revealed_at_ms = $11 "
                    "WHERE unit_id = $1 AND draw = $2 AND revealed_at_ms IS NULL",
                    {report.unit, report.draw, report.records_root, report.final_state_root,
                     report.delta_root, report.trace, report.challenge_signature, report.salt,
                     records, equal, now_ms}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "unit " + report.unit.hex() + " has no report to reveal");
}

Result<std::vector<StoredReport>> list_reports(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT * FROM registry.report WHERE unit_id = $1 ORDER BY draw", {unit}));
    std::vector<StoredReport> out;
    for (const db::Row row : rows)
        out.push_back(to_stored_report(row));
    return out;
}

Status store_missed_draws(db::Transaction& tx, std::span<const MissedDraw> missed, UnixMs now_ms) {
    if (missed.empty()) return {};
    const auto column = [&](const auto& value) { return column_of(missed, value); };
    GYM_CHECK(
        tx.exec("INSERT INTO registry.missed_draw (unit_id, draw, verifier, at_ms) SELECT "
                "m.unit, m.draw, m.verifier, $4 FROM unnest($1::bytea[], $2::integer[], "
                "$3::bytea[]) AS m(unit, draw, verifier) ON CONFLICT DO NOTHING",
                {column([](const MissedDraw& m) { return m.unit; }),
                 column([](const MissedDraw& m) { return m.draw; }),
                 column([](const MissedDraw& m) { return m.verifier; }), now_ms}));
    return {};
}

Result<std::map<Digest, std::vector<MissedDraws>>> missed_draws(db::Transaction& tx,
                                                                std::span<const Digest> units) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT unit_id, verifier, count(*) FROM registry.missed_draw WHERE unit_id = "
                    "ANY($1::bytea[]) GROUP BY unit_id, verifier ORDER BY unit_id, verifier",
                    {db::Param::array(units)}));
    std::map<Digest, std::vector<MissedDraws>> out;
    for (const db::Row row : rows)
        out[row.get<Digest>(0)].push_back({row.get<Address>(1), row.get<std::uint32_t>(2)});
    return out;
}

}  // namespace gym::registry
