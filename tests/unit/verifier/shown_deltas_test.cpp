// Which deltas an aggregate was made from: what is shown to a verifier, and what was committed to.

#include "aggregate_fixture.hpp"

namespace gym::verifier {
namespace {

/// The sums are wrong and its step record fits them; the deltas are those that are shown.
TEST_F(AggregateTest, AWrongOneWithItsOwnStepRecordIsChallengedOnceThatIsShown) {
    sign_other_record();
    verify();
    EXPECT_EQ(told("challenged").size(), 1u);
    EXPECT_TRUE(told("contradiction").empty());
    ASSERT_EQ(claims_->list().size(), 1u);
    EXPECT_EQ(claims_->list()[0]->evidence.commitment, task_.commitment);
}

/// A game is about what was committed to: who is shown less would lose the bond of one.
TEST_F(AggregateTest, OtherDeltasThanWereCommittedToAreToldAndNoGame) {
    task_.deltas.pop_back();
    verify();
    EXPECT_EQ(told("differs").size(), 1u);
    EXPECT_TRUE(told("challenged").empty());
    EXPECT_TRUE(claims_->list().empty());
    EXPECT_EQ(contradictions("shows other deltas than it committed to"), 1);
    task_.draw = 1;
    verify();
    EXPECT_EQ(contradictions("shows other deltas than it committed to"), 1) << "once";
}

TEST_F(AggregateTest, OtherDeltasThanAWrongOneWasMadeFromAreNoGameEither) {
    sign_other_record();
    std::swap(task_.deltas[0].delta_root, task_.deltas[1].delta_root);
    verify();
    EXPECT_TRUE(claims_->list().empty());
    EXPECT_EQ(contradictions("shows other deltas than it committed to"), 1);
    task_.draw = 1;
    verify();
    EXPECT_EQ(contradictions("shows other deltas than it committed to"), 1) << "once";
}

TEST_F(AggregateTest, ARecordThatWasNotCommittedToShowsNothing) {
    const protocol::SignedCommitment committed = task_.commitment;
    include({0, 1});
    task_.commitment = committed;
    verify();  // with the record of two deltas
    EXPECT_TRUE(claims_->list().empty());
    EXPECT_EQ(contradictions("does not show the step record that it committed to"), 1);
}

TEST_F(AggregateTest, ARecordThatIsNotShownLeavesTheDeltasUnknown) {
    sign_other_record();
    handler_.failures["submit_report_commit"] = fail(ErrorCode::kPermissionDenied, "not you");
    handler_.tasks[key_.address()] = task_;
    EXPECT_FALSE(verifier_->run_once({}).ok());
    EXPECT_TRUE(claims_->list().empty());
    EXPECT_EQ(contradictions("does not show its step record"), 1);
}

/// Its sums are right: of all that is known only the epoch's commitments show it.
TEST_F(AggregateTest, ADeltaThatNobodyCommittedToIsChallenged) {
    units_[1] = units_[0];
    include({0, 1, 2});
    verify_anew();
    EXPECT_EQ(told("verified").size(), 1u);
    EXPECT_EQ(contradictions("unit 1 of round 1, which no commitment"), 1);
    ASSERT_EQ(claims_->list().size(), 1u);
    const player::Claim& claim = *claims_->list()[0];
    EXPECT_EQ(claim.subject, Subject::kAggregate);
    EXPECT_EQ(claim.deltas, task_.deltas);
    EXPECT_EQ(claim.epoch.size(), kWorkers);
    for (const Digest& blob : player::blobs_of(claim))
        EXPECT_TRUE(is_stored(blob)) << blob.hex();
}

TEST_F(AggregateTest, ADeltaIsNobodysOnlyIfAllCommitmentsAreKnown) {
    units_[1] = units_[0];
    include({0, 1, 2});
    view(2).inclusion.reset();
    verify_anew();
    EXPECT_EQ(contradictions("unit 1 of round 1, which no commitment"), 1);
    EXPECT_TRUE(claims_->list().empty());
}

/// A game names slots anew.
TEST_F(AggregateTest, SlotsThatAreShownAreNoReasonToChallenge) {
    include({0, 1});
    task_.deltas[1].slot = 2;
    task_.deltas[1].unit = protocol::unit_id(job_.unit(2));
    verify_anew();
    EXPECT_EQ(contradictions("unit 2 of round 1, which no commitment"), 1);
    EXPECT_TRUE(claims_->list().empty());
}

/// An attacker that shows a delta of nobody's, and committed to none.
TEST_F(AggregateTest, ADeltaOfNobodysThatIsOnlyShownIsNoGame) {
    task_.deltas[1].delta_root = task_.deltas[0].delta_root;
    verify_anew();
    EXPECT_EQ(contradictions("shows other deltas than it committed to"), 1);
    EXPECT_TRUE(claims_->list().empty());
}

TEST(ShownDeltas, AreCommittedToIfThereAreAscendingSlotsForThem) {
    const auto digest = [](std::string_view name) { return commit::sha256(as_bytes(name)); };
    std::vector<protocol::SignedCommitment> epoch(4);
    const std::vector<const char*> roots{"a", "b", "a", "c"};
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
        epoch[slot].commitment.slot = slot;
        epoch[slot].commitment.delta_root = digest(roots[slot]);
    }
    const auto possible = [&](const std::vector<const char*>& names) {
        std::vector<protocol::IncludedDelta> deltas;
        for (const char* name : names)
            deltas.push_back({9, Digest(), digest(name)});
        return can_be_committed(deltas, epoch);
    };
    EXPECT_TRUE(possible({"a", "b", "a", "c"}));
    EXPECT_TRUE(possible({"a", "a"}));
    EXPECT_TRUE(possible({"b", "a"}));
    EXPECT_TRUE(possible({"c"}));
    EXPECT_FALSE(possible({"a", "d"}));
    EXPECT_FALSE(possible({"a", "a", "a"}));
    EXPECT_FALSE(possible({"b", "b"}));
    EXPECT_FALSE(possible({"c", "a"}));
}

}  // namespace
}  // namespace gym::verifier
