#pragma once

#include <atomic>

#include "gym/common/clock.hpp"

namespace gym::testing {

/// A clock that a test moves by hand. Thread-safe.
class ManualClock final : public Clock {
  public:
    explicit ManualClock(UnixMs start_ms = 0) : now_ms_(start_ms) {}
    [[nodiscard]] UnixMs now_ms() const override { return now_ms_.load(); }
    void advance_ms(std::int64_t by_ms) { now_ms_ += by_ms; }

  private:
    std::atomic<UnixMs> now_ms_;
};

}  // namespace gym::testing
