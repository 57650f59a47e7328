#include "gym/coordinator/task_watch.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "gym/common/stop.hpp"

namespace gym::coordinator {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Of sql/migrations/0060_many_nodes.sql.
constexpr const char* kTasksChannel = "gym_tasks";
constexpr const char* kNodeChannel = "gym_node";
constexpr milliseconds kStopLatency{200};
constexpr milliseconds kReconnectAfter{500};

}  // namespace

TaskWatch::TaskWatch(Coordinator& core, db::ConnectionConfig database, Wake wake,
                     std::int64_t ask_every_ms)
    : core_(core),
      database_(std::move(database)),
      wake_(std::move(wake)),
      ask_every_ms_(ask_every_ms),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void TaskWatch::run(const std::stop_token& stop) {
    while (!stop.stop_requested())
        tell(listen(stop));
}

/// Without it nodes learn what there is for them when the watch asks, not at once.
void TaskWatch::open_listener(const std::stop_token& stop) {
    auto opened = db::Listener::open(database_, {kTasksChannel, kNodeChannel});
    if (opened.ok()) {
        listener_ = std::move(*opened);
        if (is_deaf_) spdlog::info("notifications: listening again");
        is_deaf_ = false;
        return;
    }
    if (!is_deaf_)
        spdlog::warn("notifications: {}; until they come again, tasks are looked for every {} ms",
                     opened.error().message, kReconnectAfter.count());
    is_deaf_ = true;
    wait_for_stop(stop, kReconnectAfter);
}

/// Waits for the next notification, and no longer than until it is time to ask without one.
TaskWatch::News TaskWatch::listen(const std::stop_token& stop) {
    News news;
    const auto ask_at = SteadyClock::now() + milliseconds(ask_every_ms_);
    if (!listener_) {
        open_listener(stop);
        news.tasks = true;  // what was announced before is lost
        return news;
    }
    while (!stop.stop_requested() && SteadyClock::now() < ask_at) {
        const auto arrived = listener_->wait(kStopLatency);
        if (!arrived.ok()) {
            spdlog::warn("notifications: {}", arrived.error().message);
            listener_.reset();
            return news;
        }
        for (const db::Notification& one : *arrived) {
            const auto node = Address::parse("0x" + one.payload);
            if (one.channel == kNodeChannel && node.ok()) news.nodes.push_back(*node);
            if (one.channel == kTasksChannel) news.tasks = true;
        }
        if (news.tasks || !news.nodes.empty()) return news;
    }
    news.tasks = true;
    return news;
}

void TaskWatch::tell(const News& news) {
    if (!news.nodes.empty()) wake_(news.nodes);
    if (!news.tasks) return;
    const auto nodes = core_.nodes_with_tasks();
    if (nodes.ok())
        wake_(*nodes);
    else
        spdlog::warn("nodes with tasks: {}", nodes.error().message);
}

}  // namespace gym::coordinator
