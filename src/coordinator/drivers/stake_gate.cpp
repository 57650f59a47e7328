#include "drivers/stake_gate.hpp"

#include "drivers/draws.hpp"
#include "gym/coordinator/decisions.hpp"

namespace gym::coordinator {
namespace {

bool has_gate(const Context& context) {
    return context.deps.stake != nullptr && context.options.stake.needs_stake();
}

std::string add_stake(const Amount& missing) {
    return "`gym stake add " + missing.to_tokens() +
           "` with this node's key adds the missing stake";
}

/// The least that a unit of a running job needs; absent if none has rounds left.
std::optional<Amount> least_needed(const Context& context, std::span<const registry::Job> running) {
    std::optional<Amount> least;
    for (const registry::Job& job : running) {
        if (!job.artifacts || job.rounds_done >= job.terms.rounds) continue;
        const auto needed = protocol::stake_needed(context.options.stake, least_pay(job));
        if (needed.ok() && (!least || *needed < *least)) least = *needed;
    }
    return least;
}

}  // namespace

Result<std::optional<Stakes>> stakes_of_workers(const Context& context) {
    if (!has_gate(context)) return std::optional<Stakes>();
    registry::NodeFilter filter;
    filter.role = records::NodeRole::kWorker;
    filter.eligible_only = true;
    filter.seen_since_ms = context.now() - context.options.node_live_ms;
    filter.limit = registry::kNodesListMax;
    GYM_TRY(const auto nodes, context.transact([&](db::Transaction& tx) {
        return registry::list_nodes(tx, filter);
    }));
    std::vector<Address> workers;
    workers.reserve(nodes.size());
    for (const registry::Node& node : nodes)
        workers.push_back(node.address);
    auto stakes = context.deps.stake->active_stakes(workers);
    if (!stakes.ok())
        return stakes.error().in("stakes of " + std::to_string(workers.size()) + " workers");
    std::erase_if(*stakes, [](const auto& entry) { return entry.second.is_zero(); });
    return std::optional(*std::move(stakes));
}

std::string stake_missing(const Context& context, const Address& worker,
                          std::span<const registry::Job> running) {
    if (!has_gate(context)) return {};
    const auto active = context.deps.stake->active_stake(worker);
    if (!active.ok()) return "its stake could not be read: " + active.error().message;
    const Amount& minimum = context.options.stake.minimum;
    if (const auto missing = minimum.minus(*active); missing.ok() && !missing->is_zero())
        return "stakes " + active->to_tokens() + " tokens, this network gives units from " +
               minimum.to_tokens() + " on: " + add_stake(*missing);
    const auto needed = least_needed(context, running);
    if (!needed) return {};
    const auto missing = needed->minus(*active);
    if (!missing.ok() || missing->is_zero()) return {};
    return "stakes " + active->to_tokens() + " tokens; a unit needs " +
           std::to_string(context.options.stake.per_unit_pay) +
           " times its pay at stake, and of the running jobs none needs less than " +
           needed->to_tokens() + ": " + add_stake(*missing);
}

Status look_at_verifiers(const Context& context) {
    const Amount& minimum = context.options.verifier_stake_min;
    if (minimum.is_zero() || context.deps.verifier_stake == nullptr) return {};
    GYM_TRY(const auto nodes, context.transact([&](db::Transaction& tx) {
        return live_verifiers(context, tx, context.now());
    }));
    std::vector<Address> verifiers;
    verifiers.reserve(nodes.size());
    for (const registry::Node& node : nodes)
        verifiers.push_back(node.address);
    const auto stakes = context.deps.verifier_stake->active_stakes(verifiers);
    if (!stakes.ok())
        return stakes.error().in("stakes of " + std::to_string(verifiers.size()) + " verifiers");
    std::set<Address> enough;
    for (const auto& [verifier, stake] : *stakes)
        if (stake >= minimum) enough.insert(verifier);
    context.staked_verifiers->set(std::move(enough));
    return {};
}

std::string verifier_stake_missing(const Context& context, const Address& verifier) {
    const Amount& minimum = context.options.verifier_stake_min;
    if (minimum.is_zero() || context.deps.verifier_stake == nullptr) return {};
    const auto active = context.deps.verifier_stake->active_stake(verifier);
    if (!active.ok()) return "its stake could not be read: " + active.error().message;
    const auto missing = minimum.minus(*active);
    if (!missing.ok() || missing->is_zero()) return {};
    return "stakes " + active->to_tokens() + " tokens, this network draws verifiers from " +
           minimum.to_tokens() + " on: `gym stake add " + missing->to_tokens() +
           " --verifier` with this node's key adds the missing stake";
}

}  // namespace gym::coordinator
