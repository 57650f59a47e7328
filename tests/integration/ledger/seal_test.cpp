#include "seal_fixture.hpp"

#include <atomic>
#include <thread>

namespace gym::ledger {
namespace {

TEST_F(SealTest, EachSealCoversWhatIsNewAndNamesTheOneBefore) {
    EXPECT_EQ(tick(), std::nullopt) << "nothing to seal";
    fund(a_, 100);
    pay("one");
    const auto first = tick();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->record.number, 1U);
    EXPECT_EQ(first->record.transfers, 2U);
    EXPECT_EQ(first->record.previous, Digest{});
    EXPECT_EQ(first->record.last_seq, seq_of("one"));
    EXPECT_EQ(first->record.sealed_at, 1'000'000);
    EXPECT_EQ(first->record.signer, key_.address());
    EXPECT_EQ(tick(), std::nullopt) << "all is sealed";

    clock_.advance_ms(-5'000);  // a clock that is set back
    pay("two");
    const auto second = tick();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->record.number, 2U);
    EXPECT_EQ(second->record.previous, first->hash);
    EXPECT_EQ(second->record.first_seq, seq_of("two"));
    EXPECT_EQ(second->record.sealed_at, 1'000'000);
    EXPECT_EQ(*database_->transact([](db::Transaction& tx) { return seal_head(tx); }),
              std::optional(SealHead{2, second->hash}));
    const auto report = verified();
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->seals, 2U);
    EXPECT_EQ(report->transfers, 3U);
    EXPECT_EQ(report->entries, 6U);
    EXPECT_EQ(report->unsealed, 0U);
}

TEST_F(SealTest, ATransferThatCommitsLateIsUnderTheNextSealAndNoneIsAboveItBefore) {
    fund(a_, 100);
    fund(c_, 100);
    ASSERT_TRUE(tick());
    const auto late = database_->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(submit(tx, std::vector{move("late", a_, b_, 1)}, clock_.now_ms()));
        // Booked and committed by somebody else meanwhile, with a higher number.
        EXPECT_EQ(book(move("early", c_, account("0xd"), 1)), kCreated);
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(tick(), std::nullopt) << "'late' may still commit";
        return {};
    });
    ASSERT_TRUE(late.ok()) << late.error().message;
    EXPECT_LT(seq_of("late"), seq_of("early"));
    const auto seal = tick();
    ASSERT_TRUE(seal);
    EXPECT_EQ(seal->record.transfers, 2U);
    EXPECT_EQ(seal->record.first_seq, seq_of("late"));
    EXPECT_EQ(seal->record.last_seq, seq_of("early"));
}

TEST_F(SealTest, WritersThatCameLaterDoNotKeepOlderTransfersUnsealed) {
    fund(a_, 100);
    fund(c_, 100);
    ASSERT_TRUE(tick());
    const auto first = database_->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(submit(tx, std::vector{move("first", a_, b_, 1)}, clock_.now_ms()));
        EXPECT_EQ(tick(), std::nullopt);  // the mark waits for this transaction
        return {};
    });
    ASSERT_TRUE(first.ok());
    const auto second = database_->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(submit(tx, std::vector{move("second", c_, account("0xd"), 1)}, clock_.now_ms()));
        const auto seal = tick();
        EXPECT_TRUE(seal && seal->record.last_seq == seq_of("first"));
        EXPECT_EQ(tick(), std::nullopt);
        return {};
    });
    ASSERT_TRUE(second.ok());
    EXPECT_TRUE(tick());
}

TEST_F(SealTest, NumbersOfWhatWasRolledBackAreGapsThatNobodyWaitsFor) {
    fund(a_, 100);
    (void)database_->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(submit(tx, std::vector{move("never", a_, b_, 1)}, clock_.now_ms()));
        return fail(ErrorCode::kCancelled, "rolled back");
    });
    pay("after");
    const auto seal = tick();
    ASSERT_TRUE(seal);
    EXPECT_EQ(seal->record.transfers, 2U);
    EXPECT_EQ(seal->record.last_seq, seal->record.first_seq + 2);
}

