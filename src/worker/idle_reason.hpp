#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "gym/node/timer.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {

/// Says once that the coordinator gives this node nothing for its stake, and once that it does. Not
/// thread-safe.
class IdleReason {
  public:
    IdleReason(rpc::Coordinator& coordinator, node::Timer& timer) noexcept
        : coordinator_(coordinator), timer_(timer) {}

    /// Asks the coordinator, not too often. To be called when there was no unit.
    void explain(const WorkerOptions& options);

  private:
    rpc::Coordinator& coordinator_;
    node::Timer& timer_;
    std::optional<std::chrono::steady_clock::time_point> asked_;
    std::string because_;  ///< as it was said last
};

}  // namespace gym::worker
