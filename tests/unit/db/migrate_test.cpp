#include "gym/db/migrate.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "gym/common/file.hpp"
#include "postgres.hpp"

namespace gym::db {
namespace {

class MigrateTest : public ::testing::Test {
  protected:
    void SetUp() override {
        static int count = 0;
        const std::string suffix = std::to_string(::getpid()) + "-" + std::to_string(++count);
        folder_ = std::filesystem::temp_directory_path() / ("gym-migrate-" + suffix);
        std::filesystem::create_directories(folder_);
        name_ = "migrate_" + std::to_string(count);
        ASSERT_TRUE(testing::postgres().create_database(name_).ok());
        auto opened = Database::open(testing::postgres().superuser(name_));
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        database_ = std::move(opened).value();
    }
    void TearDown() override {
        database_.reset();
        ASSERT_TRUE(testing::postgres().drop_database(name_).ok());
        std::filesystem::remove_all(folder_);
    }
    void write(const std::string& name, const std::string& sql) {
        ASSERT_TRUE(write_file_atomic(folder_ / name, as_bytes(sql)).ok());
    }
    Result<MigrationReport> run() { return migrate(*database_, folder_); }
    bool exists(const std::string& table) {
        return database_
            ->transact([&](Transaction& t) -> Result<bool> {
                GYM_TRY(const Row row, t.exec_one("SELECT to_regclass($1) IS NOT NULL", {table}));
                return row.get<bool>(0);
            })
            .value();
    }
    std::filesystem::path folder_;
    std::string name_;
    std::unique_ptr<Database> database_;
};

TEST_F(MigrateTest, AppliesEachFileOnceInOrderWithGaps) {
    write("0020_b.sql", "CREATE TABLE b AS TABLE a;");
    write("0003_a.sql", "CREATE TABLE a (x int);");
    auto report = run();
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->applied, (std::vector<std::string>{"0003_a.sql", "0020_b.sql"}));
    write("0010_late.sql", "CREATE TABLE late (x int);");
    report = run();
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->applied, std::vector<std::string>{"0010_late.sql"});
    EXPECT_EQ(report->already_applied, 2u);
}

TEST_F(MigrateTest, RefusesAnAlteredFileAndAMissingOne) {
    write("0001_a.sql", "CREATE TABLE a (x int);");
    ASSERT_TRUE(run().ok());
    write("0001_a.sql", "CREATE TABLE a (x bigint);");
    EXPECT_EQ(run().error().code, ErrorCode::kMismatch);
    std::filesystem::remove(folder_ / "0001_a.sql");
    EXPECT_EQ(run().error().code, ErrorCode::kNotFound);
}

TEST_F(MigrateTest, AFailingFileLeavesNothingBehind) {
    write("0001_a.sql", "CREATE TABLE a (x int);");
    write("0002_bad.sql", "CREATE TABLE c (x int); SELECT nonsense;");
    const auto report = run();
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("0002_bad.sql"), std::string::npos);
    EXPECT_FALSE(exists("a"));
    EXPECT_FALSE(exists("c"));
}

TEST_F(MigrateTest, RefusesStrangeNamesAndDoubleNumbers) {
    write("0001_a.sql", "SELECT 1;");
    write("0001_b.sql", "SELECT 1;");
    EXPECT_EQ(run().error().code, ErrorCode::kInvalidArgument);
    std::filesystem::remove(folder_ / "0001_b.sql");
    write("1_a.sql", "SELECT 1;");
    EXPECT_EQ(run().error().code, ErrorCode::kInvalidArgument);
}

TEST_F(MigrateTest, ConcurrentRunsApplyOnce) {
    write("0001_a.sql", "CREATE TABLE a (x int); SELECT pg_sleep(0.2);");
    Result<MigrationReport> other = MigrationReport{};
    std::jthread thread([&] { other = run(); });
    const auto mine = run();
    thread.join();
    ASSERT_TRUE(mine.ok()) << mine.error().message;
    ASSERT_TRUE(other.ok()) << other.error().message;
    EXPECT_EQ(mine->applied.size() + other->applied.size(), 1u);
}

TEST_F(MigrateTest, TheProjectsMigrationsApplyToAnEmptyDatabaseTwice) {
    const auto first = migrate(*database_, testing::migrations_folder());
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto second = migrate(*database_, testing::migrations_folder());
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_TRUE(second->applied.empty());
    EXPECT_EQ(second->already_applied, first->applied.size());
}

}  // namespace
}  // namespace gym::db
