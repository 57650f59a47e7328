#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "gym/crypto/keccak.hpp"
#include "stores.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

using chain::Attempt;
using chain::Intent;
using chain::IntentRequest;
using chain::IntentState;
using chain::Outcome;

template <class Maker>
class IntentStoreTest : public ::testing::Test {
  protected:
    IntentRequest request(const std::string& id) {
        IntentRequest out;
        out.id = id;
        out.to = chain::private_chain_key(9).address();
        out.value_wei = Amount::parse("340282366920938463463374607431768211456789").value();
        out.data = {0, 1, 2, 255};
        out.gas_limit = 21'000;
        out.label = "label of " + id;
        return out;
    }
    Attempt attempt(std::uint64_t number) {
        Attempt out;
        out.raw = {2, static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(number >> 8)};
        out.hash = crypto::keccak256(out.raw);
        out.fee_max_wei = Amount(100 + number);
        out.priority_fee_wei = Amount(10);
        out.cancels = number % 2 == 1;
        out.signed_at_ms = 1'700'000'000'000;
        return out;
    }
    Outcome done() {
        Outcome out;
        out.state = IntentState::kDone;
        out.transaction_hash = crypto::keccak256_text("tx");
        out.block_hash = crypto::keccak256_text("block");
        out.block_number = 12;
        out.gas_used = 21'000;
        out.gas_price_wei = Amount(7);
        out.contract_address = chain::private_chain_key(8).address();
        return out;
    }
    void submit(const std::string& id) {
        const auto submitted = store_->submit(request(id), 1);
        ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    }

    Maker maker_;
    const Address sender_ = chain::private_chain_key(1).address();
    std::unique_ptr<chain::IntentStore> store_ = maker_.intents(sender_);
};

using Makers = ::testing::Types<PostgresMaker, SqliteMaker>;
TYPED_TEST_SUITE(IntentStoreTest, Makers);

