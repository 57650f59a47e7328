#include "gym/registry/delta_places.hpp"

#include <sstream>
#include <string_view>

#include "gym/common/assert.hpp"

namespace gym::registry {
namespace {

/// Whether the aggregate of an open round, or of one that is to come, needs the delta of a place
/// `p`.
constexpr std::string_view kNeeded =
    "EXISTS (SELECT FROM registry.unit u LEFT JOIN registry.round r ON r.job_id = u.job_id "
    "AND r.round = u.round + u.late::integer WHERE u.delta_root = p.root AND u.worker = p.worker "
    "AND coalesce(r.state, '') NOT IN ('aggregated', 'closed') "
    "AND (u.ended_at_ms IS NULL OR u.state = 'final'))";

std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines)
        out += (out.empty() ? "" : "\n") + line;
    return out;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    return out;
}

struct Lease {
    UnixMs now_ms = 0;
    std::int64_t lease_ms = 0;
    std::uint32_t limit = 0;
};

/// The places that an open round needs and whose `column` is due, with `column` moved on, so that
/// no other caller gets them meanwhile. The texts are SQL of this file.
Result<db::Rows> lease(db::Transaction& tx, const std::string& column, const std::string& condition,
                       const std::string& returned, const Lease& terms) {
    return tx.exec(
        "WITH due AS (SELECT p.worker, p.root FROM registry.delta_place p WHERE p." + column +
            " <= $1 AND " + condition + std::string(kNeeded) + " ORDER BY p." + column +
            " LIMIT $3 FOR UPDATE SKIP LOCKED) UPDATE registry.delta_place p SET " + column +
            " = $1::bigint + $2::bigint FROM due WHERE p.worker = due.worker AND "
            "p.root = due.root RETURNING p.worker, p.root, p.mirrors, " +
            returned,
        {terms.now_ms, terms.lease_ms, terms.limit});
}

}  // namespace

Status name_delta(db::Transaction& tx, const Address& worker, const Digest& root,
                  const std::vector<std::string>& mirrors, UnixMs now_ms) {
    GYM_ASSERT(!mirrors.empty(), "a place is a mirror");
    GYM_CHECK(tx.exec(
        "INSERT INTO registry.delta_place AS p (worker, root, mirrors, next_at_ms, named_at_ms, "
        "copy_at_ms) VALUES ($1, $2, $3, $4, $4, CASE WHEN $5 THEN $4::bigint END) "
        "ON CONFLICT (worker, root) DO UPDATE SET "
        "mirrors = excluded.mirrors, next_at_ms = excluded.next_at_ms, "
        "state = CASE p.state WHEN 'held' THEN 'held' ELSE 'named' END, attempts = 0, "
        "copy_at_ms = excluded.copy_at_ms, copy_to = '', copy_until_ms = NULL, copies_failed = 0",
        {worker, root, joined(mirrors), now_ms, mirrors.size() == 1}));
    GYM_CHECK(tx.exec(
        "DELETE FROM registry.delta_place WHERE worker = $1 AND root NOT IN (SELECT root FROM "
        "registry.delta_place WHERE worker = $1 ORDER BY named_at_ms DESC, root LIMIT $2)",
        {worker, kPlacesKept}));
    return {};
}

Status want_delta(db::Transaction& tx, const Address& worker, const Digest& root, UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.delta_place (worker, root, mirrors, state, next_at_ms, "
                "named_at_ms) VALUES ($1, $2, '', 'wanted', $3, $3) ON CONFLICT DO NOTHING",
                {worker, root, now_ms}));
    return {};
}

Result<bool> is_delta_named(db::Transaction& tx, const Address& worker, const Digest& root) {
    GYM_TRY(const db::Row row, tx.exec_one("SELECT EXISTS (SELECT FROM registry.delta_place "
                                           "WHERE worker = $1 AND root = $2)",
                                           {worker, root}));
    return row.get<bool>(0);
}

Result<std::vector<DeltaPlace>> lease_deltas(db::Transaction& tx, UnixMs now_ms,
                                             std::int64_t lease_ms, std::uint32_t limit) {
    GYM_TRY(const auto rows, lease(tx, "next_at_ms", "p.state <> 'held' AND ", "p.attempts",
                                   {now_ms, lease_ms, limit}));
    std::vector<DeltaPlace> out;
    for (const db::Row& row : rows)
        out.push_back({row.get<Address>("worker"), row.get<Digest>("root"),
                       lines_of(row.get<std::string>("mirrors")),
                       static_cast<std::uint32_t>(row.get<std::int32_t>("attempts"))});
    return out;
}

