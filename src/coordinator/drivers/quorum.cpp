#include "drivers/quorum.hpp"

#include <set>

#include "gym/coordinator/decisions.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

/// A worker that says nothing for so long is not waited for. If its line comes back within the
/// grace time after the quorum, or its job takes late units, it has lost nothing.
constexpr std::int64_t kSilentMs = 120'000;

/// Workers that have not committed.
struct Absent {
    std::set<Address> signed_off;
    std::set<Address> all;  ///< and those that are silent
};

/// Nobody counts as silent before nodes had that time to come back to a coordinator that was away.
Result<Absent> absent_workers(const Context& context, db::Transaction& tx,
                              std::span<const registry::Unit> units, UnixMs now_ms) {
    std::vector<Address> awaited;
    for (const registry::Unit& unit : units)
        if (unit.status.state == UnitState::kAssigned) awaited.push_back(unit.worker);
    Absent out;
    if (awaited.empty()) return out;
    GYM_TRY(out.signed_off, registry::signed_off(tx, awaited));
    out.all = out.signed_off;
    if (now_ms - kSilentMs < context.began_at_ms) return out;
    GYM_TRY(out.all, registry::signed_off_or_silent(tx, awaited, now_ms - kSilentMs));
    return out;
}

/// Units that a round at its quorum does not wait for much longer.
struct Hurried {
    std::vector<registry::UnitStep> slow;  ///< have longer than the grace time from now
    std::vector<registry::UnitStep> gone;  ///< of workers that signed off
    [[nodiscard]] std::size_t count() const { return slow.size() + gone.size(); }
};

Result<Hurried> units_to_hurry(const Context& context, db::Transaction& tx,
                               const registry::Job& job, const registry::Round& round,
                               UnixMs now_ms) {
    Hurried out;
    GYM_TRY(const auto units, timely_units(tx, round));
    GYM_TRY(const Absent absent, absent_workers(context, tx, units, now_ms));
    if (!has_quorum(job.terms, round.record, units, absent.all)) return out;
    for (const registry::Unit& unit : units) {
        if (unit.status.state != UnitState::kAssigned) continue;
        const bool gone = absent.signed_off.contains(unit.worker);
        const std::int64_t wait_ms = gone ? 0 : job.terms.lifecycle.grace_ms;
        if (unit.status.deadline_ms > now_ms + wait_ms)
            (gone ? out.gone : out.slow).push_back({unit.id, protocol::event::Hurried{}});
    }
    return out;
}

}  // namespace

Result<std::vector<registry::Unit>> timely_units(db::Transaction& tx,
                                                 const registry::Round& round) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.epoch_round = round.round;
    filter.kind = protocol::UnitKind::kTrain;
    filter.late = false;
    filter.limit = registry::kUnitsListMax;
    return registry::list_units(tx, filter);
}

Status hurry(const Context& context, const registry::Job& job, const registry::Round& round,
             TickSummary& summary) {
    if (job.terms.elastic.quorum_ppm >= kPpm) return {};
    const UnixMs now_ms = context.now();
    // Most ticks change nothing: they do not take the lock that all who change units wait for.
    GYM_TRY(Hurried found, context.transact([&](db::Transaction& tx) {
        return units_to_hurry(context, tx, job, round, now_ms);
    }));
    if (found.count() == 0) return {};
    GYM_TRY(found, context.transact([&](db::Transaction& tx) -> Result<Hurried> {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(Hurried still, units_to_hurry(context, tx, job, round, now_ms));
        GYM_CHECK(registry::advance_all(tx, still.slow, job.terms.lifecycle, now_ms));
        protocol::LifecycleParams at_once = job.terms.lifecycle;
        at_once.grace_ms = 0;
        GYM_CHECK(registry::advance_all(tx, still.gone, at_once, now_ms));
        return still;
    }));
    note(summary, name_round(round) + ": at its quorum, " + std::to_string(found.slow.size()) +
                      " units have the grace time, " + std::to_string(found.gone.size()) +
                      " are of workers that signed off");
    return {};
}

}  // namespace gym::coordinator
