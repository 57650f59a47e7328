#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "gym/coordinator/background.hpp"

namespace gym::testing {

/// Runs work at once, inside run(); while it is held, when the test says so. Not thread-safe.
class HeldBackground final : public coordinator::Background {
  public:
    void run(Work work) override {
        if (held)
            waiting_.push_back(std::move(work));
        else
            work({});
    }
    void run_soon(Work work) override {
        if (held)
            waiting_.push_front(std::move(work));
        else
            work({});
    }
    /// Everything that waits, in its order.
    void release() {
        for (; !waiting_.empty(); waiting_.pop_front())
            waiting_.front()({});
    }
    /// What a process that is killed leaves undone.
    void forget() { waiting_.clear(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

    bool held = false;

  private:
    std::deque<Work> waiting_;
};

}  // namespace gym::testing
