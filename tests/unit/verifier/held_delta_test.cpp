// Aggregates that have deltas of the round before, which that round held back.

#include "held_delta_fixture.hpp"

namespace gym::verifier {
namespace {

TEST_F(HeldDeltaTest, GoesInOneRoundLater) {
    verify();
    expect_right();
    EXPECT_TRUE(claims_->list().empty());
}

TEST_F(HeldDeltaTest, ThatIsWithheldIsMadeAgainFromItsOwnRound) {
    ASSERT_TRUE(handler_.blobs.remove(first_units_[kHeld].delta.root()).ok());
    verify();
    expect_right();
}

TEST_F(HeldDeltaTest, CountsHalf) {
    const Digest right = right_->base_root;
    include_held({0, 1, 2}, {});
    EXPECT_NE(right_->base_root, right);
    include_held({0, 1, 2}, {kHeld});
    // The coordinator counts it as much as the others.
    std::vector<engine::Delta> deltas;
    for (const engine::UnitResult& unit : units_)
        deltas.push_back(engine::Delta::decode(job_.program, unit.delta).value());
    deltas.push_back(engine::Delta::decode(job_.program, first_units_[kHeld].delta).value());
    sign(engine::run_aggregate(job_.program, job_.base, momentum_, deltas).value().base_root);
    verify();
    EXPECT_EQ(told("differs").size(), 1u);
    ASSERT_EQ(claims_->list().size(), 1u);
    const player::Claim& claim = *claims_->list()[0];
    EXPECT_EQ(claim.deltas, task_.deltas);
    ASSERT_TRUE(claim.held.has_value());
    EXPECT_EQ(claim.held->record, first_->record);
    EXPECT_EQ(claim.held->base_state_blob, first_->inputs.base_state_blob);
    EXPECT_EQ(claim.held->epoch.size(), kWorkers);
}

TEST_F(HeldDeltaTest, ThatNobodyCommittedToIsTold) {
    first_units_[kHeld].delta = first_units_[0].delta;
    include_held({0, 1, 2}, {kHeld});
    verify();
    EXPECT_EQ(
        contradictions("of unit 2 of round 1, which no commitment under the epoch's root has"), 1);
    EXPECT_EQ(contradictions("which running the unit again does not give"), 0)
        << "its bytes are there";
}

TEST_F(HeldDeltaTest, ThatWentInBeforeIsRefused) {
    include_held({0, 1, 2}, {1});
    expect_refused("the held delta of slot 1 went into the base state before");
}

TEST_F(HeldDeltaTest, WithoutItsRoundIsRefused) {
    task_.earlier.reset();
    expect_refused("without their round");
    task_.earlier = {job_.record, job_.inputs};
    expect_refused("not the round before");
    task_.earlier = {first_->record, first_->inputs};
    task_.earlier->inputs.dataset_blob.reset();
    expect_refused("without the dataset");
}

TEST_F(HeldDeltaTest, BeforeTimelyOnesIsRefused) {
    std::rotate(task_.deltas.begin(), task_.deltas.end() - 1, task_.deltas.end());
    expect_refused("do not ascend by slot");
}

/// Every unit of the tiny job is drawn.
TEST_F(HeldDeltaTest, OnlyDrawnUnitsMayBeLeftOutAndOnlyWhereTheJobHoldsThem) {
    include_held({0, 1}, {kHeld});
    verify_anew();
    EXPECT_TRUE(told("contradiction").empty());
    task_.hold_drawn = false;
    verify_anew();
    expect_contradiction("unit 2 of round 2 is accepted, and the aggregate is without its delta");
}

/// An aggregate of a job whose rounds overlap: its deltas are those of the round before.
class OverlappedDeltaTest : public HeldDeltaTest {
  protected:
    void SetUp() override {
        AggregateTest::SetUp();
        include({0, 1});
        first_ = job_;
        first_units_ = std::move(units_);
        momentum_ = right_->momentum;
        protocol::RoundRecord record = next_record();
        record.included.clear();
        begin_second(record);
        task_.earlier = {first_->record, first_->inputs};
        task_.overlap = true;
        include_held({}, {0, 1, 2});
        open();
    }
};

TEST_F(OverlappedDeltaTest, GoInAtFullWeight) {
    verify();
    expect_right();
    EXPECT_TRUE(told("contradiction").empty());
    EXPECT_TRUE(claims_->list().empty());
    std::vector<engine::Delta> deltas;
    for (const engine::UnitResult& unit : first_units_)
        deltas.push_back(engine::Delta::decode(job_.program, unit.delta).value());
    EXPECT_EQ(engine::run_aggregate(job_.program, job_.base, momentum_, deltas).value().base_root,
              right_->base_root);
}

/// Every unit of the tiny job is drawn.
TEST_F(OverlappedDeltaTest, OnlyDrawnUnitsMayBeLeftOutAndOnlyWhereTheJobHoldsThem) {
    include_held({}, {0, 1});
    verify_anew();
    expect_contradiction("unit 2 of round 1 is accepted, and the aggregate is without its delta");
    task_.hold_drawn = true;
    verify_anew();
    EXPECT_TRUE(told("contradiction").empty());
}

TEST_F(OverlappedDeltaTest, OfTheRoundItselfAreTold) {
    include_held({0}, {0, 1, 2});
    verify_anew();
    expect_contradiction("the aggregate has the delta of unit 0 of round 2, and its job's rounds");
}

}  // namespace
}  // namespace gym::verifier
