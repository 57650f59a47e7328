#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gym::sim {

/// What one history comes to. Times in seconds.
struct Figures {
    double hours = 0;

    /// Tokens of deltas that went into a base state, over those that the workers that were there
    /// could have trained at full speed. Units under way at the end count nothing.
    double efficiency = 0;
    /// Computing of the workers over the time that they were there.
    double utilisation = 0;
    /// Share of the time from the job's start in which a round was between its record and its next
    /// base state,
    double round_in_progress = 0;
    double round_open = 0;  ///< ... and in which workers had units.

    std::uint64_t rounds = 0;  ///< that ended in a base state
    std::uint64_t nodes_joined = 0, nodes_left = 0;
    double workers_mean = 0;
    double tokens = 0;                                            ///< that went into a base state
    std::uint64_t units = 0, units_included = 0, units_late = 0;  ///< late: held a round
    std::uint64_t units_expired = 0, units_unpaid = 0, units_drawn = 0;

    /// Of Settings::odd_workers, in their order: tokens that went into a base state.
    std::vector<std::uint64_t> odd_tokens;

    // Of a round, means.
    double round_s = 0;         ///< from record to record
    double open_s = 0;          ///< from assignment to the seal
    double record_s = 0;        ///< from the record to the assignment: the chain
    double sample_s = 0;        ///< from the seal to the next base state: chain, outer step, loss
    double received_bytes = 0;  ///< by a worker for each unit that it delivered
    double sent_bytes = 0;

    // Of the real coordinator.
    std::uint64_t ticks = 0, events = 0;
    std::vector<std::string> errors;  ///< of ticks; empty where all is well

    friend bool operator==(const Figures&, const Figures&) = default;
};

}  // namespace gym::sim
