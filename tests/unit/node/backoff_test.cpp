#include "gym/node/backoff.hpp"

#include <gtest/gtest.h>

#include "manual_timer.hpp"

namespace gym::node {
namespace {

using std::chrono::seconds;

TEST(Backoff, PausesDoubleUpToHalfAMinuteAndBeginAgainAfterASuccess) {
    testing::ManualTimer timer;
    Backoff backoff(timer);
    for (int i = 0; i < 7; ++i)
        backoff.failed(fail(ErrorCode::kUnavailable, "gone"), {});
    backoff.succeeded();
    backoff.failed(fail(ErrorCode::kUnavailable, "gone"), {});
    EXPECT_EQ(timer.pauses, (std::vector<Timer::Clock::duration>{
                                seconds(1), seconds(2), seconds(4), seconds(8), seconds(16),
                                seconds(30), seconds(30), seconds(1)}));
}

TEST(Backoff, AStopEndsThePause) {
    std::stop_source stop;
    stop.request_stop();
    SteadyTimer timer;
    Backoff backoff(timer);
    const auto start = timer.now();
    backoff.failed(fail(ErrorCode::kUnavailable, "gone"), stop.get_token());
    EXPECT_LT(timer.now() - start, seconds(1));
}

TEST(Backoff, WhatMayPassIsTransient) {
    EXPECT_TRUE(is_transient(ErrorCode::kUnavailable));
    EXPECT_TRUE(is_transient(ErrorCode::kUnauthenticated)) << "a clock can be set right";
    EXPECT_FALSE(is_transient(ErrorCode::kConflict));
    EXPECT_FALSE(is_transient(ErrorCode::kMismatch));
}

}  // namespace
}  // namespace gym::node
