#include "gym/db/database.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "postgres.hpp"

namespace gym::db {
namespace {

class DatabaseTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(test_.owner()
                        .transact([](Transaction& transaction) {
                            return transaction.exec_script(
                                "CREATE TABLE counter (id int PRIMARY KEY, value bigint CHECK "
                                "(value >= 0));"
                                "INSERT INTO counter VALUES (1, 0), (2, 0)");
                        })
                        .ok());
    }
    Result<std::int64_t> value(int id) {
        return test_.owner().transact([&](Transaction& transaction) -> Result<std::int64_t> {
            GYM_TRY(const Row row,
                    transaction.exec_one("SELECT value FROM counter WHERE id = $1", {id}));
            return row.get<std::int64_t>(0);
        });
    }
    static Result<int> add(Transaction& transaction, int id, int by) {
        GYM_TRY(const Rows rows,
                transaction.exec("UPDATE counter SET value = value + $2 WHERE id = $1", {id, by}));
        return static_cast<int>(rows.affected());
    }
    testing::TestDatabase test_;
};

TEST_F(DatabaseTest, AnErrorOfTheBodyRollsBack) {
    const auto result = test_.owner().transact([](Transaction& transaction) -> Result<int> {
        GYM_CHECK(add(transaction, 1, 5));
        return fail(ErrorCode::kConflict, "changed my mind");
    });
    EXPECT_EQ(result.error(), (Error{ErrorCode::kConflict, "changed my mind"}));
    EXPECT_EQ(*value(1), 0);
}

TEST_F(DatabaseTest, ErrorsCarryTheirKind) {
    const auto code_of = [&](const char* sql) {
        return test_.owner().transact([&](Transaction& t) { return t.exec(sql); }).error().code;
    };
    EXPECT_EQ(code_of("INSERT INTO counter VALUES (1, 0)"), ErrorCode::kAlreadyExists);
    EXPECT_EQ(code_of("INSERT INTO counter VALUES (3, -1)"), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of("SELECT 'x'::int"), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of("SELEKT"), ErrorCode::kInternal);
    EXPECT_EQ(code_of("SET LOCAL statement_timeout = 1; SELECT pg_sleep(10)"), ErrorCode::kTimeout);
    EXPECT_EQ(code_of("DO $$ BEGIN RAISE 'no'; END $$"), ErrorCode::kConflict);
    auto outsider = test_.as("gym_api");
    const auto refused =
        outsider->transact([](Transaction& t) { return t.exec("SELECT * FROM counter"); });
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
}

TEST_F(DatabaseTest, ReadOnlyTransactionsCannotWrite) {
    TransactOptions options;
    options.read_only = true;
    const auto result =
        test_.owner().transact([](Transaction& t) { return add(t, 1, 1); }, options);
    EXPECT_EQ(result.error().code, ErrorCode::kPermissionDenied);
}

TEST_F(DatabaseTest, ASavepointUndoesOnlyItsBody) {
    const auto status = test_.owner().transact([](Transaction& transaction) -> Status {
        GYM_CHECK(add(transaction, 1, 1));
        const Status inner = transaction.savepoint([&]() -> Status {
            GYM_CHECK(add(transaction, 2, 1));
            GYM_CHECK(transaction.exec("INSERT INTO counter VALUES (1, 0)"));
            return {};
        });
        EXPECT_EQ(inner.error().code, ErrorCode::kAlreadyExists);
        EXPECT_EQ(transaction.sqlstate(), "23505");
        GYM_CHECK(add(transaction, 1, 1));
        return {};
    });
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(*value(1), 2);
    EXPECT_EQ(*value(2), 0);
}

TEST_F(DatabaseTest, ABodyThatIgnoresAnErrorCannotCommit) {
    const auto result = test_.owner().transact([](Transaction& transaction) -> Result<int> {
        GYM_CHECK(add(transaction, 1, 1));
        EXPECT_FALSE(transaction.exec("INSERT INTO counter VALUES (1, 0)").ok());
        return 0;
    });
    EXPECT_EQ(result.error().code, ErrorCode::kAlreadyExists);
    EXPECT_EQ(*value(1), 0);
}

