#include "gym/registry/units.hpp"

#include <algorithm>

#include "unit_rows.hpp"

namespace gym::registry {
namespace {

using protocol::UnitState;

constexpr std::string_view kUnitSelect =
    "SELECT u.*, (SELECT digest FROM registry.report p WHERE p.unit_id = u.id "
    "AND p.draw = u.draws - 1) AS report_digest FROM registry.unit u ";

std::vector<UnitState> states_that_are(bool terminal) {
    std::vector<UnitState> out;
    for (std::size_t i = 0; i < protocol::kUnitStateCount; ++i)
        if (protocol::is_terminal(static_cast<UnitState>(i)) == terminal)
            out.push_back(static_cast<UnitState>(i));
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

/// The reason in a unit's row; the schema requires one in every state for which this is called.
protocol::Reason stored_reason(const Unit& unit) {
    const auto code = protocol::parse_reason_code(unit.reason_code);
    GYM_ASSERT(code.ok(), "the registry holds a reason code that the protocol does not know");
    return {*code, unit.reason};
}

/// Why time alone ended or moved a unit, when the caller gives no reason of its own.
std::optional<protocol::Reason> reason_of_time(const Unit& unit, UnitState next) {
    switch (next) {
        case UnitState::kExpired:
            return protocol::late_commitment(unit.key);
        case UnitState::kUnpaid:
            return protocol::no_report(unit.key, unit.status.draws);
        case UnitState::kRejected:
            return protocol::no_defence(stored_reason(unit));
        default:
            return std::nullopt;
    }
}

/// Fills the fields that a unit's row takes from its commitment when it becomes committed.
Status read_commitment(db::Transaction& tx, Unit& unit, UnixMs now_ms) {
    GYM_TRY(const auto stored, find_commitment(tx, unit.id));
    if (!stored)
        return fail(ErrorCode::kConflict,
                    protocol::name_unit(unit.key) + " has no commitment to advance with");
    const protocol::UnitCommitment& commitment = stored->commitment.commitment;
    unit.tokens = commitment.tokens;
    unit.flops = commitment.flops;
    unit.delta_root = commitment.delta_root;
    unit.committed_at_ms = now_ms;
    return {};
}

Status write_status(db::Transaction& tx, const Unit& unit, UnixMs now_ms) {
    GYM_TRY(
        [[maybe_unused]] const db::Rows rows,
        tx.exec("UPDATE registry.unit SET state = $2, deadline_ms = $3, draws = $4, defended = "
                "$5, verifier = $6, committed_at_ms = $7, changed_at_ms = $8, ended_at_ms = $9, "
                "tokens = $10, flops = $11, delta_root = $12, reason_code = $13, reason = $14 "
                "WHERE id = $1",
                {unit.id, protocol::to_string(unit.status.state), unit.status.deadline_ms,
                 unit.status.draws, unit.status.defended, unit.verifier, unit.committed_at_ms,
                 now_ms, unit.ended_at_ms, unit.tokens, unit.flops, unit.delta_root,
                 unit.reason_code, unit.reason}));
    return {};
}

/// The run of valid units behind the adaptive sampling rate.
Status update_run(db::Transaction& tx, const Unit& unit) {
    if (unit.kind != protocol::UnitKind::kTrain) return {};
    if (unit.status.state == UnitState::kFinal) {
        GYM_TRY([[maybe_unused]] const db::Rows rows,
                tx.exec("UPDATE registry.node SET valid_run = valid_run + 1 WHERE address = $1 AND "
                        "excluded_at_ms IS NULL",
                        {unit.worker}));
    } else if (unit.status.state == UnitState::kRejected ||
               unit.status.state == UnitState::kSlashed) {
        GYM_TRY(
            [[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.node SET valid_run = 0 WHERE address = $1", {unit.worker}));
    }
    return {};
}

/// A report is accepted when its unit has ended: until then an audit may refute it. Agreement is
/// paid unless the worker turned out wrong in what was compared, a difference is paid if it stood,
/// and an excluded verifier gets nothing more.
Status accept_report(db::Transaction& tx, const Unit& unit, UnixMs now_ms) {
    const UnitState state = unit.status.state;
    if (!protocol::is_terminal(state)) return {};
    const bool fault = state == UnitState::kRejected || state == UnitState::kSlashed;
    const bool agreement =
        state == UnitState::kFinal || state == UnitState::kVoid ||
        (fault && unit.reason_code == protocol::to_string(protocol::ReasonCode::kEquivocation));
    GYM_TRY(
        [[maybe_unused]] const db::Rows rows,
        tx.exec(
            "UPDATE registry.report SET accepted_seq = "
            "registry.next_number('accepted_report'), accepted_at_ms = $5, found_fault = NOT "
            "is_equal WHERE unit_id = $1 AND draw = $2 AND revealed_at_ms IS NOT NULL "
            "AND CASE WHEN is_equal THEN $3::boolean ELSE $4::boolean END "
            "AND audit IS DISTINCT FROM 'failed' AND accepted_seq IS NULL "
            "AND NOT EXISTS (SELECT FROM registry.node n WHERE n.address = verifier "
            "AND n.excluded_at_ms IS NOT NULL)",
            {unit.id, static_cast<std::int64_t>(unit.status.draws) - 1, agreement, fault, now_ms}));
    return {};
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

Status assign_unit(db::Transaction& tx, const NewUnit& unit,
                   const protocol::LifecycleParams& params, UnixMs now_ms) {
    GYM_CHECK(lock_feed(tx));
    const protocol::UnitStatus status = protocol::assigned(params, now_ms);
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("INSERT INTO registry.unit (id, job_id, round, slot, attempt, kind, worker, "
                    "owner, sampling_rate_ppm, deadline_ms, assigned_at_ms, changed_at_ms) "
                    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
                    {protocol::unit_id(unit.key), unit.key.job_id, unit.key.round, unit.key.slot,
                     unit.key.attempt, protocol::to_string(unit.kind), unit.worker, unit.owner,
                     unit.sampling_rate_ppm, status.deadline_ms, now_ms}));
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
                    "AND ($3::bytea IS NULL OR worker = $3) "
                    "AND ($4::bytea IS NULL OR verifier = $4) "
                    "AND ($5::bigint IS NULL OR epoch = $5) AND ($6::text IS NULL OR kind = $6) "
                    "AND (cardinality($7::text[]) = 0 OR state = ANY($7::text[])) "
                    "ORDER BY round DESC, slot, attempt LIMIT $8",
                {filter.job_id, filter.round, filter.worker, filter.verifier, filter.epoch, kind,
                 db::Param::array(states), std::min(filter.limit, kUnitsListMax)}));
    return to_units(rows);
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

Status lock_feed(db::Transaction& tx) {
    GYM_TRY([[maybe_unused]] const db::Row row,
            tx.exec_one("SELECT last FROM registry.sequence WHERE name = 'unit_event' FOR UPDATE"));
    return {};
}

Result<Unit> advance(db::Transaction& tx, const Digest& id, const protocol::UnitEvent& event,
                     const protocol::LifecycleParams& params, UnixMs now_ms,
                     const std::optional<protocol::Reason>& reason) {
    GYM_CHECK(lock_feed(tx));
    GYM_TRY(Unit unit, get_unit(tx, id));
    const protocol::UnitStatus before = unit.status;
    GYM_TRY(const protocol::UnitStatus next, protocol::apply(before, event, params, now_ms));
    if (next == before) return unit;

    const auto decided = reason ? reason : reason_of_time(unit, next.state);
    if (decided) {
        unit.reason_code = protocol::to_string(decided->code);
        unit.reason = decided->sentence;
    }
    const bool was_drawn =
        before.state == UnitState::kSampled || before.state == UnitState::kReported;
    if (was_drawn && (next.draws > before.draws || next.state == UnitState::kUnpaid)) {
        if (unit.verifier)
            GYM_CHECK(store_missed_draw(tx, id, before.draws - 1, *unit.verifier, now_ms));
        unit.verifier.reset();
    }
    unit.status = next;
    if (next.state == UnitState::kCommitted) GYM_CHECK(read_commitment(tx, unit, now_ms));
    if (protocol::is_terminal(next.state)) unit.ended_at_ms = now_ms;
    GYM_CHECK(write_status(tx, unit, now_ms));
    GYM_CHECK(update_run(tx, unit));
    GYM_CHECK(accept_report(tx, unit, now_ms));
    return get_unit(tx, id);
}

Result<std::vector<Unit>> overdue_units(db::Transaction& tx, const Digest& job_id, UnixMs now_ms,
                                        const std::optional<GameWatch>& games,
                                        std::uint32_t limit) {
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
                        "AND NOT ($3::bytea IS NOT NULL AND state IN ('unsampled', 'verified', "
                        "'upheld') AND (EXISTS (SELECT FROM registry.round r WHERE r.job_id = "
                        "u.job_id AND r.round = u.round AND (r.posted_block IS NULL OR "
                        "$4::bigint <= r.posted_block + $5::bigint "
                        "OR EXISTS (SELECT FROM registry.disputed_unit d WHERE d.contract = $3 AND "
                        "d.asserter = u.worker AND d.open_games > 0 AND (d.opened_block IS NULL OR "
                        "d.opened_block <= r.posted_block + $5::bigint)))) "
                        "OR EXISTS (SELECT FROM registry.disputed_unit d WHERE d.contract = $3 AND "
                        "d.asserter = u.worker AND d.is_faulty AND d.handled_at_ms IS NULL))) "
                        "ORDER BY deadline_ms LIMIT $6",
                    {job_id, now_ms, contract, games ? games->seen_block : 0,
                     games ? games->window_blocks : 0, std::min(limit, kUnitsListMax)}));
    return to_units(rows);
}

Status set_epoch(db::Transaction& tx, std::uint64_t epoch, const std::vector<Digest>& units) {
    for (std::size_t i = 0; i < units.size(); ++i) {
        GYM_TRY([[maybe_unused]] const db::Rows rows,
                tx.exec("UPDATE registry.unit SET epoch = $2, leaf_index = $3 WHERE id = $1",
                        {units[i], epoch, i}));
    }
    return {};
}

Result<std::vector<EpochLeaf>> epoch_leaves(db::Transaction& tx, std::uint64_t epoch) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT u.id, c.leaf FROM registry.unit u JOIN registry.unit_commitment c ON "
                    "c.unit_id = u.id WHERE u.epoch = $1 ORDER BY u.leaf_index",
                    {epoch}));
    std::vector<EpochLeaf> out;
    for (const db::Row row : rows)
        out.push_back({row.get<Digest>(0), row.get<Digest>(1)});
    return out;
}

