#include "gym/common/memory.hpp"
#include "gym/common/plural.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/protocol/unit_fit.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

using registry::RoundState;

/// The reason why a round waits before its aggregation.
std::string round_wait(const registry::Round& round) {
    switch (round.state) {
        case RoundState::kRecorded:
            return "its record to stand on chain";
        case RoundState::kOpen:
            return "the units of " + counted(round.record.slots.size(), "worker") +
                   (round.unit_deadline_ms
                        ? ", until " + utc_text(*round.unit_deadline_ms) + " at the latest"
                        : "");
        case RoundState::kSealed:
            return "the root of its commitments to stand on chain";
        case RoundState::kPosted:
            return "the block that draws the units to verify";
        case RoundState::kVerifying:
            return "verifiers to re-execute the drawn units";
        case RoundState::kAggregated:
        case RoundState::kClosed:
            break;
    }
    return {};
}

std::string settling(const OpenUnits& units) {
    if (units.count == 0) return "settling: the coordinator to close the last round";
    std::string out = "settling: " + counted(units.count, "unit") + " to become final";
    if (units.window_end_ms) out += ", challenge windows end at " + utc_text(*units.window_end_ms);
    if (units.count > units.in_window)
        out += "; " + counted(units.count - units.in_window, "unit") + " still being checked";
    return out;
}

/// An ended job pays its last units, then the rest goes back.
std::string refund_wait(const JobView& view) {
    if (view.cost.left.is_zero() && view.cost.reserved.is_zero()) return {};
    const std::string what = "the rest of its budget to return, ";
    if (view.open_units.count > 0) return what + settling(view.open_units);
    for (const registry::Round& round : view.rounds)
        if (round.state != RoundState::kClosed)
            return what + "settling: round " + std::to_string(round.round) + " to be closed";
    return what + "by gym-rewards";
}

/// What a worker needs for a unit; empty where it is not known yet.
std::string needs_of(const registry::Job& job) {
    if (!job.artifacts) return {};
    std::string out;
    const registry::WorkerMemory& memory = job.artifacts->worker_memory;
    if (memory.cpu_bytes != 0) out = " with " + memory_text(memory.cpu_bytes) + " of memory";
    if (memory.gpu_bytes > memory.cpu_bytes)
        out += " (" + memory_text(memory.gpu_bytes) + " of a GPU's)";
    // A slower one cannot do a unit by its deadline.
    const double speed = protocol::speed_for({job.artifacts->flops_per_step,
                                              job.terms.elastic.adapt_steps ? 1 : job.terms.steps,
                                              job.terms.lifecycle.unit_ms});
    constexpr double kAnyMachine = 1e6;
    if (speed < kAnyMachine) return out;
    return out + (out.empty() ? " with " : " and ") + speed_text(speed);
}

/// As the coordinator gives workers to rounds: all of its slots, and fewer where no more are live.
std::string worker_wait(const JobView& view) {
    const registry::Job& job = view.job;
    const std::uint32_t least = job.terms.workers_min, most = job.terms.slots_max;
    std::string out = (least < most ? std::to_string(least) + " to " : "") +
                      counted(most, "free worker") + needs_of(job) + " for round " +
                      std::to_string(job.rounds_done + 1);
    std::optional<UnixMs> since = job.started_at_ms;
    if (!view.rounds.empty()) since = view.rounds.back().aggregated_at_ms;
    if (since && least < most)
        out += "; it waits for those that work for other jobs, until " +
               utc_text(*since + job.terms.lifecycle.unit_ms) + " at the latest";
    return out;
}

/// Orders whose money is not locked yet.
std::string order_wait(const JobView& view) {
    for (const registry::StoredOrder& order : view.orders) {
        if (order.state == registry::OrderState::kWaiting)
            return "gym-rewards to check its owner's signature and to lock " +
                   order.amount().to_tokens() + " GYM";
        if (order.state == registry::OrderState::kLocking)
            return "the chain to lock " + order.amount().to_tokens() +
                   " GYM of its owner's deposit";
    }
    return {};
}

}  // namespace

std::string waiting_for(const JobView& view) {
    const registry::Job& job = view.job;
    if (job.ended_at_ms) return refund_wait(view);
    if (const std::string wait = order_wait(view); !wait.empty()) return wait;
    if (job.status == registry::JobStatus::kSubmitted)
        return "the coordinator to prepare its programs and its first state";
    for (const registry::Round& round : view.rounds)
        if (const std::string wait = round_wait(round); !wait.empty())
            return "round " + std::to_string(round.round) + ": " + wait;
    if (job.status == registry::JobStatus::kPaused) return {};  // status_reason says it
    if (job.rounds_done < job.terms.rounds) return worker_wait(view);
    return settling(view.open_units);
}

}  // namespace gym::api
