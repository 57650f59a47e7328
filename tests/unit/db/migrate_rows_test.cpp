// What becomes of the rows of a database that was in use when a migration comes.
#include <gtest/gtest.h>

#include <filesystem>

#include "gym/db/migrate.hpp"
#include "postgres.hpp"
#include "temporary_folder.hpp"

namespace gym::db {
namespace {

namespace fs = std::filesystem;

/// A database as of an older version, whose rows SQL writes.
class MigratedRows : public ::testing::Test {
  protected:
    void SetUp() override {
        static int count = 0;
        name_ = "migrated_rows_" + std::to_string(++count);
        ASSERT_TRUE(testing::postgres().create_database(name_).ok());
        auto opened = Database::open(testing::postgres().superuser(name_));
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        database_ = std::move(opened).value();
    }
    void TearDown() override {
        database_.reset();
        ASSERT_TRUE(testing::postgres().drop_database(name_).ok());
    }
    /// Applies what is not applied yet of the migrations up to `number`, "0092".
    void migrate_to(const std::string& number) {
        for (const auto& entry : fs::directory_iterator(testing::migrations_folder()))
            if (entry.path().filename().string().substr(0, 4) <= number)
                fs::copy_file(entry.path(), folder_.path() / entry.path().filename(),
                              fs::copy_options::overwrite_existing);
        const auto report = migrate(*database_, folder_.path());
        ASSERT_TRUE(report.ok()) << report.error().message;
        ASSERT_FALSE(report->applied.empty());
    }
    Status run(const std::string& sql) {
        return database_->transact([&](Transaction& tx) -> Status {
            GYM_CHECK(tx.exec(sql));
            return {};
        });
    }
    void must(const std::string& sql) {
        const Status done = run(sql);
        ASSERT_TRUE(done.ok()) << sql << "\n" << done.error().message;
    }
    void expect_refused(const std::string& sql, ErrorCode code) {
        const Status done = run(sql);
        ASSERT_FALSE(done.ok()) << sql;
        EXPECT_EQ(done.error().code, code) << done.error().message;
    }
    /// The rows of a query, each as PostgreSQL writes it: "(1,,t)".
    std::vector<std::string> rows(const std::string& sql) {
        const auto found = database_->transact(
            [&](Transaction& tx) { return tx.exec("SELECT x::text FROM (" + sql + ") AS x"); });
        EXPECT_TRUE(found.ok()) << found.error().message;
        std::vector<std::string> out;
        if (!found.ok()) return out;
        for (const Row row : *found)
            out.push_back(row.get<std::string>(0));
        return out;
    }
    static std::string bytes(char digit, int length) {
        return "'\\x" + std::string(static_cast<std::size_t>(2 * length), digit) + "'";
    }
    static std::string dataset(char root, int quality_ppm, int price, int registered_at_ms) {
        return "INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
               "price_wei_per_mtoken, quality_ppm, registered_at_ms) VALUES (" +
               bytes(root, 32) + ", " + bytes(root, 32) + ", " + bytes('e', 20) + ", 'text', " +
               "1000, 256, " + std::to_string(price) + ", " + std::to_string(quality_ppm) + ", " +
               std::to_string(registered_at_ms) + ")";
    }
    static std::string job(char id, char root) {
        return "INSERT INTO registry.job (id, owner, name, spec_yaml, dataset_root, budget_wei, "
               "rounds, slots_max, workers_min, steps, checkpoint_every, evaluate_windows, "
               "price_wei_per_pflop, unit_ms, report_ms, reveal_ms, defence_ms, challenge_ms, "
               "draws_max, sampling_floor_ppm, sampling_aggregate_ppm, submitted_at_ms) VALUES (" +
               bytes(id, 32) + ", " + bytes('e', 20) + ", 'job', '{}', " + bytes(root, 32) +
               ", 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 50000, 1000000, 1)";
    }
    static std::string credit(char id, const std::string& kind, bool with_unit) {
        const std::string uuid(32, id);
        return "INSERT INTO rewards.credit (id, kind, state, posting, earner, node, job_id, round, "
               "unit_id, flops, amount, created_at_ms, changed_at_ms) VALUES ('" +
               uuid + "', '" + kind + "', 'posted', '" + uuid + "', " + bytes('1', 20) + ", " +
               bytes('2', 20) + ", " + bytes('a', 32) + ", 1, " +
               (with_unit ? bytes('3', 32) : "NULL") + ", 7, 100, 1, 1)";
    }

