#include "gym/db/private_cluster.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "gym/db/database.hpp"
#include "postgres.hpp"

namespace gym::db {
namespace {

class PrivateClusterTest : public ::testing::Test {
  protected:
    void SetUp() override {
        options_.folder =
            std::filesystem::temp_directory_path() / ("gym-cluster-" + std::to_string(::getpid()));
        options_.durability = Durability::kProcessCrash;
        options_.die_with_parent = true;
    }
    void TearDown() override { std::filesystem::remove_all(options_.folder); }
    ClusterOptions options_;
};

Result<std::string> ask(const PrivateCluster& cluster, const std::string& sql) {
    GYM_TRY(const auto database, Database::open(cluster.superuser(), 1));
    return database->transact([&](Transaction& transaction) -> Result<std::string> {
        GYM_TRY(const Row row, transaction.exec_one(sql));
        return row.get<std::string>(0);
    });
}

TEST_F(PrivateClusterTest, LivesThroughStopCrashAndReopening) {
    auto prepared = PrivateCluster::prepare(options_);
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    PrivateCluster cluster = std::move(prepared).value();
    EXPECT_EQ(cluster.pid(), std::nullopt);
    ASSERT_TRUE(cluster.stop().ok());  // of a server that does not run
    const Status started = cluster.start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    const auto pid = cluster.pid();
    ASSERT_TRUE(pid.has_value());
    ASSERT_TRUE(cluster.start().ok());
    EXPECT_EQ(cluster.pid(), pid) << "a second start() leaves the running server alone";

    ASSERT_TRUE(cluster.create_database("kept").ok());
    EXPECT_EQ(cluster.create_database("kept").error().code, ErrorCode::kAlreadyExists);
    ASSERT_TRUE(cluster.stop(StopMode::kImmediate).ok());
    EXPECT_EQ(cluster.pid(), std::nullopt);
    EXPECT_NE(::kill(*pid, 0), 0);

    auto reopened = PrivateCluster::prepare(options_);
    ASSERT_TRUE(reopened.ok()) << reopened.error().message;
    ASSERT_TRUE(reopened->start().ok());
    EXPECT_EQ(ask(*reopened, "SELECT count(*)::text FROM pg_database WHERE datname = 'kept'")
                  .value_or("?"),
              "1");
    EXPECT_EQ(ask(*reopened, "SHOW listen_addresses").value_or("?"), "");
    EXPECT_TRUE(cluster.pid().has_value()) << "both objects see the same server";
    ASSERT_TRUE(reopened->drop_database("kept").ok());
    ASSERT_TRUE(reopened->restart().ok());
    EXPECT_EQ(ask(*reopened, "SELECT count(*)::text FROM pg_database WHERE datname = 'kept'")
                  .value_or("?"),
              "0");
    ASSERT_TRUE(reopened->stop().ok());
}

TEST_F(PrivateClusterTest, AFolderThatTheServersUserCannotEnterIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root hands the server over to another user";
    std::filesystem::create_directories(options_.folder);
    std::filesystem::permissions(options_.folder, std::filesystem::perms::owner_all);
    options_.folder /= "inner";
    const auto prepared = PrivateCluster::prepare(options_);
    options_.folder = options_.folder.parent_path();
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.error().code, ErrorCode::kPermissionDenied) << prepared.error().message;
}

TEST_F(PrivateClusterTest, AFolderNameTooLongForASocketIsRefused) {
    const auto parent = options_.folder;
    options_.folder /= std::string(100, 'x');
    const auto prepared = PrivateCluster::prepare(options_);
    options_.folder = parent;
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::db
