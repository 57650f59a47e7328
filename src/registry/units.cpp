#include "gym/registry/units.hpp"

#include <algorithm>

#include "unit_rows.hpp"

namespace gym::registry {
namespace {

using protocol::UnitState;

std::vector<UnitState> states_that_are(bool terminal) {
    std::vector<UnitState> out;
    for (std::size_t i = 0; i < protocol::kUnitStateCount; ++i)
        if (protocol::is_terminal(static_cast<UnitState>(i)) == terminal)
            out.push_back(static_cast<UnitState>(i));
    return out;
}

Result<std::map<Address, Unit>> by_node(const db::Rows& rows) {
    std::map<Address, Unit> out;
    for (const db::Row row : rows) {
        GYM_TRY(Unit unit, to_unit(row));
        out.emplace(row.get<Address>("node"), std::move(unit));
    }
    return out;
}

Result<std::vector<Unit>> to_units(const db::Rows& rows) {
    std::vector<Unit> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(Unit unit, to_unit(row));
        out.push_back(std::move(unit));
    }
    return out;
}

}  // namespace

Result<Unit> to_unit(const db::Row& row) {
    Unit out;
    out.id = row.get<Digest>("id");
    out.key.job_id = row.get<Digest>("job_id");
    out.key.round = row.get<std::uint64_t>("round");
    out.key.slot = row.get<std::uint32_t>("slot");
    out.key.attempt = row.get<std::uint32_t>("attempt");
    GYM_TRY(out.kind, protocol::parse_unit_kind(row.get<std::string>("kind")));
    out.worker = row.get<Address>("worker");
    out.owner = row.get<Address>("owner");
    out.sampling_rate_ppm = row.get<std::uint32_t>("sampling_rate_ppm");
    GYM_TRY(out.status.state, protocol::parse_unit_state(row.get<std::string>("state")));
    out.status.deadline_ms = row.get<UnixMs>("deadline_ms");
    out.status.draws = row.get<std::uint32_t>("draws");
    out.status.defended = row.get<bool>("defended");
    out.status.late = row.get<bool>("late");
    out.assigned_at_ms = row.get<UnixMs>("assigned_at_ms");
    out.committed_at_ms = row.get<std::optional<UnixMs>>("committed_at_ms");
    out.ended_at_ms = row.get<std::optional<UnixMs>>("ended_at_ms");
    out.verifier = row.get<std::optional<Address>>("verifier");
    out.report_digest = row.get<std::optional<Digest>>("report_digest");
    out.tokens = row.get<std::uint64_t>("tokens");
    out.flops = row.get<std::uint64_t>("flops");
    out.delta_root = row.get<std::optional<Digest>>("delta_root");
    out.epoch = row.get<std::optional<std::uint64_t>>("epoch");
    out.leaf_index = row.get<std::optional<std::uint32_t>>("leaf_index");
    out.included = row.get<bool>("included");
    out.included_late = row.get<bool>("included_late");
    out.reason_code = row.get<std::string>("reason_code");
    out.reason = row.get<std::string>("reason");
    return out;
}

const std::vector<UnitState>& open_states() {
    static const std::vector<UnitState> states = states_that_are(false);
    return states;
}

const std::vector<UnitState>& terminal_states() {
    static const std::vector<UnitState> states = states_that_are(true);
    return states;
}

