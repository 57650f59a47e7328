#include "gym/registry/prefixes.hpp"

#include <algorithm>

#include "unit_rows.hpp"

namespace gym::registry {
namespace {

using protocol::PrefixState;

constexpr std::uint32_t kBatchMax = 10'000;

/// Columns of a prefix beside those of its unit, some of which have the same names.
constexpr std::string_view kPrefixColumns =
    "p.unit_id AS prefix_unit, p.steps AS prefix_steps, p.link, p.signature, p.received_at_ms, "
    "p.state AS prefix_state, p.draws AS prefix_draws, p.deadline_ms AS prefix_deadline_ms, "
    "p.verifier AS prefix_verifier, p.found_link, p.found_signature, p.flops AS prefix_flops, "
    "p.verifier_paid, p.reason AS prefix_reason";

Result<Prefix> to_prefix(const db::Row& row) {
    Prefix out;
    out.unit = row.get<Digest>("prefix_unit");
    out.steps = row.get<std::uint32_t>("prefix_steps");
    out.link = row.get<Digest>("link");
    out.signature = row.get<crypto::Signature>("signature");
    out.received_at_ms = row.get<UnixMs>("received_at_ms");
    GYM_TRY(out.state, protocol::parse_prefix_state(row.get<std::string>("prefix_state")));
    out.draws = row.get<std::uint32_t>("prefix_draws");
    out.deadline_ms = row.get<UnixMs>("prefix_deadline_ms");
    out.verifier = row.get<std::optional<Address>>("prefix_verifier");
    if (const auto link = row.get<std::optional<Digest>>("found_link"))
        out.report = PrefixReport{*link, row.get<crypto::Signature>("found_signature")};
    out.flops = row.get<std::uint64_t>("prefix_flops");
    out.verifier_paid = row.get<bool>("verifier_paid");
    out.reason = row.get<std::string>("prefix_reason");
    return out;
}

/// Prefixes of expired units that count as ones of a row at $1, verified ones for $2 milliseconds
/// or more; conditions on `u`, `p` and the job `j` follow.
constexpr std::string_view kInRow =
    "FROM registry.unit_prefix p JOIN registry.unit u ON u.id = p.unit_id JOIN registry.job j ON "
    "j.id = u.job_id WHERE u.state = 'expired' AND (p.decided_at_ms IS NULL OR p.state = "
    "'verified' AND p.decided_at_ms > greatest($1 - greatest($2, 4 * j.unit_ms), (SELECT "
    "max(c.committed_at_ms) FROM registry.unit c WHERE c.job_id = u.job_id AND c.worker = u.worker "
    "AND c.kind = 'train' AND c.state NOT IN ('rejected', 'slashed', 'void')))) ";

/// A unit and its prefix; conditions on `u` and `p` follow.
std::string due_select(std::string_view first_columns = "") {
    return "SELECT " + std::string(first_columns) +
           "u.*, NULL::bytea AS report_digest, n.excluded_at_ms IS NOT NULL AS worker_excluded, " +
           std::string(kPrefixColumns) +
           " FROM registry.unit_prefix p JOIN registry.unit u ON u.id = p.unit_id LEFT JOIN "
           "registry.node n ON n.address = u.worker WHERE p.decided_at_ms IS NULL AND u.state = "
           "'expired' ";
}

Result<DuePrefix> to_due(const db::Row& row) {
    DuePrefix out;
    GYM_TRY(out.unit, to_unit(row));
    GYM_TRY(out.prefix, to_prefix(row));
    out.worker_excluded = row.get<bool>("worker_excluded");
    return out;
}

Error grows_only(const Prefix& kept, const protocol::UnitPrefix& given) {
    return fail(
        ErrorCode::kConflict,
        "prefix: " + std::to_string(kept.steps) + " steps of this unit are signed for" +
            (given.steps == kept.steps ? ", with another link"
                                       : ", " + std::to_string(given.steps) + " are fewer"));
}

Status expect_one(const db::Rows& rows, const Digest& unit, std::string_view what) {
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "the prefix of unit " + unit.hex() + " " + std::string(what));
}

}  // namespace

