// Inputs that a coordinator does not give to its verifier.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "aggregate_fixture.hpp"
#include "fake_chain_view.hpp"
#include "gym/program/codec.hpp"
#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"
#include "withheld_inputs.hpp"

namespace gym::verifier {
namespace {

using game::Wanted;

/// A unit of the tiny job, for a verifier that is drawn for it.
class WithheldInputsTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey worker_key_ = testing::test_key(1);
    const crypto::PrivateKey key_ = testing::test_key(7);
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job({worker_key_.address()}, handler_.blobs);
    blob::MemoryStore store_;  ///< of the verifier
    WithheldInputs inputs_;

    records::VerifyTask task() const {
        records::VerifyTask out;
        out.unit = job_.unit(0);
        out.record = protocol::unit_record(job_.record, 0);
        out.inputs = job_.inputs;
        return out;
    }
    void give(const Digest& blob) {
        ASSERT_TRUE(store_.put(handler_.blobs.load(blob).value()).ok());
    }
    /// The last of five tries is half an hour behind the first.
    std::vector<game::WithheldData> after_five_tries() {
        for (unsigned i = 1; i < kInputTries; ++i)
            EXPECT_TRUE(inputs_.missed(task(), store_, now_).empty()) << i;
        now_ += kInputWait;
        return inputs_.missed(task(), store_, now_);
    }
    WithheldInputs::TimePoint now_{};
};

TEST_F(WithheldInputsTest, AreAskedForOnChainAfterFiveTries) {
    give(job_.inputs.program_blob);
    const auto asked = after_five_tries();
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[0].what, Wanted::kDataset);
    EXPECT_EQ(asked[1].what, Wanted::kBase);
    inputs_.asked(task());
    EXPECT_TRUE(inputs_.missed(task(), store_, now_).empty()) << "once";
}

/// An outage of minutes has many tries.
TEST_F(WithheldInputsTest, AreNotAskedForBeforeHalfAnHour) {
    give(job_.inputs.program_blob);
    for (unsigned i = 0; i < 4 * kInputTries; ++i)
        EXPECT_TRUE(inputs_.missed(task(), store_, now_).empty()) << i;
    now_ += kInputWait - std::chrono::seconds(1);
    EXPECT_TRUE(inputs_.missed(task(), store_, now_).empty());
    now_ += std::chrono::seconds(1);
    EXPECT_EQ(inputs_.missed(task(), store_, now_).size(), 2U);
}

TEST_F(WithheldInputsTest, AreNotAskedForInFewTriesHoweverLongAgo) {
    give(job_.inputs.program_blob);
    for (unsigned i = 1; i < kInputTries; ++i) {
        EXPECT_TRUE(inputs_.missed(task(), store_, now_).empty()) << i;
        now_ += kInputWait;
    }
    EXPECT_EQ(inputs_.missed(task(), store_, now_).size(), 2U);
}

/// A disk that is full is the verifier's own.
TEST_F(WithheldInputsTest, OwnFailuresAreNoWantOfInputs) {
    for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kUnavailable, ErrorCode::kTimeout,
                                 ErrorCode::kMismatch, ErrorCode::kPermissionDenied})
        EXPECT_TRUE(is_want_of_inputs(code));
    for (const ErrorCode code : {ErrorCode::kIo, ErrorCode::kCancelled, ErrorCode::kInternal})
        EXPECT_FALSE(is_want_of_inputs(code));
}

TEST_F(WithheldInputsTest, WhatIsThereIsNotAskedFor) {
    give(job_.inputs.program_blob);
    give(*job_.inputs.dataset_blob);
    const auto asked = after_five_tries();
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].what, Wanted::kBase);
}

TEST_F(WithheldInputsTest, TriesBeginAnewOnceAUnitCouldBeRun) {
    give(job_.inputs.program_blob);
    for (unsigned i = 1; i < kInputTries; ++i)
        EXPECT_TRUE(inputs_.missed(task(), store_, now_).empty());
    now_ += kInputWait;
    inputs_.found(task());
    EXPECT_EQ(after_five_tries().size(), 2U);
}

