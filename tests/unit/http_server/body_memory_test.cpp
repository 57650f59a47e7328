#include "body_memory.hpp"

#include <gtest/gtest.h>

namespace gym::http_server {
namespace {

using Room = BodyMemory::Room;

TEST(BodyMemoryTest, AnOwnerHasItsShareAndAllTogetherTheirs) {
    BodyMemory memory(100, 40);
    EXPECT_EQ(memory.reserve("ann", 30), Room::kTaken);
    EXPECT_EQ(memory.reserve("ann", 11), Room::kOwnerFull);
    EXPECT_EQ(memory.reserve("ann", 10), Room::kTaken);
    EXPECT_EQ(memory.reserve("bob", 40), Room::kTaken);
    EXPECT_EQ(memory.reserve("eve", 21), Room::kFull);
    EXPECT_EQ(memory.reserve("eve", 20), Room::kTaken);
    EXPECT_EQ(memory.bytes(), 100U);
    memory.release("ann", 30);
    EXPECT_EQ(memory.reserve("ann", 31), Room::kOwnerFull) << "ten are still there";
    EXPECT_EQ(memory.reserve("ann", 30), Room::kTaken);
}

TEST(BodyMemoryTest, OneAloneIsAlwaysTaken) {
    BodyMemory memory(100, 40);
    EXPECT_EQ(memory.reserve("ann", 90), Room::kTaken) << "her only one";
    EXPECT_EQ(memory.reserve("ann", 1), Room::kOwnerFull);
    EXPECT_EQ(memory.reserve("bob", 20), Room::kFull);
    memory.release("ann", 90);
    EXPECT_EQ(memory.reserve("bob", 500), Room::kTaken) << "the only one of all";
    EXPECT_EQ(memory.reserve("ann", 1), Room::kFull);
}

TEST(BodyMemoryTest, WhoHasNoKeyIsBoundedByAllAlone) {
    BodyMemory memory(100, 40);
    EXPECT_EQ(memory.reserve("", 50), Room::kTaken);
    EXPECT_EQ(memory.reserve("", 50), Room::kTaken);
    EXPECT_EQ(memory.reserve("", 1), Room::kFull);
    memory.release("", 50);
    memory.release("", 50);
    EXPECT_EQ(memory.bytes(), 0U);
}

}  // namespace
}  // namespace gym::http_server
