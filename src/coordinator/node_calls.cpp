#include "node_calls.hpp"

#include <algorithm>
#include <cmath>

#include "disputes.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/registry/challenges.hpp"
#include "stake_gate.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::size_t kRecentMax = 20;
constexpr std::uint32_t kStatusUnitsMax = 1000;

const std::vector<UnitState> kOpenStates = {
    UnitState::kAssigned,  UnitState::kCommitted, UnitState::kSampled,
    UnitState::kUnsampled, UnitState::kReported,  UnitState::kRevealed,
    UnitState::kVerified,  UnitState::kDisputed,  UnitState::kUpheld};
const std::vector<UnitState> kTerminalStates = {UnitState::kExpired, UnitState::kRejected,
                                                UnitState::kSlashed, UnitState::kFinal,
                                                UnitState::kUnpaid,  UnitState::kVoid};

/// Why a worker has nothing to run, in one sentence; empty if it has.
Result<std::string> worker_idle_because(db::Transaction& tx, const NodeStatus& status) {
    for (const registry::Unit& unit : status.open_units)
        if (unit.status.state == UnitState::kAssigned) return std::string();
    for (const registry::Unit& unit : status.open_units)
        if (unit.status.state == UnitState::kDisputed && !is_only_challenged(unit))
            return protocol::name_unit(unit.key) +
                   " is disputed; no new unit before that is decided";
    registry::JobFilter running;
    running.status = registry::JobStatus::kRunning;
    GYM_TRY(const auto jobs, registry::list_jobs(tx, running));
    if (jobs.empty()) return std::string("no job is running");
    for (const registry::Job& job : jobs)
        if (job.rounds_done < job.terms.rounds)
            return std::string("waiting for the next round to begin");
    return std::string("every running job has done all its rounds");
}

std::string verifier_idle_because(const NodeStatus& status) {
    for (const registry::Unit& unit : status.open_units)
        if (unit.verifier == status.node.address &&
            (unit.status.state == UnitState::kSampled || unit.status.state == UnitState::kReported))
            return "";
    return "no drawn unit is assigned to this verifier";
}

Status read_units(db::Transaction& tx, const Address& address, NodeStatus& out) {
    registry::UnitFilter filter;
    filter.limit = kStatusUnitsMax;
    if (out.node.role == registry::NodeRole::kWorker)
        filter.worker = address;
    else
        filter.verifier = address;
    filter.states = kOpenStates;
    GYM_TRY(out.open_units, registry::list_units(tx, filter));
    filter.states = kTerminalStates;
    filter.limit = kRecentMax;
    GYM_TRY(out.recent_units, registry::list_units(tx, filter));
    return {};
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

/// Counts an answer. @return why it counts nothing, in one sentence; empty if it counts.
Result<std::string> take_answer(const Context& context, db::Transaction& tx, const Address& node,
                                const protocol::UptimeAnswer& answer, UnixMs now_ms) {
    const std::string name = "challenge " + short_id(answer.nonce);
    GYM_TRY(const auto challenge, registry::find_challenge(tx, node, answer.nonce));
    if (!challenge) return name + " was not put to this node";
    const Status is_signed =
        protocol::check_uptime(context.options.domain, node, *challenge, answer);
    if (!is_signed.ok()) return name + ": " + is_signed.error().message;
    GYM_TRY(const auto outcome, registry::answer_challenge(tx, node, answer, now_ms));
    switch (outcome) {
        case registry::AnswerOutcome::kCounted:
        case registry::AnswerOutcome::kRepeated:  // a call whose reply was lost comes again
            return std::string();
        case registry::AnswerOutcome::kLate:
            return name + " was answered " + std::to_string(now_ms - challenge->deadline_ms) +
                   " ms after its deadline, which was " +
                   std::to_string(challenge->deadline_ms - challenge->issued_ms) +
                   " ms after its issue";
        case registry::AnswerOutcome::kWithdrawn:
            return name + " was withdrawn: no coordinator was there meanwhile";
        case registry::AnswerOutcome::kUnknown:
            break;
    }
    return name + " was not put to this node";
}

}  // namespace

Result<registry::Node> require_node(db::Transaction& tx, const Address& address,
                                    registry::NodeRole role) {
    GYM_TRY(registry::Node node, registry::get_node(tx, address));
    if (node.role != role)
        return fail(ErrorCode::kPermissionDenied, "node " + address.hex() + " is registered as a " +
                                                      std::string(to_string(node.role)) +
                                                      ", not as a " + std::string(to_string(role)));
    if (node.excluded)
        return fail(ErrorCode::kPermissionDenied,
                    "node " + address.hex() + " is excluded: " + node.excluded_reason);
    return node;
}

Result<registry::Node> register_node(const Context& context, const registry::NewNode& node) {
    if (!context.admits(node.role, node.address))
        return fail(ErrorCode::kPermissionDenied,
                    node.address.hex() + " is not among the " +
                        std::string(registry::to_string(node.role)) +
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

Result<HeartbeatOutcome> heartbeat(const Context& context, const Address& node,
                                   const std::optional<protocol::UptimeAnswer>& answer) {
    // Of the call's arrival, not of its turn in the database.
    const UnixMs now_ms = context.now();
    return context.transact_idempotent([&](db::Transaction& tx) -> Result<HeartbeatOutcome> {
        GYM_CHECK(registry::heartbeat(tx, node, now_ms));
        HeartbeatOutcome out;
        if (answer) {
            GYM_TRY(out.answer_refused, take_answer(context, tx, node, *answer, now_ms));
        }
        GYM_TRY(out.challenge, registry::open_challenge(tx, node, now_ms));
        return out;
    });
}

Status leave(const Context& context, const Address& node) {
    return context.transact_idempotent(
        [&](db::Transaction& tx) { return registry::leave(tx, node, context.now()); });
}

Result<NodeStatus> node_status(const Context& context, const Address& address) {
    const UnixMs now_ms = context.now();
    GYM_TRY(NodeStatus out, context.transact([&](db::Transaction& tx) -> Result<NodeStatus> {
        NodeStatus out;
        GYM_TRY(out.node, registry::get_node(tx, address));
        GYM_TRY(out.units, registry::count_units(tx, address));
        GYM_TRY(out.uptime_last_hour, registry::uptime(tx, address, now_ms - kHourMs, now_ms));
        GYM_CHECK(read_units(tx, address, out));
        if (out.node.excluded) {
            out.idle_because = "excluded: " + out.node.excluded_reason;
        } else if (out.node.role == registry::NodeRole::kWorker) {
            GYM_TRY(out.idle_because, worker_idle_because(tx, out));
        } else {
            out.idle_because = verifier_idle_because(out);
        }
        return out;
    }));
    // Who is excluded gets no unit for any stake: to advise one would only put it at risk.
    if (out.node.role == registry::NodeRole::kWorker && !out.node.excluded)
        out.stake_because = stake_missing(context, address);
    // Nothing else that it might wait for would help.
    if (!out.stake_because.empty() && !out.idle_because.empty())
        out.idle_because = out.stake_because;
    return out;
}

}  // namespace gym::coordinator
