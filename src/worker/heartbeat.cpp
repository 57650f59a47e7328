#include "gym/worker/heartbeat.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

namespace gym::worker {

Heartbeat::Heartbeat(rpc::Coordinator& coordinator, std::function<rpc::Activity()> activity,
                     std::uint32_t every_ms)
    : coordinator_(coordinator),
      activity_(std::move(activity)),
      thread_([this, every_ms](const std::stop_token& stop) { run(stop, every_ms); }) {}

std::string Heartbeat::excluded_because() const {
    const std::scoped_lock lock(mutex_);
    return excluded_because_;
}

void Heartbeat::run(const std::stop_token& stop, std::uint32_t every_ms) {
    const std::chrono::milliseconds every(std::clamp(every_ms, 100U, 600'000U));
    std::mutex mutex;
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
        beat();
        std::unique_lock lock(mutex);
        never.wait_for(lock, stop, every, [] { return false; });
    }
}

void Heartbeat::beat() {
    const auto answer = coordinator_.heartbeat(activity_());
    if (!answer.ok()) {
        // One line an outage, not one a beat.
        if (answer.error().code != ErrorCode::kCancelled && !std::exchange(failing_, true))
            spdlog::warn("heartbeat: {}", answer.error().message);
        return;
    }
    if (std::exchange(failing_, false)) spdlog::info("heartbeat: the coordinator answers again");
    const std::scoped_lock lock(mutex_);
    if (excluded_because_.empty() && !answer->excluded_because.empty())
        spdlog::error("this node is excluded: {}", answer->excluded_because);
    excluded_because_ = answer->excluded_because;
}

}  // namespace gym::worker