    gym::testing::TemporaryFolder folder_;
    std::string name_;
    std::unique_ptr<Database> database_;
};

TEST_F(MigratedRows, DatasetsKeepTheirQualityAndGetTheOrderInWhichTheyCame) {
    migrate_to("0092");
    must(dataset('b', 250'000, 7, 200));
    must(dataset('d', 1'000'000, 8, 200));
    must(dataset('c', 0, 9, 100));
    must(job('5', 'b'));
    must(job('6', 'd'));
    must("UPDATE registry.job SET budget_wei = 6");  // as a job that was in use
    migrate_to("0093");

    EXPECT_EQ(rows("SELECT left(root::text, 3), number, licence, novelty_ppm, usefulness_ppm, "
                   "quality_ppm, sketch_level, nearest FROM registry.dataset ORDER BY number"),
              (std::vector<std::string>{"(\"\\\\xc\",1,NOASSERTION,0,1000000,0,,)",
                                        "(\"\\\\xb\",2,NOASSERTION,250000,1000000,250000,,)",
                                        "(\"\\\\xd\",3,NOASSERTION,1000000,1000000,1000000,,)"}))
        << "by time, then by root";
    EXPECT_EQ(rows("SELECT left(id::text, 3), data_price_wei_per_mtoken, data_quality_ppm, "
                   "budget_wei FROM registry.job ORDER BY id"),
              (std::vector<std::string>{"(\"\\\\x5\",7,250000,6)", "(\"\\\\x6\",8,1000000,6)"}));
    EXPECT_EQ(rows("SELECT FROM registry.dataset_key"), std::vector<std::string>{})
        << "nothing is compared with what has no sketch";
    for (const char* view : {"rewards_data_terms", "registry_dataset_nearest"})
        EXPECT_EQ(rows(std::string("SELECT * FROM audit.") + view), std::vector<std::string>{});
}

TEST_F(MigratedRows, WhatGuardsDatasetsAndJobsIsInForceAfterwards) {
    migrate_to("0092");
    must(dataset('b', 250'000, 7, 200));
    must(job('5', 'b'));
    migrate_to("0093");
    expect_refused("UPDATE registry.job SET price_wei_per_pflop = 2", ErrorCode::kConflict);
    expect_refused("UPDATE registry.job SET data_quality_ppm = 1", ErrorCode::kConflict);
    expect_refused("UPDATE registry.dataset SET price_wei_per_mtoken = 1", ErrorCode::kConflict);
    expect_refused("UPDATE registry.dataset SET novelty_ppm = 1", ErrorCode::kConflict);
    must("UPDATE registry.dataset SET usefulness_ppm = 400000");
    EXPECT_EQ(rows("SELECT quality_ppm FROM registry.dataset"),
              std::vector<std::string>{"(100000)"});
    EXPECT_EQ(rows("SELECT data_quality_ppm FROM registry.job"),
              std::vector<std::string>{"(250000)"})
        << "the job was submitted before";
    must(job('6', 'b'));
    EXPECT_EQ(rows("SELECT data_quality_ppm FROM registry.job WHERE id = " + bytes('6', 32)),
              std::vector<std::string>{"(100000)"});
    // What comes from now on says its licence: no default fills it in.
    expect_refused(
        "INSERT INTO registry.dataset (root, blob, owner, name, tokens, vocabulary, "
        "price_wei_per_mtoken, novelty_ppm, usefulness_ppm, number, registered_at_ms) "
        "SELECT " +
            bytes('9', 32) +
            ", blob, owner, name, tokens, vocabulary, 1, 1, 1, "
            "2, 300 FROM registry.dataset",
        ErrorCode::kInvalidArgument);
}

TEST_F(MigratedRows, CreditsFromBeforeFeesSayThatNothingWasTaken) {
    migrate_to("0093");
    must(
        "INSERT INTO registry.node (address, role, owner, name, hardware, software, "
        "benchmark_flops, registered_at_ms, last_seen_at_ms) VALUES (" +
        bytes('2', 20) + ", 'worker', " + bytes('1', 20) + ", 'n', '{}', 's', 1, 1, 1)");
    must("INSERT INTO registry.heartbeat VALUES (" + bytes('2', 20) + ", 1)");
    must(credit('1', "compute", true));
    must(credit('2', "uptime", false));
    migrate_to("0094");
    EXPECT_EQ(rows("SELECT kind, flops, amount, challenges, answered, charged, fee_ppm, "
                   "burned_ppm, burned, emission_ppm, compute_total, payer FROM rewards.credit "
                   "ORDER BY id"),
              (std::vector<std::string>{"(compute,7,100,0,0,0,0,0,0,0,0,)",
                                        "(uptime,7,100,0,0,0,0,0,0,0,0,)"}));
    EXPECT_EQ(rows("SELECT to_regclass('registry.heartbeat') IS NULL"),
              std::vector<std::string>{"(t)"});
    // Both constraints that the kinds were under are replaced.
    must(credit('3', "fee", false));
    must(credit('4', "burn", false));
    expect_refused(credit('5', "fee", true), ErrorCode::kInvalidArgument);
    expect_refused(credit('6', "compute", false), ErrorCode::kInvalidArgument);
    expect_refused(credit('7', "emission", false), ErrorCode::kInvalidArgument);
    expect_refused(credit('8', "tip", false), ErrorCode::kInvalidArgument);
    for (const char* view : {"rewards_emission_above_burned", "rewards_fee_above_charge"})
        EXPECT_EQ(rows(std::string("SELECT * FROM audit.") + view), std::vector<std::string>{});
}

TEST_F(MigratedRows, RoundsFromBeforeDoNotSayOverWhichSpanUptimeCounted) {
    migrate_to("0094");
    must(
        "INSERT INTO rewards.finished_round (job_id, round, registry_epoch, finished_at_ms) "
        "VALUES (" +
        bytes('a', 32) + ", 1, 1, 5)");
    migrate_to("0096");
    EXPECT_EQ(rows("SELECT round, uptime_from_ms, uptime_to_ms FROM rewards.finished_round"),
              std::vector<std::string>{"(1,,)"});
    expect_refused("UPDATE rewards.finished_round SET uptime_from_ms = 1",
                   ErrorCode::kInvalidArgument);
    expect_refused("UPDATE rewards.finished_round SET uptime_from_ms = 2, uptime_to_ms = 1",
                   ErrorCode::kInvalidArgument);
    must("UPDATE rewards.finished_round SET uptime_from_ms = 1, uptime_to_ms = 1");
    EXPECT_EQ(rows("SELECT FROM rewards.fee_terms"), std::vector<std::string>{});
}

}  // namespace
}  // namespace gym::db
