#include "gym/common/memory.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

using registry::RoundState;

std::string counted(std::uint64_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

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

std::string worker_wait(const registry::Job& job) {
    const std::uint64_t memory = job.artifacts ? job.artifacts->worker_memory_bytes : 0;
    return counted(job.terms.workers_min, "free worker") +
           (memory == 0 ? "" : " with " + memory_text(memory) + " of memory") + " for round " +
           std::to_string(job.rounds_done + 1);
}

}  // namespace

std::string waiting_for(const JobView& view) {
    const registry::Job& job = view.job;
    if (job.ended_at_ms) return refund_wait(view);
    if (job.status == registry::JobStatus::kSubmitted)
        return "the coordinator to prepare its programs and its first state";
    for (const registry::Round& round : view.rounds)
        if (const std::string wait = round_wait(round); !wait.empty())
            return "round " + std::to_string(round.round) + ": " + wait;
    if (job.status == registry::JobStatus::kPaused) return {};  // status_reason says it
    if (job.rounds_done < job.terms.rounds) return worker_wait(job);
    return settling(view.open_units);
}

}  // namespace gym::api
