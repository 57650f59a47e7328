#include "gym/node/node_lock.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

class NodeLockTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder first_, second_;

    void SetUp() override {
        ASSERT_TRUE(write_file_atomic(first_.path() / "key.json", as_bytes("{}"), 0400).ok());
    }
    NodeConfig config(const testing::TemporaryFolder& folder) const {
        NodeConfig out;
        out.data_dir = folder.path();
        out.keystore_file = first_.path() / "key.json";  // absolute: the same for both folders
        return out;
    }
};

TEST_F(NodeLockTest, OneNodeAFolder) {
    const auto lock = NodeLock::acquire(config(first_));
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    const auto refused = NodeLock::acquire(config(first_));
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("process " + std::to_string(::getpid())),
              std::string::npos)
        << refused.error().message;
}

TEST_F(NodeLockTest, OneNodeAKeyWhateverTheFolder) {
    const auto lock = NodeLock::acquire(config(first_));
    ASSERT_TRUE(lock.ok());
    const auto refused = NodeLock::acquire(config(second_));
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("key.json"), std::string::npos);
}

TEST_F(NodeLockTest, ALockEndsWithItsHolder) {
    { ASSERT_TRUE(NodeLock::acquire(config(first_)).ok()); }
    EXPECT_TRUE(NodeLock::acquire(config(second_)).ok());
    EXPECT_TRUE(NodeLock::acquire(config(first_)).ok());
}

TEST_F(NodeLockTest, AFolderThatIsNotThereIsAnError) {
    NodeConfig missing = config(first_);
    missing.data_dir = first_.path() / "none";
    EXPECT_EQ(NodeLock::acquire(missing).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace gym::node
