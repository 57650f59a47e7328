#include "context.hpp"

namespace gym::coordinator {

std::uint64_t delta_bytes_max(const registry::Job& job) {
    constexpr std::uint64_t kHeaderBytesMax = 64;
    return kHeaderBytesMax + 4 * job.artifacts->parameters;
}

void note(TickSummary& summary, std::string line) {
    ++summary.steps;
    summary.notes.push_back(std::move(line));
}

void note_status(TickSummary& summary, const Digest& job_id, registry::JobStatus status,
                 const std::string& reason) {
    note(summary, "job " + short_id(job_id) + ": " + std::string(to_string(status)) +
                      (reason.empty() ? "" : ", " + reason));
}

std::string short_id(const Digest& id) {
    return to_hex(id.view().first(4));
}

std::string name_round(const registry::Round& round) {
    return "job " + short_id(round.job_id) + " round " + std::to_string(round.round);
}

}  // namespace gym::coordinator