Status keep_prefix(db::Transaction& tx, const Digest& unit, const protocol::SignedPrefix& prefix,
                   UnixMs now_ms) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT state FROM registry.unit WHERE id = $1 FOR SHARE", {unit}));
    if (!row) return fail(ErrorCode::kNotFound, "there is no unit " + unit.hex());
    const auto state = row->get<std::string>(0);
    if (state != "assigned")
        return fail(ErrorCode::kConflict,
                    "prefix: its unit is " + state + ", and is not being computed any more");
    const protocol::UnitPrefix& given = prefix.prefix;
    GYM_TRY(const auto kept, find_prefix(tx, unit));
    if (kept &&
        (given.steps < kept->steps || (given.steps == kept->steps && given.link != kept->link)))
        return grows_only(*kept, given);
    if (kept && given.steps == kept->steps) return {};
    if (kept && now_ms < kept->received_at_ms + protocol::kPrefixEveryMsMin)
        return fail(ErrorCode::kOutOfRange, "prefix: a unit has one in " +
                                                std::to_string(protocol::kPrefixEveryMsMin) +
                                                " ms at most");
    GYM_CHECK(
        tx.exec("INSERT INTO registry.unit_prefix (unit_id, steps, link, signature, "
                "received_at_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (unit_id) DO UPDATE "
                "SET steps = excluded.steps, link = excluded.link, signature = "
                "excluded.signature, received_at_ms = excluded.received_at_ms",
                {unit, given.steps, given.link, prefix.signature, now_ms}));
    return {};
}

Status drop_prefix(db::Transaction& tx, const Digest& unit) {
    GYM_CHECK(tx.exec("DELETE FROM registry.unit_prefix WHERE unit_id = $1", {unit}));
    return {};
}

Status drop_undecided_prefix(db::Transaction& tx, const Digest& unit) {
    GYM_CHECK(tx.exec(
        "DELETE FROM registry.unit_prefix WHERE unit_id = $1 AND decided_at_ms IS NULL", {unit}));
    return {};
}

Result<std::optional<Prefix>> find_prefix(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT " + std::string(kPrefixColumns) +
                                                 " FROM registry.unit_prefix p WHERE unit_id = $1",
                                             {unit}));
    if (!row) return std::optional<Prefix>();
    GYM_TRY(Prefix out, to_prefix(*row));
    return std::optional(std::move(out));
}

Result<Prefix> get_prefix(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(auto found, find_prefix(tx, unit));
    if (!found) return fail(ErrorCode::kNotFound, "unit " + unit.hex() + " has no prefix");
    return std::move(*found);
}

Result<std::vector<DuePrefix>> due_prefixes(db::Transaction& tx, const Digest& job_id,
                                            std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec(due_select() + "AND u.job_id = $1 ORDER BY u.round, u.slot LIMIT $2",
                    {job_id, std::min(limit, kUnitsListMax)}));
    std::vector<DuePrefix> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(DuePrefix due, to_due(row));
        out.push_back(std::move(due));
    }
    return out;
}

Result<bool> has_due_prefix(db::Transaction& tx, const Digest& job_id, std::uint64_t round) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT EXISTS (SELECT FROM registry.unit_prefix p JOIN registry.unit u ON "
                        "u.id = p.unit_id WHERE p.decided_at_ms IS NULL AND u.state = 'expired' "
                        "AND u.job_id = $1 AND u.round = $2)",
                        {job_id, round}));
    return row.get<bool>(0);
}

Result<std::map<Address, DuePrefix>> next_prefixes(db::Transaction& tx,
                                                   std::span<const Address> verifiers,
                                                   UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec(due_select("DISTINCT ON (p.verifier) ") +
                        "AND p.state = 'drawn' AND p.verifier = ANY($1::bytea[]) AND p.deadline_ms "
                        ">= $2 ORDER BY p.verifier, p.deadline_ms, u.round, u.slot",
                    {db::Param::array(verifiers), now_ms}));
    std::map<Address, DuePrefix> out;
    for (const db::Row row : rows) {
        GYM_TRY(DuePrefix due, to_due(row));
        const Address verifier = *due.prefix.verifier;
        out.emplace(verifier, std::move(due));
    }
    return out;
}

Result<std::uint32_t> prefixes_in_row(db::Transaction& tx, const Digest& job_id,
                                      const Address& worker, UnixMs now_ms) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT count(*) " + std::string(kInRow) +
                            "AND p.state <> 'kept' AND u.job_id = $3 AND u.worker = $4",
                        {now_ms, kPrefixCountsMs, job_id, worker}));
    return row.get<std::uint32_t>(0);
}

Result<std::map<Digest, std::set<Address>>> unpayable_workers(db::Transaction& tx, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT u.job_id, u.worker " + std::string(kInRow) +
                        "AND j.status = 'running' GROUP BY u.job_id, u.worker HAVING count(*) + "
                        "(SELECT count(*) FROM registry.unit a WHERE a.job_id = u.job_id AND "
                        "a.worker = u.worker AND a.state = 'assigned') >= $3",
                    {now_ms, kPrefixCountsMs, protocol::kPrefixesInRowMax}));
    std::map<Digest, std::set<Address>> out;
    for (const db::Row row : rows)
        out[row.get<Digest>("job_id")].insert(row.get<Address>("worker"));
    return out;
}

