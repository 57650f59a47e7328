#include "parked_polls.hpp"

#include <gtest/gtest.h>

namespace gym::rpc {
namespace {

using std::chrono::seconds;

Address address(std::uint8_t n) {
    Address out;
    out.data[0] = n;
    return out;
}

class ParkedPollsTest : public ::testing::Test {
  protected:
    PollPtr poll(std::uint8_t caller, int seconds_left = 10) {
        return std::make_shared<Poll>(
            Poll{nullptr, nullptr, nullptr, address(caller), now + seconds(seconds_left)});
    }
    PollPtr park(std::uint8_t caller, int seconds_left = 10) {
        const PollPtr out = poll(caller, seconds_left);
        EXPECT_TRUE(polls.park(out, polls.wakes()));
        return out;
    }
    std::vector<PollPtr> wake(std::vector<Address> callers) { return polls.wake(callers); }

    ParkedPolls polls{5};
    const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
};

TEST_F(ParkedPollsTest, OnlyThoseWhoAreNamedAreWoken) {
    const PollPtr one = park(1), two = park(2), again = park(1);
    auto woken = wake({address(1), address(9)});
    std::sort(woken.begin(), woken.end());
    std::vector<PollPtr> expected{one, again};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(woken, expected);
    EXPECT_TRUE(wake({address(1)}).empty()) << "they are taken out";
    EXPECT_EQ(polls.wake_all(), std::vector{two});
}

TEST_F(ParkedPollsTest, AWakeBetweenQuestionAndParkingIsNotLost) {
    const std::uint64_t before = polls.wakes();
    EXPECT_TRUE(wake({address(1)}).empty()) << "it is not parked yet";
    const PollPtr late = poll(1);
    EXPECT_FALSE(polls.park(late, before)) << "its answer may be older than the wake";
    EXPECT_TRUE(polls.park(late, polls.wakes()));
}

TEST_F(ParkedPollsTest, WaitsEndInTheirOrder) {
    const PollPtr last = park(1, 30), first = park(2, 10), second = park(1, 20);
    EXPECT_TRUE(polls.take_over(now + seconds(9)).empty());
    EXPECT_EQ(polls.take_over(now + seconds(20)), (std::vector{first, second}));
    EXPECT_EQ(wake({address(1)}), std::vector{last});
}

TEST_F(ParkedPollsTest, OneCallerCannotTakeAllPlacesNorAllCallersMore) {
    for (std::uint32_t i = 0; i < kPollsPerCallerMax; ++i)
        EXPECT_TRUE(polls.enter(address(1)).ok());
    EXPECT_EQ(polls.enter(address(1)).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(polls.enter(address(2)).ok()) << "the fifth place";
    const Status full = polls.enter(address(3));
    EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(full.error().message.find("5 nodes wait"), std::string::npos);
    polls.leave(address(1));
    EXPECT_TRUE(polls.enter(address(3)).ok());
}

}  // namespace
}  // namespace gym::rpc
