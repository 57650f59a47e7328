#include "drivers/stake_gate.hpp"

namespace gym::coordinator {
namespace {

bool has_gate(const Context& context) {
    return context.deps.stake != nullptr && !context.options.minimum_stake.is_zero();
}

}  // namespace

Result<std::optional<std::set<Address>>> staked_workers(const Context& context) {
    if (!has_gate(context)) return std::optional<std::set<Address>>();
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
    const auto stakes = context.deps.stake->active_stakes(workers);
    if (!stakes.ok())
        return stakes.error().in("stakes of " + std::to_string(workers.size()) + " workers");
    std::set<Address> out;
    for (const auto& [worker, active] : *stakes)
        if (active >= context.options.minimum_stake) out.insert(worker);
    return std::optional(std::move(out));
}

std::string stake_missing(const Context& context, const Address& worker) {
    if (!has_gate(context)) return {};
    const auto active = context.deps.stake->active_stake(worker);
    if (!active.ok()) return "its stake could not be read: " + active.error().message;
    const auto missing = context.options.minimum_stake.minus(*active);
    if (!missing.ok() || missing->is_zero()) return {};
    return "stakes " + active->to_tokens() + " tokens, this network gives units from " +
           context.options.minimum_stake.to_tokens() + " on: `gym stake add " +
           missing->to_tokens() + "` with this node's key adds the missing stake";
}

}  // namespace gym::coordinator
