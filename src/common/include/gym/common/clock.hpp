#pragma once

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

}  // namespace gym