Status assign_units(db::Transaction& tx, std::span<const NewUnit> units,
                    const protocol::LifecycleParams& params, UnixMs now_ms) {
    GYM_CHECK(lock_feed(tx));
    const protocol::UnitStatus status = protocol::assigned(params, now_ms);
    const auto column = [&](const auto& value) { return column_of(units, value); };
    GYM_CHECK(tx.exec(
        "INSERT INTO registry.unit (id, job_id, round, slot, attempt, kind, worker, owner, "
        "sampling_rate_ppm, deadline_ms, assigned_at_ms, changed_at_ms) "
        "SELECT n.id, n.job_id, n.round, n.slot, n.attempt, n.kind, n.worker, n.owner, n.rate, "
        "$10, $11, $11 FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], "
        "$5::bigint[], $6::text[], $7::bytea[], $8::bytea[], $9::integer[]) AS n(id, job_id, "
        "round, slot, attempt, kind, worker, owner, rate)",
        {column([](const NewUnit& u) { return protocol::unit_id(u.key); }),
         column([](const NewUnit& u) { return u.key.job_id; }),
         column([](const NewUnit& u) { return u.key.round; }),
         column([](const NewUnit& u) { return u.key.slot; }),
         column([](const NewUnit& u) { return u.key.attempt; }),
         column([](const NewUnit& u) { return protocol::to_string(u.kind); }),
         column([](const NewUnit& u) { return u.worker; }),
         column([](const NewUnit& u) { return u.owner; }),
         column([](const NewUnit& u) { return u.sampling_rate_ppm; }), status.deadline_ms,
         now_ms}));
    return {};
}

Result<std::optional<Unit>> find_unit(db::Transaction& tx, const Digest& id) {
    GYM_TRY(const auto row, tx.exec_optional(std::string(kUnitSelect) + "WHERE u.id = $1", {id}));
    if (!row) return std::optional<Unit>();
    GYM_TRY(Unit unit, to_unit(*row));
    return std::optional<Unit>(std::move(unit));
}

Result<Unit> get_unit(db::Transaction& tx, const Digest& id) {
    GYM_TRY(auto unit, find_unit(tx, id));
    if (!unit) return fail(ErrorCode::kNotFound, "there is no unit " + id.hex());
    return std::move(*unit);
}

Result<std::vector<Unit>> list_units(db::Transaction& tx, const UnitFilter& filter) {
    std::vector<std::string> states;
    for (const UnitState state : filter.states)
        states.emplace_back(protocol::to_string(state));
    std::optional<std::string_view> kind;
    if (filter.kind) kind = protocol::to_string(*filter.kind);
    GYM_TRY(
        const db::Rows rows,
        tx.exec(std::string(kUnitSelect) +
                    "WHERE ($1::bytea IS NULL OR job_id = $1) "
                    "AND ($2::bigint IS NULL OR round = $2) "
                    "AND ($9::bigint IS NULL OR (round = $9 AND NOT late) OR (round = $9 - 1 AND "
                    "late)) "
                    "AND ($3::bytea IS NULL OR worker = $3) "
                    "AND ($4::bytea IS NULL OR verifier = $4) "
                    "AND ($5::bigint IS NULL OR epoch = $5) AND ($6::text IS NULL OR kind = $6) "
                    "AND (cardinality($7::text[]) = 0 OR state = ANY($7::text[])) "
                    "AND ($10::boolean IS NULL OR late = $10) "
                    "ORDER BY round DESC, slot, attempt LIMIT $8",
                {filter.job_id, filter.round, filter.worker, filter.verifier, filter.epoch, kind,
                 db::Param::array(states), std::min(filter.limit, kUnitsListMax),
                 filter.epoch_round, filter.late}));
    return to_units(rows);
}

Result<std::vector<Unit>> units_of(db::Transaction& tx, std::span<const Digest> ids) {
    GYM_TRY(const db::Rows rows, tx.exec(std::string(kUnitSelect) + "WHERE u.id = ANY($1::bytea[])",
                                         {db::Param::array(ids)}));
    return to_units(rows);
}

// The states are literals in the next statements, so that the partial indexes serve them.

Result<std::vector<Unit>> busy_units(db::Transaction& tx) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kUnitSelect) + "WHERE u.state IN ('assigned', 'disputed')"));
    return to_units(rows);
}

