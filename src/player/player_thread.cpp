#include "gym/player/player_thread.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "gym/common/stop.hpp"

namespace gym::player {
namespace {

constexpr std::chrono::milliseconds kTickEvery{500};

}  // namespace

PlayerThread::PlayerThread(std::vector<std::unique_ptr<Player>> players, std::stop_source stop)
    : players_(std::move(players)), stop_(std::move(stop)), thread_([this] { run(); }) {}

PlayerThread::~PlayerThread() {
    stop_.request_stop();
    thread_.join();
}

void PlayerThread::run() {
    while (!stop_.stop_requested()) {
        say(tick());
        wait_for_stop(stop_.get_token(), kTickEvery);
    }
}

Status PlayerThread::tick() {
    for (const auto& player : players_)
        GYM_CHECK(player->tick());
    return {};
}

void PlayerThread::say(const Status& done) {
    std::string message = done.ok() ? "" : done.error().message;
    if (message == failing_ || stop_.stop_requested()) return;
    if (done.ok())
        spdlog::info("disputes: the chain answers again");
    else
        spdlog::warn("disputes: {}", message);
    failing_ = std::move(message);
}

}  // namespace gym::player
