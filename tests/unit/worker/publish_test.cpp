// A worker whose commitment the coordinator does not take.

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_chain_view.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/worker/worker.hpp"
#include "local_coordinator.hpp"
#include "manual_clock.hpp"
#include "manual_timer.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::worker {
namespace {

using std::chrono::milliseconds;

class WorkerPublishes : public ::testing::Test {
  protected:
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::FakeChainView chain_;
    testing::ManualTimer timer_;
    testing::TemporaryFolder dir_;
    const testing::ManualClock clock_{1'000};
    std::unique_ptr<player::ClaimStore> claims_ =
        player::ClaimStore::open(dir_.path() / "disputes").value();
    std::vector<std::string> events_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));
    bool plays_ = true;
    std::unique_ptr<Worker> worker_;

    void SetUp() override {
        handler_.tasks[key_.address()] = job_.task(0);
        records::UnitReceipt view;
        view.key = job_.unit(0);
        view.worker = key_.address();
        handler_.units[unit_] = view;
        chain_.post(job_.record, 0);
        open();
    }
    void open() {
        worker_.reset();
        WorkerOptions options;
        options.data_dir = dir_.path();
        options.chain = &chain_;
        options.claims = plays_ ? claims_.get() : nullptr;
        options.timer = &timer_;
        options.publish_after = milliseconds(120'000);
        options.on_event = [this](const WorkerEvent& event) { events_.push_back(event.name); };
        worker_ = Worker::open(coordinator_, key_, clock_, options).value();
    }
    bool told(std::string_view event) const {
        return std::ranges::find(events_, event) != events_.end();
    }
    /// The claim that asks for the commitment.
    std::vector<player::ClaimStore::Shared> asked() const {
        auto out = claims_->list();
        std::erase_if(out, [this](const auto& claim) {
            return claim->role == player::Role::kDefend || claims_->is_withdrawn(*claim);
        });
        return out;
    }
    /// The commitment that is asked for is in an epoch, and the coordinator shows where.
    void give_receipt() {
        const auto commitment = asked().at(0)->evidence.commitment;
        const std::vector<Digest> leaves{protocol::commitment_leaf(commitment), Digest{}};
        const records::InclusionReceipt receipt{4, commit::merkle_root(leaves), 0, 2,
                                                commit::merkle_prove(leaves, 0).value()};
        handler_.units[unit_].inclusion = receipt;
        chain_.epochs[4] = {receipt.commitments_root, 2, 10};
    }
    void refuse(ErrorCode code) { handler_.failures["submit_commitment"] = fail(code, "no"); }
};

TEST_F(WorkerPublishes, WhatIsRefusedAtOnce) {
    refuse(ErrorCode::kConflict);
    EXPECT_TRUE(worker_->run_once({}).ok());
    EXPECT_TRUE(told("published"));
    EXPECT_FALSE(told("dropped"));
    const auto claims = asked();
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(claims[0]->subject, player::Subject::kWithheld);
    EXPECT_EQ(claims[0]->evidence.commitment.commitment, job_.commitment(0, job_.run(0)));
    EXPECT_EQ(player::withheld_evidence_of(*claims[0])->data.what, game::Wanted::kCommitment);
    ASSERT_EQ(worker_->journal().entries().size(), 1U) << "the unit is followed to its end";
}

TEST_F(WorkerPublishes, WhatDoesNotGetThroughAfterAWhile) {
    refuse(ErrorCode::kUnavailable);
    EXPECT_FALSE(worker_->run_once({}).ok());
    EXPECT_TRUE(asked().empty()) << "it may get through yet";
    timer_.wait(milliseconds(119'000), {});
    EXPECT_TRUE(worker_->track({}).ok());
    EXPECT_TRUE(asked().empty());
    timer_.wait(milliseconds(1'000), {});
    EXPECT_TRUE(worker_->track({}).ok());
    EXPECT_EQ(asked().size(), 1U);
    EXPECT_TRUE(told("published"));
}

/// As the coordinator is told of it: the receipt ends what is asked for.
TEST_F(WorkerPublishes, NothingIsAskedForOnceAnEpochHasIt) {
    refuse(ErrorCode::kConflict);
    EXPECT_TRUE(worker_->run_once({}).ok());
    give_receipt();
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_TRUE(told("receipt"));
    EXPECT_TRUE(asked().empty());
    EXPECT_EQ(claims_->list().size(), 2U) << "a game may be open: the player forgets the claim";
}

/// Its commitment can still be in an epoch, as a leaf from the chain.
TEST_F(WorkerPublishes, AUnitThatEndedIsFollowedUntilItsReceiptIsThere) {
    refuse(ErrorCode::kConflict);
    EXPECT_TRUE(worker_->run_once({}).ok());
    handler_.units[unit_].status.state = protocol::UnitState::kExpired;
    for (int looks = 0; looks < 3; ++looks)
        ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_EQ(std::ranges::count(events_, "ended"), 1);
    EXPECT_EQ(worker_->journal().entries().size(), 1U);
    EXPECT_EQ(asked().size(), 1U);
    open();
    give_receipt();
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_TRUE(told("receipt"));
    EXPECT_TRUE(asked().empty()) << "its bond would be lost";
    EXPECT_TRUE(worker_->journal().entries().empty());
    EXPECT_EQ(std::ranges::count(events_, "ended"), 1);
}

TEST_F(WorkerPublishes, AUnitThatEndedIsForgottenWithItsClaim) {
    refuse(ErrorCode::kConflict);
    EXPECT_TRUE(worker_->run_once({}).ok());
    handler_.units.erase(unit_);
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_FALSE(told("dropped")) << "the coordinator may say anything";
    ASSERT_TRUE(claims_->remove(*asked().at(0)).ok());
    ASSERT_TRUE(worker_->track({}).ok());
    EXPECT_TRUE(told("dropped"));
    EXPECT_TRUE(worker_->journal().entries().empty());
}

TEST_F(WorkerPublishes, AChainThatDoesNotAnswerStopsNothingElse) {
    refuse(ErrorCode::kUnavailable);
    EXPECT_FALSE(worker_->run_once({}).ok());
    timer_.wait(milliseconds(120'000), {});
    chain_.answers = false;
    EXPECT_TRUE(worker_->track({}).ok()) << "receipts of other units are read";
    refuse(ErrorCode::kConflict);
    const auto ran = worker_->run_once({});
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kConflict) << ran.error().message;
    EXPECT_FALSE(told("dropped")) << "it can be published yet";
    chain_.answers = true;
    EXPECT_TRUE(worker_->track({}).ok());
    EXPECT_TRUE(told("published"));
    EXPECT_EQ(asked().size(), 1U);
}

TEST_F(WorkerPublishes, NothingBehindTheEpochThatCouldHaveIt) {
    chain_.post(job_.record, 4);
    refuse(ErrorCode::kTimeout);
    timer_.wait(milliseconds(1), {});
    EXPECT_FALSE(worker_->run_once({}).ok());
    timer_.wait(milliseconds(200'000), {});
    EXPECT_TRUE(worker_->track({}).ok());
    EXPECT_TRUE(asked().empty());
    EXPECT_FALSE(told("published"));
}

TEST_F(WorkerPublishes, NothingWhereItPlaysNoGames) {
    plays_ = false;
    open();
    refuse(ErrorCode::kConflict);
    EXPECT_FALSE(worker_->run_once({}).ok());
    EXPECT_TRUE(told("dropped"));
    EXPECT_TRUE(asked().empty());
}

}  // namespace
}  // namespace gym::worker
