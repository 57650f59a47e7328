// The validation loss of a round is a unit, too: a verifier computes it again.
#include "gym/protocol/evaluation.hpp"
#include "aggregate_fixture.hpp"
#include "gym/execution/run.hpp"

namespace gym::verifier {
namespace {

constexpr std::uint32_t kWindows = 8;

class EvaluationTest : public AggregateTest {
  protected:
    records::VerifyTask aggregate_;
    std::optional<execution::EvaluationRun> losses_;  ///< as they are signed

    void SetUp() override {
        AggregateTest::SetUp();
        handler_.records = {job_.record};
        aggregate_ = task_;
        evaluate(right_->base, aggregate_.commitment);
    }
    /// The coordinator's task: the losses of `state`, which `made` made.
    void evaluate(const engine::State& state, std::optional<protocol::SignedCommitment> made) {
        const execution::EvaluationInputs inputs{
            std::shared_ptr<const program::Program>(std::shared_ptr<void>(), &job_.program),
            std::shared_ptr<const blob::Dataset>(std::shared_ptr<void>(), &job_.dataset), state};
        losses_ = execution::run_evaluation(inputs, kWindows).value();
        task_ = aggregate_;
        task_.unit = job_.unit(protocol::kEvaluateSlot);
        task_.round.reset();
        task_.deltas.clear();
        task_.inputs.momentum_blob.reset();
        task_.inputs.base_state_blob = handler_.blobs.put(engine::encode_state(state)).value();
        task_.aggregate = std::move(made);
        sign_losses();
    }
    void sign_losses() {
        losses_->records_root = engine::records_root(losses_->result.records);
        protocol::UnitCommitment commitment;
        commitment.kind = protocol::UnitKind::kEvaluate;
        commitment.round_record = protocol::hash(task_.record);
        commitment.slot = protocol::kEvaluateSlot;
        commitment.records_root = losses_->records_root;
        commitment.final_state_root = losses_->state_root;
        commitment.delta_root = losses_->result.root;
        commitment.steps = static_cast<std::uint32_t>(losses_->result.records.size());
        commitment.tokens = losses_->result.tokens;
        commitment.flops = losses_->flops;
        sign(commitment);
    }
    void sign(const protocol::UnitCommitment& commitment) {
        task_.commitment = protocol::sign(domain_, commitment, coordinator_key_);
    }
    /// As AggregateTest::verify(), of the evaluation.
    Result<bool> verify_losses() {
        handler_.report_commits.clear();
        handler_.commitments[protocol::unit_id(task_.unit)] = {
            task_.commitment, engine::encode_records(losses_->result.records)};
        handler_.tasks[key_.address()] = task_;
        open();
        return verifier_->run_once({});
    }
    const protocol::Report& report() const {
        return handler_.reveals.at(protocol::unit_id(task_.unit)).report;
    }
};

TEST_F(EvaluationTest, ARightLossIsVerified) {
    ASSERT_GT(losses_->result.records.size(), 1U);
    const auto ran = verify_losses();
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(report().records_root, losses_->records_root);
    EXPECT_EQ(report().final_state_root, right_->base_root);
    EXPECT_EQ(report().delta_root, losses_->result.root);
    EXPECT_EQ(told("verified").size(), 1U);
    EXPECT_TRUE(told("contradiction").empty());
}

TEST_F(EvaluationTest, AWrongLossIsTold) {
    losses_->result.records.at(1).loss_bits -= 1;
    sign_losses();
    ASSERT_TRUE(verify_losses().ok());
    EXPECT_NE(report().records_root, losses_->records_root);
    EXPECT_EQ(contradictions("the signed validation loss is not that of the base state"), 1);
    const auto differs = std::ranges::find(events_, "differs", &VerifierEvent::name);
    ASSERT_NE(differs, events_.end());
    EXPECT_TRUE(claims_->list().empty()) << "no game is about an evaluation";
}

TEST_F(EvaluationTest, AWrongMeanOfRightLossesIsTold) {
    losses_->result.root.data[0] ^= 1;  // it covers the mean, which has no place of its own
    sign_losses();
    ASSERT_TRUE(verify_losses().ok());
    EXPECT_EQ(report().records_root, losses_->records_root);
    EXPECT_EQ(contradictions("the signed validation loss is not that of the base state"), 1);
}

TEST_F(EvaluationTest, TheLossOfAnotherStateIsRefused) {
    // Of a state that the round did not end in, such as a better one.
    evaluate(job_.base, aggregate_.commitment);
    const auto ran = verify_losses();
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kMismatch);
    EXPECT_EQ(contradictions("its round ended in " + right_->base_root.hex()), 1);
}

TEST_F(EvaluationTest, ARoundWithoutDeltasEndsInTheStateThatItBeganFrom) {
    evaluate(job_.base, std::nullopt);
    const auto ran = verify_losses();
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(told("verified").size(), 1U);
    // Unless the chain has an aggregate of it.
    chain_.aggregates[{job_.record.job_id, job_.record.round}] = right_->base_root;
    ASSERT_TRUE(verify_losses().ok());
    EXPECT_EQ(contradictions("the chain has an aggregate of the round"), 1);
}

TEST_F(EvaluationTest, AnAggregateThatOthersAreNotShownIsAConflict) {
    task_ = aggregate_;
    verify();
    ASSERT_TRUE(told("contradiction").empty());
    evaluate(job_.base, std::nullopt);
    protocol::SignedCommitment other = aggregate_.commitment;
    other.commitment.final_state_root = losses_->state_root;
    task_.aggregate = protocol::sign(domain_, other.commitment, coordinator_key_);
    ASSERT_TRUE(verify_losses().ok());
    EXPECT_EQ(contradictions("two different commitments to it are signed"), 1);
}

TEST_F(EvaluationTest, WhatNoEvaluationIsIsRefused) {
    protocol::UnitCommitment none = task_.commitment.commitment;
    none.steps = 0;
    sign(none);
    EXPECT_EQ(verify_losses().error().code, ErrorCode::kMismatch);
    none = task_.commitment.commitment;
    none.steps = protocol::kEvaluationWindowsMax + 1;
    sign(none);
    EXPECT_EQ(verify_losses().error().code, ErrorCode::kMismatch);
    sign_losses();
    none = task_.commitment.commitment;
    none.flops += 1;
    sign(none);
    EXPECT_EQ(verify_losses().error().code, ErrorCode::kMismatch) << "a verifier is paid by them";
    EXPECT_EQ(contradictions("FLOPs and"), 1);
    sign_losses();
    task_.aggregate->signature.data[5] ^= 1;
    EXPECT_FALSE(verify_losses().ok());
    task_.aggregate = aggregate_.commitment;
    ASSERT_TRUE(verify_losses().ok());
}

}  // namespace
}  // namespace gym::verifier