TEST_F(SealTest, ABacklogTakesSeveralSeals) {
    fund(a_, 100);
    for (int i = 0; i < 9; ++i)
        pay("t" + std::to_string(i));
    Sealer small(*database_, clock_, key_, {.transfers_max = 4, .page = 3});
    EXPECT_EQ(tick(small)->record.transfers, 4U);
    EXPECT_EQ(tick(small)->record.transfers, 4U);
    EXPECT_EQ(tick(small)->record.transfers, 2U);
    EXPECT_EQ(tick(small), std::nullopt);
}

TEST_F(SealTest, GoesOnAfterACrashOfTheServer) {
    fund(a_, 100);
    pay("before");
    ASSERT_TRUE(tick());
    pay("unsealed");
    ASSERT_TRUE(testing::postgres().restart(db::StopMode::kImmediate).ok());
    const auto seal = tick();
    ASSERT_TRUE(seal);
    EXPECT_EQ(seal->record.number, 2U);
    EXPECT_EQ(seal->record.first_seq, seq_of("unsealed"));
}

TEST_F(SealTest, SealersAndWritersInEachOthersWayMakeOneChainThatCoversEverything) {
    std::vector<AccountId> payers;
    for (int i = 0; i < 4; ++i) {
        payers.push_back(account("payer" + std::to_string(i)));
        fund(payers.back(), 1'000);
    }
    std::atomic<int> writers = 4;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 60; ++i) {
                const std::string name = std::to_string(t) + "/" + std::to_string(i);
                const AccountId to =
                    i % 2 == 0 ? b_ : payers[static_cast<std::size_t>((t + 1) % 4)];
                (void)ledger_.submit(
                    std::vector{move(name, payers[static_cast<std::size_t>(t)], to, 1)});
            }
            --writers;
        });
    for (int s = 0; s < 2; ++s)
        threads.emplace_back([&] {
            Sealer sealer(*database_, clock_, key_, {.transfers_max = 16, .page = 5});
            while (writers > 0) {
                const auto seal = sealer.tick();
                if (!seal.ok()) {  // the other one was faster
                    EXPECT_EQ(seal.error().code, ErrorCode::kConflict) << seal.error().message;
                }
            }
        });
    threads.clear();
    while (tick()) {
    }
    const auto report = verified();
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->problems, std::vector<Problem>{});
    EXPECT_EQ(report->unsealed, 0U);
    EXPECT_EQ(report->transfers, 4U + 240U);
    EXPECT_GE(report->seals, 2U);
}

// Changes that the database refuses, whoever asks.
class SealRefusals : public SealTest {
  protected:
    void SetUp() override {
        SealTest::SetUp();
        fund(a_, 100);
        ASSERT_TRUE(tick());
        pay("one");
        pay("two");
        (void)*database_->transact(
            [](db::Transaction& tx) { return tx.exec("SELECT ledger.settle()"); });
        good_.number = 2;
        good_.first_seq = seq_of("one");
        good_.last_seq = seq_of("two");
        good_.transfers = 2;
        good_.root = Digest{{1}};
        good_.previous =
            (*database_->transact([](db::Transaction& tx) { return seal_head(tx); }))->hash;
        good_.sealed_at = 2'000'000;
    }
    void TearDown() override {}  // made-up roots

    ErrorCode append(const SealRecord& record, db::TransactOptions options = {}) {
        const Seal seal = sign_seal(record, key_);
        const auto result = database_->transact(
            [&](db::Transaction& tx) {
                return tx.exec("SELECT ledger.append_seal($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                               {record.number, record.first_seq, record.last_seq, record.transfers,
                                record.root, record.previous, record.sealed_at, seal.record.signer,
                                seal.signature});
            },
            options);
        return result.ok() ? ErrorCode::kInternal : result.error().code;
    }
    SealRecord with(auto&& change) {
        SealRecord record = good_;
        change(record);
        return record;
    }
    SealRecord good_;
};

