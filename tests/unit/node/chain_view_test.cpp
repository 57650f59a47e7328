#include "gym/node/chain_view.hpp"

#include <gtest/gtest.h>

#include "fake_chain_view.hpp"
#include "manual_timer.hpp"

namespace gym::node {
namespace {

using std::chrono::milliseconds;

class WaitForRoundTest : public ::testing::Test {
  protected:
    testing::FakeChainView chain_;
    testing::ManualTimer timer_;
    protocol::RoundRecord record_;
    std::stop_source stop_;

    WaitForRoundTest() {
        record_.round = 3;
        record_.job_id.data.fill(1);
        protocol::RoundRecord before;
        before.round = 2;
        before.job_id = record_.job_id;
        chain_.post(before, 1);
        record_.previous_record = protocol::hash(before);
    }
    Status wait() {
        return wait_for_round(chain_, timer_, protocol::head_of(record_), milliseconds(20'000),
                              stop_.get_token());
    }
    milliseconds waited() const {
        Timer::Clock::duration sum{};
        for (const auto pause : timer_.pauses)
            sum += pause;
        return std::chrono::duration_cast<milliseconds>(sum);
    }
};

TEST_F(WaitForRoundTest, ARecordThatIsThereIsNotWaitedFor) {
    chain_.post(record_, 0);
    EXPECT_TRUE(wait().ok());
    EXPECT_TRUE(timer_.pauses.empty());
}

/// However right it is otherwise: what it begins with is compared with the record before.
TEST_F(WaitForRoundTest, ARecordBehindAnotherOneIsRefused) {
    record_.previous_record.data[0] ^= 1;
    chain_.post(record_, 0);
    const Status refused = wait();
    EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
    EXPECT_NE(refused.error().message.find("for the round before"), std::string::npos);
    record_.round = 4;  // of which the one before is not posted
    chain_.post(record_, 0);
    EXPECT_EQ(wait().error().code, ErrorCode::kMismatch);
    record_.round = 1;
    chain_.post(record_, 0);
    EXPECT_TRUE(wait().ok()) << "nothing is before the first";
}

/// A log that takes any hash, or a chain that lost its aggregate: nobody stands for the base state.
TEST_F(WaitForRoundTest, ABaseThatNoAggregateOnChainMadeIsRefused) {
    protocol::RoundHead head = protocol::head_of(record_);
    head.included = 2;
    chain_.post(head, 0);
    const auto wait_for_head = [&] {
        return wait_for_round(chain_, timer_, head, milliseconds(20'000), stop_.get_token());
    };
    EXPECT_TRUE(wait_for_head().ok());
    chain_.aggregates.clear();
    const Status refused = wait_for_head();
    EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
    EXPECT_NE(refused.error().message.find("2 deltas"), std::string::npos);
    head.included = 0;
    chain_.post(head, 0);
    EXPECT_TRUE(wait_for_head().ok()) << "without deltas there is none";
    chain_.aggregates[{head.job_id, head.round - 1}] = head.base_state_root;
    EXPECT_EQ(wait_for_head().error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(timer_.pauses.empty());
}

TEST_F(WaitForRoundTest, ARecordThatIsOnItsWayIsWaitedFor) {
    timer_.on_wait = [this] {
        if (timer_.pauses.size() == 3) chain_.post(record_, 0);
    };
    EXPECT_TRUE(wait().ok());
    EXPECT_EQ(timer_.pauses.size(), 3u);
}

TEST_F(WaitForRoundTest, AChainThatIsAwayForAWhileIsAskedAgain) {
    chain_.post(record_, 0);
    chain_.answers = false;
    timer_.on_wait = [this] { chain_.answers = true; };
    EXPECT_TRUE(wait().ok());
}

TEST_F(WaitForRoundTest, TheWaitEndsAfterItsTime) {
    EXPECT_EQ(wait().error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(waited(), milliseconds(20'000));
}

TEST_F(WaitForRoundTest, AStopEndsTheWait) {
    timer_.on_wait = [this] { stop_.request_stop(); };
    EXPECT_EQ(wait().error().code, ErrorCode::kCancelled);
    EXPECT_EQ(timer_.pauses.size(), 1u);
}

TEST_F(WaitForRoundTest, AnotherRecordIsRefusedAtOnce) {
    protocol::RoundRecord other = record_;
    other.base_state_root.data[0] ^= 1;
    chain_.post(other, 0);
    EXPECT_EQ(wait().error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(timer_.pauses.empty());
}

}  // namespace
}  // namespace gym::node
