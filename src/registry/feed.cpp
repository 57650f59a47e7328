#include "gym/registry/feed.hpp"

#include <algorithm>

namespace gym::registry {
namespace {

constexpr std::uint32_t kBatchMax = 10'000;

constexpr std::string_view kEvents =
    "SELECT e.seq, e.unit_id, e.from_state, e.to_state, e.at_ms, u.job_id, u.round, u.slot, "
    "u.attempt, u.kind, u.worker, u.owner, r.epoch, e.detail->>'verifier' AS verifier, "
    "e.detail->>'tokens' AS tokens, e.detail->>'flops' AS flops, "
    "e.detail->>'reason_code' AS reason_code, e.detail->>'reason' AS reason "
    "FROM registry.unit_event e JOIN registry.unit u ON u.id = e.unit_id "
    "JOIN registry.round r ON r.job_id = u.job_id AND r.round = u.round ";

Result<UnitEventRow> to_event(const db::Row& row) {
    UnitEventRow out;
    out.seq = row.get<std::uint64_t>("seq");
    out.unit = row.get<Digest>("unit_id");
    out.key.job_id = row.get<Digest>("job_id");
    out.key.round = row.get<std::uint64_t>("round");
    out.key.slot = row.get<std::uint32_t>("slot");
    out.key.attempt = row.get<std::uint32_t>("attempt");
    GYM_TRY(out.kind, protocol::parse_unit_kind(row.get<std::string>("kind")));
    if (const auto from = row.get<std::optional<std::string>>("from_state")) {
        GYM_TRY(out.from, protocol::parse_unit_state(*from));
    }
    GYM_TRY(out.to, protocol::parse_unit_state(row.get<std::string>("to_state")));
    out.at_ms = row.get<UnixMs>("at_ms");
    out.epoch = row.get<std::uint64_t>("epoch");
    out.worker = row.get<Address>("worker");
    out.owner = row.get<Address>("owner");
    if (const auto verifier = row.get<std::optional<std::string>>("verifier")) {
        GYM_TRY(out.verifier, Address::parse(*verifier));
    }
    out.tokens = row.get<std::uint64_t>("tokens");
    out.flops = row.get<std::uint64_t>("flops");
    out.reason_code = row.get<std::string>("reason_code");
    out.reason = row.get<std::string>("reason");
    return out;
}

Result<std::vector<UnitEventRow>> to_events(const db::Rows& rows) {
    std::vector<UnitEventRow> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(UnitEventRow event, to_event(row));
        out.push_back(std::move(event));
    }
    return out;
}

}  // namespace

Result<std::vector<UnitEventRow>> read_events(db::Transaction& tx, std::uint64_t after_seq,
                                              std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kEvents) + "WHERE e.seq > $1 ORDER BY e.seq LIMIT $2",
                    {after_seq, std::min(limit, kBatchMax)}));
    return to_events(rows);
}

Result<std::vector<UnitEventRow>> unit_history(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kEvents) + "WHERE e.unit_id = $1 ORDER BY e.seq", {unit}));
    return to_events(rows);
}

Result<std::vector<AcceptedReport>> read_accepted_reports(db::Transaction& tx,
                                                          std::uint64_t after_seq,
                                                          std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT p.accepted_seq, p.unit_id, u.job_id, u.round, r.epoch, p.draw, "
                    "p.verifier, n.owner, u.kind, u.flops, p.found_fault, p.accepted_at_ms "
                    "FROM registry.report p JOIN registry.unit u ON u.id = p.unit_id "
                    "JOIN registry.round r ON r.job_id = u.job_id AND r.round = u.round "
                    "JOIN registry.node n ON n.address = p.verifier "
                    "WHERE p.accepted_seq > $1 ORDER BY p.accepted_seq LIMIT $2",
                    {after_seq, std::min(limit, kBatchMax)}));
    std::vector<AcceptedReport> out;
    for (const db::Row row : rows) {
        AcceptedReport report;
        report.seq = row.get<std::uint64_t>("accepted_seq");
        report.unit = row.get<Digest>("unit_id");
        report.job_id = row.get<Digest>("job_id");
        report.round = row.get<std::uint64_t>("round");
        report.epoch = row.get<std::uint64_t>("epoch");
        report.draw = row.get<std::uint32_t>("draw");
        report.verifier = row.get<Address>("verifier");
        report.owner = row.get<Address>("owner");
        GYM_TRY(report.kind, protocol::parse_unit_kind(row.get<std::string>("kind")));
        report.flops = row.get<std::uint64_t>("flops");
        report.found_fault = row.get<bool>("found_fault");
        report.at_ms = row.get<UnixMs>("accepted_at_ms");
        out.push_back(report);
    }
    return out;
}

}  // namespace gym::registry
