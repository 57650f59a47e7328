#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace gym {
namespace {

class FileTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder temporary_;
    const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(FileTest, ReadsBackWhatWasWritten) {
    const Bytes content(100'000, 7);
    ASSERT_TRUE(write_file_atomic(folder_ / "a", content).ok());
    EXPECT_EQ(read_file(folder_ / "a").value(), content);
}

TEST_F(FileTest, ReplacesAndLeavesNoTemporaryFile) {
    ASSERT_TRUE(write_file_atomic(folder_ / "a", as_bytes("old")).ok());
    ASSERT_TRUE(write_file_atomic(folder_ / "a", as_bytes("new"), 0600).ok());
    EXPECT_EQ(read_file(folder_ / "a").value().size(), 3U);
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / "a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, NamesTheFileThatIsMissingOrTooLarge) {
    const auto missing = read_file(folder_ / "none");
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    EXPECT_NE(missing.error().message.find("none"), std::string::npos);
    ASSERT_TRUE(write_file_atomic(folder_ / "a", as_bytes("12345")).ok());
    EXPECT_EQ(read_file(folder_ / "a", 4).error().code, ErrorCode::kOutOfRange);
    EXPECT_TRUE(read_file(folder_ / "a", 5).ok());
    EXPECT_EQ(read_file(folder_).error().code, ErrorCode::kIo);
}

TEST_F(FileTest, WritingIntoAMissingFolderFails) {
    EXPECT_FALSE(write_file_atomic(folder_ / "no" / "a", as_bytes("x")).ok());
}

/// A process whose files may not grow beyond a bound: for its writes the disk is full there.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit bound{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &bound);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

  private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

TEST_F(FileTest, AFullDiskIsAnErrorThatKeepsTheOldFileAndLeavesNoOther) {
    ASSERT_TRUE(write_file_atomic(folder_ / "a", as_bytes("old")).ok());
    Status status;
    {
        const FullDisk full(4096);
        status = write_file_atomic(folder_ / "a", Bytes(100'000, 7));
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_NE(status.error().message.find((folder_ / "a").string()), std::string::npos);
    EXPECT_EQ(read_file(folder_ / "a")->size(), 3U);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace gym
