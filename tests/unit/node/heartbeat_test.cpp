#include "gym/node/heartbeat.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "local_coordinator.hpp"
#include "manual_timer.hpp"
#include "memory_handler.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

class HeartbeatTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    const crypto::Eip712Domain domain_ = testing::MemoryHandler::network_info().domain();
    testing::MemoryHandler handler_;
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    Heartbeat heartbeat_{coordinator_, [] { return records::Activity{.phase = "upload"}; }, key_,
                         domain_};

    static protocol::UptimeChallenge challenge(std::uint8_t number) {
        protocol::UptimeChallenge out{{}, 1'000 + number, 2'000};
        out.nonce.data.fill(number);
        return out;
    }
    std::size_t calls() {
        const std::scoped_lock lock(handler_.mutex);
        return static_cast<std::size_t>(
            std::count(handler_.calls.begin(), handler_.calls.end(), "heartbeat"));
    }
};

TEST_F(HeartbeatTest, ChallengesAreAnsweredAtOnceAndNotWithTheNextBeat) {
    handler_.challenges = {challenge(1), challenge(2), challenge(3)};
    heartbeat_.beat();
    ASSERT_EQ(handler_.answers.size(), 3U);
    for (std::uint8_t i = 0; i < 3; ++i)
        EXPECT_TRUE(protocol::check_uptime(domain_, key_.address(),
                                           challenge(static_cast<std::uint8_t>(i + 1)),
                                           handler_.answers[i])
                        .ok());
    EXPECT_EQ(calls(), 4U);
}

TEST_F(HeartbeatTest, WithoutAChallengeABeatIsOneCall) {
    heartbeat_.beat();
    EXPECT_EQ(calls(), 1U);
    EXPECT_TRUE(handler_.answers.empty());
}

TEST_F(HeartbeatTest, ACoordinatorThatForgetsAnswersIsNotCalledForEver) {
    handler_.challenges = {challenge(1)};
    handler_.forgets_answers = true;
    handler_.answer_refused = "what is refused is no reason to stop";
    heartbeat_.beat();
    EXPECT_GT(handler_.answers.size(), 3U);
    EXPECT_EQ(calls(), 16U);
}

TEST_F(HeartbeatTest, TellsWhatTheNodeDoesAndKeepsWhyItIsExcluded) {
    handler_.told_excluded = "step 3 differs";
    heartbeat_.beat();
    EXPECT_EQ(heartbeat_.excluded_because(), "step 3 differs");
    EXPECT_EQ(handler_.phases.at(0), "upload");
}

TEST_F(HeartbeatTest, BeatsAsOftenAsTheNetworkAsksAndNeverFloodsIt) {
    for (const auto& [asked_ms, pause_ms] : {std::pair{5'000U, 5'000}, {0U, 100}, {~0U, 600'000}}) {
        testing::ManualTimer timer;
        std::stop_source stop;
        timer.on_wait = [&] {
            if (timer.pauses.size() == 2) stop.request_stop();
        };
        const std::size_t before = calls();
        heartbeat_.run(timer, asked_ms, stop.get_token());
        EXPECT_EQ(calls() - before, 2U);
        EXPECT_EQ(timer.pauses[0], std::chrono::milliseconds(pause_ms));
    }
}

TEST_F(HeartbeatTest, AnAnswerThatWasLostIsGivenWithTheNextBeat) {
    handler_.challenges = {challenge(1)};
    handler_.failures["heartbeat"] = fail(ErrorCode::kUnavailable, "gone");
    heartbeat_.beat();
    EXPECT_TRUE(handler_.answers.empty());
    handler_.failures.clear();
    heartbeat_.beat();
    EXPECT_EQ(handler_.answers.size(), 1U);
}

TEST_F(HeartbeatTest, TheThreadBeatsAtOnceAndEndsWithItsObject) {
    {
        const HeartbeatThread thread(
            coordinator_, [] { return records::Activity{}; }, key_, domain_, 600'000);
        while (calls() == 0)
            std::this_thread::yield();
    }
    EXPECT_EQ(calls(), 1U);
}

}  // namespace
}  // namespace gym::node