TEST_F(DatabaseTest, StatementsPreparedBeforeAMigrationAreRetriedOnANewConnection) {
    int runs = 0;
    const auto selected = [&] {
        return test_.owner().transact([&](Transaction& transaction) -> Result<int> {
            ++runs;
            GYM_CHECK(add(transaction, 2, 1));
            GYM_TRY(const Rows rows, transaction.exec("SELECT * FROM counter WHERE id = $1", {1}));
            return static_cast<int>(rows.size());
        });
    };
    ASSERT_EQ(*selected(), 1);
    const auto migrated = test_.owner().transact([](Transaction& transaction) {
        return transaction.exec_script("ALTER TABLE counter ADD COLUMN note text");
    });
    ASSERT_TRUE(migrated.ok());
    runs = 0;
    const auto after = selected();
    ASSERT_TRUE(after.ok()) << after.error().message;
    EXPECT_EQ(*after, 1);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(*value(2), 2) << "the attempt that failed must leave nothing";
}

TEST_F(DatabaseTest, WhatTheServerDoesNotSupportIsNotRetriedForEver) {
    int runs = 0;
    const auto unsupported = [&] {
        return test_.owner().transact([&](Transaction& transaction) {
            ++runs;
            return transaction.exec("SELECT id FROM counter WHERE id > $1 GROUP BY id FOR UPDATE",
                                    {0});
        });
    };
    EXPECT_EQ(unsupported().error().code, ErrorCode::kInternal);
    EXPECT_EQ(unsupported().error().code, ErrorCode::kInternal);
    EXPECT_LE(runs, 3);
}

