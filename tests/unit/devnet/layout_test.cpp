#include "gym/devnet/layout.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gym::devnet {
namespace {

class LayoutTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "gym-layout-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
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
