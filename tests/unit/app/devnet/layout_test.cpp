#include "gym/devnet/layout.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::devnet {
namespace {

class LayoutTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder temporary_;
    const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(LayoutTest, ASavedLayoutLoadsEqual) {
    const Layout made = create_layout(folder_ / "net", 3, 0).value();
    const Layout loaded = load_layout(folder_ / "net").value();
    EXPECT_EQ(loaded.root, made.root);
    EXPECT_EQ(loaded.postgres, made.postgres);
    EXPECT_EQ(loaded.api_port, made.api_port);
    EXPECT_EQ(loaded.worker_names(),
              (std::vector<std::string>{"worker-1", "worker-2", "worker-3"}));
    EXPECT_NE(made.api_port, made.grpc_port);
    EXPECT_TRUE(remove_layout(made).ok());
    EXPECT_FALSE(std::filesystem::exists(made.postgres));
}

TEST_F(LayoutTest, ASecondNetworkInTheSameFolderIsRefused) {
    const Layout made = create_layout(folder_ / "net", 3, 0).value();
    EXPECT_EQ(create_layout(folder_ / "net", 3, 0).error().code, ErrorCode::kAlreadyExists);
    EXPECT_EQ(load_layout(folder_ / "none").error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(remove_layout(made).ok());
}

TEST_F(LayoutTest, TheDatabaseOfANetworkThatWasRemovedByHandIsNotTakenForTheNewOnes) {
    const Layout made = create_layout(folder_ / "net", 1, 0).value();
    ASSERT_TRUE(std::filesystem::create_directories(made.postgres / "data"));
    std::filesystem::remove_all(made.root);
    const Layout again = create_layout(folder_ / "net", 1, 0).value();
    EXPECT_EQ(again.postgres, made.postgres);
    EXPECT_FALSE(std::filesystem::exists(again.postgres / "data"));
    EXPECT_TRUE(remove_layout(again).ok());
}

TEST_F(LayoutTest, AFolderWithOtherFilesIsRefusedAndKept) {
    std::filesystem::create_directories(folder_ / "mine");
    ASSERT_TRUE(write_file_atomic(folder_ / "mine" / "thesis.txt", as_bytes("words")).ok());
    const auto made = create_layout(folder_ / "mine", 3, 0);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kConflict);
    EXPECT_NE(made.error().message.find("thesis.txt"), std::string::npos) << made.error().message;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "mine" / "thesis.txt"));
    EXPECT_FALSE(load_layout(folder_ / "mine").ok());
}

TEST_F(LayoutTest, AnEmptyFolderIsTakenAndAFileIsNot) {
    std::filesystem::create_directories(folder_ / "empty");
    const Layout made = create_layout(folder_ / "empty", 1, 0).value();
    EXPECT_TRUE(remove_layout(made).ok());
    ASSERT_TRUE(write_file_atomic(folder_ / "file", as_bytes("words")).ok());
    EXPECT_EQ(create_layout(folder_ / "file", 1, 0).error().code, ErrorCode::kIo);
}

TEST_F(LayoutTest, MissingFoldersAreMadeAgain) {
    const Layout made = create_layout(folder_ / "net", 1, 0).value();
    std::filesystem::remove_all(made.logs());
    ASSERT_TRUE(make_folders(made).ok());
    EXPECT_TRUE(std::filesystem::is_directory(made.logs()));
    EXPECT_TRUE(remove_layout(made).ok());
}

TEST_F(LayoutTest, ASecretStaysTheSameAndIsPrivate) {
    const std::string word = ensure_secret(folder_ / "word").value();
    EXPECT_EQ(word.size(), 48U);
    EXPECT_EQ(ensure_secret(folder_ / "word").value(), word);
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / "word").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace gym::devnet
