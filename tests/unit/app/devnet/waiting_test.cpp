#include "waiting.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace gym::devnet {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Waiting, ProgressThatNeverEndsIsGivenUp) {
    int polls = 0;
    const auto began = Clock::now();
    const Status status =
        wait_through("the end", {.timeout_s = 600, .in_all_s = 1}, [&]() -> Result<Stage> {
            if (Clock::now() > began + std::chrono::seconds(20)) return Stage{true, {}};
            return Stage{false, std::to_string(++polls)};
        });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(status.error().message.starts_with(
        "waited 1 s in all, though it went on for the end; the machine's load is "))
        << status.error().message;
    EXPECT_GT(polls, 1);
}

TEST(Waiting, WhatStandsStillIsGivenUpAndSaysHowBusyTheMachineIs) {
    const Status status = wait_through("the end", {.timeout_s = 1}, []() -> Result<Stage> {
        return Stage{false, "here"};
    });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(
        status.error().message.starts_with("waited 1 s, without progress for the end; the "))
        << status.error().message;
    EXPECT_NE(status.error().message.find(" processor"), std::string::npos);
}

TEST(Waiting, OneTimeoutOfProgressMakesFourInAll) {
    EXPECT_EQ(WaitLimits{.timeout_s = 900}.in_all_s, 3'600U);
}

TEST(Waiting, AnAnswerThatIsUnavailableIsAskedForAgainAndOthersAreNot) {
    int polls = 0;
    EXPECT_TRUE(wait_until("it", {.timeout_s = 20}, [&]() -> Result<bool> {
                    if (++polls == 1) return fail(ErrorCode::kUnavailable, "not yet");
                    return true;
                }).ok());
    EXPECT_EQ(polls, 2);
    const Status broken = wait_until("it", {.timeout_s = 20}, []() -> Result<bool> {
        return fail(ErrorCode::kMalformed, "nonsense");
    });
    ASSERT_FALSE(broken.ok());
    EXPECT_EQ(broken.error().message, "nonsense");
    const Status stopped = wait_until("it", {.timeout_s = 20, .interrupted = [] { return true; }},
                                      []() -> Result<bool> { return false; });
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace gym::devnet
