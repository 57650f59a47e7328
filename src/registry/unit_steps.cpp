// Steps of units through the state machine of src/protocol, and what follows from them.
#include <algorithm>
#include <set>

#include "unit_rows.hpp"

namespace gym::registry {
namespace {

using protocol::UnitState;

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

/// Applies one step to the unit as it was read; adds the draw that it misses to `missed`.
/// @return whether anything changed.
Result<bool> apply_step(db::Transaction& tx, Unit& unit, const UnitStep& step,
                        const protocol::LifecycleParams& params, UnixMs now_ms,
                        std::vector<MissedDraw>& missed) {
    const protocol::UnitStatus before = unit.status;
    GYM_TRY(const protocol::UnitStatus next, protocol::apply(before, step.event, params, now_ms));
    if (next == before) return false;
    const auto decided = step.reason ? step.reason : reason_of_time(unit, next.state);
    if (decided) {
        unit.reason_code = protocol::to_string(decided->code);
        unit.reason = decided->sentence;
    }
    const bool was_drawn =
        before.state == UnitState::kSampled || before.state == UnitState::kReported;
    if (was_drawn && (next.draws > before.draws || next.state == UnitState::kUnpaid)) {
        if (unit.verifier) missed.push_back({unit.id, before.draws - 1, *unit.verifier});
        unit.verifier.reset();
    }
    if (next.draws > before.draws) unit.report_digest.reset();  // of the draw before
    unit.status = next;
    if (next.state == UnitState::kCommitted) GYM_CHECK(read_commitment(tx, unit, now_ms));
    if (protocol::is_terminal(next.state)) unit.ended_at_ms = now_ms;
    return true;
}

Status write_units(db::Transaction& tx, std::span<const Unit> units, UnixMs now_ms) {
    const auto column = [&](const auto& value) { return column_of(units, value); };
    GYM_CHECK(tx.exec(
        "UPDATE registry.unit u SET state = n.state, deadline_ms = n.deadline_ms, draws = n.draws, "
        "defended = n.defended, verifier = n.verifier, committed_at_ms = n.committed_at_ms, "
        "ended_at_ms = n.ended_at_ms, tokens = n.tokens, flops = n.flops, delta_root = "
        "n.delta_root, reason_code = n.reason_code, reason = n.reason, late = n.late, "
        "changed_at_ms = $14 "
        "FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::integer[], $5::boolean[], "
        "$6::bytea[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], "
        "$12::text[], $13::text[], $15::boolean[]) AS n(id, state, deadline_ms, draws, defended, "
        "verifier, committed_at_ms, ended_at_ms, tokens, flops, delta_root, reason_code, reason, "
        "late) "
        "WHERE u.id = n.id",
        {column([](const Unit& u) { return u.id; }),
         column([](const Unit& u) { return protocol::to_string(u.status.state); }),
         column([](const Unit& u) { return u.status.deadline_ms; }),
         column([](const Unit& u) { return u.status.draws; }),
         column([](const Unit& u) { return u.status.defended; }),
         column([](const Unit& u) { return u.verifier; }),
         column([](const Unit& u) { return u.committed_at_ms; }),
         column([](const Unit& u) { return u.ended_at_ms; }),
         column([](const Unit& u) { return u.tokens; }),
         column([](const Unit& u) { return u.flops; }),
         column([](const Unit& u) { return u.delta_root; }),
         column([](const Unit& u) { return u.reason_code; }),
         column([](const Unit& u) { return u.reason; }), now_ms,
         column([](const Unit& u) { return u.status.late; })}));
    return {};
}

bool is_fault(UnitState state) {
    return state == UnitState::kRejected || state == UnitState::kSlashed;
}

/// The records of valid work behind the adaptive sampling rate; values as protocol::work_value().
Status update_records(db::Transaction& tx, std::span<const Unit> units) {
    std::vector<Digest> valid;
    std::vector<Address> faulty;
    for (const Unit& unit : units) {
        if (unit.kind != protocol::UnitKind::kTrain) continue;
        if (unit.status.state == UnitState::kFinal) valid.push_back(unit.id);
        if (is_fault(unit.status.state)) faulty.push_back(unit.worker);
    }
    if (!valid.empty())
        GYM_CHECK(
            tx.exec("UPDATE registry.node n SET valid_value = n.valid_value + v.value FROM (SELECT "
                    "u.worker, sum(u.flops::numeric * greatest(j.price_wei_per_pflop, 1)) AS value "
                    "FROM registry.unit u JOIN registry.job j ON j.id = u.job_id WHERE u.id = "
                    "ANY($1::bytea[]) GROUP BY u.worker) v WHERE n.address = v.worker AND "
                    "n.excluded_at_ms IS NULL",
                    {db::Param::array(valid)}));
    if (!faulty.empty())
        GYM_CHECK(
            tx.exec("UPDATE registry.node SET valid_value = 0 WHERE address = ANY($1::bytea[])",
                    {db::Param::array(faulty)}));
    return {};
}

/// The report that ended a unit, if it is paid for what it says.
struct EndedDraw {
    Digest unit;
    std::int64_t draw = 0;
    bool agreement = false;  ///< paid if it found the worker right
    bool fault = false;      ///< paid if it found a difference
};

/// A report is accepted when its unit has ended: until then an audit may refute it. Agreement is
/// paid unless the worker turned out wrong in what was compared, a difference is paid if it stood,
/// and an excluded verifier gets nothing more.
Status accept_reports(db::Transaction& tx, std::span<const Unit> units, UnixMs now_ms) {
    std::vector<EndedDraw> ended;
    for (const Unit& unit : units) {
        const UnitState state = unit.status.state;
        if (!protocol::is_terminal(state) || unit.status.draws == 0) continue;
        const bool fault = is_fault(state);
        const bool agreement =
            state == UnitState::kFinal || state == UnitState::kVoid ||
            (fault && unit.reason_code == protocol::to_string(protocol::ReasonCode::kEquivocation));
        ended.push_back(
            {unit.id, static_cast<std::int64_t>(unit.status.draws) - 1, agreement, fault});
    }
    if (ended.empty()) return {};
    const std::span<const EndedDraw> draws(ended);
    const auto column = [&](const auto& value) { return column_of(draws, value); };
    // The numbers are taken at once: a counter that is updated for each row is read through all
    // of its dead versions each time.
    GYM_CHECK(tx.exec(
        "WITH due AS MATERIALIZED (SELECT p.unit_id, p.draw, row_number() OVER (ORDER BY n.place) "
        "AS number FROM unnest($1::bytea[], $2::integer[], $3::boolean[], $4::boolean[]) WITH "
        "ORDINALITY AS n(unit_id, draw, agreement, fault, place) JOIN registry.report p ON "
        "p.unit_id = n.unit_id AND p.draw = n.draw WHERE p.revealed_at_ms IS NOT NULL "
        "AND CASE WHEN p.is_equal THEN n.agreement ELSE n.fault END "
        "AND p.audit IS DISTINCT FROM 'failed' AND p.accepted_seq IS NULL "
        "AND NOT EXISTS (SELECT FROM registry.node v WHERE v.address = p.verifier "
        "AND v.excluded_at_ms IS NOT NULL)), "
        "taken AS (UPDATE registry.sequence SET last = last + (SELECT count(*) FROM due) "
        "WHERE name = 'accepted_report' AND EXISTS (SELECT FROM due) "
        "RETURNING last - (SELECT count(*) FROM due) AS before) "
        "UPDATE registry.report p SET accepted_seq = taken.before + due.number, "
        "accepted_at_ms = $5, found_fault = NOT p.is_equal FROM due, taken "
        "WHERE p.unit_id = due.unit_id AND p.draw = due.draw",
        {column([](const EndedDraw& d) { return d.unit; }),
         column([](const EndedDraw& d) { return d.draw; }),
         column([](const EndedDraw& d) { return d.agreement; }),
         column([](const EndedDraw& d) { return d.fault; }), now_ms}));
    return {};
}

/// The units of `steps`, in their order. @errors kNotFound.
Result<std::vector<Unit>> read_units(db::Transaction& tx, std::span<const UnitStep> steps) {
    std::vector<Digest> ids;
    ids.reserve(steps.size());
    for (const UnitStep& step : steps)
        ids.push_back(step.id);
    GYM_TRY(auto found, units_of(tx, ids));
    std::map<Digest, Unit> by_id;
    for (Unit& unit : found) {
        const Digest id = unit.id;
        by_id.emplace(id, std::move(unit));
    }
    std::vector<Unit> out;
    out.reserve(steps.size());
    for (const Digest& id : ids) {
        const auto unit = by_id.find(id);
        if (unit == by_id.end()) return fail(ErrorCode::kNotFound, "there is no unit " + id.hex());
        out.push_back(unit->second);
    }
    return out;
}

}  // namespace

Result<std::vector<Unit>> advance_all(db::Transaction& tx, std::span<const UnitStep> steps,
                                      const protocol::LifecycleParams& params, UnixMs now_ms) {
    GYM_CHECK(lock_feed(tx));
    GYM_TRY(auto units, read_units(tx, steps));
    std::vector<Unit> changed;
    std::vector<MissedDraw> missed;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        GYM_TRY(const bool moved, apply_step(tx, units[i], steps[i], params, now_ms, missed));
        if (moved) changed.push_back(units[i]);
    }
    if (changed.empty()) return units;
    GYM_CHECK(store_missed_draws(tx, missed, now_ms));
    GYM_CHECK(write_units(tx, changed, now_ms));
    GYM_CHECK(update_records(tx, changed));
    GYM_CHECK(accept_reports(tx, changed, now_ms));
    return units;
}

Result<Unit> advance(db::Transaction& tx, const Digest& id, const protocol::UnitEvent& event,
                     const protocol::LifecycleParams& params, UnixMs now_ms,
                     const std::optional<protocol::Reason>& reason) {
    const UnitStep step{id, event, reason};
    GYM_TRY(auto units, advance_all(tx, {&step, 1}, params, now_ms));
    return std::move(units.front());
}

}  // namespace gym::registry