TYPED_TEST(IntentStoreTest, KeepsEveryFieldOfAnIntentsLife) {
    this->submit("a");
    ASSERT_TRUE(this->store_->assign("a", 5, 30'000, this->attempt(0)).ok());
    ASSERT_TRUE(this->store_->add_attempt("a", 1, this->attempt(1)).ok());
    ASSERT_TRUE(this->store_->request_cancel("a").ok());
    const auto reopened = this->maker_.intents(this->sender_);
    const Intent open = reopened->find("a").value();
    const IntentRequest expected = this->request("a");
    EXPECT_EQ(open.request.to, expected.to);
    EXPECT_EQ(open.request.value_wei, expected.value_wei);
    EXPECT_EQ(open.request.data, expected.data);
    EXPECT_EQ(open.request.gas_limit, expected.gas_limit);
    EXPECT_EQ(open.request.label, expected.label);
    EXPECT_EQ(open.state, IntentState::kSigned);
    EXPECT_EQ(open.nonce, 5U);
    EXPECT_EQ(open.gas_limit, 30'000U);
    EXPECT_TRUE(open.cancel_requested);
    ASSERT_EQ(open.attempts.size(), 2U);
    EXPECT_EQ(open.attempts[1].hash, this->attempt(1).hash);
    EXPECT_EQ(open.attempts[1].raw, this->attempt(1).raw);
    EXPECT_EQ(open.attempts[1].fee_max_wei, this->attempt(1).fee_max_wei);
    EXPECT_TRUE(open.attempts[1].cancels);
    EXPECT_FALSE(open.attempts[0].cancels);
    EXPECT_EQ(open.attempts[1].signed_at_ms, this->attempt(1).signed_at_ms);
    EXPECT_FALSE(open.outcome.has_value());

    ASSERT_TRUE(reopened->settle("a", this->done(), 99).ok());
    const Intent settled = this->store_->find("a").value();
    EXPECT_EQ(settled.state, IntentState::kDone);
    ASSERT_TRUE(settled.outcome.has_value());
    EXPECT_EQ(settled.outcome->transaction_hash, this->done().transaction_hash);
    EXPECT_EQ(settled.outcome->block_number, 12U);
    EXPECT_EQ(settled.outcome->gas_price_wei, Amount(7));
    EXPECT_EQ(settled.outcome->contract_address, this->done().contract_address);
}

TYPED_TEST(IntentStoreTest, KeepsContractCreationsAndEstimatedGas) {
    IntentRequest creation = this->request("a");
    creation.to.reset();
    creation.gas_limit.reset();
    creation.data.clear();
    ASSERT_TRUE(this->store_->submit(creation, 1).ok());
    const Intent stored = this->store_->find("a").value();
    EXPECT_FALSE(stored.request.to.has_value());
    EXPECT_FALSE(stored.request.gas_limit.has_value());
    EXPECT_TRUE(stored.request.data.empty());
    ASSERT_TRUE(this->store_->submit(creation, 2).ok());
}

TYPED_TEST(IntentStoreTest, TheSameIdIsTheSameIntentOrAConflict) {
    this->submit("a");
    this->submit("a");
    for (int field = 0; field < 4; ++field) {
        IntentRequest other = this->request("a");
        if (field == 0) other.value_wei = Amount(1);
        if (field == 1) other.data.push_back(1);
        if (field == 2) other.to.reset();
        if (field == 3) other.gas_limit.reset();
        EXPECT_EQ(this->store_->submit(other, 1).error().code, ErrorCode::kConflict) << field;
    }
    EXPECT_EQ(this->store_->open(10).value().size(), 1U);
    EXPECT_EQ(this->store_->find("b").error().code, ErrorCode::kNotFound);
}

TYPED_TEST(IntentStoreTest, SendersDoNotSeeEachOther) {
    this->submit("a");
    const auto other = this->maker_.intents(chain::private_chain_key(2).address());
    EXPECT_EQ(other->find("a").error().code, ErrorCode::kNotFound);
    ASSERT_TRUE(other->submit(this->request("a"), 1).ok());
    ASSERT_TRUE(other->assign("a", 5, 1, this->attempt(3)).ok());
    ASSERT_TRUE(this->store_->assign("a", 5, 1, this->attempt(4)).ok());
    EXPECT_EQ(this->store_->open(10).value().size(), 1U);
}

TYPED_TEST(IntentStoreTest, ANonceIsOwnedOnceAndForEver) {
    for (const char* id : {"a", "b", "c"})
        this->submit(id);
    ASSERT_TRUE(this->store_->assign("a", 0, 1, this->attempt(0)).ok());
    EXPECT_EQ(this->store_->assign("b", 0, 1, this->attempt(1)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->find("b").value().state, IntentState::kQueued) << "nothing half done";
    EXPECT_EQ(this->store_->assign("a", 1, 1, this->attempt(2)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->find("a").value().nonce, 0U);
    ASSERT_TRUE(this->store_->assign("b", 1, 1, this->attempt(1)).ok());
    ASSERT_TRUE(this->store_->settle("a", this->done(), 2).ok());
    EXPECT_EQ(this->store_->assign("c", 0, 1, this->attempt(5)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->highest_nonce().value(), 1U);
    EXPECT_EQ(this->store_->highest_settled_nonce().value(), 0U);
}

TYPED_TEST(IntentStoreTest, OpenIntentsComeByNonceThenBySubmission) {
    for (const char* id : {"d", "c", "b", "a"})
        this->submit(id);
    ASSERT_TRUE(this->store_->assign("b", 0, 1, this->attempt(0)).ok());
    ASSERT_TRUE(this->store_->assign("d", 1, 1, this->attempt(1)).ok());
    std::string order;
    const std::vector<Intent> open = this->store_->open(10).value();
    for (const Intent& intent : open)
        order += intent.request.id;
    EXPECT_EQ(order, "bdca");
    EXPECT_EQ(this->store_->open(2).value().size(), 2U);
    EXPECT_EQ(this->store_->open(10).value()[0].attempts.size(), 1U);
}

TYPED_TEST(IntentStoreTest, OnlyOneOfTwoAddsTheNextVersion) {
    this->submit("a");
    EXPECT_EQ(this->store_->add_attempt("a", 0, this->attempt(0)).error().code,
              ErrorCode::kConflict)
        << "not signed yet";
    ASSERT_TRUE(this->store_->assign("a", 0, 1, this->attempt(0)).ok());
    ASSERT_TRUE(this->store_->add_attempt("a", 1, this->attempt(1)).ok());
    EXPECT_EQ(this->store_->add_attempt("a", 1, this->attempt(2)).error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(this->store_->find("a").value().attempts.size(), 2U);
}

TYPED_TEST(IntentStoreTest, WhatIsSettledStaysSettled) {
    this->submit("a");
    ASSERT_TRUE(this->store_->assign("a", 0, 1, this->attempt(0)).ok());
    ASSERT_TRUE(this->store_->settle("a", this->done(), 2).ok());
    EXPECT_TRUE(this->store_->settle("a", this->done(), 3).ok()) << "a repeat changes nothing";
    Outcome other = this->done();
    other.state = IntentState::kReverted;
    EXPECT_EQ(this->store_->settle("a", other, 3).error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->request_cancel("a").error().code, ErrorCode::kConflict);
    EXPECT_EQ(this->store_->add_attempt("a", 1, this->attempt(1)).error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(this->store_->submit(this->request("a"), 9).value().state, IntentState::kDone);
    EXPECT_TRUE(this->store_->open(10).value().empty());
}

TYPED_TEST(IntentStoreTest, ARejectedIntentIsQueuedAgainByASubmit) {
    this->submit("a");
    Outcome rejected;
    rejected.state = IntentState::kRejected;
    rejected.reason = "would revert";
    ASSERT_TRUE(this->store_->settle("a", rejected, 2).ok());
    EXPECT_EQ(this->store_->find("a").value().outcome->reason, "would revert");
    EXPECT_TRUE(this->store_->open(10).value().empty());
    const Intent again = this->store_->submit(this->request("a"), 3).value();
    EXPECT_EQ(again.state, IntentState::kQueued);
    EXPECT_FALSE(again.outcome.has_value());
    ASSERT_TRUE(this->store_->assign("a", 0, 1, this->attempt(0)).ok());
}

TYPED_TEST(IntentStoreTest, TwoThreadsThatAssignGetDifferentNonces) {
    for (int i = 0; i < 20; ++i)
        this->submit("p" + std::to_string(i));
    const auto work = [&](int thread) {
        const auto store = this->maker_.intents(this->sender_);
        for (int i = 0; i < 20; ++i) {
            const std::string id = "p" + std::to_string(i);
            const auto highest = store->highest_nonce().value();
            const std::uint64_t nonce = highest ? *highest + 1 : 0;
            const Status assigned = store->assign(
                id, nonce, 1, this->attempt(static_cast<std::uint64_t>(1000 * thread + i)));
            EXPECT_TRUE(assigned.ok() || assigned.error().code == ErrorCode::kConflict);
        }
    };
    std::thread other(work, 1);
    work(2);
    other.join();
    std::set<std::uint64_t> nonces;
    std::size_t count = 0;
    const std::vector<Intent> open = this->store_->open(100).value();
    for (const Intent& intent : open) {
        if (intent.state != IntentState::kSigned) continue;
        ++count;
        nonces.insert(*intent.nonce);
        EXPECT_EQ(intent.attempts.size(), 1U);
    }
    EXPECT_GT(count, 0U);
    EXPECT_EQ(nonces.size(), count);
    EXPECT_EQ(*nonces.rbegin() + 1, count) << "no gap";
}

class SqliteFileTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / "chain.sqlite";
};

TEST_F(SqliteFileTest, TwoProcessesShareAFileThatOnlyTheOwnerReads) {
    const auto first = chain_store::SqliteChainStore::open(path_).value();
    const auto second = chain_store::SqliteChainStore::open(path_).value();
    const Address sender = chain::private_chain_key(1).address();
    IntentRequest request;
    request.id = "a";
    ASSERT_TRUE(first->intents(kStoreChain, sender)->submit(request, 1).ok());
    EXPECT_TRUE(second->intents(kStoreChain, sender)->find("a").ok());
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(SqliteFileTest, RefusesWhatIsNoDatabaseOrNewer) {
    {
        std::FILE* file = std::fopen(path_.c_str(), "w");
        std::fputs(std::string(5'000, 'x').c_str(), file);
        std::fclose(file);
    }
    EXPECT_EQ(chain_store::SqliteChainStore::open(path_).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(chain_store::SqliteChainStore::open("/nonexistent/x.sqlite").error().code,
              ErrorCode::kIo);
}

}  // namespace
}  // namespace gym::testing
