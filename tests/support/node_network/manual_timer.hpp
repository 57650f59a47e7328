#pragma once

#include <functional>
#include <vector>

#include "gym/node/timer.hpp"

namespace gym::testing {

/// A timer whose time passes at once: a wait moves it on and calls `on_wait`, which may make happen
/// what is waited for, or request the stop. Not thread-safe.
class ManualTimer final : public node::Timer {
  public:
    [[nodiscard]] Clock::time_point now() const override { return now_; }
    void wait(Clock::duration pause, const std::stop_token& stop) override {
        if (stop.stop_requested()) return;
        now_ += pause;
        pauses.push_back(pause);
        if (on_wait) on_wait();
    }

    std::vector<Clock::duration> pauses;
    std::function<void()> on_wait;

  private:
    Clock::time_point now_{};
};

}  // namespace gym::testing
