#pragma once

#include <functional>
#include <memory>
#include <stop_token>

namespace gym::coordinator {

/// Runs work that takes as long as a unit, beside the ticks. Thread-safe.
class Background {
  public:
    /// @param stop requested when nobody needs the result any more.
    using Work = std::function<void(const std::stop_token& stop)>;

    virtual ~Background() = default;
    /// Runs `work` some time later, or never: whoever needs it looks whether it is done.
    virtual void run(Work work) = 0;
    /// The same, before all work of run() that has not begun.
    virtual void run_soon(Work work) = 0;
};

/// One thread, which takes work in its order, that of run_soon() first. When it is destroyed, what
/// runs is told to stop and waited for, and what waits is dropped.
[[nodiscard]] std::unique_ptr<Background> make_background();

}  // namespace gym::coordinator