Result<std::map<Address, Unit>> next_train_units(db::Transaction& tx,
                                                 std::span<const Address> workers, UnixMs now_ms,
                                                 std::span<const Digest> computed) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT DISTINCT ON (node) * FROM (SELECT u.worker AS node, u.*, NULL::bytea "
                    "AS report_digest FROM registry.unit u WHERE u.state = 'assigned' AND u.kind = "
                    "'train' AND u.worker = ANY($1::bytea[]) AND u.deadline_ms >= $2 AND u.id <> "
                    "ALL($3::bytea[])) x ORDER BY node, assigned_at_ms, round, slot, attempt",
                    {db::Param::array(workers), now_ms, db::Param::array(computed)}));
    return by_node(rows);
}

Result<std::map<Address, Unit>> next_drawn_units(db::Transaction& tx,
                                                 std::span<const Address> verifiers,
                                                 UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT DISTINCT ON (node) * FROM (SELECT u.verifier AS node, u.*, (SELECT "
                    "digest FROM registry.report p WHERE p.unit_id = u.id AND p.draw = u.draws - "
                    "1) AS report_digest FROM registry.unit u WHERE u.state IN ('sampled', "
                    "'reported') AND u.verifier = ANY($1::bytea[]) AND u.deadline_ms >= $2) x "
                    "ORDER BY node, kind = 'evaluate', deadline_ms, round DESC, slot, attempt",
                    {db::Param::array(verifiers), now_ms}));
    return by_node(rows);
}

Result<std::vector<Address>> nodes_with_units(db::Transaction& tx, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT worker FROM registry.unit WHERE state = 'assigned' AND kind = 'train' "
                    "AND deadline_ms >= $1 UNION SELECT verifier FROM registry.unit WHERE state "
                    "IN ('sampled', 'reported') AND verifier IS NOT NULL AND deadline_ms >= $1 "
                    "UNION SELECT verifier FROM registry.unit_prefix WHERE decided_at_ms IS NULL "
                    "AND state = 'drawn' AND verifier IS NOT NULL AND deadline_ms >= $1",
                    {now_ms}));
    std::vector<Address> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(row.get<Address>(0));
    return out;
}

Result<UnitCounts> count_units(db::Transaction& tx, const Address& worker) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT count(*) FILTER (WHERE state = 'final'), "
                        "count(*) FILTER (WHERE state IN ('rejected', 'slashed')), "
                        "count(*) FILTER (WHERE ended_at_ms IS NULL AND state <> 'assigned'), "
                        "count(*) FILTER (WHERE state IN ('expired', 'unpaid', 'void')) "
                        "FROM registry.unit WHERE worker = $1 AND kind = 'train'",
                        {worker}));
    UnitCounts out;
    out.final = row.get<std::uint64_t>(0);
    out.rejected = row.get<std::uint64_t>(1);
    out.open = row.get<std::uint64_t>(2);
    out.other = row.get<std::uint64_t>(3);
    return out;
}

Result<std::map<Address, double>> paces_of(db::Transaction& tx, std::span<const Address> workers) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT w.address, percentile_disc(0.5) WITHIN GROUP (ORDER BY p.pace) FROM "
                    "unnest($1::bytea[]) AS w(address) CROSS JOIN LATERAL (SELECT v.flops * 1000.0 "
                    "/ greatest(v.committed_at_ms - greatest(v.assigned_at_ms, lead("
                    "v.committed_at_ms) OVER (ORDER BY v.committed_at_ms DESC)), 1) AS pace FROM "
                    "(SELECT u.* FROM registry.unit u WHERE u.worker = w.address AND u.kind = "
                    "'train' AND u.committed_at_ms IS NOT NULL ORDER BY u.round DESC, "
                    "u.assigned_at_ms DESC LIMIT 4) v ORDER BY v.committed_at_ms DESC LIMIT 3) p "
                    "GROUP BY w.address",
                    {db::Param::array(workers)}));
    std::map<Address, double> out;
    for (const db::Row row : rows)
        out.emplace(row.get<Address>(0), row.get<double>(1));
    return out;
}

