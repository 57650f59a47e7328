#include "ledger_fixture.hpp"

// Attempts of a program with the ledger's own login, and changes that even the owner of the tables
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
    "INSERT INTO ledger.transfer (id, kind, debit_account, credit_account, amount, reason, "
    "fingerprint) "
    "SELECT gen_random_uuid(), 'pending', debit_account, credit_account, 1, '', fingerprint "
    "FROM ledger.transfer LIMIT 1",
    "UPDATE ledger.transfer SET debit_after = 0, credit_after = 0",
    "UPDATE ledger.transfer SET credit_version = credit_version + 1000",
    "ALTER TABLE ledger.transfer DISABLE TRIGGER ALL",
    "ALTER TABLE ledger.transfer DROP CONSTRAINT transfer_is_sound",
    "DROP INDEX ledger.transfer_debit",
    "SET session_replication_role = replica",
    "ALTER TABLE ledger.account DROP CONSTRAINT account_is_covered",
    "DROP VIEW ledger.entry CASCADE",
    "DROP TABLE ledger.transfer CASCADE",
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

TEST_F(TamperTest, EntriesArePartOfTheirTransfersWhoeverWrites) {
    const auto owner = [&](const char* sql) { return refusal(test_.owner(), sql); };
    for (const char* attack :
         {"UPDATE ledger.entry SET delta = delta * 2", "DELETE FROM ledger.entry",
          "INSERT INTO ledger.entry SELECT account_id, version + 1000, transfer_id, delta, "
          "balance_after FROM ledger.entry"}) {
        EXPECT_NE(owner(attack), "") << attack;
        for (const char* group : {"gym_rewards", "gym_api", "gym_coordinator"})
            EXPECT_NE(refusal(*test_.as(group), attack), "") << group << ": " << attack;
    }
}

TEST_F(TamperTest, HistoryRefusesEvenTheSuperuser) {
    for (const char* attack :
         {"UPDATE ledger.transfer SET amount = 1", "DELETE FROM ledger.transfer",
          "TRUNCATE ledger.transfer CASCADE", "UPDATE ledger.transfer SET debit_after = 0",
          "DELETE FROM ledger.account", "TRUNCATE ledger.account",
          "UPDATE ledger.account SET owner = owner || 'x'",
          "UPDATE ledger.account SET credits = credits - 1 WHERE owner = '0xa'"})
        EXPECT_EQ(refusal(test_.owner(), attack), "permission_denied") << attack;
    EXPECT_EQ(refusal(test_.owner(),
                      "UPDATE ledger.account SET debits = debits + 1000 WHERE owner = '0xa'"),
              "invalid_argument")
        << "no overdraft, whoever writes";
}

/// A row that fits in all but what the caller changes: a transfer of 1 from 0xa to 0xb.
std::string insert(const std::string& version_a = "version + 1", const std::string& rest = "") {
    return "INSERT INTO ledger.transfer (id, kind, debit_account, credit_account, amount, reason, "
           "fingerprint, debit_version, debit_after, credit_version, credit_after) SELECT "
           "gen_random_uuid(), 'transfer', a.id, b.id, 1, '', sha256(''), a." +
           version_a +
           ", 0, b.version + 1, 0 FROM ledger.account a, ledger.account b WHERE a.owner = '0xa' "
           "AND b.owner = '0xb' AND a.kind = 'available' " +
           (rest.empty() ? "AND b.asset = a.asset" : rest);
}

TEST_F(TamperTest, EntriesThatDoNotContinueTheirAccountsAreRefusedWhoeverWrites) {
    EXPECT_EQ(refusal(test_.owner(), insert("version")), "already_exists") << "a version twice";
    EXPECT_EQ(refusal(test_.owner(), insert("version + 2")), "invalid_argument") << "a gap";
    EXPECT_EQ(refusal(test_.owner(), insert("version - 1")), "invalid_argument") << "in the past";
    std::string one_sided = insert();
    one_sided.replace(one_sided.find("b.version + 1"), 13, "NULL::bigint");
    EXPECT_EQ(refusal(test_.owner(), one_sided), "invalid_argument") << "one entry alone";
    EXPECT_EQ(refusal(test_.owner(), "BEGIN; " + insert() + "; ROLLBACK"), "")
        << "but for that it fits";
}

TEST_F(TamperTest, OneTransferCannotMixTwoAssets) {
    (void)account("0xb", AccountKind::kAvailable, "erc20:9:other");
    EXPECT_EQ(refusal(test_.owner(), insert("version + 1", "AND b.asset = 'erc20:9:other'")),
              "conflict");
}

TEST_F(TamperTest, ATransferNeedsItsAccountsAndAResolutionItsPendingTransfer) {
    EXPECT_EQ(
        refusal(test_.owner(),
                "INSERT INTO ledger.transfer (id, kind, debit_account, credit_account, amount, "
                "reason, fingerprint) VALUES (gen_random_uuid(), 'pending', 998, 999, 1, '', "
                "sha256(''))"),
        "conflict");
    for (const char* pending : {"gen_random_uuid()", "id"})
        EXPECT_EQ(
            refusal(
                test_.owner(),
                std::string("INSERT INTO ledger.transfer (id, kind, debit_account, credit_account, "
                            "amount, pending_id, reason, fingerprint) SELECT gen_random_uuid(), "
                            "'void', debit_account, credit_account, amount + 1, ") +
                    pending + ", '', fingerprint FROM ledger.transfer WHERE kind = 'pending'"),
            "invalid_argument")
            << pending;
}

/// The audit finds what somebody with full power over the tables changed behind the ledger's back.
class AuditTest : public TamperTest {
  protected:
    void TearDown() override {}  // the ledger is broken on purpose

    std::vector<std::string> audit_after(const std::string& sql) {
        const auto status = test_.owner().transact([&](db::Transaction& t) {
            return t.exec_script(
                "ALTER TABLE ledger.account DISABLE TRIGGER USER;"
                "ALTER TABLE ledger.transfer DISABLE TRIGGER USER;" +
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
    const auto problems = audit_after("UPDATE ledger.transfer SET amount = 41 WHERE reason = 't'");
    EXPECT_TRUE(mentions(problems, "ledger_fingerprints"));
    EXPECT_TRUE(mentions(problems, "ledger_entry_chain"));
    EXPECT_TRUE(mentions(problems, "ledger_account_totals"));
}

TEST_F(AuditTest, FindsARemovedTransfer) {
    EXPECT_TRUE(mentions(audit_after("DELETE FROM ledger.transfer WHERE reason = 't'"),
                         "ledger_entry_chain"));
}

TEST_F(AuditTest, FindsARewrittenEntry) {
    EXPECT_TRUE(mentions(audit_after("UPDATE ledger.transfer SET debit_after = debit_after + 1"),
                         "ledger_entry_chain"));
}

TEST_F(AuditTest, FindsAnAccountOfAnotherAsset) {
    EXPECT_TRUE(mentions(
        audit_after("UPDATE ledger.account SET asset = 'erc20:9:other' WHERE owner = '0xb'"),
        "ledger_assets"));
}

}  // namespace
}  // namespace gym::ledger
