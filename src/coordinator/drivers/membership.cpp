#include "drivers/membership.hpp"

#include "drivers/draws.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

/// @param why of a unit that becomes void.
template <class Why>
Status end_worker(db::Transaction& tx, const Address& worker, const protocol::Reason& reason,
                  const std::optional<Digest>& cause, UnixMs now_ms, const Why& why) {
    GYM_CHECK(registry::lock_feed(tx));
    GYM_CHECK(registry::exclude_node(tx, worker, reason, cause, now_ms));
    registry::UnitFilter open;
    open.worker = worker;
    open.states = registry::open_states();
    open.limit = registry::kUnitsListMax;
    GYM_TRY(const auto units, registry::list_units(tx, open));
    for (const registry::Unit& unit : units) {
        if (unit.status.state == UnitState::kDisputed && !is_only_challenged(unit)) continue;
        GYM_TRY(const registry::Job job, registry::get_job(tx, unit.key.job_id));
        GYM_CHECK(registry::advance(tx, unit.id, protocol::event::Voided{}, job.terms.lifecycle,
                                    now_ms, why(unit.key)));
    }
    return {};
}

}  // namespace

Result<registry::Node> require_node(db::Transaction& tx, const Address& address,
                                    records::NodeRole role) {
    GYM_TRY(registry::Node node, registry::get_node(tx, address));
    if (node.profile.role != role)
        return fail(ErrorCode::kPermissionDenied, "node " + address.hex() + " is registered as a " +
                                                      std::string(to_string(node.profile.role)) +
                                                      ", not as a " + std::string(to_string(role)));
    if (node.excluded) return excluded(address, node.excluded_reason);
    return node;
}

Error excluded(const Address& node, const std::string& reason) {
    return fail(ErrorCode::kPermissionDenied, "node " + node.hex() + " is excluded: " + reason);
}

Status exclude_worker(const Context& context, db::Transaction& tx, const registry::Unit& cause,
                      UnixMs now_ms) {
    // The coordinator's own units have no node behind them: the fault stands in the unit alone.
    if (cause.worker == context.deps.key.address()) return {};
    GYM_TRY(const protocol::ReasonCode code, protocol::parse_reason_code(cause.reason_code));
    return end_worker(
        tx, cause.worker, {code, cause.reason}, cause.id, now_ms,
        [&](const protocol::UnitKey& key) { return protocol::worker_excluded(key, cause.key); });
}

Status exclude_worker(db::Transaction& tx, const Address& worker, const protocol::Reason& reason,
                      UnixMs now_ms) {
    return end_worker(tx, worker, reason, {}, now_ms,
                      [](const protocol::UnitKey& key) { return protocol::worker_excluded(key); });
}

Status exclude_verifier(const Context& context, db::Transaction& tx, const Address& verifier,
                        const registry::Unit& unit, const protocol::LifecycleParams& params,
                        UnixMs now_ms) {
    GYM_CHECK(registry::lock_feed(tx));
    GYM_CHECK(registry::exclude_node(tx, verifier, protocol::false_report(unit.key, verifier),
                                     unit.id, now_ms));
    registry::UnitFilter waiting;
    waiting.verifier = verifier;
    waiting.states = {UnitState::kSampled, UnitState::kReported};
    waiting.limit = registry::kUnitsListMax;
    GYM_TRY(const auto units, registry::list_units(tx, waiting));
    std::vector<registry::UnitStep> steps;
    steps.reserve(units.size());
    for (const registry::Unit& drawn : units)
        steps.push_back({drawn.id, protocol::event::Redrawn{}});
    GYM_TRY(const auto redrawn, registry::advance_all(tx, steps, params, now_ms));
    return assign_verifiers(context, tx, redrawn, now_ms);
}

}  // namespace gym::coordinator
