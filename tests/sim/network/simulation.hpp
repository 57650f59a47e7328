#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gym::sim {

/// Counts of events in one history; the test adds them up to see that its cases occurred.
struct Outcome {
    std::vector<std::string> violations;  ///< empty in a sound history
    std::uint64_t events = 0;
    std::uint64_t units = 0;
    std::uint64_t final = 0;
    std::uint64_t faults = 0;  ///< units with a wrong commitment
    std::uint64_t faults_rejected = 0;
    std::uint64_t upheld = 0;
    std::uint64_t equivocations = 0;  ///< honest results rejected for a second signature
    std::uint64_t redraws = 0;
    std::uint64_t unpaid = 0;
    std::uint64_t expired = 0;
    std::uint64_t crashes = 0;
};

/// One history: network, nodes, coordinator and their failures are all functions of `seed`.
[[nodiscard]] Outcome simulate(std::uint64_t seed);

}  // namespace gym::sim
