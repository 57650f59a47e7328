#include "seal_fixture.hpp"

// Findings of verify() after somebody with full power over the database changed rows behind the
// ledger's back: the first bad row, by name.
namespace gym::ledger {
namespace {

class VerifyTest : public SealTest {
  protected:
    void SetUp() override {
        SealTest::SetUp();
        fund(a_, 100);
        pay("one", 10);
        seal();  // 1
        pay("two", 20);
        ASSERT_EQ(book(move("p", a_, c_, 5, TransferKind::kPending)), kCreated);
        ASSERT_EQ(book(resolve("post", "p", TransferKind::kPost)), kCreated);
        seal();  // 2
        ASSERT_EQ(book(move("q", a_, c_, 7, TransferKind::kPending)), kCreated);
        pay("three", 30);
        pay("four", 3);
        seal();  // 3
        const auto report = verified();
        ASSERT_TRUE(report.ok()) << report.error().message;
        ASSERT_EQ(report->problems, std::vector<Problem>{});
        ASSERT_EQ(report->seals, 3U);
    }
    void TearDown() override {}  // the ledger is broken on purpose

    void seal() {
        clock_.advance_ms(1'000);
        const auto made = tick();
        ASSERT_TRUE(made);
        seals_.push_back(*made);
    }
    static std::string id(const char* name) { return "'" + to_uuid(transfer_id(name)) + "'"; }
    std::string named(const char* name) {
        return "transfer " + to_uuid(transfer_id(name)) + " (seq " + std::to_string(seq_of(name)) +
               ")";
    }
    std::string entry_of(AccountId account, int version) {
        return "entry " + std::to_string(version) + " of " + named(account);
    }
    static std::string named(AccountId account) {
        return "account " + std::to_string(static_cast<std::int64_t>(account));
    }
    static std::string number(AccountId account) {
        return std::to_string(static_cast<std::int64_t>(account));
    }

    /// Runs `sql` with every trigger and key switched off.
    void tamper(const std::string& sql) {
        const auto status = test_.owner().transact([&](db::Transaction& t) {
            return t.exec_script("SET LOCAL session_replication_role = replica;" + sql);
        });
        ASSERT_TRUE(status.ok()) << status.error().message;
    }
    /// The first problem; the views of schema audit are left out.
    Problem first(VerifyOptions options = {}) {
        options.views = false;
        const auto report = verified(options);
        EXPECT_TRUE(report.ok()) << report.error().message;
        if (!report.ok() || report->problems.empty()) return {};
        return report->problems.front();
    }
    /// Writes all seals again, as if `key` had always signed.
    void sign_again(const crypto::PrivateKey& key, std::size_t from) {
        Digest previous = from == 0 ? Digest{} : seals_[from - 1].hash;
        for (std::size_t i = from; i < seals_.size(); ++i) {
            SealRecord record = seals_[i].record;
            record.previous = previous;
            const Seal seal = sign_seal(record, key);
            previous = seal.hash;
            const auto hex = [](const auto& bytes) { return "'\\x" + to_hex(bytes.view()) + "'"; };
            tamper("UPDATE ledger.seal SET previous = " + hex(seal.record.previous) +
                   ", signer = " + hex(seal.record.signer) + ", hash = " + hex(seal.hash) +
                   ", signature = " + hex(seal.signature) +
                   " WHERE number = " + std::to_string(record.number));
        }
    }
    std::vector<Seal> seals_;
};

TEST_F(VerifyTest, AnAmountThatWasChanged) {
    tamper("UPDATE ledger.transfer SET amount = 21 WHERE id = " + id("two"));
    const Problem problem = first();
    EXPECT_EQ(problem.row, named("two"));
    EXPECT_NE(problem.what.find("fingerprint"), std::string::npos);
}

TEST_F(VerifyTest, AnAmountThatWasChangedInEveryPlaceThatFollowsFromIt) {
    tamper(
        "UPDATE ledger.transfer SET amount = 4, fingerprint = ledger.fingerprint(kind, "
        "debit_account, credit_account, 4, NULL, NULL, NULL, reason), debit_after = debit_after - "
        "1, "
        "credit_after = credit_after + 1 WHERE id = " +
        id("four") + ";UPDATE ledger.account SET debits = debits + 1 WHERE id = " + number(a_) +
        ";UPDATE ledger.account SET credits = credits + 1 WHERE id = " + number(b_));
    const Problem problem = first();
    EXPECT_EQ(problem.row, "seal 3");
    EXPECT_EQ(problem.expected, seals_[2].record.root.hex());
    EXPECT_EQ(ledger_.audit().value_or({"failed"}), std::vector<std::string>{})
        << "only the seal knows";
}

TEST_F(VerifyTest, ATransferThatWasRemoved) {
    tamper("DELETE FROM ledger.transfer WHERE id = " + id("three"));
    const Problem problem = first();
    EXPECT_EQ(problem.row, entry_of(a_, 5));
    EXPECT_NE(problem.what.find(named("four")), std::string::npos) << "which comes next";
    EXPECT_EQ(problem.expected, "5");
    EXPECT_EQ(problem.found, "6");
}

TEST_F(VerifyTest, ATransferThatWasRemovedWithAllThatFollowsFromIt) {
    tamper("DELETE FROM ledger.transfer WHERE id = " + id("four") +
           ";UPDATE ledger.account SET debits = debits - 3, version = version - 1 WHERE id = " +
           number(a_) +
           ";UPDATE ledger.account SET credits = credits - 3, version = version - 1 WHERE id = " +
           number(b_));
    const Problem problem = first();
    EXPECT_EQ(problem.row, "seal 3");
    EXPECT_EQ(problem.what, "its transfers");
    EXPECT_EQ(problem.expected.substr(0, 2), "3 ");
    EXPECT_EQ(problem.found.substr(0, 2), "2 ");
}

TEST_F(VerifyTest, TwoRowsThatWereSwapped) {
    const std::string two = std::to_string(seq_of("two")), p = std::to_string(seq_of("p"));
    tamper(
        "ALTER TABLE ledger.transfer ALTER COLUMN seq DROP IDENTITY;"
        "UPDATE ledger.transfer SET seq = -1 WHERE id = " +
        id("two") + ";UPDATE ledger.transfer SET seq = " + two + " WHERE id = " + id("p") +
        ";UPDATE ledger.transfer SET seq = " + p + " WHERE id = " + id("two"));
    EXPECT_EQ(first().row, "seal 2") << "no balance depends on their order";
}

TEST_F(VerifyTest, TwoRowsOfOneAccountThatWereSwapped) {
    const std::string three = std::to_string(seq_of("three")),
                      four = std::to_string(seq_of("four"));
    tamper(
        "ALTER TABLE ledger.transfer ALTER COLUMN seq DROP IDENTITY;"
        "UPDATE ledger.transfer SET seq = -1 WHERE id = " +
        id("three") + ";UPDATE ledger.transfer SET seq = " + three + " WHERE id = " + id("four") +
        ";UPDATE ledger.transfer SET seq = " + four + " WHERE id = " + id("three"));
    EXPECT_EQ(first().row, entry_of(a_, 5));
}

TEST_F(VerifyTest, AReasonATimeAnOwner) {
    tamper("UPDATE ledger.transfer SET reason = 'gift' WHERE id = " + id("one"));
    EXPECT_EQ(first().row, named("one"));
    tamper("UPDATE ledger.transfer SET reason = 'one' WHERE id = " + id("one"));
    EXPECT_EQ(first(), Problem{}) << "put back";
    tamper("UPDATE ledger.transfer SET created_at = created_at - interval '1 day' WHERE id = " +
           id("two"));
    EXPECT_EQ(first().row, "seal 2");
    tamper("UPDATE ledger.transfer SET created_at = created_at + interval '1 day' WHERE id = " +
           id("two") + ";UPDATE ledger.account SET owner = '0xe' WHERE id = " + number(c_));
    EXPECT_EQ(first().row, "seal 2") << "the first with a transfer of that account";
}

TEST_F(VerifyTest, ABalance) {
    tamper("UPDATE ledger.account SET credits = credits + 1 WHERE id = " + number(b_));
    const Problem problem = first();
    EXPECT_EQ(problem.row, named(b_));
    EXPECT_NE(problem.expected.find("credits 63"), std::string::npos) << problem.expected;
    EXPECT_NE(problem.found.find("credits 64"), std::string::npos) << problem.found;
}

TEST_F(VerifyTest, AReservation) {
    tamper("UPDATE ledger.account SET debits_pending = 0 WHERE id = " + number(a_));
    EXPECT_EQ(first().row, named(a_));
}

TEST_F(VerifyTest, AnAccountThatWasRemoved) {
    tamper("DELETE FROM ledger.account WHERE id = " + number(c_));
    EXPECT_EQ(first().row, named("p"));
}

TEST_F(VerifyTest, ABalanceAfterAnEntry) {
    tamper("UPDATE ledger.transfer SET credit_after = credit_after + 1 WHERE id = " + id("two"));
    EXPECT_EQ(first().row, entry_of(b_, 2));
    EXPECT_EQ(first().expected, "30");
    EXPECT_EQ(first().found, "31");
}

TEST_F(VerifyTest, AnEntryThatWasRemovedAndOneThatNothingMakes) {
    tamper(
        "ALTER TABLE ledger.transfer DROP CONSTRAINT transfer_is_sound;"
        "UPDATE ledger.transfer SET debit_version = 99 WHERE id = " +
        id("q"));
    EXPECT_EQ(first().row, named("q")) << "nothing has moved yet";
    tamper("UPDATE ledger.transfer SET debit_version = NULL, debit_after = NULL WHERE id IN (" +
           id("q") + "," + id("one") + ")");
    EXPECT_EQ(first().row, entry_of(a_, 2));
}

TEST_F(VerifyTest, APostThatMovesMoreThanWasReserved) {
    tamper("UPDATE ledger.transfer SET amount = 6 WHERE id = " + id("post"));
    EXPECT_EQ(first().row, named("post"));
    EXPECT_EQ(first().expected, "5");
}

TEST_F(VerifyTest, ATransferThatWasSlippedBetweenTwoSeals) {
    // A number that was drawn and rolled back.
    tamper(
        "ALTER TABLE ledger.transfer ALTER COLUMN seq DROP IDENTITY;"
        "UPDATE ledger.transfer SET seq = seq + 10 WHERE seq >= " +
        std::to_string(seq_of("two")) +
        ";UPDATE ledger.seal SET first_seq = first_seq + 10, last_seq = last_seq + 10 WHERE number "
        "> 1");
    const std::string slipped = std::to_string(seq_of("one") + 1);
    tamper(
        "INSERT INTO ledger.transfer (id, seq, kind, debit_account, credit_account, amount, "
        "reason, "
        "fingerprint) SELECT gen_random_uuid(), " +
        slipped +
        ", 'pending', debit_account, "
        "credit_account, 1, '', ledger.fingerprint('pending', debit_account, credit_account, 1, "
        "NULL, "
        "NULL, NULL, '') FROM ledger.transfer WHERE id = " +
        id("one"));
    const Problem problem = first();
    EXPECT_NE(problem.row.find("(seq " + slipped + ")"), std::string::npos) << to_string(problem);
    EXPECT_NE(problem.what.find("under no seal"), std::string::npos) << to_string(problem);
}

TEST_F(VerifyTest, ADroppedSeal) {
    tamper("DELETE FROM ledger.seal WHERE number = 2");
    EXPECT_EQ(first().row, "seal 2");
    EXPECT_EQ(first().what, "is missing");
}

TEST_F(VerifyTest, TheLastSealsDroppedWhoseHashWasPublished) {
    tamper("DELETE FROM ledger.seal WHERE number = 3");
    EXPECT_EQ(first(), Problem{}) << "its transfers could be unsealed yet";
    EXPECT_EQ(verified()->unsealed, 3U);
    const Problem problem = first({.heads = {{2, seals_[1].hash}, {3, seals_[2].hash}}});
    EXPECT_EQ(problem.row, "seal 3");
    EXPECT_EQ(problem.expected, seals_[2].hash.hex());
}

TEST_F(VerifyTest, ASealWithAnotherRootOrTime) {
    tamper("UPDATE ledger.seal SET root = previous WHERE number = 2");
    EXPECT_EQ(first().row, "seal 2");
    tamper("UPDATE ledger.seal SET root = '\\x" + to_hex(seals_[1].record.root.view()) +
           "', sealed_at_ms = sealed_at_ms + 1 WHERE number = 2");
    EXPECT_EQ(first().row, "seal 2");
}

TEST_F(VerifyTest, ASealSignedByAnotherKey) {
    const auto other = crypto::PrivateKey::generate();
    sign_again(other, 1);
    const Problem problem = first();
    EXPECT_EQ(problem.row, "seal 2");
    EXPECT_EQ(problem.what, "signer");
    EXPECT_EQ(problem.expected, key_.address().hex());
    EXPECT_EQ(problem.found, other.address().hex());
    EXPECT_EQ(first({.signers = {key_.address(), other.address()}}), Problem{})
        << "a new key, announced";
}

TEST_F(VerifyTest, AllSealsSignedByAnotherKey) {
    const auto other = crypto::PrivateKey::generate();
    sign_again(other, 0);
    EXPECT_EQ(first(), Problem{}) << "a chain of its own";
    EXPECT_EQ(first({.signers = {key_.address()}}).row, "seal 1");
    EXPECT_EQ(first({.heads = {{3, seals_[2].hash}}}).row, "seal 3")
        << "the published head is another";
}

TEST_F(VerifyTest, ASignatureThatIsNotOfItsSigner) {
    tamper(
        "UPDATE ledger.seal SET signature = (SELECT signature FROM ledger.seal WHERE number = 1) "
        "WHERE number = 3");
    EXPECT_EQ(first().row, "seal 3");
    EXPECT_EQ(first().what, "signature");
}

TEST_F(VerifyTest, TheViewsOfTheDatabaseSeeTheChainToo) {
    tamper("DELETE FROM ledger.seal WHERE number = 2");
    const auto problems = ledger_.audit().value_or({});
    ASSERT_FALSE(problems.empty());
    EXPECT_TRUE(problems.front().starts_with("ledger_seal")) << problems.front();
}

TEST_F(VerifyTest, StopsAfterAsManyProblemsAsAreWanted) {
    tamper("UPDATE ledger.transfer SET reason = reason || '!'");
    const auto report = verified({.page = 1, .problems_max = 2});
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->problems.size(), 2U);
}

TEST_F(VerifyTest, TheAuditorsRoleReadsAllOfItAndWritesNothing) {
    const auto auditor = test_.as("gym_auditor");
    const auto report = verify(*auditor);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->problems, std::vector<Problem>{});
    for (const char* sql :
         {"DELETE FROM ledger.transfer", "UPDATE ledger.account SET credits = 0",
          "SELECT ledger.settle()", "SELECT ledger.open_account('x', 'y', 'available')",
          "INSERT INTO ledger.seal SELECT * FROM ledger.seal",
          "SELECT file FROM rewards.settlement", "SELECT * FROM registry.job",
          "SELECT * FROM api.api_key", "SELECT lo_creat(-1)", "SELECT lo_from_bytea(0, 'x')",
          "SELECT pg_advisory_lock(1)", "SELECT pg_try_advisory_xact_lock(1, 2)",
          "SELECT pg_advisory_xact_lock_shared(1)"})
        EXPECT_EQ(refusal(*auditor, sql), "permission_denied") << sql;
}

}  // namespace
}  // namespace gym::ledger
