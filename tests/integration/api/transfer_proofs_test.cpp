// Proofs of transfers as gym-api gives them to whoever pays or is paid, with the rights of gym_api.
#include <boost/json.hpp>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "gym/ledger/proof.hpp"
#include "gym/ledger/sealer.hpp"

namespace gym::api {
namespace {

using testing::address_of;
using testing::kAsset;

class TransferProofsTest : public testing::ApiDatabaseTest {
  protected:
    std::string key_of(const Address& owner) {
        return create_key(*api_db_, owner, "test", clock_.now_ms()).value();
    }

    Response ask(const std::string& id, const std::string& key) {
        PostgresBackend on_database = backend();
        Api api({on_database, on_database, on_database, clock_}, {});
        Request request{"GET", "/v1/transfers/" + id + "/proof", {}, "", "req"};
        if (!key.empty()) request.headers["authorization"] = "Bearer " + key;
        const auto admission = api.admit(request);
        return admission.refused ? *admission.refused : api.handle(request);
    }
    static std::string detail(const Response& response) {
        return std::string(boost::json::parse(response.body).as_object().at("detail").as_string());
    }

    void seal() {
        const auto made = sealer_.tick();
        ASSERT_TRUE(made.ok() && *made);
    }

    static std::string id_of(const std::string& purpose) {
        return ledger::to_uuid(ledger::transfer_id(purpose));
    }

    const Address stranger_ = address_of(66);
    const crypto::PrivateKey settler_ = crypto::PrivateKey::generate();
    std::unique_ptr<db::Database> rewards_db_ = database_.as("gym_rewards");
    ledger::Sealer sealer_{*rewards_db_, clock_, settler_};
};

TEST_F(TransferProofsTest, TheAnswerHoldsWithoutTheDatabaseUntilItIsChanged) {
    deposit(owner_, "250", "d1");
    deposit(owner_, "3", "d2");
    deposit(stranger_, "4", "d3");
    seal();
    const Response response = ask(id_of("d1"), key_of(owner_));
    ASSERT_EQ(response.status, 200U) << response.body;
    const auto proof = ledger::parse_proof(response.body);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    const Status held = ledger::check_proof(*proof);
    EXPECT_TRUE(held.ok()) << held.error().message;
    EXPECT_EQ(proof->seal.record.signer, settler_.address());
    EXPECT_EQ(proof->credit, rewards::available_account(kAsset, owner_));
    EXPECT_EQ(proof->transfer.amount, Amount::parse_tokens("250").value());

    const auto of_ledger = database_.as("gym_auditor")->transact([](db::Transaction& tx) {
        return ledger::prove_transfer(tx, ledger::transfer_id("d1"));
    });
    ASSERT_TRUE(of_ledger.ok()) << of_ledger.error().message;
    EXPECT_EQ(response.body, ledger::encode_proof(*of_ledger) + "\n") << "as `gym ledger prove`";

    std::string changed = response.body;
    const std::string amount = "\"amount\":\"250000000000000000000\"";
    ASSERT_NE(changed.find(amount), std::string::npos);
    changed.replace(changed.find(amount), amount.size(), "\"amount\":\"250000000000000000001\"");
    EXPECT_EQ(ledger::check_proof(ledger::parse_proof(changed).value()).error().code,
              ErrorCode::kMismatch);
}

TEST_F(TransferProofsTest, OnlyWhoPaysOrIsPaidGetsIt) {
    deposit(owner_, "250", "d1");
    seal();
    const Response refused = ask(id_of("d1"), key_of(stranger_));
    EXPECT_EQ(refused.status, 403U) << refused.body;
    EXPECT_EQ(refused.body.find(owner_.hex()), std::string::npos) << "whose it is";
    EXPECT_EQ(refused.body.find("250"), std::string::npos);
    EXPECT_EQ(ask(id_of("d1"), "").status, 401U);
    const std::string key = key_of(owner_);
    ASSERT_TRUE(revoke_key(*api_db_, key.substr(4, 16), clock_.now_ms()).ok());
    EXPECT_EQ(ask(id_of("d1"), key).status, 401U) << "a revoked key";
}

TEST_F(TransferProofsTest, AJobsTransfersBelongToItsOwnerAndToWhoEarnedThem) {
    const Address worker = address_of(7);
    deposit(owner_, "250", "d1");
    deposit(stranger_, "250", "d2");
    const Digest job = submit({owner_, "k", testing::job_spec(dataset_)}).value().job.id;
    ASSERT_TRUE(submit({stranger_, "k", testing::job_spec(dataset_)}).ok());
    book(rewards::escrow_account(kAsset, job), rewards::earned_account(kAsset, worker), "2",
         "credit");
    seal();
    EXPECT_EQ(ask(id_of("credit"), key_of(worker)).status, 200U);
    const Response to_owner = ask(id_of("credit"), key_of(owner_));
    ASSERT_EQ(to_owner.status, 200U) << to_owner.body;
    EXPECT_EQ(ledger::parse_proof(to_owner.body)->debit.owner, "job:" + job.hex());
    EXPECT_EQ(ask(id_of("credit"), key_of(stranger_)).status, 403U) << "owns another job";
    EXPECT_EQ(ask(id_of("d1"), key_of(worker)).status, 403U) << "was paid by the job only";
}

TEST_F(TransferProofsTest, WhatHasNoSealYetOrIsNoTransferIsSaid) {
    deposit(owner_, "250", "d1");
    const std::string key = key_of(owner_);
    const Response early = ask(id_of("d1"), key);
    EXPECT_EQ(early.status, 409U);
    EXPECT_NE(detail(early).find("at most each second"), std::string::npos) << early.body;
    EXPECT_EQ(ask(id_of("d1"), key_of(stranger_)).status, 403U) << "sealed or not";
    seal();
    EXPECT_EQ(ask(id_of("d1"), key).status, 200U);
    EXPECT_EQ(ask(id_of("none"), key).status, 404U);
    EXPECT_EQ(ask("d1", key).status, 400U);
}

TEST_F(TransferProofsTest, RowsThatWereChangedUnderTheirSealAreOurFault) {
    deposit(owner_, "250", "d1");
    seal();
    const Status changed = database_.owner().transact([](db::Transaction& tx) {
        return tx.exec_script(
            "SET LOCAL session_replication_role = replica;"
            "UPDATE ledger.transfer SET amount = amount + 1");
    });
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    EXPECT_EQ(ask(id_of("d1"), key_of(owner_)).status, 500U);
}

}  // namespace
}  // namespace gym::api
