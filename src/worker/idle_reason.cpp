#include "idle_reason.hpp"

#include <spdlog/spdlog.h>

namespace gym::worker {
namespace {

constexpr std::chrono::seconds kAskEvery{30};

}  // namespace

void IdleReason::explain(const WorkerOptions& options) {
    const auto now = timer_.now();
    if (asked_ && now - *asked_ < kAskEvery) return;
    asked_ = now;
    const auto status = coordinator_.node_status(std::nullopt);
    if (!status.ok() || status->stake_because == because_) return;
    because_ = status->stake_because;
    if (because_.empty())
        spdlog::info("stake: enough for this network now");
    else
        spdlog::warn("idle: {}", because_);
    if (options.on_event) options.on_event({"idle", {}, because_});
}

}  // namespace gym::worker
