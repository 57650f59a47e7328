#include "ledger_fixture.hpp"

// What a program with the ledger's own login could try, and what even the owner of the tables
// cannot do by accident.
namespace gym::ledger {
namespace {

class TamperTest : public LedgerTest {
  protected:
    void SetUp() override {
        a_ = account("0xa");
        b_ = account("0xb");
        fund(a_, 100);
        ASSERT_EQ(book({move("t", a_, b_, 40), move("p", a_, b_, 10, TransferKind::kPending)}),
                  (Statuses{kCreated, kCreated}));
    }
    static std::string refusal(db::Database& database, const std::string& sql) {
        const auto result = database.transact([&](db::Transaction& t) { return t.exec(sql); });
        return result.ok() ? "" : std::string(to_string(result.error().code));
    }
    AccountId a_{}, b_{};
};

const std::vector<std::string> kAttacks = {
    "UPDATE ledger.account SET credits = credits + 1000 WHERE owner = '0xa'",
    "UPDATE ledger.account SET debits = 0 WHERE owner = '0xa'",
    "UPDATE ledger.account SET owner = '0xb2' WHERE owner = '0xb'",
    "DELETE FROM ledger.account WHERE owner = '0xa'",
    "TRUNCATE ledger.account CASCADE",
    "INSERT INTO ledger.account (owner, asset, kind, credits) VALUES ('0xc', 'erc20:1:test', "
    "'payable', 7)",
    "UPDATE ledger.transfer SET amount = 1",
    "UPDATE ledger.transfer SET reason = 'nothing'",
    "DELETE FROM ledger.transfer",
    "TRUNCATE ledger.transfer CASCADE",
    "INSERT INTO ledger.transfer (id, kind, asset, debit_account, credit_account, amount, reason, "
    "fingerprint) "
    "SELECT gen_random_uuid(), 'transfer', asset, debit_account, credit_account, 1, '', "
    "fingerprint "
    "FROM ledger.transfer LIMIT 1",
    "UPDATE ledger.entry SET delta = delta * 2",
    "DELETE FROM ledger.entry",
    "TRUNCATE ledger.entry",
    "INSERT INTO ledger.entry SELECT account_id, version + 1000, transfer_id, delta, balance_after "
    "FROM ledger.entry",
    "ALTER TABLE ledger.entry DISABLE TRIGGER ALL",
    "ALTER TABLE ledger.account DROP CONSTRAINT account_is_covered",
    "DROP TABLE ledger.entry CASCADE",
    "SET ROLE gym_ledger_owner",
    "CREATE OR REPLACE FUNCTION ledger.fingerprint(text, bigint, bigint, numeric, uuid, bigint, "
    "uuid, text) "
    "RETURNS bytea LANGUAGE sql AS 'SELECT ''\\x00''::bytea'",
    "SELECT ledger.book(ARRAY[gen_random_uuid()], ARRAY['expire'], NULL, NULL, NULL, NULL, NULL, "
    "NULL, "
    "ARRAY[''], 0, true, true)",
};

TEST_F(TamperTest, NoRoleOfAProgramCanWriteExceptThroughTheFunctions) {
    for (const char* group : {"gym_rewards", "gym_api", "gym_coordinator"}) {
        const auto database = test_.as(group);
        for (const std::string& attack : kAttacks)
            EXPECT_EQ(refusal(*database, attack), "permission_denied") << group << ": " << attack;
    }
}

TEST_F(TamperTest, HistoryRefusesEvenTheSuperuser) {
    for (const char* attack :
         {"UPDATE ledger.transfer SET amount = 1", "DELETE FROM ledger.transfer",
          "TRUNCATE ledger.transfer CASCADE", "UPDATE ledger.entry SET delta = delta * 2",
          "DELETE FROM ledger.entry", "TRUNCATE ledger.entry", "DELETE FROM ledger.account",
          "UPDATE ledger.account SET owner = owner || 'x'",
          "UPDATE ledger.account SET credits = credits - 1 WHERE owner = '0xa'"})
        EXPECT_EQ(refusal(test_.owner(), attack), "permission_denied") << attack;
    EXPECT_EQ(refusal(test_.owner(),
                      "UPDATE ledger.account SET debits = debits + 1000 WHERE owner = '0xa'"),
              "invalid_argument")
        << "no overdraft, whoever writes";
}

TEST_F(TamperTest, EntriesThatDoNotCancelAreRefusedWhoeverWrites) {
    EXPECT_EQ(
        refusal(test_.owner(),
                "INSERT INTO ledger.entry SELECT account_id, version + 100, transfer_id, 5, 5 "
                "FROM ledger.entry LIMIT 1"),
        "invalid_argument");
}

TEST_F(TamperTest, OneTransferCannotMixTwoAssets) {
    const AccountId foreign = account("0xb", AccountKind::kAvailable, "erc20:9:other");
    EXPECT_EQ(
        refusal(
            test_.owner(),
            "INSERT INTO ledger.transfer (id, kind, asset, debit_account, credit_account, amount, "
            "reason, fingerprint) SELECT gen_random_uuid(), 'transfer', asset, debit_account, " +
                std::to_string(static_cast<std::int64_t>(foreign)) +
                ", 1, '', fingerprint FROM ledger.transfer LIMIT 1"),
        "conflict");
}

/// The audit finds what somebody with full power over the tables changed behind the ledger's back.
class AuditTest : public TamperTest {
  protected:
    void TearDown() override {}  // the ledger is broken on purpose

    std::vector<std::string> audit_after(const std::string& sql) {
        const auto status = test_.owner().transact([&](db::Transaction& t) {
            return t.exec_script(
                "ALTER TABLE ledger.account DISABLE TRIGGER USER;"
                "ALTER TABLE ledger.transfer DISABLE TRIGGER USER;"
                "ALTER TABLE ledger.entry DISABLE TRIGGER USER;" +
                sql);
        });
        EXPECT_TRUE(status.ok()) << status.error().message;
        return ledger_.audit().value_or({"audit failed"});
    }
    static bool mentions(const std::vector<std::string>& problems, const std::string& view) {
        for (const std::string& problem : problems)
            if (problem.starts_with(view)) return true;
        return false;
    }
};

TEST_F(AuditTest, FindsAMintedBalance) {
    const auto problems =
        audit_after("UPDATE ledger.account SET credits = credits + 1 WHERE owner = '0xb'");
    EXPECT_TRUE(mentions(problems, "ledger_account_totals"));
    EXPECT_TRUE(mentions(problems, "ledger_zero_sum"));
    EXPECT_TRUE(mentions(problems, "ledger_entry_chain"));
}

TEST_F(AuditTest, FindsARewrittenTransfer) {
    EXPECT_TRUE(mentions(audit_after("UPDATE ledger.transfer SET amount = 41 WHERE reason = 't'"),
                         "ledger_fingerprints"));
    EXPECT_TRUE(mentions(ledger_.audit().value_or({}), "ledger_entry_pairs"));
}

TEST_F(AuditTest, FindsARemovedEntry) {
    EXPECT_TRUE(mentions(audit_after("DELETE FROM ledger.entry WHERE version = 1 AND account_id = "
                                     "(SELECT id FROM ledger.account WHERE owner = '0xa')"),
                         "ledger_entry_chain"));
}

TEST_F(AuditTest, FindsARewrittenEntry) {
    EXPECT_TRUE(mentions(audit_after("UPDATE ledger.entry SET balance_after = balance_after + 1"),
                         "ledger_entry_chain"));
}

}  // namespace
}  // namespace gym::ledger
