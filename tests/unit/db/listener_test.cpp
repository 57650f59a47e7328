#include "gym/db/listener.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "postgres.hpp"

namespace gym::db {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ListenerTest : public ::testing::Test {
  protected:
    Status announce(const std::string& channel, const std::string& payload, bool commit = true) {
        return database.owner().transact([&](Transaction& tx) -> Status {
            GYM_CHECK(tx.exec("SELECT pg_notify($1, $2)", {channel, payload}));
            return commit ? Status() : Status(fail(ErrorCode::kCancelled, "rolled back"));
        });
    }
    testing::TestDatabase database;
    std::unique_ptr<Listener> listener =
        Listener::open(database.config_as("gym_coordinator"), {"first", "Second"}).value();
};

TEST_F(ListenerTest, WhatATransactionAnnouncesArrivesWhenItCommits) {
    EXPECT_TRUE(listener->wait(milliseconds(0))->empty());
    ASSERT_FALSE(announce("first", "never", false).ok());
    ASSERT_TRUE(announce("other", "not listened to").ok());
    std::jthread later([&] {
        std::this_thread::sleep_for(milliseconds(50));
        EXPECT_TRUE(announce("first", "1").ok());
    });
    const auto start = std::chrono::steady_clock::now();
    const auto arrived = listener->wait(seconds(10));
    ASSERT_TRUE(arrived.ok()) << arrived.error().message;
    ASSERT_EQ(arrived->size(), 1U);
    EXPECT_EQ(arrived->front().channel, "first");
    EXPECT_EQ(arrived->front().payload, "1");
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5)) << "not at the timeout";
    EXPECT_TRUE(listener->wait(milliseconds(20))->empty()) << "once";
    ASSERT_TRUE(announce("Second", "2").ok());
    EXPECT_EQ(listener->wait(seconds(10))->front().payload, "2");
}

TEST_F(ListenerTest, AServerThatGoesAwayIsAnError) {
    ASSERT_TRUE(testing::postgres().restart(StopMode::kImmediate).ok());
    const auto lost = listener->wait(seconds(5));
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
    database.owner().close_idle();
    listener = Listener::open(database.config_as("gym_coordinator"), {"first"}).value();
    ASSERT_TRUE(announce("first", "again").ok());
    EXPECT_EQ(listener->wait(seconds(10))->front().payload, "again");
}

}  // namespace
}  // namespace gym::db
