#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "gym/common/clock.hpp"
#include "gym/node/timer.hpp"
#include "gym/records/task.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::worker {

/// By so much another machine's clock may be behind.
inline constexpr std::int64_t kClockSlackMs = 10'000;

/// Whether the unit under way can still be committed to. A late commitment is taken until the next
/// round is sealed, and a round may end before the deadline that the task names: only the
/// coordinator knows, and is asked when there is a reason to. Not thread-safe.
class UnitWatch {
  public:
    /// The references must outlive the watch.
    UnitWatch(rpc::Coordinator& coordinator, const Clock& clock, node::Timer& timer,
              const records::TrainTask& task);

    /// The coordinator refused something about the unit: is_over() asks it.
    void doubt() { doubts_ = true; }
    /// To be called between steps: no commitment is taken any more, and so nothing is paid for
    /// steps to come. Stays true. Without an answer of the coordinator the task's own times count.
    [[nodiscard]] bool is_over();
    /// By this machine's clock, until no commitment is taken; absent: the unit has no deadline.
    [[nodiscard]] std::optional<std::chrono::milliseconds> left() const;

  private:
    rpc::Coordinator& coordinator_;
    const Clock& clock_;
    node::Timer& timer_;
    const Digest unit_;
    const UnixMs deadline_ms_;  ///< 0: none
    const UnixMs until_ms_;     ///< that of late commitments
    bool is_over_ = false;
    bool doubts_ = false;
    std::chrono::steady_clock::time_point next_;  ///< question once the deadline has passed
};

}  // namespace gym::worker