TEST_F(WithheldInputsTest, EachChunkOfEachParameterCanBeChosen) {
    const auto train =
        program::decode(handler_.blobs.get(job_.inputs.program_blob).value()).value();
    std::vector<std::uint64_t> chunks;
    std::uint64_t all = 0;
    for (const program::Slot& slot : train.slots())
        if (slot.kind == program::SlotKind::kParam) {
            chunks.push_back((program::size_bytes(slot) + 1023) / 1024);
            all += chunks.back();
        }
    std::set<std::pair<std::uint32_t, std::uint64_t>> chosen;
    for (std::uint64_t random = 0; random < all; ++random) {
        const game::WithheldData data = chunk_of_base(train, random);
        ASSERT_LT(data.tensor, chunks.size());
        ASSERT_LT(data.chunk, chunks[data.tensor]);
        chosen.insert({data.tensor, data.chunk});
    }
    EXPECT_EQ(chosen.size(), all);
    EXPECT_EQ(chunk_of_base(train, all), chunk_of_base(train, 0));
}

/// A verifier whose coordinator has no base state for it.
class VerifierWithoutInputs : public AggregateTest {
  protected:
    void SetUp() override {
        AggregateTest::SetUp();
        handler_.records = {job_.record};
        base_ = handler_.blobs.get(job_.inputs.base_state_blob).value();
        ASSERT_TRUE(handler_.blobs.remove(job_.inputs.base_state_blob).ok());
    }
    records::VerifyTask unit_task(std::uint32_t slot) {
        records::VerifyTask task;
        task.unit = job_.unit(slot);
        task.record = protocol::unit_record(job_.record, slot);
        task.inputs = job_.inputs;
        task.commitment = *view(slot).commitment;
        task.committer = view(slot).worker;
        task.beacon = task_.beacon;
        return task;
    }
    Result<bool> run(std::uint32_t slot) {
        const records::VerifyTask task = unit_task(slot);
        handler_.commitments[protocol::unit_id(task.unit)] = {
            task.commitment, engine::encode_records(units_[slot].records)};
        handler_.tasks[key_.address()] = task;
        return verifier_->run_once({});
    }
    void fail_to_run(unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            const auto ran = run(i % kWorkers);
            ASSERT_FALSE(ran.ok());
            EXPECT_EQ(ran.error().code, ErrorCode::kNotFound) << ran.error().message;
        }
    }
    Bytes base_;
};

TEST_F(VerifierWithoutInputs, AsksOnChainAfterHalfAnHourAndNotAnyMoreOnceTheyAreThere) {
    fail_to_run(2 * kInputTries);
    EXPECT_TRUE(claims_->list().empty()) << "an outage passes";
    timer_.wait(kInputWait, {});
    fail_to_run(3);
    ASSERT_EQ(claims_->list().size(), 1U) << "once a round; its dataset is there";
    const auto claim = claims_->list()[0];
    EXPECT_EQ(claim->subject, Subject::kWithheld);
    EXPECT_EQ(player::withheld_evidence_of(*claim)->data.what, Wanted::kBase);
    EXPECT_EQ(claim->epoch_block, kRootBlock);
    EXPECT_FALSE(claims_->is_withdrawn(*claim));
    ASSERT_TRUE(handler_.blobs.put(base_).ok());
    const auto ran = run(0);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(told("verified").size(), 1U);
    EXPECT_TRUE(claims_->is_withdrawn(*claim)) << "its game, if it has begun, is the player's";
}

/// A disk that is full is no fault of the coordinator's.
TEST_F(VerifierWithoutInputs, DoesNotAskForItsOwnFailures) {
    handler_.failures["get_blob"] = fail(ErrorCode::kIo, "the disk is full");
    for (unsigned i = 0; i < 2 * kInputTries; ++i) {
        EXPECT_FALSE(run(0).ok());
        timer_.wait(kInputWait, {});
    }
    EXPECT_TRUE(claims_->list().empty());
}

}  // namespace
}  // namespace gym::verifier
