#pragma once

#include "gym/node/backoff.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {

/// Of all waits of a worker.
[[nodiscard]] inline node::Timer& timer_of(const WorkerOptions& options) {
    static node::SteadyTimer system;
    return options.timer == nullptr ? system : *options.timer;
}

}  // namespace gym::worker
