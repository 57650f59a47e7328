#include "gym/devnet/process_table.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::devnet {
namespace {

class ProcessTableTest : public ::testing::Test {
  protected:
    void TearDown() override { EXPECT_TRUE(ProcessTable(folder_).stop("sleeper", 2'000).ok()); }
    testing::TemporaryFolder temporary_;
    const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(ProcessTableTest, AnotherTableStopsWhatOneStarted) {
    ASSERT_TRUE(ProcessTable(folder_).start("sleeper", {.argv = {"sleep", "100"}}).ok());
    ProcessTable later(folder_);
    const auto entries = later.list().value();
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].name, "sleeper");
    EXPECT_TRUE(entries[0].running);
    EXPECT_TRUE(later.stop("sleeper", 2'000).ok());
    EXPECT_NE(::kill(entries[0].pid, 0), 0);
    EXPECT_TRUE(later.list().value().empty());
}

TEST_F(ProcessTableTest, ANameThatRunsIsNotStartedTwice) {
    ProcessTable table(folder_);
    ASSERT_TRUE(table.start("sleeper", {.argv = {"sleep", "100"}}).ok());
    EXPECT_EQ(table.start("sleeper", {.argv = {"sleep", "100"}}).error().code,
              ErrorCode::kAlreadyExists);
}

TEST_F(ProcessTableTest, ARecycledProcessIdIsNotSignalled) {
    // The record names this very process, with a start time that is not its own.
    const std::string record = std::to_string(::getpid()) + " 1\n";
    ASSERT_TRUE(write_file_atomic(folder_ / "sleeper.pid", as_bytes(record)).ok());
    ProcessTable table(folder_);
    EXPECT_FALSE(table.find("sleeper").value().running);
    EXPECT_TRUE(table.stop("sleeper", 100).ok());
}

TEST_F(ProcessTableTest, WhatWasNeverStartedIsNotFoundAndStopsCleanly) {
    EXPECT_EQ(ProcessTable(folder_).find("other").error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(ProcessTable(folder_).stop("other").ok());
}

}  // namespace
}  // namespace gym::devnet