TEST_F(SealRefusals, ASealThatDoesNotContinueTheChainOrLeavesTransfersOut) {
    const std::vector<SealRecord> wrong = {
        with([](auto& r) { r.number = 3; }),          with([](auto& r) { r.number = 1; }),
        with([](auto& r) { r.previous = Digest{}; }), with([](auto& r) { r.sealed_at = 1; }),
        with([](auto& r) { r.first_seq += 1; }),      with([](auto& r) { r.transfers = 1; }),
        with([](auto& r) { r.last_seq -= 1; }),       with([](auto& r) { r.last_seq += 1; }),
    };
    for (std::size_t i = 0; i < wrong.size(); ++i)
        EXPECT_EQ(append(wrong[i]), ErrorCode::kConflict) << i;
    EXPECT_EQ(append(good_, {.isolation = db::Isolation::kRepeatableRead}), ErrorCode::kConflict)
        << "an old snapshot";
    EXPECT_EQ(append(good_), ErrorCode::kInternal) << "which stands for success";
    EXPECT_EQ(append(good_), ErrorCode::kConflict) << "once";
}

TEST_F(SealRefusals, ASealAboveWhatIsSettled) {
    const AccountId d = account("0xd");
    fund(c_, 1);
    const auto open = database_->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(submit(tx, std::vector{move("open", a_, b_, 1)}, clock_.now_ms()));
        EXPECT_EQ(book(move("above", c_, d, 1)), kCreated);
        // All that can be seen from outside; 'open' is not among it.
        EXPECT_EQ(append(with([&](auto& r) {
                      r.last_seq = seq_of("above");
                      r.transfers = 4;
                  })),
                  ErrorCode::kConflict);
        return {};
    });
    ASSERT_TRUE(open.ok()) << open.error().message;
    EXPECT_EQ(append(good_), ErrorCode::kInternal) << "what was settled before still is";
}

TEST_F(SealRefusals, AnyOtherWayToASealWhoeverTries) {
    const std::string call =
        "SELECT ledger.append_seal(2, 1, 1, 1, ''::bytea, ''::bytea, 1, ''::bytea, ''::bytea)";
    for (const char* group : {"gym_api", "gym_coordinator"}) {
        const auto database = test_.as(group);
        for (const std::string& sql : {call, std::string("SELECT ledger.settle()")})
            EXPECT_EQ(refusal(*database, sql), "permission_denied") << group << ": " << sql;
    }
    for (const char* group : {"gym_rewards", "gym_api", "gym_coordinator"}) {
        const auto database = test_.as(group);
        for (const char* sql :
             {"UPDATE ledger.seal SET root = previous", "DELETE FROM ledger.seal",
              "TRUNCATE ledger.seal", "INSERT INTO ledger.seal SELECT * FROM ledger.seal",
              "UPDATE ledger.seal_mark SET settled = 1000", "DELETE FROM ledger.seal_mark",
              "SELECT ledger.writers()", "ALTER TABLE ledger.seal DISABLE TRIGGER ALL",
              "CREATE OR REPLACE FUNCTION ledger.seal_hash(ledger.seal) RETURNS bytea LANGUAGE sql "
              "AS 'SELECT ''''::bytea'"})
            EXPECT_EQ(refusal(*database, sql), "permission_denied") << group << ": " << sql;
    }
    for (const char* sql : {"UPDATE ledger.seal SET root = previous", "DELETE FROM ledger.seal",
                            "TRUNCATE ledger.seal"})
        EXPECT_EQ(refusal(test_.owner(), sql), "permission_denied") << sql;
}

}  // namespace
}  // namespace gym::ledger
