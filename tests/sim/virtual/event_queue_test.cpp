#include "event_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gym::sim {
namespace {

TEST(EventQueue, RunsEventsInTheOrderOfTheirMoments) {
    EventQueue queue(1'000);
    std::string order;
    queue.after(20, [&] { order += 'c'; });
    queue.after(10, [&] { order += 'a'; });
    queue.after(10, [&] { order += 'b'; });
    queue.after(31, [&] { order += 'd'; });
    queue.run_until(1'030);
    EXPECT_EQ(order, "abc");
    EXPECT_EQ(queue.now_ms(), 1'030);
    queue.run_until(1'031);
    EXPECT_EQ(order, "abcd");
    EXPECT_EQ(queue.events_run(), 4U);
}

/// As the coordinator's outer step, which takes minutes while nodes call.
TEST(EventQueue, AnActionMayTakeTimeInWhichOthersAct) {
    EventQueue queue(0);
    std::string order;
    queue.at(10, [&] {
        order += '(';
        queue.run_until(50);
        order += ')';
    });
    queue.at(20, [&] { order += 'x'; });
    queue.at(50, [&] { order += 'y'; });
    queue.at(60, [&] { order += 'z'; });
    queue.run_until(100);
    EXPECT_EQ(order, "(xy)z");
    EXPECT_EQ(queue.now_ms(), 100);
}

TEST(SharedLine, ATransferTakesAsLongAsTheSlowerOfTwoLines) {
    SharedLine line(1'000);  // 125 kB/ms
    EXPECT_EQ(line.pass(0, 125'000, 100), 10);
    EXPECT_EQ(line.pass(0, 125'000, 1'000), 2) << "behind the first";
    EXPECT_EQ(line.pass(100, 1'250'000, 10'000), 110);
}

}  // namespace
}  // namespace gym::sim
