#include "gym/node/heartbeat.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

constexpr std::uint32_t kOnceOnly = 600'000;  // the next beat is after the test

class HeartbeatTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    const crypto::Eip712Domain domain_ = testing::MemoryHandler::network_info().domain();
    testing::MemoryHandler handler_;
    testing::LocalCoordinator coordinator_{handler_, key_.address()};

    static protocol::UptimeChallenge challenge(std::uint8_t number) {
        protocol::UptimeChallenge out{{}, 1'000 + number, 2'000};
        out.nonce.data.fill(number);
        return out;
    }
    std::unique_ptr<Heartbeat> start(std::uint32_t every_ms) {
        return std::make_unique<Heartbeat>(
            coordinator_, [] { return records::Activity{}; }, key_, domain_, every_ms);
    }
    std::size_t beats() {
        const std::scoped_lock lock(handler_.mutex);
        return static_cast<std::size_t>(
            std::count(handler_.calls.begin(), handler_.calls.end(), "heartbeat"));
    }
    std::size_t answers() {
        const std::scoped_lock lock(handler_.mutex);
        return handler_.answers.size();
    }
    template <class F>
    static bool eventually(F&& done) {
        for (int i = 0; i < 1'000 && !done(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return done();
    }
};

TEST_F(HeartbeatTest, ChallengesAreAnsweredAtOnceAndNotWithTheNextBeat) {
    handler_.challenges = {challenge(1), challenge(2), challenge(3)};
    const auto heartbeat = start(kOnceOnly);
    ASSERT_TRUE(eventually([&] { return answers() == 3; }));
    for (std::uint8_t i = 0; i < 3; ++i)
        EXPECT_TRUE(protocol::check_uptime(domain_, key_.address(),
                                           challenge(static_cast<std::uint8_t>(i + 1)),
                                           handler_.answers[i])
                        .ok());
    EXPECT_EQ(beats(), 4U);
}

TEST_F(HeartbeatTest, WithoutAChallengeABeatIsOneCall) {
    const auto heartbeat = start(kOnceOnly);
    ASSERT_TRUE(eventually([&] { return beats() > 0; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(beats(), 1U);
    EXPECT_EQ(answers(), 0U);
}

TEST_F(HeartbeatTest, ACoordinatorThatForgetsAnswersIsNotCalledForEver) {
    handler_.challenges = {challenge(1)};
    handler_.forgets_answers = true;
    handler_.answer_refused = "what is refused is no reason to stop";
    const auto heartbeat = start(kOnceOnly);
    ASSERT_TRUE(eventually([&] { return answers() > 3; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_LE(beats(), 16U);
}

TEST_F(HeartbeatTest, TellsWhatTheNodeDoesAndKeepsWhyItIsExcluded) {
    handler_.told_excluded = "step 3 differs";
    const Heartbeat heartbeat(
        coordinator_, [] { return records::Activity{.phase = "upload"}; }, key_, domain_, 100);
    ASSERT_TRUE(eventually([&] { return heartbeat.excluded_because() == "step 3 differs"; }));
    const std::scoped_lock lock(handler_.mutex);
    EXPECT_EQ(handler_.phases.at(0), "upload");
}

TEST_F(HeartbeatTest, AnIntervalOfNothingIsNoFlood) {
    const auto heartbeat = start(0);
    ASSERT_TRUE(eventually([&] { return beats() > 0; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(beats(), 2U) << "a tenth of a second passes between two";
}

TEST_F(HeartbeatTest, AnAnswerThatWasLostIsGivenWithTheNextBeat) {
    handler_.challenges = {challenge(1)};
    handler_.failures["heartbeat"] = fail(ErrorCode::kUnavailable, "gone");
    const auto heartbeat = start(100);
    ASSERT_TRUE(eventually([&] { return beats() > 1; }));
    {
        const std::scoped_lock lock(handler_.mutex);
        handler_.failures.clear();
    }
    EXPECT_TRUE(eventually([&] { return answers() == 1; }));
}

}  // namespace
}  // namespace gym::node