TEST_F(DatabaseTest, SerializationFailuresAreRetriedUntilEveryIncrementCounts) {
    constexpr int kThreads = 4;
    constexpr int kEach = 10;
    std::vector<std::jthread> threads;
    std::atomic<int> failed = 0;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            TransactOptions options;
            options.isolation = Isolation::kSerializable;
            options.attempts_max = 1000;
            options.give_up_after = std::chrono::seconds(60);
            for (int k = 0; k < kEach; ++k) {
                const auto result = test_.owner().transact(
                    [](Transaction& transaction) -> Result<int> {
                        GYM_TRY(const Row row,
                                transaction.exec_one("SELECT value FROM counter WHERE id = 1"));
                        const auto next = row.get<std::int64_t>(0) + 1;
                        GYM_CHECK(
                            transaction.exec("UPDATE counter SET value = $1 WHERE id = 1", {next}));
                        return 0;
                    },
                    options);
                if (!result.ok()) ++failed;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(*value(1), kThreads * kEach);
}

TEST_F(DatabaseTest, ADeadlockIsResolvedByRunningTheVictimAgain) {
    std::atomic<int> first_locks = 0;
    std::atomic<int> runs = 0;
    const auto cross = [&](int first, int second) {
        return test_.owner().transact([&, first, second](Transaction& transaction) -> Status {
            const bool first_run = runs++ < 2;
            GYM_CHECK(add(transaction, first, 1));
            if (first_run) {
                ++first_locks;
                while (first_locks < 2)
                    std::this_thread::yield();
            }
            GYM_CHECK(add(transaction, second, 1));
            return {};
        });
    };
    Status other;
    std::jthread thread([&] { other = cross(2, 1); });
    const Status mine = cross(1, 2);
    thread.join();
    EXPECT_TRUE(mine.ok());
    EXPECT_TRUE(other.ok());
    // Row locks are not fair: a victim that takes its first one before the other transaction wakes
    // up meets it in another deadlock.
    EXPECT_GE(runs, 3);
    EXPECT_EQ(*value(1), 2);
    EXPECT_EQ(*value(2), 2);
}

TEST_F(DatabaseTest, ALostConnectionBeforeCommitRunsTheBodyAgain) {
    int runs = 0;
    const auto status = test_.owner().transact([&](Transaction& transaction) -> Status {
        GYM_CHECK(add(transaction, 1, 1));
        if (++runs == 1) {
            // The backend ends itself: the connection is lost in the middle of the transaction.
            GYM_CHECK(transaction.exec("SELECT pg_terminate_backend(pg_backend_pid())"));
        }
        return {};
    });
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(*value(1), 1);
}

TEST_F(DatabaseTest, ACrashAndRestartOfTheServerIsSurvived) {
    ASSERT_TRUE(test_.owner().transact([](Transaction& t) { return add(t, 1, 7); }).ok());
    ASSERT_TRUE(testing::postgres().stop(StopMode::kImmediate).ok());
    Result<int> result = 0;
    std::jthread caller(
        [&] { result = test_.owner().transact([](Transaction& t) { return add(t, 1, 1); }); });
    ASSERT_TRUE(testing::postgres().start().ok());
    caller.join();
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(*value(1), 8);
}

TEST_F(DatabaseTest, AnUnknownCommitIsReportedUnlessTheBodyIsIdempotent) {
    // A deferred trigger runs inside COMMIT; ending the backend there loses the answer.
    ASSERT_TRUE(
        test_.owner()
            .transact([](Transaction& transaction) {
                return transaction.exec_script(
                    "CREATE SEQUENCE ends; "
                    "CREATE FUNCTION end_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                    "IF nextval('ends') % 2 = 1 THEN "
                    "PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$;"
                    "CREATE CONSTRAINT TRIGGER t AFTER UPDATE ON counter DEFERRABLE INITIALLY "
                    "DEFERRED FOR EACH ROW EXECUTE FUNCTION end_once()");
            })
            .ok());
    int runs = 0;
    const auto body = [&](Transaction& transaction) -> Result<int> {
        ++runs;
        return add(transaction, 1, 1);
    };
    const auto reported = test_.owner().transact(body);
    ASSERT_FALSE(reported.ok());
    EXPECT_EQ(reported.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(reported.error().message.find("COMMIT"), std::string::npos)
        << reported.error().message;
    EXPECT_EQ(runs, 1);

    ASSERT_TRUE(test_.owner()
                    .transact([](Transaction& t) { return t.exec("SELECT nextval('ends')"); })
                    .ok());
    TransactOptions options;
    options.idempotent = true;
    runs = 0;
    const auto repeated = test_.owner().transact(body, options);
    EXPECT_TRUE(repeated.ok()) << repeated.error().message;
    EXPECT_EQ(runs, 2);
}

TransactOptions of_one_statement() {
    TransactOptions options;
    options.idempotent = true;
    options.single_statement = true;
    return options;
}

TEST_F(DatabaseTest, WhatIsDurableAfterCommitIsOnDiskWhenItReturns) {
    // Nothing but a wait for the disk writes the log.
    const auto set_delay = [&](const std::string& command) {
        for (const std::string& sql : {command, std::string("SELECT pg_reload_conf()")}) {
            const auto done = test_.owner().transact([&](Transaction& t) { return t.exec(sql); },
                                                     of_one_statement());
            ASSERT_TRUE(done.ok()) << done.error().message;
        }
    };
    ASSERT_NO_FATAL_FAILURE(set_delay("ALTER SYSTEM SET wal_writer_delay = '10s'"));
    TransactOptions options;
    options.idempotent = true;
    const auto on_disk = [&](DiskWait wait) {
        options.disk_wait = wait;
        std::string written;
        const Status done = test_.owner().transact(
            [&](Transaction& t) -> Status {
                GYM_CHECK(add(t, 1, 1));
                GYM_TRY(const Row row, t.exec_one("SELECT pg_current_wal_insert_lsn()::text"));
                written = row.get<std::string>(0);
                return {};
            },
            options);
        EXPECT_TRUE(done.ok()) << done.error().message;
        return test_.owner()
            .transact([&](Transaction& t) -> Result<bool> {
                GYM_TRY(const Row row,
                        t.exec_one("SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn", {written}));
                return row.get<bool>(0);
            })
            .value();
    };
    EXPECT_TRUE(on_disk(DiskWait::kInCommit));
    EXPECT_TRUE(on_disk(DiskWait::kAfterCommit));
    int later = 0;
    for (int i = 0; i < 20; ++i)
        later += on_disk(DiskWait::kNone) ? 0 : 1;
    EXPECT_GT(later, 0) << "or the others prove nothing";
    ASSERT_NO_FATAL_FAILURE(set_delay("ALTER SYSTEM RESET wal_writer_delay"));

    options.idempotent = false;
    options.disk_wait = DiskWait::kAfterCommit;
    const auto refused =
        test_.owner().transact([](Transaction& t) { return add(t, 1, 1); }, options);
    EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
}

TEST_F(DatabaseTest, OneStatementIsATransactionByItself) {
    const auto added =
        test_.owner().transact([](Transaction& t) { return add(t, 1, 3); }, of_one_statement());
    EXPECT_EQ(added.value(), 1);
    const auto refused =
        test_.owner().transact([](Transaction& t) { return add(t, 1, -4); }, of_one_statement());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(*value(1), 3);
    const auto two = test_.owner().transact(
        [](Transaction& t) -> Result<int> {
            GYM_CHECK(add(t, 1, 1));
            return add(t, 2, 1);
        },
        of_one_statement());
    EXPECT_EQ(two.error().code, ErrorCode::kInternal);
    EXPECT_EQ(*value(1), 4);
    EXPECT_EQ(*value(2), 0);
}

TEST_F(DatabaseTest, OneStatementIsOnlyWhatCanBeRepeated) {
    TransactOptions once = of_one_statement(), serializable = once, reading = once;
    once.idempotent = false;
    serializable.isolation = Isolation::kSerializable;
    reading.read_only = true;
    for (const TransactOptions& options : {once, serializable, reading}) {
        const auto refused =
            test_.owner().transact([](Transaction& t) { return add(t, 1, 3); }, options);
        EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
    }
    EXPECT_EQ(*value(1), 0);
}

TEST_F(DatabaseTest, OneStatementWhoseAnswerIsLostIsRunAgain) {
    ASSERT_TRUE(
        test_.owner().transact([](Transaction& t) { return t.exec("CREATE SEQUENCE ends"); }).ok());
    int runs = 0;
    const auto status = test_.owner().transact(
        [&](Transaction& transaction) -> Status {
            ++runs;
            return transaction.exec_script(
                "SELECT CASE WHEN nextval('ends') = 1 THEN "
                "pg_terminate_backend(pg_backend_pid()) END");
        },
        of_one_statement());
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(runs, 2);
}

TEST(Database, RefusesAWrongPasswordClearlyAndWithoutShowingIt) {
    testing::TestDatabase test;
    ConnectionConfig config = test.owner_config();
    config.password = "wrong-password-1";
    const auto opened = Database::open(config);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kUnauthenticated) << opened.error().message;
    EXPECT_EQ(opened.error().message.find("wrong-password-1"), std::string::npos);
    config = test.owner_config();
    config.host = "/nonexistent";
    EXPECT_EQ(Database::open(config).error().code, ErrorCode::kUnavailable);
}

TEST(WithRetry, StopsAtTheFirstErrorThatRetryingCannotMend) {
    int calls = 0;
    const auto result = with_retry(
        [&]() -> Result<int> {
            if (++calls < 3) return fail(ErrorCode::kUnavailable, "later");
            return fail(ErrorCode::kConflict, "no");
        },
        std::chrono::seconds(10));
    EXPECT_EQ(result.error().code, ErrorCode::kConflict);
    EXPECT_EQ(calls, 3);
}

TEST(WithRetry, EndsWhenAStopIsRequested) {
    std::stop_source source;
    int calls = 0;
    const auto result = with_retry(
        [&]() -> Result<int> {
            if (++calls == 2) source.request_stop();
            return fail(ErrorCode::kUnavailable, "no server");
        },
        std::chrono::hours(1), source.get_token());
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(result.error().message, "stopped while waiting: no server");
    EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace gym::db
