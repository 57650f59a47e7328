#pragma once

#include <sys/types.h>

#include <string>

#include "gym/common/result.hpp"

namespace gym {

/// State of a process as the kernel reports it (proc(5), /proc/PID/stat).
struct ProcessView {
    std::string
        start_ticks;     ///< since boot: distinguishes a process from a later one with the same id
    bool ended = false;  ///< a zombie: only its parent has not asked yet how it ended
};

/// @errors kNotFound or kIo if there is no such process.
[[nodiscard]] Result<ProcessView> view_process(pid_t pid);

/// Whether no such process runs, also where a zombie of another parent still has its id. Reaps a
/// child of ours that has ended, so that its id is free.
[[nodiscard]] bool has_ended(pid_t pid);

}  // namespace gym
