#include "unit_watch.hpp"

#include <algorithm>

#include "gym/protocol/lifecycle.hpp"

namespace gym::worker {
namespace {

/// How often a worker asks whether its late commitment is still taken.
constexpr std::chrono::seconds kAskWhetherLateEvery{10};
/// Where none is: the coordinator's clock may be behind.
constexpr std::chrono::seconds kAskWhetherOverEvery{2};

}  // namespace

UnitWatch::UnitWatch(rpc::Coordinator& coordinator, const Clock& clock, node::Timer& timer,
                     const records::TrainTask& task)
    : coordinator_(coordinator),
      clock_(clock),
      timer_(timer),
      unit_(task.unit_id()),
      deadline_ms_(task.deadline_ms),
      until_ms_(std::max(task.deadline_ms, task.late_until_ms)) {}

bool UnitWatch::is_over() {
    if (is_over_) return true;
    const UnixMs now_ms = clock_.now_ms();
    const bool is_due = deadline_ms_ != 0 && now_ms > deadline_ms_;
    is_over_ = is_due && now_ms > until_ms_ + kClockSlackMs;
    const auto now = timer_.now();
    if (is_over_ || (!doubts_ && (!is_due || now < next_))) return is_over_;
    doubts_ = false;
    next_ = now + (until_ms_ > deadline_ms_ ? kAskWhetherLateEvery : kAskWhetherOverEvery);
    const auto view = coordinator_.unit(unit_);
    is_over_ = view.ok() && protocol::is_terminal(view->status.state);
    return is_over_;
}

std::optional<std::chrono::milliseconds> UnitWatch::left() const {
    if (deadline_ms_ == 0) return std::nullopt;
    return std::chrono::milliseconds(std::max<std::int64_t>(until_ms_ - clock_.now_ms(), 0));
}

}  // namespace gym::worker
