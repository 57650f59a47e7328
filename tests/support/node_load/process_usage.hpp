#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gym::testing {

/// What a process has used so far, of /proc; zeros once it is gone.
struct ProcessUsage {
    double cpu_s = 0;             ///< user and system
    std::uint64_t rss_bytes = 0;  ///< now; shared pages count once for each process that maps them
    std::uint64_t peak_bytes = 0;
};
[[nodiscard]] ProcessUsage usage_of(pid_t pid);
/// The sum over a process and its children, pages that they share counted once; the CPU of
/// children that have ended is in it.
[[nodiscard]] ProcessUsage usage_of_family(pid_t pid);

}  // namespace gym::testing
