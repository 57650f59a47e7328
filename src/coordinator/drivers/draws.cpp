#include "drivers/draws.hpp"

#include "gym/registry/nodes.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

}  // namespace

Status assign_verifiers(const Context& context, db::Transaction& tx, const registry::Round& round,
                        UnixMs now_ms) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.round = round.round;
    filter.states = {UnitState::kSampled};
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
        std::vector<protocol::VerifierCandidate> candidates;
        for (const registry::Node& node : verifiers) {
            if (!context.admits(node.profile.role, node.address)) continue;
            // Nobody may make up an address that suits a beacon that is known already.
            if (node.registered_at_ms > round.sealed_at_ms.value_or(0)) continue;
            protocol::VerifierCandidate candidate{node.address, 0};
            for (const registry::MissedDraws& draws : missed)
                if (draws.verifier == node.address) candidate.draws_failed = draws.count;
            candidates.push_back(candidate);
        }
        const auto chosen = protocol::assign_verifier(*round.beacon, unit.id, unit.status.draws - 1,
                                                      unit.worker, candidates);
        if (chosen) GYM_CHECK(registry::set_verifier(tx, unit.id, chosen));
    }
    return {};
}

}  // namespace gym::coordinator
