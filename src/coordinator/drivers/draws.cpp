#include "drivers/draws.hpp"

#include "gym/coordinator/decisions.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {
Status assign_verifiers(const Context& context, db::Transaction& tx, const registry::Round& round,
                        UnixMs now_ms) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.round = round.round;
    filter.states = {protocol::UnitState::kSampled};
    filter.limit = registry::kUnitsListMax;
    GYM_TRY(const auto units, registry::list_units(tx, filter));
    registry::NodeFilter eligible;
    eligible.role = records::NodeRole::kVerifier;
    eligible.eligible_only = true;
    eligible.seen_since_ms = now_ms - context.options.node_live_ms;
    eligible.limit = 10'000;
    GYM_TRY(const auto verifiers, registry::list_nodes(tx, eligible));
    for (const registry::Unit& unit : units) {
        if (unit.verifier) continue;
        GYM_TRY(const auto missed, registry::missed_draws(tx, unit.id));
        const auto chosen =
            choose_verifier(round, unit, verifiers, missed, [&](const registry::Node& node) {
                return context.admits(node.profile.role, node.address);
            });
        if (chosen) GYM_CHECK(registry::set_verifier(tx, unit.id, chosen));
    }
    return {};
}

}  // namespace gym::coordinator
