#pragma once

#include <algorithm>
#include <chrono>

namespace gym {

/// Decides when long work saves its progress: every `every`, but never so often that saving takes
/// more than about a twentieth of the time. Reads no clock: callers pass the time.
class SavePace {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// @param every zero: always due.
    SavePace(std::chrono::milliseconds every, Time now) : every_(every), next_(now + every) {}

    [[nodiscard]] bool due(Time now) const { return now >= next_; }
    /// Saving took from `begin` to `end`, whether it succeeded or not.
    void saved(Time begin, Time end) {
        constexpr int kTimeShare = 20;  // one part saving, this many parts computing
        if (every_.count() == 0) return;
        next_ = end + std::max<Time::duration>(every_, (end - begin) * kTimeShare);
    }

  private:
    std::chrono::milliseconds every_;
    Time next_;
};

}  // namespace gym