Result<std::map<Address, std::uint32_t>> expired_in_a_row(db::Transaction& tx,
                                                          std::span<const Address> workers) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT w.address, count(*) FROM unnest($1::bytea[]) AS w(address) CROSS JOIN "
                    "LATERAL (SELECT bool_and(v.state = 'expired') OVER (ORDER BY "
                    "v.assigned_at_ms DESC, v.round DESC ROWS UNBOUNDED PRECEDING) AS expired FROM "
                    "(SELECT u.* FROM registry.unit u WHERE u.worker = w.address AND u.kind = "
                    "'train' AND u.state <> 'assigned' ORDER BY u.round DESC, u.assigned_at_ms "
                    "DESC LIMIT $2) v) e WHERE e.expired GROUP BY w.address",
                    {db::Param::array(workers), kExpiredMax}));
    std::map<Address, std::uint32_t> out;
    for (const db::Row row : rows)
        out.emplace(row.get<Address>(0), row.get<std::uint32_t>(1));
    return out;
}

Status lock_feed(db::Transaction& tx) {
    GYM_TRY([[maybe_unused]] const db::Row row,
            tx.exec_one("SELECT last FROM registry.sequence WHERE name = 'unit_event' FOR UPDATE"));
    return {};
}

Result<std::vector<Unit>> overdue_units(db::Transaction& tx, const Digest& job_id, UnixMs now_ms,
                                        const FinalityWaits& waits, std::uint32_t limit) {
    const std::optional<GameWatch>& games = waits.games;
    std::optional<Address> contract;
    if (games) contract = games->contract;
    // Credits wait: a proven fault voids all that its worker has, so nothing of it is paid while
    // one may still be proven in what was in a game before the unit's own window was over. Waiting
    // for later games, too, would let a challenger put off pay for ever, a bond at a time.
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kUnitSelect) +
                        "WHERE job_id = $1 AND ended_at_ms IS NULL AND deadline_ms > 0 AND "
                        "deadline_ms < $2 AND NOT EXISTS (SELECT FROM "
                        "registry.report p WHERE p.unit_id = u.id AND p.draw = u.draws - 1 AND "
                        "p.audit = 'due') "
                        "AND NOT (state IN ('unsampled', 'verified', 'upheld') AND EXISTS (SELECT "
                        "FROM registry.delta_place p WHERE p.worker = u.worker AND p.root = "
                        "u.delta_root AND p.state <> 'held' AND strpos(p.mirrors, E'\\n') = 0 "
                        "AND p.named_at_ms >= $7)) "
                        "AND NOT ($3::bytea IS NOT NULL AND state IN ('unsampled', 'verified', "
                        "'upheld') AND (EXISTS (SELECT FROM registry.round r, "
                        "registry.window_block(u.kind, r.posted_block, r.aggregate_block) AS "
                        "w(block) WHERE r.job_id = "
                        "u.job_id AND r.round = u.round + u.late::integer AND (w.block IS "
                        "NULL OR "
                        "$4::bigint <= w.block + $5::bigint "
                        "OR EXISTS (SELECT FROM registry.disputed_unit d WHERE d.contract = $3 AND "
                        "d.asserter = u.worker AND d.open_games > 0 AND (d.opened_block IS NULL OR "
                        "d.opened_block <= w.block + $5::bigint)))) "
                        "OR EXISTS (SELECT FROM registry.disputed_unit d WHERE d.contract = $3 AND "
                        "d.asserter = u.worker AND d.is_faulty AND d.handled_at_ms IS NULL))) "
                        "ORDER BY deadline_ms LIMIT $6",
                    {job_id, now_ms, contract, games ? games->seen_block : 0,
                     games ? games->window_blocks : 0, std::min(limit, kUnitsListMax),
                     now_ms - waits.delta_wait_ms}));
    return to_units(rows);
}

Status set_epoch(db::Transaction& tx, std::uint64_t epoch, const std::vector<Digest>& units) {
    GYM_CHECK(
        tx.exec("UPDATE registry.unit u SET epoch = $1, leaf_index = n.place - 1 FROM "
                "unnest($2::bytea[]) WITH ORDINALITY AS n(id, place) WHERE u.id = n.id",
                {epoch, db::Param::array(units)}));
    return {};
}

