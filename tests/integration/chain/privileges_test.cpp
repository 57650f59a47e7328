// One service may do nothing to another's rows. A forged intent would be signed, a forged log
// credited.

#include "gym/crypto/keccak.hpp"
#include "stores.hpp"

namespace gym::testing {
namespace {

class ChainPrivileges : public ::testing::Test {
  protected:
    Status run(db::Database& as, const std::string& sql) {
        return as.transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const db::Rows rows, tx.exec(sql));
            affected_ = rows.affected();
            return {};
        });
    }
    void SetUp() override {
        chain::IntentRequest request;
        request.id = "payout";
        ASSERT_TRUE(intents_->submit(request, 1).ok());
        chain::Attempt attempt;
        attempt.raw = {2, 1};
        attempt.hash = crypto::keccak256(attempt.raw);
        ASSERT_TRUE(intents_->assign("payout", 0, 1, attempt).ok());
    }

    std::uint64_t affected_ = 0;
    TestDatabase database_;
    std::unique_ptr<db::Database> rewards_ = database_.as("gym_rewards");
    std::unique_ptr<db::Database> coordinator_ = database_.as("gym_coordinator");
    std::unique_ptr<db::Database> api_ = database_.as("gym_api");
    const Address sender_ = chain::private_chain_key(1).address();
    std::unique_ptr<chain::IntentStore> intents_ =
        chain_store::postgres_intents(*rewards_, {"gym_rewards"}, kStoreChain, sender_);
};

TEST_F(ChainPrivileges, AServiceSeesItsOwnRowsOnly) {
    const auto theirs =
        chain_store::postgres_intents(*coordinator_, {"gym_rewards"}, kStoreChain, sender_);
    EXPECT_EQ(theirs->find("payout").error().code, ErrorCode::kNotFound);
    chain::IntentRequest forged;
    forged.id = "forged";
    forged.value_wei = Amount(1'000'000);
    const auto submitted = theirs->submit(forged, 1);
    ASSERT_FALSE(submitted.ok());
    EXPECT_EQ(submitted.error().code, ErrorCode::kPermissionDenied) << submitted.error().message;
    EXPECT_EQ(intents_->open(10).value().size(), 1U);
    EXPECT_EQ(chain_store::postgres_follower(*coordinator_, {"gym_rewards"}, "f", kStoreChain)
                  .error()
                  .code,
              ErrorCode::kPermissionDenied);
}

TEST_F(ChainPrivileges, WhatWasAskedOrSignedCannotBeChangedOrDeleted) {
    for (const char* sql :
         {"UPDATE chain.intent SET value_wei = 5", "UPDATE chain.intent SET recipient = NULL",
          "UPDATE chain.intent SET data = ''", "UPDATE chain.attempt SET raw = ''",
          "DELETE FROM chain.intent", "DELETE FROM chain.attempt", "DELETE FROM chain.block",
          "DELETE FROM chain.log", "TRUNCATE chain.log", "UPDATE chain.log SET data = ''"})
        EXPECT_EQ(run(*rewards_, sql).error().code, ErrorCode::kPermissionDenied) << sql;
    EXPECT_EQ(run(*rewards_, "UPDATE chain.intent SET nonce = 9").error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(
        run(*rewards_, "UPDATE chain.intent SET state = 'queued', nonce = NULL, gas_limit = NULL")
            .error()
            .code,
        ErrorCode::kConflict);
}

TEST_F(ChainPrivileges, TheApiReadsEverythingAndWritesNothing) {
    ASSERT_TRUE(run(*api_, "SELECT * FROM chain.intent").ok());
    const auto count = api_->transact([](db::Transaction& tx) -> Result<std::uint64_t> {
        GYM_TRY(const db::Row row, tx.exec_one("SELECT count(*) FROM chain.intent"));
        return row.get<std::uint64_t>(std::size_t{0});
    });
    EXPECT_EQ(count.value(), 1U);
    EXPECT_EQ(run(*api_, "UPDATE chain.intent SET state = 'queued'").error().code,
              ErrorCode::kPermissionDenied);
}

}  // namespace
}  // namespace gym::testing