Result<std::vector<protocol::SignedCommitment>> epoch_commitments(db::Transaction& tx,
                                                                  std::uint64_t epoch) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT c.commitment FROM registry.unit u JOIN registry.unit_commitment c ON "
                    "c.unit_id = u.id WHERE u.epoch = $1 ORDER BY u.leaf_index",
                    {epoch}));
    std::vector<protocol::SignedCommitment> out;
    for (const db::Row row : rows) {
        GYM_TRY(auto commitment, protocol::decode_signed_commitment(row.get<Bytes>(0)));
        out.push_back(commitment);
    }
    return out;
}

Status set_included(db::Transaction& tx, const std::vector<Digest>& units) {
    GYM_TRY([[maybe_unused]] const db::Rows rows,
            tx.exec("UPDATE registry.unit SET included = true WHERE id = ANY($1::bytea[])",
                    {db::Param::array(units)}));
    return {};
}

Result<std::vector<protocol::IncludedDelta>> included_deltas(db::Transaction& tx,
                                                             const Digest& job_id,
                                                             std::uint64_t round) {
    UnitFilter filter;
    filter.job_id = job_id;
    filter.round = round;
    filter.kind = protocol::UnitKind::kTrain;
    filter.limit = kUnitsListMax;
    GYM_TRY(const auto units, list_units(tx, filter));
    std::vector<protocol::IncludedDelta> out;
    for (const Unit& unit : units)
        if (unit.included) out.push_back({unit.key.slot, unit.id, *unit.delta_root});
    return out;
}

}  // namespace gym::registry
