#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "gym/engine/unit.hpp"

namespace gym::app {

/// One line on standard error: a bar that is redrawn on a terminal, a line every few seconds
/// elsewhere.
class TrainingProgress {
  public:
    explicit TrainingProgress(std::string label);
    void show(const engine::UnitProgress& progress);
    /// Takes the bar away from a terminal, for a line of other output; the next show() draws it
    /// again.
    void clear();
    /// Ends the line. The destructor does so too.
    void finish();
    ~TrainingProgress() { finish(); }
    TrainingProgress(const TrainingProgress&) = delete;
    TrainingProgress& operator=(const TrainingProgress&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    std::string label_;
    bool terminal_;
    bool open_line_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point last_shown_{};
    /// Steps that were done when this began; those of an earlier run took none of this one's time.
    std::optional<std::uint64_t> first_step_;
};

/// Turns SIGINT and SIGTERM into a stop request for as long as it lives: the step in progress ends,
/// files stay whole, the exit code is 130. One at a time.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    [[nodiscard]] bool interrupted() const;

  private:
    void (*old_interrupt_)(int);
    void (*old_terminate_)(int);
};

}  // namespace gym::app