Status draw_prefix(db::Transaction& tx, const Digest& unit, const std::optional<Address>& verifier,
                   UnixMs deadline_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.unit_prefix SET state = 'drawn', draws = draws + 1, verifier "
                    "= $2, deadline_ms = $3 WHERE unit_id = $1 AND state IN ('kept', 'drawn')",
                    {unit, verifier, deadline_ms}));
    return expect_one(rows, unit, "waits for no draw");
}

Status set_prefix_verifier(db::Transaction& tx, const Digest& unit, const Address& verifier) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.unit_prefix SET verifier = $2 WHERE unit_id = $1 AND state = "
                    "'drawn' AND verifier IS NULL",
                    {unit, verifier}));
    return expect_one(rows, unit, "waits for no verifier");
}

Status store_prefix_report(db::Transaction& tx, const Digest& unit, const PrefixReport& report,
                           UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.unit_prefix SET state = 'reported', found_link = $2, "
                    "found_signature = $3, reported_at_ms = $4 WHERE unit_id = $1 AND state = "
                    "'drawn' AND verifier IS NOT NULL",
                    {unit, report.link, report.signature, now_ms}));
    return expect_one(rows, unit, "waits for no report");
}

Status decide_prefix(db::Transaction& tx, const Digest& unit, const PrefixVerdict& verdict,
                     UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.unit_prefix SET state = $2, flops = $3, verifier_paid = $4, "
                    "reason = $5, decided_at_ms = $6, seq = CASE WHEN $2 = 'unpaid' THEN NULL ELSE "
                    "registry.next_number('decided_prefix') END WHERE unit_id = $1 AND "
                    "decided_at_ms IS NULL",
                    {unit, protocol::to_string(verdict.state), verdict.flops, verdict.verifier_paid,
                     verdict.reason, now_ms}));
    GYM_CHECK(expect_one(rows, unit, "is decided"));
    if (verdict.state != PrefixState::kRefuted) return {};
    GYM_CHECK(
        tx.exec("UPDATE registry.node SET valid_value = 0 WHERE address = (SELECT worker FROM "
                "registry.unit WHERE id = $1)",
                {unit}));
    return {};
}

Result<std::vector<DecidedPrefix>> read_decided_prefixes(db::Transaction& tx,
                                                         std::uint64_t after_seq,
                                                         std::uint32_t limit) {
    GYM_TRY(
        const db::Rows rows,
        tx.exec("SELECT p.seq, p.unit_id, u.job_id, u.round, u.worker, u.owner, p.state = "
                "'verified' AS verified, p.flops, CASE WHEN p.verifier_paid THEN p.verifier END "
                "AS paid, n.owner AS verifier_owner FROM registry.unit_prefix p JOIN "
                "registry.unit u ON u.id = p.unit_id LEFT JOIN registry.node n ON n.address = "
                "p.verifier WHERE p.seq > $1 ORDER BY p.seq LIMIT $2",
                {after_seq, std::min(limit, kBatchMax)}));
    std::vector<DecidedPrefix> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        DecidedPrefix one;
        one.seq = row.get<std::uint64_t>("seq");
        one.unit = row.get<Digest>("unit_id");
        one.job_id = row.get<Digest>("job_id");
        one.round = row.get<std::uint64_t>("round");
        one.worker = row.get<Address>("worker");
        one.owner = row.get<Address>("owner");
        one.verified = row.get<bool>("verified");
        one.flops = row.get<std::uint64_t>("flops");
        one.verifier = row.get<std::optional<Address>>("paid");
        if (one.verifier) one.verifier_owner = row.get<Address>("verifier_owner");
        out.push_back(one);
    }
    return out;
}

Result<std::vector<Prefix>> published_prefixes(db::Transaction& tx, const Digest& job_id,
                                               std::uint64_t round, const Page& page) {
    GYM_TRY(
        const db::Rows rows,
        tx.exec("SELECT p.unit_id AS prefix_unit, p.steps AS prefix_steps, p.link, p.signature, "
                "0::bigint AS received_at_ms, p.state AS prefix_state, p.draws AS prefix_draws, "
                "0::bigint AS prefix_deadline_ms, p.verifier AS prefix_verifier, p.found_link, "
                "p.found_signature, p.flops AS prefix_flops, p.verifier_paid, p.reason AS "
                "prefix_reason FROM registry.published_prefix p WHERE p.job_id = $1 AND "
                "p.round = $2 ORDER BY p.unit_id OFFSET $3 LIMIT $4",
                {job_id, round, page.offset, page.limit}));
    std::vector<Prefix> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(Prefix prefix, to_prefix(row));
        out.push_back(std::move(prefix));
    }
    return out;
}

}  // namespace gym::registry
