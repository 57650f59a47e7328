#include "calls/node_calls.hpp"

#include <algorithm>
#include <cmath>

#include "drivers/stake_gate.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/registry/challenges.hpp"

namespace gym::coordinator {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::size_t kListedUnitsMax = 50;
constexpr std::uint32_t kRecentUnitsMax = 20;
constexpr std::uint32_t kOpenUnitsMax = 1000;
static_assert(kListedUnitsMax <= records::kStatusUnitsMax, "nodes refuse a longer list");

/// The units that a node's status is about.
struct NodeUnits {
    std::vector<registry::Unit> open;    ///< not terminal, as worker or assigned verifier
    std::vector<registry::Unit> recent;  ///< terminal, newest first
};

Result<NodeUnits> read_units(db::Transaction& tx, const registry::Node& node) {
    registry::UnitFilter filter;
    filter.limit = kOpenUnitsMax;
    if (node.profile.role == records::NodeRole::kWorker)
        filter.worker = node.address;
    else
        filter.verifier = node.address;
    NodeUnits out;
    filter.states = registry::open_states();
    GYM_TRY(out.open, registry::list_units(tx, filter));
    filter.states = registry::terminal_states();
    filter.limit = kRecentUnitsMax;
    GYM_TRY(out.recent, registry::list_units(tx, filter));
    return out;
}

/// The first units of a list, without receipts.
std::vector<records::UnitReceipt> listed(const std::vector<registry::Unit>& units) {
    std::vector<records::UnitReceipt> out;
    for (const registry::Unit& unit : units) {
        if (out.size() == kListedUnitsMax) break;
        out.push_back({unit, {}, {}});
    }
    return out;
}

/// A node's status without its units and reasons.
Result<records::NodeStatus> count_work(db::Transaction& tx, const registry::Node& node,
                                       UnixMs now_ms) {
    GYM_TRY(const registry::UnitCounts units, registry::count_units(tx, node.address));
    GYM_TRY(const registry::Uptime uptime,
            registry::uptime(tx, node.address, now_ms - kHourMs, now_ms));
    records::NodeStatus out;
    out.address = node.address;
    out.role = node.profile.role;
    out.units_final = units.final;
    out.units_rejected = units.rejected;
    out.units_open = units.open;
    out.units_other = units.other;
    out.challenges = static_cast<std::uint32_t>(uptime.issued);
    out.uptime_ppm = uptime.ppm();
    out.last_seen_ms = node.last_seen_at_ms;
    return out;
}

/// Exponentially distributed: however long a node waited, the rest of the wait is as long as ever.
std::int64_t draw_wait_ms(std::int64_t mean_ms) {
    const Digest random = crypto::random_digest();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof bits; ++i)
        bits = bits << 8U | random.data[i];
    const double uniform = static_cast<double>((bits >> 11U) + 1) * 0x1p-53;  // (0, 1]
    return std::max<std::int64_t>(std::llround(-std::log(uniform) * static_cast<double>(mean_ms)),
                                  1);
}

}  // namespace

Result<registry::Node> register_node(const Context& context, const registry::NewNode& node) {
    if (!context.admits(node.profile.role, node.address))
        return fail(ErrorCode::kPermissionDenied,
                    node.address.hex() + " is not among the " +
                        std::string(records::to_string(node.profile.role)) +
                        "s that this network's operator admits: ask for admission");
    return context.transact_idempotent(
        [&](db::Transaction& tx) { return registry::register_node(tx, node, context.now()); });
}

Result<std::uint32_t> challenge_nodes(const Context& context) {
    registry::ChallengePolicy policy;
    policy.answer_ms = context.options.challenge_answer_ms;
    const registry::ChallengeDice dice{
        crypto::random_digest, [&] { return draw_wait_ms(context.options.challenge_every_ms); }};
    return context.transact([&](db::Transaction& tx) {
        return registry::issue_challenges(tx, policy, dice, context.now());
    });
}

Status leave(const Context& context, const Address& node) {
    return context.transact_idempotent(
        [&](db::Transaction& tx) { return registry::leave(tx, node, context.now()); });
}

Result<records::NodeStatus> node_status(const Context& context, const Address& address) {
    const UnixMs now_ms = context.now();
    bool excluded = false;
    std::vector<registry::Job> jobs;
    GYM_TRY(records::NodeStatus out,
            context.transact([&](db::Transaction& tx) -> Result<records::NodeStatus> {
                GYM_TRY(const registry::Node node, registry::get_node(tx, address));
                GYM_TRY(const NodeUnits units, read_units(tx, node));
                GYM_TRY(records::NodeStatus out, count_work(tx, node, now_ms));
                out.open_units = listed(units.open);
                out.recent_units = listed(units.recent);
                excluded = node.excluded;
                if (node.excluded) {
                    out.excluded_because = node.excluded_reason;
                    out.idle_because = "excluded: " + node.excluded_reason;
                } else if (out.role == records::NodeRole::kWorker) {
                    registry::JobFilter running;
                    running.status = registry::JobStatus::kRunning;
                    GYM_TRY(jobs, registry::list_jobs(tx, running));
                    out.idle_because =
                        worker_idle_because(units.open, jobs, node.profile.flops_per_second);
                } else {
                    out.idle_because = verifier_idle_because(address, units.open);
                }
                return out;
            }));
    // An excluded node gets no unit for any stake: advice to add some would only put it at risk.
    if (out.role == records::NodeRole::kWorker && !excluded)
        out.stake_because = stake_missing(context, address, jobs);
    if (out.role == records::NodeRole::kVerifier && !excluded)
        out.stake_because = verifier_stake_missing(context, address);
    // Nothing else that it might wait for would help.
    if (!out.stake_because.empty() && !out.idle_because.empty())
        out.idle_because = out.stake_because;
    return out;
}

}  // namespace gym::coordinator
