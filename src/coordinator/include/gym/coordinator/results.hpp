#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/uptime.hpp"

namespace gym::coordinator {

/// A heartbeat as it arrived.
struct Beat {
    Address node;
    UnixMs at_ms = 0;
    std::optional<protocol::UptimeAnswer> answer;  ///< to a challenge
};

/// The upload that a worker may make now.
struct UploadLimit {
    Digest unit;
    std::uint64_t bytes_max = 0;  ///< no delta of the unit's program is longer
    bool is_public = false;       ///< everybody may have the job's model: mirrors, too
};

struct RevealOutcome {
    bool equal = false;
    std::string reason;  ///< of a difference, one sentence
};

/// The effects of one tick.
struct TickSummary {
    std::uint32_t jobs = 0;   ///< looked at
    std::uint32_t steps = 0;  ///< steps of jobs, rounds and units taken; 0: nothing to do now
    std::vector<std::string> notes;   ///< one line each for the log
    std::vector<std::string> errors;  ///< a job that could not move, and why; others went on
};

}  // namespace gym::coordinator
