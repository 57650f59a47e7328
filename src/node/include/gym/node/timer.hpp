#pragma once

#include <chrono>
#include <stop_token>

namespace gym::node {

/// The steady time that a node's loops wait by. Tests give one whose time passes at once.
class Timer {
  public:
    using Clock = std::chrono::steady_clock;
    virtual ~Timer() = default;
    [[nodiscard]] virtual Clock::time_point now() const = 0;
    /// Waits for `pause`, or until `stop` is requested.
    virtual void wait(Clock::duration pause, const std::stop_token& stop) = 0;
};

/// The operating system's. Thread-safe.
class SteadyTimer final : public Timer {
  public:
    [[nodiscard]] Clock::time_point now() const override { return Clock::now(); }
    void wait(Clock::duration pause, const std::stop_token& stop) override;
};

}  // namespace gym::node
