#include "gym/node/heartbeat.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace gym::node {
namespace {

/// One call brings a challenge and the next one its answer; several wait only after an outage.
constexpr int kCallsOfABeatMax = 16;

}  // namespace

Heartbeat::Heartbeat(rpc::Coordinator& coordinator, std::function<records::Activity()> activity,
                     const crypto::PrivateKey& key, crypto::Eip712Domain domain)
    : coordinator_(coordinator),
      activity_(std::move(activity)),
      key_(key),
      domain_(std::move(domain)) {}

std::string Heartbeat::excluded_because() const {
    const std::scoped_lock lock(mutex_);
    return excluded_because_;
}

void Heartbeat::run(Timer& timer, std::uint32_t every_ms, const std::stop_token& stop) {
    const std::chrono::milliseconds every(std::clamp(every_ms, 100U, 600'000U));
    while (!stop.stop_requested()) {
        beat();
        timer.wait(every, stop);
    }
}

void Heartbeat::beat() {
    std::optional<protocol::UptimeAnswer> answer;
    for (int calls = 0; calls < kCallsOfABeatMax; ++calls) {
        const auto reply = call(answer);
        if (!reply.ok() || !reply->challenge) return;
        answer = protocol::answer_uptime(domain_, key_, *reply->challenge);
    }
}

Result<records::HeartbeatAnswer> Heartbeat::call(
    const std::optional<protocol::UptimeAnswer>& answer) {
    auto reply = coordinator_.heartbeat({activity_(), answer});
    if (!reply.ok()) {
        // One line an outage, not one a beat.
        if (reply.error().code != ErrorCode::kCancelled && !std::exchange(failing_, true))
            spdlog::warn("heartbeat: {}", reply.error().message);
        return reply;
    }
    if (std::exchange(failing_, false)) spdlog::info("heartbeat: the coordinator answers again");
    if (!reply->answer_refused.empty())
        spdlog::warn("heartbeat: {}; it counts against this node's uptime", reply->answer_refused);
    const std::scoped_lock lock(mutex_);
    if (excluded_because_.empty() && !reply->excluded_because.empty())
        spdlog::error("this node is excluded: {}", reply->excluded_because);
    excluded_because_ = reply->excluded_because;
    return reply;
}

}  // namespace gym::node
