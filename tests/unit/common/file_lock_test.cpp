#include "gym/common/file_lock.hpp"

#include <gtest/gtest.h>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "temporary_folder.hpp"

namespace gym {
namespace {

class FileLockTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder temporary_;
    const std::filesystem::path file_ = temporary_.path() / "lock";
};

TEST_F(FileLockTest, WhoIsRefusedIsToldTheHolder) {
    const auto lock = FileLock::acquire(file_, "the first");
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    for (const auto& refused : {FileLock::acquire(file_, "x"), FileLock::acquire_existing(file_)}) {
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
        EXPECT_EQ(refused.error().message, file_.string() + " is locked by the first");
    }
    EXPECT_EQ(FileLock::holder_of(file_), "the first");
}

TEST_F(FileLockTest, EndsWithItsHolderWhoseWordsAreReplaced) {
    { ASSERT_TRUE(FileLock::acquire(file_, "a long word of the first").ok()); }
    const auto next = FileLock::acquire(file_, "next");
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(FileLock::holder_of(file_), "next");
}

TEST_F(FileLockTest, ProgramsThatTheHolderStartsDoNotKeepIt) {
    auto lock = std::make_optional(FileLock::acquire(file_, "parent"));
    ASSERT_TRUE((*lock).ok());
    const auto child = Subprocess::start({.argv = {"sleep", "100"}});
    ASSERT_TRUE(child.ok());
    lock.reset();
    EXPECT_TRUE(FileLock::acquire(file_, "next").ok());
}

TEST_F(FileLockTest, AnExistingFileIsLeftAsItIs) {
    EXPECT_EQ(FileLock::acquire_existing(file_).error().code, ErrorCode::kIo);
    ASSERT_TRUE(write_file_atomic(file_, as_bytes("content"), 0400).ok());
    ASSERT_TRUE(FileLock::acquire_existing(file_).ok());
    EXPECT_EQ(FileLock::holder_of(file_), "content");
}

}  // namespace
}  // namespace gym
