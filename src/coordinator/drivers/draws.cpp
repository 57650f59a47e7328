#include "drivers/draws.hpp"

#include <set>
#include <utility>
#include <vector>

#include "gym/coordinator/decisions.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {
namespace {

/// Units without a verifier that the round's beacon drew.
Result<std::vector<registry::Unit>> waiting_units(db::Transaction& tx,
                                                  const registry::Round& round) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.epoch_round = round.round;
    filter.states = {protocol::UnitState::kSampled};
    filter.limit = registry::kUnitsListMax;
    GYM_TRY(auto units, registry::list_units(tx, filter));
    std::erase_if(units, [](const registry::Unit& unit) { return unit.verifier.has_value(); });
    return units;
}

Result<std::vector<registry::Node>> live_verifiers(const Context& context, db::Transaction& tx,
                                                   UnixMs now_ms) {
    registry::NodeFilter eligible;
    eligible.role = records::NodeRole::kVerifier;
    eligible.eligible_only = true;
    eligible.seen_since_ms = now_ms - context.options.node_live_ms;
    eligible.limit = registry::kNodesListMax;
    return registry::list_nodes(tx, eligible);
}

}  // namespace

Status assign_verifiers(const Context& context, db::Transaction& tx, const registry::Round& round,
                        UnixMs now_ms) {
    GYM_TRY(const auto units, waiting_units(tx, round));
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
            [&](const registry::Node& node) {
                return context.admits(node.profile.role, node.address);
            });
        if (chosen) drawn.push_back({unit.id, *chosen});
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
