#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace gym {

/// Milliseconds since 1970-01-01 UTC. A parameter of the cores, never read by them (ADR: pure
/// cores).
using UnixMs = std::int64_t;

/// "2026-11-21 10:49:26 UTC", rounded down, for people; "?" for a time that the calendar lacks.
[[nodiscard]] std::string utc_text(UnixMs time_ms);

class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual UnixMs now_ms() const = 0;
};

/// The operating system's wall clock. Thread-safe.
class SystemClock final : public Clock {
  public:
    [[nodiscard]] UnixMs now_ms() const override;
};

/// A clock that tests move by hand. Thread-safe.
class ManualClock final : public Clock {
  public:
    explicit ManualClock(UnixMs start_ms = 0) : now_ms_(start_ms) {}
    [[nodiscard]] UnixMs now_ms() const override { return now_ms_.load(); }
    void advance_ms(std::int64_t by_ms) { now_ms_ += by_ms; }

  private:
    std::atomic<UnixMs> now_ms_;
};

}  // namespace gym
