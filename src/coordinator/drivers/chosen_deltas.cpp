#include "drivers/chosen_deltas.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "drivers/withdrawn_deltas.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/registry/delta_places.hpp"

namespace gym::coordinator {
namespace {

/// A unit without a delta that could be included: nothing is proven against the worker, and nobody
/// is paid, unless the unit is final already.
Status void_unit(const Context& context, const registry::Job& job, const registry::Unit& unit,
                 const std::string& why, TickSummary& summary) {
    const protocol::Reason reason{protocol::ReasonCode::kInputsLost,
                                  protocol::name_unit(unit.key) + ": " + why};
    if (protocol::is_terminal(unit.status.state)) {
        summary.notes.push_back("left out of the aggregate: " + reason.sentence);
        return {};
    }
    const Status voided = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::advance(tx, unit.id, protocol::event::Voided{}, job.terms.lifecycle,
                                    context.now(), reason));
        return {};
    });
    GYM_CHECK(voided);
    note(summary, "void: " + reason.sentence);
    return {};
}

/// Why an accepted delta is not here.
Result<std::string> why_lost(const Context& context, const registry::Unit& unit) {
    GYM_TRY(const bool named, context.transact([&](db::Transaction& tx) {
        return registry::is_delta_named(tx, unit.worker, *unit.delta_root);
    }));
    return std::string(named ? "its delta came neither from a mirror nor from its worker"
                             : "the coordinator lost its delta");
}

/// The opened delta of an accepted unit; nullptr where the unit became void.
Result<Compute::DeltaPtr> load_delta(const Context& context, const registry::Job& job,
                                     const registry::Unit& unit, ByteView program,
                                     TickSummary& summary) {
    auto checked = context.deps.compute.check_delta(program, context.deps.blobs, *unit.delta_root);
    if (checked.ok()) return checked;
    const ErrorCode code = checked.error().code;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kMismatch) {
        GYM_TRY(const std::string why, why_lost(context, unit));
        GYM_CHECK(void_unit(context, job, unit, why, summary));
        return Compute::DeltaPtr();
    }
    if (!Compute::is_no_delta(code)) return checked.error().in("delta");
    // One from mirrors: others were looked at before their commitment.
    GYM_CHECK(void_unit(context, job, unit,
                        "its delta is none of this program: " + checked.error().message, summary));
    return Compute::DeltaPtr();
}

Result<std::vector<registry::Unit>> accepted_units(db::Transaction& tx, const Digest& job,
                                                   std::uint64_t round) {
    registry::UnitFilter filter;
    filter.job_id = job;
    filter.round = round;
    filter.kind = protocol::UnitKind::kTrain;
    filter.limit = registry::kUnitsListMax;
    GYM_TRY(auto units, registry::list_units(tx, filter));
    std::erase_if(units, [](const registry::Unit& unit) {
        return !protocol::is_accepted(unit.status.state);
    });
    return units;
}

/// Units of the round before that its aggregate did not wait for: late ones, and, where the job
/// holds them, drawn ones.
Result<std::vector<registry::Unit>> held_units(db::Transaction& tx, const registry::Job& job,
                                               const registry::Round& round) {
    if (!job.terms.elastic.holds_deltas() || round.round == 1) return std::vector<registry::Unit>();
    GYM_TRY(const registry::Round before, registry::get_round(tx, job.id, round.round - 1));
    GYM_TRY(auto units, accepted_units(tx, job.id, before.round));
    std::erase_if(units, [&](const registry::Unit& unit) {
        if (unit.included || unit.status.late) return unit.included;
        return !job.terms.elastic.hold_drawn ||
               !protocol::is_sampled(*before.beacon, unit.id, unit.sampling_rate_ppm);
    });
    return units;
}

/// Draws the units whose deltas are left out for their norm, if no beacon did: they are verified
/// like others, and paid only if they are right.
Status single_out(const Context& context, const registry::Job& job,
                  std::span<const registry::Unit> units,
                  std::span<const protocol::ExcludedDelta> excluded) {
    std::vector<registry::UnitStep> steps;
    for (const protocol::ExcludedDelta& delta : excluded) {
        const auto unit = std::ranges::find(units, delta.unit, &registry::Unit::id);
        if (delta.for_norm && unit->status.state == protocol::UnitState::kUnsampled)
            steps.push_back({delta.unit, protocol::event::SingledOut{}});
    }
    if (steps.empty()) return {};
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(registry::advance_all(tx, steps, job.terms.lifecycle, context.now()));
        return {};
    });
}

}  // namespace

Result<bool> awaits_deltas(const Context& context, const registry::Job& job,
                           const registry::Round& round) {
    const UnixMs since_ms = context.now() - context.options.delta_wait_ms;
    return context.transact([&](db::Transaction& tx) -> Result<bool> {
        GYM_TRY(const bool waits, registry::awaits_deltas(tx, job.id, round.round, since_ms));
        if (waits || !job.terms.elastic.holds_deltas()) return waits;
        return registry::awaits_deltas(tx, job.id, round.round - 1, since_ms);
    });
}

Result<ChosenDeltas> choose_deltas(const Context& context, const registry::Job& job,
                                   const registry::Round& round, ByteView program,
                                   TickSummary& summary) {
    std::vector<registry::Unit> units;
    std::size_t timely = 0;
    GYM_CHECK(context.transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(units, accepted_units(tx, job.id, round.round));
        timely = units.size();
        GYM_TRY(auto held, held_units(tx, job, round));
        std::ranges::move(held, std::back_inserter(units));
        return {};
    }));
    std::vector<protocol::DeltaCandidate> candidates;
    std::map<Digest, Compute::DeltaPtr> loaded;  // by unit
    // Slots were planned to fit: no timely delta is left out for room.
    const std::size_t room =
        std::max<std::size_t>(room_for_added(job, context.options.deltas_bytes_max), timely);
    for (std::size_t i = 0; i < units.size(); ++i) {
        const registry::Unit& unit = units[i];
        const bool held = i >= timely;
        if (held && loaded.size() >= room) break;
        GYM_TRY(Compute::DeltaPtr delta, load_delta(context, job, unit, program, summary));
        if (delta == nullptr) continue;
        // Counted at the commitment, by the steps of its slot.
        const std::uint64_t steps = unit.tokens / round.record.tokens_per_step;
        candidates.push_back({unit.key.slot, unit.id, *unit.delta_root, unit.status.state,
                              delta->norm(), held, static_cast<std::uint32_t>(steps)});
        loaded.emplace(unit.id, std::move(delta));
    }
    ChosenDeltas out;
    out.inclusion = protocol::include_deltas(
        candidates, {job.terms.delta_norm_max, job.terms.delta_norm_factor, room});
    for (protocol::IncludedDelta& included : out.inclusion.included)
        included.held |= job.terms.elastic.overlap != 0;
    for (const protocol::IncludedDelta& included : out.inclusion.included)
        out.included.push_back(loaded.at(included.unit));
    GYM_CHECK(add_withdrawn(context, job, round, program,
                            deltas_of_aggregate(job, context.options.deltas_bytes_max), out,
                            summary));
    for (const protocol::ExcludedDelta& excluded : out.inclusion.excluded)
        summary.notes.push_back("slot " + std::to_string(excluded.slot) +
                                " is left out of the aggregate: " + excluded.reason);
    GYM_CHECK(single_out(context, job, units, out.inclusion.excluded));
    return out;
}

}  // namespace gym::coordinator