Status set_delta_held(db::Transaction& tx, const Digest& root) {
    GYM_CHECK(tx.exec("UPDATE registry.delta_place SET state = 'held' WHERE root = $1", {root}));
    return {};
}

Status set_delta_missed(db::Transaction& tx, const Address& worker, const Digest& root,
                        UnixMs next_at_ms, bool wanted) {
    GYM_CHECK(
        tx.exec("UPDATE registry.delta_place SET attempts = attempts + 1, next_at_ms = $3, "
                "state = CASE WHEN $4 THEN 'wanted' ELSE state END "
                "WHERE worker = $1 AND root = $2 AND state <> 'held'",
                {worker, root, next_at_ms, wanted}));
    return {};
}

Result<std::vector<DeltaCopy>> lease_copies(db::Transaction& tx, UnixMs now_ms,
                                            std::int64_t lease_ms, std::uint32_t limit) {
    GYM_TRY(const auto rows,
            lease(tx, "copy_at_ms", "",
                  "p.copy_to, coalesce(p.copy_until_ms, 0) AS until_ms, p.copies_failed",
                  {now_ms, lease_ms, limit}));
    std::vector<DeltaCopy> out;
    for (const db::Row& row : rows)
        out.push_back({row.get<Address>("worker"), row.get<Digest>("root"),
                       row.get<std::string>("mirrors"), row.get<std::string>("copy_to"),
                       row.get<std::int64_t>("until_ms"),
                       static_cast<std::uint32_t>(row.get<std::int32_t>("copies_failed"))});
    return out;
}

Status set_copy_ordered(db::Transaction& tx, const DeltaCopy& copy, UnixMs next_at_ms) {
    GYM_CHECK(
        tx.exec("UPDATE registry.delta_place SET copy_to = $4, copy_until_ms = $5, "
                "copy_at_ms = $6 WHERE worker = $1 AND root = $2 AND mirrors = $3",
                {copy.worker, copy.root, copy.source, copy.target, copy.until_ms, next_at_ms}));
    return {};
}

Status set_copied(db::Transaction& tx, const DeltaCopy& copy) {
    GYM_CHECK(
        tx.exec("UPDATE registry.delta_place SET mirrors = $4, copy_at_ms = NULL "
                "WHERE worker = $1 AND root = $2 AND mirrors = $3",
                {copy.worker, copy.root, copy.source, joined({copy.source, copy.target})}));
    return {};
}

Status set_copy_failed(db::Transaction& tx, const DeltaCopy& copy, UnixMs next_at_ms) {
    GYM_CHECK(
        tx.exec("UPDATE registry.delta_place SET copy_to = '', copy_until_ms = NULL, "
                "copies_failed = copies_failed + 1, copy_at_ms = $4 "
                "WHERE worker = $1 AND root = $2 AND mirrors = $3",
                {copy.worker, copy.root, copy.source, next_at_ms}));
    return {};
}

Result<std::vector<Digest>> wanted_deltas(db::Transaction& tx, const Address& worker) {
    GYM_TRY(const auto rows, tx.exec("SELECT p.root FROM registry.delta_place p "
                                     "WHERE p.worker = $1 AND p.state = 'wanted' AND " +
                                         std::string(kNeeded),
                                     {worker}));
    std::vector<Digest> out;
    for (const db::Row& row : rows)
        out.push_back(row.get<Digest>("root"));
    return out;
}

Result<std::vector<Digest>> jobs_of_delta(db::Transaction& tx, const Address& worker,
                                          const Digest& root) {
    GYM_TRY(const auto rows, tx.exec("SELECT DISTINCT job_id FROM registry.unit "
                                     "WHERE delta_root = $2 AND worker = $1",
                                     {worker, root}));
    std::vector<Digest> out;
    for (const db::Row& row : rows)
        out.push_back(row.get<Digest>("job_id"));
    return out;
}

Result<bool> awaits_deltas(db::Transaction& tx, const Digest& job, std::uint64_t round,
                           UnixMs named_since_ms) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT EXISTS (SELECT FROM registry.unit u JOIN registry.delta_place p "
                        "ON p.root = u.delta_root AND p.worker = u.worker "
                        "WHERE u.job_id = $1 AND u.round = $2 AND p.state <> 'held' "
                        "AND p.named_at_ms >= $3 AND (u.ended_at_ms IS NULL OR u.state = 'final'))",
                        {job, round, named_since_ms}));
    return row.get<bool>(0);
}

}  // namespace gym::registry
