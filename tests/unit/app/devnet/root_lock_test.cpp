#include "gym/devnet/layout.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <vector>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::devnet {
namespace {

class RootLockTest : public ::testing::Test {
  protected:
    static Result<RootLock> acquire(const std::filesystem::path& root) {
        return RootLock::acquire(root, "gym devnet test", "wait for it");
    }
    testing::TemporaryFolder temporary_;
    const std::filesystem::path root_ = temporary_.path() / "net";
};

TEST_F(RootLockTest, ASecondCommandIsToldWhoIsThereAndWhatToDo) {
    const auto lock = acquire(root_);
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    const auto refused = RootLock::acquire(root_, "gym devnet up", "use another --root");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_EQ(refused.error().message, root_.string() + " is in use by process " +
                                           std::to_string(::getpid()) +
                                           " (gym devnet test): use another --root");
}

TEST_F(RootLockTest, OfManyThatComeAtOnceOneStarts) {
    std::vector<std::future<Result<RootLock>>> commands;
    for (int i = 0; i < 8; ++i)
        commands.push_back(std::async(std::launch::async, [&] {
            auto lock = acquire(root_);
            EXPECT_TRUE(!lock.ok() || create_layout(root_, 1, 0).ok());
            return lock;
        }));
    std::vector<Result<RootLock>> results;
    for (auto& command : commands)
        results.push_back(command.get());
    EXPECT_EQ(std::ranges::count_if(results, [](const auto& one) { return one.ok(); }), 1);
    for (const auto& one : results)
        if (!one.ok()) {
            EXPECT_NE(one.error().message.find("is in use by"), std::string::npos)
                << one.error().message;
        }
    EXPECT_TRUE(remove_layout(load_layout(root_).value()).ok());
}

TEST_F(RootLockTest, OutlivesTheNetworksThatItsHolderMakesAndRemoves) {
    auto lock = acquire(root_);
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    for (int i = 0; i < 2; ++i) {
        const auto made = create_layout(root_, 1, 0);
        ASSERT_TRUE(made.ok()) << made.error().message;
        EXPECT_FALSE(acquire(root_).ok());
        ASSERT_TRUE(remove_layout(*made).ok());
        EXPECT_FALSE(acquire(root_).ok()) << "the lock went with the network";
    }
    lock->remove();
    EXPECT_FALSE(std::filesystem::exists(root_));
}

TEST_F(RootLockTest, WhatAHolderThatDiedLeftIsTaken) {
    { ASSERT_TRUE(acquire(root_).ok()); }
    EXPECT_TRUE(is_root(root_));
    ASSERT_TRUE(acquire(root_).ok());
    const auto made = create_layout(root_, 1, 0);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_TRUE(remove_layout(*made).ok());
}

TEST_F(RootLockTest, AFolderOfSomebodyElseIsRefusedAndNothingIsWrittenIntoIt) {
    std::filesystem::create_directories(root_);
    ASSERT_TRUE(write_file_atomic(root_ / "thesis.txt", as_bytes("words")).ok());
    const auto refused = acquire(root_);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("thesis.txt"), std::string::npos);
    EXPECT_FALSE(is_root(root_));
}

TEST_F(RootLockTest, RemovingTheLockLeavesAFolderThatHoldsSomething) {
    auto lock = acquire(root_);
    ASSERT_TRUE(lock.ok());
    ASSERT_TRUE(write_file_atomic(root_ / "thesis.txt", as_bytes("words")).ok());
    lock->remove();
    EXPECT_TRUE(std::filesystem::exists(root_ / "thesis.txt"));
    EXPECT_FALSE(is_root(root_));
}

}  // namespace
}  // namespace gym::devnet