Result<std::vector<EpochLeaf>> epoch_leaves(db::Transaction& tx, std::uint64_t epoch) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT unit_id, leaf FROM registry.epoch_leaf WHERE epoch = $1 ORDER BY "
                    "leaf_index",
                    {epoch}));
    std::vector<EpochLeaf> out;
    for (const db::Row row : rows)
        out.push_back({row.get<Digest>(0), row.get<Digest>(1)});
    return out;
}

Result<std::vector<protocol::SignedCommitment>> epoch_commitments(db::Transaction& tx,
                                                                  std::uint64_t epoch) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT commitment FROM registry.epoch_leaf WHERE epoch = $1 ORDER BY "
                    "leaf_index",
                    {epoch}));
    std::vector<protocol::SignedCommitment> out;
    for (const db::Row row : rows) {
        GYM_TRY(auto commitment, protocol::decode_signed_commitment(row.get<Bytes>(0)));
        out.push_back(commitment);
    }
    return out;
}

Status set_included(db::Transaction& tx, std::uint64_t round,
                    std::span<const protocol::IncludedDelta> included) {
    using protocol::IncludedDelta;
    GYM_CHECK(tx.exec(
        "UPDATE registry.unit u SET included = true, included_late = i.late, "
        "withdrawn_round = CASE WHEN i.withdrawn THEN $4::bigint END "
        "FROM unnest($1::bytea[], $2::boolean[], $3::boolean[]) AS i (id, late, withdrawn) "
        "WHERE u.id = i.id",
        {column_of(included, [](const IncludedDelta& delta) { return delta.unit; }),
         column_of(included, [](const IncludedDelta& delta) { return delta.held; }),
         column_of(included, [](const IncludedDelta& delta) { return delta.is_withdrawn(); }),
         round}));
    return {};
}

Result<std::vector<protocol::IncludedDelta>> included_deltas(db::Transaction& tx,
                                                             const Digest& job_id,
                                                             std::uint64_t round) {
    GYM_TRY(
        const db::Rows rows,
        tx.exec("SELECT * FROM (SELECT slot, id, delta_root, included_late, 0::bigint AS age FROM "
                "registry.unit WHERE job_id = $1 AND kind = 'train' AND included "
                "AND ((round = $2 AND NOT included_late) OR (round = $2 - 1 AND included_late)) "
                "UNION ALL SELECT slot, id, delta_root, included_late, $2::bigint - round - "
                "included_late::integer FROM registry.unit WHERE job_id = $1 AND withdrawn_round = "
                "$2) x ORDER BY age > 0, included_late, age, slot",
                {job_id, round}));
    std::vector<protocol::IncludedDelta> out;
    for (const db::Row row : rows)
        out.push_back({row.get<std::uint32_t>("slot"), row.get<Digest>("id"),
                       row.get<Digest>("delta_root"), row.get<bool>("included_late"),
                       static_cast<std::uint16_t>(row.get<std::uint64_t>("age"))});
    return out;
}

Result<std::vector<Unit>> suspect_included(db::Transaction& tx, const Digest& job_id,
                                           std::uint64_t round, const Address& contract,
                                           std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kUnitSelect) +
                        "WHERE u.job_id = $1 AND u.kind = 'train' AND u.included AND "
                        "u.withdrawn_round IS NULL AND u.round + u.included_late::integer < $2 AND "
                        "u.round + u.included_late::integer >= $2::bigint - $5::bigint AND "
                        "EXISTS (SELECT FROM registry.disputed_unit d WHERE d.contract = $3 AND "
                        "d.asserter = u.worker AND d.is_faulty) "
                        "ORDER BY u.round + u.included_late::integer, u.slot LIMIT $4",
                    {job_id, round, contract, limit, protocol::kWithdrawnAgeMax}));
    return to_units(rows);
}

}  // namespace gym::registry
