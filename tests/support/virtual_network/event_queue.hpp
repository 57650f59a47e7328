#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "gym/common/assert.hpp"
#include "gym/common/clock.hpp"

namespace gym::sim {

/// Virtual time: a clock that jumps from one event to the next. Events of one moment run in the
/// order in which they were added. Single-threaded.
class EventQueue final : public Clock {
  public:
    using Action = std::function<void()>;

    explicit EventQueue(UnixMs start_ms) : now_ms_(start_ms) {}
    [[nodiscard]] UnixMs now_ms() const override { return now_ms_; }

    /// @pre when_ms is not in the past.
    void at(UnixMs when_ms, Action action) {
        GYM_ASSERT(when_ms >= now_ms_, "an event in the past");
        events_.push({when_ms, ++added_, std::move(action)});
    }
    void after(std::int64_t wait_ms, Action action) { at(now_ms_ + wait_ms, std::move(action)); }

    /// Runs what is due up to `end_ms`, and leaves the clock there. An action may call it: that is
    /// how something that takes long lets everybody else act meanwhile.
    void run_until(UnixMs end_ms) {
        while (!events_.empty() && events_.top().when_ms <= end_ms) {
            const Event next = events_.top();
            events_.pop();
            // An action that called run_until() may have passed other events' moments.
            now_ms_ = std::max(now_ms_, next.when_ms);
            ++run_;
            next.action();
        }
        now_ms_ = std::max(now_ms_, end_ms);
    }

    [[nodiscard]] std::uint64_t events_run() const { return run_; }

  private:
    struct Event {
        UnixMs when_ms;
        std::uint64_t number;
        Action action;
        bool operator<(const Event& other) const {  // the queue's top is its largest
            return std::pair(other.when_ms, other.number) < std::pair(when_ms, number);
        }
    };
    UnixMs now_ms_;
    std::uint64_t added_ = 0, run_ = 0;
    std::priority_queue<Event> events_;
};

/// A line that many transfers share: no more passes it than its rate allows, one after the other.
class SharedLine {
  public:
    explicit SharedLine(double mbps) : mbps_(mbps) {}
    /// When bytes are through that begin at `now_ms` and come in at `own_mbps`.
    UnixMs pass(UnixMs now_ms, std::uint64_t bytes, double own_mbps) {
        free_at_ms_ = std::max(free_at_ms_, static_cast<double>(now_ms)) + millis(bytes, mbps_);
        return static_cast<UnixMs>(
            std::max(free_at_ms_, static_cast<double>(now_ms) + millis(bytes, own_mbps)));
    }
    [[nodiscard]] static double millis(std::uint64_t bytes, double mbps) {
        return static_cast<double>(bytes) * 8 / (mbps * 1'000);
    }

  private:
    const double mbps_;
    double free_at_ms_ = 0;
};

}  // namespace gym::sim
