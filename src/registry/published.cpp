#include "gym/registry/published.hpp"

#include "gym/registry/nodes.hpp"

namespace gym::registry {

Result<std::vector<PublishedCommitment>> published_commitments(db::Transaction& tx,
                                                               const Digest& job_id,
                                                               std::uint64_t round,
                                                               const Page& page) {
    GYM_TRY(
        const db::Rows rows,
        tx.exec(
            "SELECT l.leaf_index, l.unit_id AS id, l.commitment FROM registry.round r "
            "JOIN registry.epoch_leaf l ON l.epoch = r.epoch WHERE r.job_id = $1 AND r.round = $2 "
            "ORDER BY l.leaf_index OFFSET $3 LIMIT $4",
            {job_id, round, page.offset, page.limit}));
    std::vector<PublishedCommitment> out;
    for (const db::Row row : rows)
        out.push_back({row.get<std::uint32_t>("leaf_index"), row.get<Digest>("id"),
                       row.get<Bytes>("commitment")});
    return out;
}

Result<std::map<std::uint64_t, EvaluationState>> evaluations_of(db::Transaction& tx,
                                                                const Digest& job_id) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT u.round, u.state, EXISTS (SELECT FROM registry.report p WHERE "
                    "p.unit_id = u.id AND p.is_equal) AS verified FROM registry.round r JOIN "
                    "registry.unit u ON u.job_id = r.job_id AND u.round = r.round AND u.slot = $2 "
                    "WHERE r.job_id = $1",
                    {job_id, std::int64_t{protocol::kEvaluateSlot}}));
    std::map<std::uint64_t, EvaluationState> out;
    for (const db::Row& row : rows) {
        EvaluationState one;
        GYM_TRY(one.state, protocol::parse_unit_state(row.get<std::string>("state")));
        one.verified = row.get<bool>("verified");
        out.emplace(row.get<std::uint64_t>("round"), one);
    }
    return out;
}

Result<std::optional<Bytes>> own_commitment(db::Transaction& tx, const Digest& job_id,
                                            std::uint64_t round, protocol::UnitKind kind) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT c.commitment FROM registry.unit u "
                             "JOIN registry.unit_commitment c ON c.unit_id = u.id "
                             "WHERE u.job_id = $1 AND u.round = $2 AND u.kind = $3 AND u.kind <> "
                             "'train'",
                             {job_id, round, to_string(kind)}));
    if (!row) return std::optional<Bytes>();
    return std::optional(row->get<Bytes>("commitment"));
}

Result<std::vector<PublishedReport>> published_reports(db::Transaction& tx, const Digest& job_id,
                                                       std::uint64_t round, const Page& page) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT * FROM registry.published_report WHERE job_id = $1 AND round = $2 "
                    "ORDER BY unit_id, draw OFFSET $3 LIMIT $4",
                    {job_id, round, page.offset, page.limit}));
    std::vector<PublishedReport> out;
    for (const db::Row row : rows) {
        PublishedReport published;
        published.committed = row.get<Digest>("digest");
        protocol::Report& report = published.report;
        report.unit = row.get<Digest>("unit_id");
        report.draw = row.get<std::uint32_t>("draw");
        report.verifier = row.get<Address>("verifier");
        report.records_root = row.get<Digest>("records_root");
        report.final_state_root = row.get<Digest>("final_state_root");
        report.delta_root = row.get<Digest>("delta_root");
        report.trace = row.get<Digest>("trace");
        report.challenge_signature = row.get<crypto::Signature>("challenge_signature");
        report.salt = row.get<Digest>("salt");
        published.equal = row.get<bool>("is_equal");
        published.accepted = row.get<bool>("accepted");
        out.push_back(published);
    }
    return out;
}

Result<std::vector<protocol::PublishedChallenge>> published_challenges(db::Transaction& tx,
                                                                       const Address& node,
                                                                       UnixMs from_ms, UnixMs to_ms,
                                                                       const Page& page) {
    GYM_CHECK(get_node(tx, node));
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT nonce, issued_at_ms, deadline_ms, answered_at_ms, signature, withdrawn "
                    "FROM registry.challenge WHERE node = $1 AND issued_at_ms >= $2 "
                    "AND deadline_ms < $3 ORDER BY issued_at_ms, nonce OFFSET $4 LIMIT $5",
                    {node, from_ms, to_ms, page.offset, page.limit}));
    std::vector<protocol::PublishedChallenge> out;
    for (const db::Row row : rows)
        out.push_back({{row.get<Digest>("nonce"), row.get<UnixMs>("issued_at_ms"),
                        row.get<UnixMs>("deadline_ms")},
                       row.get<std::optional<UnixMs>>("answered_at_ms"),
                       row.get<std::optional<crypto::Signature>>("signature"),
                       row.get<bool>("withdrawn")});
    return out;
}

}  // namespace gym::registry
