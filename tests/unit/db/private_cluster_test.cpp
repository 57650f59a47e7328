#include "gym/db/private_cluster.hpp"

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

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

/// A process called postgres that has ended, and whose parent never asks for it: what a killed
/// postmaster is where the machine's first process reaps nothing.
class UnreapedPostmaster {
  public:
    UnreapedPostmaster() {
        int ids[2];
        if (::pipe(ids) != 0) return;
        parent_ = ::fork();
        if (parent_ == 0) become_parent(ids[1]);
        ::close(ids[1]);
        if (::read(ids[0], &pid_, sizeof pid_) != sizeof pid_) pid_ = -1;
        ::close(ids[0]);
    }
    ~UnreapedPostmaster() {
        ::kill(parent_, SIGKILL);
        ::waitpid(parent_, nullptr, 0);
    }
    UnreapedPostmaster(const UnreapedPostmaster&) = delete;
    UnreapedPostmaster& operator=(const UnreapedPostmaster&) = delete;
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    [[noreturn]] static void become_parent(int ids) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_NAME, "postgres");
            // The server's user, which may signal it: others' processes are no rivals of a server.
            const passwd* user = ::getpwnam("postgres");
            if (::geteuid() == 0 && user && ::setuid(user->pw_uid) != 0) ::_exit(1);
            ::_exit(0);
        }
        siginfo_t ended;
        ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);  // stays a zombie
        [[maybe_unused]] const ssize_t sent = ::write(ids, &child, sizeof child);
        for (;;)
            ::pause();
    }
    pid_t parent_ = -1, pid_ = -1;
};

TEST_F(PrivateClusterTest, AKilledServerThatNobodyReapedIsStartedAgain) {
    auto prepared = PrivateCluster::prepare(options_);
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    const UnreapedPostmaster killed;
    ASSERT_GT(killed.pid(), 1);
    ASSERT_EQ(::kill(killed.pid(), 0), 0) << "its id is still taken";
    const auto lock = options_.folder / "data" / "postmaster.pid";
    std::ofstream(lock) << killed.pid() << '\n';
    EXPECT_EQ(prepared->pid(), std::nullopt);
    const Status started = prepared->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    EXPECT_NE(prepared->pid(), std::nullopt);
    EXPECT_EQ(ask(*prepared, "SELECT 1::text").value_or("?"), "1");
    ASSERT_TRUE(prepared->stop().ok());
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
