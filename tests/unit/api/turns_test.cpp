// One owner after the other, however often somebody asks.
#include <gtest/gtest.h>

#include "gym/api/turns.hpp"

namespace gym::api {
namespace {

Address owner(std::uint8_t number) {
    Address out;
    out.data.fill(number);
    return out;
}

TEST(Turns, OneAtATime) {
    Turns turns;
    auto first = turns.take(owner(1), 0);
    ASSERT_TRUE(first);
    EXPECT_FALSE(turns.take(owner(2), 1));
    first.reset();
    EXPECT_TRUE(turns.take(owner(2), 2));
}

TEST(Turns, WhoAsksMoreOftenDoesNotComeFirst) {
    Turns turns;
    auto first = turns.take(owner(1), 0);
    EXPECT_FALSE(turns.take(owner(2), 1));
    for (int i = 0; i < 10; ++i)
        EXPECT_FALSE(turns.take(owner(1), 2)) << "its own first turn lasts";
    EXPECT_FALSE(turns.take(owner(3), 3));
    first.reset();
    EXPECT_FALSE(turns.take(owner(1), 4)) << "2 came before its second request";
    EXPECT_FALSE(turns.take(owner(3), 4));
    auto second = turns.take(owner(2), 5);
    ASSERT_TRUE(second);
    second.reset();
    EXPECT_FALSE(turns.take(owner(2), 6));
    EXPECT_FALSE(turns.take(owner(3), 6)) << "1 asked before";
    EXPECT_TRUE(turns.take(owner(1), 6));
    EXPECT_TRUE(turns.take(owner(3), 7));
}

TEST(Turns, WhoStopsAskingLosesItsPlace) {
    Turns turns;
    auto first = turns.take(owner(1), 0);
    EXPECT_FALSE(turns.take(owner(2), 0));
    first.reset();
    EXPECT_FALSE(turns.take(owner(3), Turns::kKeptMs));
    EXPECT_TRUE(turns.take(owner(3), Turns::kKeptMs + 1));
}

TEST(Turns, AskingKeepsThePlace) {
    Turns turns;
    auto first = turns.take(owner(1), 0);
    EXPECT_FALSE(turns.take(owner(2), 0));
    EXPECT_FALSE(turns.take(owner(2), Turns::kKeptMs));
    EXPECT_FALSE(turns.take(owner(3), Turns::kKeptMs));
    first.reset();
    EXPECT_FALSE(turns.take(owner(3), 2 * Turns::kKeptMs));
    EXPECT_TRUE(turns.take(owner(2), 2 * Turns::kKeptMs));
}

TEST(Turns, AClockThatWasSetBackKeepsNobody) {
    Turns turns;
    auto first = turns.take(owner(1), 1'000'000);
    EXPECT_FALSE(turns.take(owner(2), 1'000'000));
    first.reset();
    EXPECT_TRUE(turns.take(owner(3), 5));
}

TEST(Turns, TheLineIsBounded) {
    Turns turns;
    auto first = turns.take(owner(1), 0);
    for (std::size_t i = 0; i < 2 * Turns::kLineMax; ++i) {
        Address one;
        one.data[0] = static_cast<std::uint8_t>(i);
        one.data[1] = static_cast<std::uint8_t>(i >> 8);
        one.data[2] = 1;
        EXPECT_FALSE(turns.take(one, 0));
    }
    first.reset();
    EXPECT_FALSE(turns.take(owner(1), 1)) << "those in the line come first";
    EXPECT_TRUE(turns.take(owner(1), Turns::kKeptMs + 1));
}

}  // namespace
}  // namespace gym::api
