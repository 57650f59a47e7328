#include "gym/player/player_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace gym::player {
namespace {

/// Counts its ticks, which may fail, or take until the stop.
class Counting final : public Player {
  public:
    Counting(std::atomic<int>& ticks, Status answer) : ticks_(ticks), answer_(std::move(answer)) {}
    Counting(std::atomic<int>& ticks, std::stop_token until) : ticks_(ticks), until_(until) {}
    Status tick() override {
        ++ticks_;
        ticks_.notify_all();
        while (until_.stop_possible() && !until_.stop_requested())
            std::this_thread::yield();
        return answer_;
    }

  private:
    std::atomic<int>& ticks_;
    Status answer_;
    std::stop_token until_;
};

void wait_for(const std::atomic<int>& ticks, int count) {
    for (int seen = ticks; seen < count; seen = ticks)
        ticks.wait(seen);
}

std::vector<std::unique_ptr<Player>> players(std::unique_ptr<Player> first,
                                             std::unique_ptr<Player> second) {
    std::vector<std::unique_ptr<Player>> out;
    out.push_back(std::move(first));
    out.push_back(std::move(second));
    return out;
}

TEST(PlayerThreadTest, AllPlayAgainAndAgain) {
    std::atomic<int> first = 0, second = 0;
    const PlayerThread thread(players(std::make_unique<Counting>(first, Status()),
                                      std::make_unique<Counting>(second, Status())),
                              {});
    wait_for(first, 2);
    wait_for(second, 2);
}

TEST(PlayerThreadTest, WhatFailsIsTriedAgain) {
    const Error error = fail(ErrorCode::kUnavailable, "the chain does not answer");
    std::atomic<int> first = 0, second = 0;
    const PlayerThread thread(players(std::make_unique<Counting>(first, Status(error)),
                                      std::make_unique<Counting>(second, Status())),
                              {});
    wait_for(first, 2);
    EXPECT_EQ(second, 0) << "the chain is away for it, too";
}

TEST(PlayerThreadTest, TheEndGivesAMoveUp) {
    const std::stop_source stop;
    std::atomic<int> ticks = 0, other = 0;
    {
        const PlayerThread thread(players(std::make_unique<Counting>(ticks, stop.get_token()),
                                          std::make_unique<Counting>(other, Status())),
                                  stop);
        wait_for(ticks, 1);
    }
    EXPECT_EQ(ticks, 1);
    EXPECT_TRUE(stop.stop_requested());
}

}  // namespace
}  // namespace gym::player
