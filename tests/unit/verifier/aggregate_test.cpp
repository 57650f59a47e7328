// A verifier that looks after the coordinator: what an aggregate is made from, whether it is right,
// and whether the next round builds on it.

#include <limits>

#include "aggregate_fixture.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::verifier {
namespace {

TEST_F(AggregateTest, ARightOneIsVerifiedAndNothingElseIsSaid) {
    verify();
    EXPECT_EQ(events_.back().name, "verified");
    EXPECT_EQ(events_.size(), 3u);
    EXPECT_TRUE(claims_->list().empty());
    EXPECT_FALSE(is_stored(*task_.inputs.momentum_blob));
    EXPECT_TRUE(is_stored(task_.inputs.base_state_blob)) << "units of the round may come, for a "
                                                            "while: KeptBases";
    post(next_record());
    look();
    EXPECT_EQ(events_.size(), 3u);
    EXPECT_TRUE(RoundWatch::open(dir_.path() / "rounds")->list().empty());
}

TEST_F(AggregateTest, AWrongOneIsChallengedWithAllThatAGameNeeds) {
    sign(commit::sha256(as_bytes("another base")));
    verify();
    EXPECT_EQ(told("challenged").size(), 1u);
    EXPECT_EQ(told("differs").size(), 1u);
    ASSERT_EQ(claims_->list().size(), 1u);
    const player::Claim& claim = *claims_->list()[0];
    EXPECT_EQ(claim.subject, Subject::kAggregate);
    EXPECT_EQ(claim.role, player::Role::kChallenge);
    EXPECT_EQ(claim.evidence.commitment, task_.commitment);
    EXPECT_EQ(claim.deltas, task_.deltas);
    EXPECT_EQ(claim.epoch_block, kRootBlock);
    ASSERT_EQ(claim.epoch.size(), kWorkers);
    for (std::uint32_t slot = 0; slot < kWorkers; ++slot)
        EXPECT_EQ(claim.epoch[slot], *view(slot).commitment);
    // The accused may hand out nothing any more.
    for (const Digest& blob : player::blobs_of(claim))
        EXPECT_TRUE(is_stored(blob)) << blob.hex();
    EXPECT_FALSE(claim.salt.is_zero());
    // Drawn again: one claim is enough.
    verify();
    EXPECT_EQ(told("challenged").size(), 1u);
    EXPECT_EQ(claims_->list().size(), 1u);
}

/// The judge of the report is who is accused by it.
TEST_F(AggregateTest, AWrongOneThatTheCoordinatorCallsRightIsChallenged) {
    sign(commit::sha256(as_bytes("another base")));
    handler_.calls_every_report_equal = true;
    verify();
    EXPECT_EQ(claims_->list().size(), 1u);
    EXPECT_TRUE(told("verified").empty());
    expect_contradiction("calls a report equal that differs");
}

/// Without it the step begins at zero, and would not be the one that was committed to.
TEST_F(AggregateTest, ATaskWithoutTheMomentumOfItsRecordIsRefused) {
    engine::State moving = engine::zero_momentum(job_.base);
    moving.tensors[0].bytes[2] = 0x80;
    protocol::RoundRecord record = *task_.round;
    record.momentum_root = engine::state_root(moving);
    post_task(record);
    task_.inputs.momentum_blob.reset();
    handler_.tasks[key_.address()] = task_;
    const auto ran = verifier_->run_once({});
    ASSERT_FALSE(ran.ok());
    EXPECT_NE(ran.error().message.find("without the momentum"), std::string::npos)
        << ran.error().message;
    EXPECT_TRUE(claims_->list().empty());
}

/// Its own record is the one that was committed to: nobody need show it.
TEST_F(AggregateTest, AReportThatIsRefusedIsNoReasonNotToChallenge) {
    sign(commit::sha256(as_bytes("another base")));
    handler_.failures["submit_report_commit"] = fail(ErrorCode::kPermissionDenied, "not you");
    handler_.tasks[key_.address()] = task_;
    EXPECT_FALSE(verifier_->run_once({}).ok());
    EXPECT_EQ(claims_->list().size(), 1u);
}

TEST_F(AggregateTest, ACommitmentThatIsNotShownLeavesTheEpochUnknown) {
    sign(commit::sha256(as_bytes("another base")));
    include({0, 1});
    sign(commit::sha256(as_bytes("another base")));
    view(2).commitment->signature.data[5] ^= 1;
    verify();
    ASSERT_EQ(claims_->list().size(), 1u);
    EXPECT_TRUE(claims_->list()[0]->epoch.empty());
}

TEST_F(AggregateTest, AnAcceptedDeltaThatIsLeftOutIsTold) {
    include({0, 1});
    verify_anew();
    expect_contradiction("unit 2 of round 1 is accepted, and the aggregate is without its delta");
    verify();
    EXPECT_TRUE(told("contradiction").empty()) << "once, however often it is drawn";
    // Every reason that the rules know.
    const records::UnitReceipt honest = view(2);
    view(2).status.state = UnitState::kDisputed;
    verify_anew();
    view(2).status.state = UnitState::kRejected;
    verify_anew();
    view(2) = honest;
    view(2).reason = "a report that was refuted kept it from being accepted in time";
    verify_anew();
    view(2) = honest;
    task_.delta_norm_max = 1e-9;
    verify_anew();
    EXPECT_TRUE(told("contradiction").empty());
    task_.delta_norm_max = 1e9;
    verify_anew();
    expect_contradiction("unit 2 of round 1");
    task_.delta_norm_max.reset();
    // Of many medians it would have been in.
    task_.delta_norm_factor = 1e6;
    verify_anew();
    expect_contradiction("unit 2 of round 1 is accepted");
    task_.delta_norm_factor.reset();
    // Nor may it be lost: then the unit would not be accepted.
    task_.delta_norm_max = 1e-9;
    ASSERT_TRUE(handler_.blobs.remove(units_[2].delta.root()).ok());
    verify_anew();
    expect_contradiction("unit 2 of round 1");
    EXPECT_TRUE(claims_->list().empty()) << "no rule on chain decides this";
}

/// A unit that no beacon drew is verified for the norm of its delta alone.
TEST_F(AggregateTest, AUnitThatIsSingledOutWithoutAReasonIsTold) {
    job_.record.slots[2].sampling_rate_ppm = job_.record.sampling.floor_ppm;
    set_record(task_, job_.record);
    ASSERT_FALSE(protocol::is_sampled(task_.beacon, protocol::unit_id(job_.unit(2)),
                                      job_.record.sampling.floor_ppm));
    chain_.post(job_.record, kEpoch);
    show_units();
    task_.delta_norm_factor = 1e6;
    include({0, 1});
    for (const UnitState state :
         {UnitState::kSampled, UnitState::kReported, UnitState::kVerified}) {
        view(2).status.state = state;
        events_.clear();
        verify_anew();
        expect_contradiction(state == UnitState::kVerified
                                 ? "unit 2 of round 1 is accepted"
                                 : "unit 2 of round 1 is verified although no beacon drew it, and "
                                   "the aggregate is without its delta");
    }
    view(2).status.state = UnitState::kSampled;
    task_.delta_norm_max = 1e-9;
    verify_anew();
    EXPECT_TRUE(told("contradiction").empty()) << "a reason";
}

/// A factor of 1: exactly the deltas up to the median of those that go in.
TEST_F(AggregateTest, ADeltaFarAboveTheMedianMustBeLeftOutAndNoOther) {
    task_.delta_norm_factor = 1;
    include({0, 1, 2});
    verify_anew();
    EXPECT_EQ(contradictions("whose norm is far above the median of the round's"), 1);
    int right = 0;
    for (const std::vector<std::uint32_t>& two :
         {std::vector<std::uint32_t>{0, 1}, {0, 2}, {1, 2}}) {
        include(two);
        events_.clear();
        verify_anew();
        // That each is signed anew is told, too.
        const int wrong = contradictions("is accepted, and the aggregate is without its delta") +
                          contradictions("whose norm is far above");
        right += wrong == 0 ? 1 : 0;
    }
    EXPECT_EQ(right, 1) << "only the largest of three different norms may be left out";
}

/// Nor can the aggregate be kept from being verified by what is not in it.
TEST_F(AggregateTest, ADeltaThatIsLeftOutAndNotShownIsTold) {
    include({0, 1});
    const Digest& delta = units_[2].delta.root();
    handler_.lies[delta] = blob::VerifiedBlob(units_[0].delta).take();
    verify();
    EXPECT_EQ(contradictions("unit 2 of round 1 is accepted, and the aggregate is without its "
                             "delta " +
                             delta.hex() + ", which cannot be had: "),
              1);
    EXPECT_EQ(told("verified").size(), 1u);
    events_.clear();
    handler_.lies.clear();
    handler_.silent.insert(delta);
    open();
    handler_.tasks[key_.address()] = task_;
    handler_.report_commits.clear();
    for (unsigned i = 1; i < node::DeltaLoader::kTriesMax; ++i) {
        EXPECT_EQ(verifier_->run_once({}).error().code, ErrorCode::kUnavailable);
        EXPECT_TRUE(events_.empty()) << "it may pass";
    }
    verify();
    EXPECT_EQ(contradictions("which cannot be had: requested 5 times: "), 1);
    EXPECT_EQ(told("verified").size(), 1u);
}

TEST_F(AggregateTest, NothingComesAfterTheLastRound) {
    WatchedRound last{*task_.round, task_.commitment, task_.deltas};
    last.record.round = std::numeric_limits<std::uint64_t>::max();
    protocol::RoundRecord first = next_record();
    first.round = 0;
    first.previous_record = protocol::hash(last.record);
    first.base_state_root = commit::sha256(as_bytes("another base"));
    const NextRecordAudit audit = audit_next_record(last, protocol::encode(first));
    EXPECT_FALSE(audit.conflict);
    ASSERT_EQ(audit.contradictions.size(), 1u);
    // Nor is it waited for.
    ASSERT_TRUE(RoundWatch::open(dir_.path() / "rounds")->add(last).ok());
    open();
    look();
    EXPECT_TRUE(RoundWatch::open(dir_.path() / "rounds")->list().empty());
    EXPECT_TRUE(events_.empty());
}

TEST_F(AggregateTest, ADeltaThatIsUnderNoRootIsTold) {
    const Digest real = view(1).commitment->commitment.delta_root;
    view(1).commitment->commitment.delta_root = commit::sha256(as_bytes("another delta"));
    verify_anew();
    expect_contradiction("has delta " + real.hex() + " of unit 1 of round 1, which no commitment");
    show_units();
    view(1).inclusion.reset();
    verify_anew();
    expect_contradiction("unit 1 of round 1");
    show_units();
    task_.deltas[1].unit = task_.deltas[0].unit;
    verify_anew();
    expect_contradiction("unit 1 of round 1");
}

TEST_F(AggregateTest, ANextRoundThatDoesNotGoOnFromItIsChallenged) {
    verify();
    protocol::RoundRecord next = next_record();
    next.base_state_root = commit::sha256(as_bytes("another base"));
    post(next);
    open();
    look();
    ASSERT_EQ(claims_->list().size(), 1u);
    const player::Claim claim = *claims_->list()[0];
    EXPECT_EQ(claim.subject, Subject::kConflict);
    EXPECT_EQ(claim.other, protocol::encode(protocol::head_of(next)));
    EXPECT_EQ(game::decide_conflict(domain_, player::conflict_of(claim).value()).value().field,
              game::kNextRecordField);
    expect_contradiction("the base state in the record of round 2 is");
    look();
    EXPECT_TRUE(events_.empty()) << "once";
}

/// The chain holds the hash of the head: it is on trial whatever comes behind it.
TEST_F(AggregateTest, ANextRecordThatDoesNotDecodeIsChallenged) {
    verify();
    protocol::RoundRecord next = next_record();
    next.base_state_root = commit::sha256(as_bytes("another base"));
    coordinator_.record = protocol::encode(next);
    coordinator_.record.push_back(0);
    post(next);
    look();
    ASSERT_EQ(claims_->list().size(), 1u);
    const player::Claim claim = *claims_->list()[0];
    EXPECT_EQ(claim.subject, Subject::kConflict);
    EXPECT_EQ(claim.other, protocol::encode(protocol::head_of(next)));
    EXPECT_EQ(game::decide_conflict(domain_, player::conflict_of(claim).value()).value().field,
              game::kNextRecordField);
    EXPECT_EQ(contradictions("the base state in the record of round 2 is"), 1);
    EXPECT_EQ(contradictions("is not as records are written"), 1);
}

TEST_F(AggregateTest, ANextRecordThatIsNoneIsTold) {
    verify();
    coordinator_.record = Bytes(399, 2);
    const protocol::RoundRecord next = next_record();
    post(next);
    chain_.rounds[{next.job_id, next.round}].record_hash =
        protocol::hash_round_head(coordinator_.record);
    look();
    expect_contradiction("the record of round 2 is none");
    EXPECT_TRUE(claims_->list().empty()) << "nor do contracts take it for one";
}

TEST_F(AggregateTest, ANextRoundThatSaysWhatWasNotShownIsTold) {
    verify();
    protocol::RoundRecord next = next_record();
    next.included.pop_back();
    post(next);
    look();
    expect_contradiction("made from 2 deltas, which are not the 3");
    EXPECT_TRUE(claims_->list().empty()) << "base and momentum are right";
}

TEST_F(AggregateTest, ANextRoundBehindAnotherRecordIsChallenged) {
    verify();
    protocol::RoundRecord next = next_record();
    next.previous_record = commit::sha256(as_bytes("garbage"));
    post(next);
    look();
    expect_contradiction("the record before it in the record of round 2");
    ASSERT_EQ(claims_->list().size(), 1u);
    EXPECT_EQ(game::decide_conflict(domain_, player::conflict_of(*claims_->list()[0]).value())
                  .value()
                  .field,
              game::kNextRecordField);
}

TEST_F(AggregateTest, ANextRecordIsTheChainsOrLookedAtLater) {
    verify();
    protocol::RoundRecord next = next_record();
    post(next);
    handler_.records[0].included.pop_back();
    look();
    chain_.answers = false;
    look();
    EXPECT_TRUE(told("contradiction").empty());
    EXPECT_EQ(RoundWatch::open(dir_.path() / "rounds")->list().size(), 1u);
}

/// Shown to one verifier and to the next one, or to the same in another draw.
TEST_F(AggregateTest, TwoCommitmentsToItAreAConflict) {
    verify();
    sign(commit::sha256(as_bytes("another base")));
    task_.draw = 1;
    verify();
    const auto claims = claims_->list();
    ASSERT_EQ(claims.size(), 2u) << "and the second one is wrong";
    const auto conflict = std::ranges::find(claims, Subject::kConflict,
                                            [](const auto& claim) { return claim->subject; });
    ASSERT_NE(conflict, claims.end());
    EXPECT_EQ(game::decide_conflict(domain_, player::conflict_of(**conflict).value()).value().field,
              game::kEquivocationField);
    expect_contradiction("two different commitments");
}

}  // namespace
}  // namespace gym::verifier
