#include "drivers/draws.hpp"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gym/coordinator/decisions.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {
namespace {

/// Units that the round's beacon drew and no verifier has reported on.
Result<std::vector<registry::Unit>> drawn_units(db::Transaction& tx, const registry::Round& round) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.epoch_round = round.round;
    filter.states = {protocol::UnitState::kSampled};
    filter.limit = registry::kUnitsListMax;
    return registry::list_units(tx, filter);
}

/// How many of the units each verifier has.
std::map<Address, std::uint32_t> loads_of(std::span<const registry::Unit> units) {
    std::map<Address, std::uint32_t> out;
    for (const registry::Unit& unit : units)
        if (unit.verifier) ++out[*unit.verifier];
    return out;
}

}  // namespace

Result<std::vector<registry::Node>> live_verifiers(const Context& context, db::Transaction& tx,
                                                   UnixMs now_ms) {
    registry::NodeFilter eligible;
    eligible.role = records::NodeRole::kVerifier;
    eligible.eligible_only = true;
    eligible.seen_since_ms = now_ms - context.options.node_live_ms;
    eligible.limit = registry::kNodesListMax;
    return registry::list_nodes(tx, eligible);
}

namespace {

/// A verifier that says nothing for so long is taken to be gone: an eighth of its time for a
/// report, so that what it has computed by then is seldom much, and at least two minutes.
std::int64_t silence_ms(const registry::Job& job) {
    return std::max<std::int64_t>(job.terms.lifecycle.report_ms / 8, 120'000);
}

/// Verifiers of these units that signed off or are silent. Nobody counts as silent before nodes had
/// that time to come back to a coordinator that was away.
Result<std::set<Address>> gone_verifiers(const Context& context, db::Transaction& tx,
                                         const registry::Job& job,
                                         std::span<const registry::Unit> units) {
    std::vector<Address> verifiers;
    for (const registry::Unit& unit : units)
        if (unit.verifier) verifiers.push_back(*unit.verifier);
    if (verifiers.empty()) return std::set<Address>();
    const UnixMs seen_since_ms = context.now() - silence_ms(job);
    if (seen_since_ms < context.began_at_ms) return registry::signed_off(tx, verifiers);
    return registry::signed_off_or_silent(tx, verifiers, seen_since_ms);
}

/// Draws again what verifiers have that are gone. A last draw is left to its deadline: the unit
/// would end unpaid, and its verifier may come back.
Result<std::vector<registry::UnitStep>> redraws(const Context& context, db::Transaction& tx,
                                                const registry::Job& job,
                                                std::span<const registry::Unit> units) {
    GYM_TRY(const auto gone, gone_verifiers(context, tx, job, units));
    std::vector<registry::UnitStep> out;
    for (const registry::Unit& unit : units)
        if (unit.verifier && gone.contains(*unit.verifier) &&
            unit.status.draws < job.terms.lifecycle.draws_max)
            out.push_back({unit.id, protocol::event::Redrawn{}});
    return out;
}

}  // namespace

Status tend_draws(const Context& context, const registry::Job& job, const registry::Round& round) {
    // Most ticks change nothing: they do not take the lock that all who change units wait for.
    GYM_TRY(const bool any, context.transact([&](db::Transaction& tx) -> Result<bool> {
        GYM_CHECK(assign_verifiers(context, tx, round, context.now()));
        GYM_TRY(const auto units, drawn_units(tx, round));
        GYM_TRY(const auto steps, redraws(context, tx, job, units));
        return !steps.empty();
    }));
    if (!any) return {};
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto units, drawn_units(tx, round));
        GYM_TRY(const auto steps, redraws(context, tx, job, units));
        GYM_CHECK(registry::advance_all(tx, steps, job.terms.lifecycle, context.now()));
        return assign_verifiers(context, tx, round, context.now());
    });
}

Status assign_verifiers(const Context& context, db::Transaction& tx, const registry::Round& round,
                        UnixMs now_ms) {
    GYM_TRY(auto units, drawn_units(tx, round));
    std::map<Address, std::uint32_t> loads = loads_of(units);
    std::erase_if(units, [](const registry::Unit& unit) { return unit.verifier.has_value(); });
    if (units.empty()) return {};
    GYM_TRY(const auto verifiers, live_verifiers(context, tx, now_ms));
    if (verifiers.empty()) return {};
    std::vector<Digest> ids;
    ids.reserve(units.size());
    for (const registry::Unit& unit : units)
        ids.push_back(unit.id);
    GYM_TRY(const auto missed, registry::missed_draws(tx, ids));
    std::vector<registry::DrawnVerifier> drawn;
    for (const registry::Unit& unit : units) {
        const auto of_unit = missed.find(unit.id);
        const auto chosen = choose_verifier(
            round, unit, verifiers,
            of_unit == missed.end() ? std::span<const registry::MissedDraws>() : of_unit->second,
            loads, [&](const registry::Node& node) { return context.may_draw(node.address); });
        if (!chosen) continue;
        drawn.push_back({unit.id, *chosen});
        ++loads[*chosen];
    }
    return registry::set_verifiers(tx, drawn);
}

Status assign_verifiers(const Context& context, db::Transaction& tx,
                        std::span<const registry::Unit> moved, UnixMs now_ms) {
    std::set<std::pair<Digest, std::uint64_t>> rounds;
    for (const registry::Unit& unit : moved)
        if (unit.status.state == protocol::UnitState::kSampled)
            rounds.emplace(unit.key.job_id, unit.epoch_round());
    for (const auto& [job, number] : rounds) {
        GYM_TRY(const registry::Round round, registry::get_round(tx, job, number));
        GYM_CHECK(assign_verifiers(context, tx, round, now_ms));
    }
    return {};
}

}  // namespace gym::coordinator
