#include "gym/common/file.hpp"
#include "gym/common/mapped_file.hpp"
#include "gym/common/memory.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

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

TEST_F(FileTest, ASymbolicLinkStaysAndItsTargetIsReplaced) {
    std::filesystem::create_directory(folder_ / "far");
    ASSERT_TRUE(write_file_atomic(folder_ / "far" / "target", as_bytes("old")).ok());
    std::filesystem::create_symlink("far/target", folder_ / "inner");
    std::filesystem::create_symlink(folder_ / "inner", folder_ / "link");
    EXPECT_TRUE(check_writable(folder_ / "link").ok());
    ASSERT_TRUE(write_file_atomic(folder_ / "link", as_bytes("newer")).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "inner"));
    EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "far" / "target"));
    EXPECT_EQ(read_file(folder_ / "far" / "target")->size(), 5U);

    std::filesystem::create_symlink("far/none-yet", folder_ / "dangling");
    ASSERT_TRUE(write_file_atomic(folder_ / "dangling", as_bytes("x")).ok());
    EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "far" / "none-yet"));

    std::filesystem::create_symlink("circle", folder_ / "circle");
    EXPECT_FALSE(write_file_atomic(folder_ / "circle", as_bytes("x")).ok());
    EXPECT_FALSE(check_writable(folder_ / "circle").ok());
}

TEST_F(FileTest, WhatIsNoRegularFileIsNeitherReplacedNorReadWhole) {
    const auto pipe = folder_ / "pipe", place = folder_ / "folder";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::filesystem::create_directory(place);
    std::filesystem::create_symlink("pipe", folder_ / "link");
    for (const auto& path : {pipe, place, folder_ / "link"}) {
        const Status written = write_file_atomic(path, as_bytes("x"));
        ASSERT_FALSE(written.ok()) << path;
        EXPECT_EQ(written.error().code, ErrorCode::kIo);
        EXPECT_NE(written.error().message.find(path.string() + ": it is a "), std::string::npos);
        EXPECT_EQ(check_writable(path).error().message, written.error().message);
        EXPECT_EQ(read_file(path).error().code, ErrorCode::kIo) << path;  // and does not wait
    }
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
    EXPECT_TRUE(check_writable(folder_ / "new").ok());
    EXPECT_FALSE(check_writable(folder_ / "no" / "new").ok());
}

TEST_F(FileTest, APassphraseMayComeThroughAPipe) {
    const auto pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(pipe) << "secret"; });
    const auto content = read_file(pipe, 1 << 10);
    writer.join();
    ASSERT_TRUE(content.ok()) << content.error().message;
    EXPECT_EQ(content->size(), 6U);
}

TEST_F(FileTest, AFileLargerThanTheMachinesMemoryIsRefusedBeforeItIsRead) {
    ASSERT_TRUE(write_file_atomic(folder_ / "sparse", as_bytes("x")).ok());
    const std::uint64_t size = available_memory_bytes().value() + (std::uint64_t{1} << 36);
    std::filesystem::resize_file(folder_ / "sparse", size);  // a hole: takes no room on the disk
    const auto content = read_file(folder_ / "sparse", size);
    ASSERT_FALSE(content.ok());
    EXPECT_EQ(content.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(content.error().message.find("of memory is available"), std::string::npos);
    EXPECT_EQ(read_file(folder_ / "sparse", 1 << 20).error().code, ErrorCode::kOutOfRange);
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

TEST(FreeSpace, IsAskedOfTheDiskOfAFileThatIsNotThereYet) {
    const testing::TemporaryFolder folder;
    EXPECT_TRUE(check_free_space(folder / "new", 1).ok());
    const Status full = check_free_space(folder / "new", std::uint64_t{1} << 60);
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::kIo);
    EXPECT_NE(full.error().message.find("free"), std::string::npos) << full.error().message;
    EXPECT_TRUE(check_free_space(folder / "no folder" / "new", 1).ok()) << "nor is its folder";
    EXPECT_FALSE(check_free_space(folder / "no folder" / "new", std::uint64_t{1} << 60).ok());
}

TEST_F(FileTest, AFileInPiecesAppearsWholeOrNotAtAll) {
    const auto files = [&] {
        return std::distance(std::filesystem::directory_iterator(folder_), {});
    };
    {
        auto file = AtomicFile::create(folder_ / "a");
        ASSERT_TRUE(file.ok());
        ASSERT_TRUE(file->write(as_bytes("abandoned")).ok());
        EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
    }
    EXPECT_EQ(files(), 0) << "an abandoned file leaves nothing";
    auto file = AtomicFile::create(folder_ / "a", 0600).value();
    ASSERT_TRUE(file.write(as_bytes("one ")).ok());
    AtomicFile moved = std::move(file);
    ASSERT_TRUE(moved.write(as_bytes("two")).ok());
    ASSERT_TRUE(moved.commit().ok());
    EXPECT_EQ(read_file(folder_ / "a").value(), Bytes({'o', 'n', 'e', ' ', 't', 'w', 'o'}));
    EXPECT_EQ(files(), 1);
    EXPECT_FALSE(AtomicFile::create(folder_ / "none" / "a").ok());
}

TEST_F(FileTest, AMappedFileHasItsBytes) {
    const Bytes content(70'000, 9);
    ASSERT_TRUE(write_file_atomic(folder_ / "a", content).ok());
    auto file = MappedFile::open(folder_ / "a").value();
    const MappedFile moved = std::move(file);
    EXPECT_TRUE(std::ranges::equal(moved.bytes(), content));
    ASSERT_TRUE(write_file_atomic(folder_ / "empty", {}).ok());
    EXPECT_TRUE(MappedFile::open(folder_ / "empty").value().bytes().empty());
    EXPECT_EQ(MappedFile::open(folder_ / "none").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(MappedFile::open(folder_).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace gym
