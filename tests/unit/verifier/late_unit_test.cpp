// Units of the round before whose commitments came late: they are under the root of this one.

#include "gym/protocol/report_claim.hpp"
#include "gym/verifier/chain_audit.hpp"
#include "held_delta_fixture.hpp"

namespace gym::verifier {
namespace {

/// The held delta is that of a late unit.
class LateUnitTest : public HeldDeltaTest {
  protected:
    void SetUp() override {
        job_.record.accept_late = true;
        HeldDeltaTest::SetUp();
        task_.hold_drawn = false;
        handler_.records = {first_->record};
        late().status.late = true;
        show_epochs(true);
    }
    records::UnitReceipt& late() { return handler_.units[protocol::unit_id(first_->unit(kHeld))]; }
    /// Round 1 without its late unit, and round 2 with it, or without it.
    void show_epochs(bool with_late) {
        std::vector<records::UnitReceipt*> before, own;
        for (std::uint32_t slot = 0; slot < kHeld; ++slot)
            before.push_back(&handler_.units[protocol::unit_id(first_->unit(slot))]);
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot)
            own.push_back(&view(slot));
        if (with_late) own.push_back(&late());
        late().inclusion.reset();
        post_epoch(kEpoch, before);
        post_epoch(epoch_, own);
    }
    void post_epoch(std::uint64_t epoch, const std::vector<records::UnitReceipt*>& units) {
        std::vector<Digest> leaves;
        for (const records::UnitReceipt* unit : units)
            leaves.push_back(protocol::commitment_leaf(*unit->commitment));
        chain_.epochs[epoch] = {commit::merkle_root(leaves),
                                static_cast<std::uint32_t>(leaves.size()), kRootBlock};
        for (std::size_t i = 0; i < units.size(); ++i)
            units[i]->inclusion =
                records::InclusionReceipt{epoch, chain_.epochs[epoch].commitments_root, i,
                                          leaves.size(), commit::merkle_prove(leaves, i).value()};
    }
    /// The late unit as a task of its own.
    records::VerifyTask unit_task() {
        records::VerifyTask task;
        task.unit = first_->unit(kHeld);
        task.record = protocol::unit_record(first_->record, kHeld);
        task.inputs = first_->inputs;
        task.commitment = *late().commitment;
        task.committer = late().worker;
        task.beacon = task_.beacon;
        task.late = true;
        return task;
    }
    Result<bool> run(const records::VerifyTask& task) {
        const Digest id = protocol::unit_id(task.unit);
        handler_.report_commits.clear();
        handler_.commitments[id] = {task.commitment,
                                    engine::encode_records(first_units_[kHeld].records)};
        handler_.tasks[key_.address()] = task;
        return verifier_->run_once({});
    }
    void commit_late_to(const blob::VerifiedBlob& delta) {
        first_units_[kHeld].delta = delta;
        late().commitment = protocol::sign(domain_, first_->commitment(kHeld, first_units_[kHeld]),
                                           testing::test_key(static_cast<std::uint8_t>(1 + kHeld)));
        show_epochs(true);
        include_held({0, 1, 2}, {kHeld});
    }
};

TEST_F(LateUnitTest, GoesIntoTheNextAggregate) {
    verify();
    expect_right();
    EXPECT_TRUE(claims_->list().empty());
}

TEST_F(LateUnitTest, ThatIsUnderNeitherRootIsTold) {
    show_epochs(false);
    verify();
    EXPECT_EQ(
        contradictions("of unit 2 of round 1, which no commitment under the epoch's root has"), 1);
    ASSERT_EQ(claims_->list().size(), 1U) << "whoever signs such an aggregate is at fault";
    EXPECT_EQ(claims_->list()[0]->subject, Subject::kAggregate);
    EXPECT_EQ(claims_->list()[0]->epoch.size(), kWorkers);
}

TEST_F(LateUnitTest, IsNoUnitInTime) {
    task_.deltas.back().held = false;
    task_.deltas.back().slot = 2;
    task_.deltas.erase(task_.deltas.begin() + 2);
    std::vector<engine::Delta> deltas;
    for (const std::uint32_t slot : {0U, 1U})
        deltas.push_back(engine::Delta::decode(job_.program, units_[slot].delta).value());
    deltas.push_back(engine::Delta::decode(job_.program, first_units_[kHeld].delta).value());
    right_ = engine::run_aggregate(job_.program, job_.base, momentum_, deltas).value();
    sign(right_->base_root);
    task_.earlier.reset();
    verify();
    EXPECT_GE(contradictions("which no commitment under the epoch's root has"), 1);
    EXPECT_EQ(claims_->list().size(), 1U) << "under this root, and of another round";
}

TEST_F(LateUnitTest, IsVerifiedByTheNextEpoch) {
    const auto ran = run(unit_task());
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(told("verified").size(), 1U);
    EXPECT_TRUE(told("contradiction").empty()) << "of round 1 there is nothing to compare with";
}

/// On what it reports of a worker's unit a verifier stakes: it is filed to be defended before it is
/// sent.
TEST_F(LateUnitTest, AReportIsSignedAndFiledWhereVerifiersStake) {
    report_game_.data.fill(0x66);
    open();
    const records::VerifyTask task = unit_task();
    ASSERT_TRUE(run(task).ok());
    const Digest unit = protocol::unit_id(task.unit);
    EXPECT_FALSE(handler_.reveals.at(unit).claim_signature) << "nobody asks for stake";
    EXPECT_TRUE(claims_->list().empty());
    handler_.reveals.clear();
    handler_.info.minimum_verifier_stake = Amount(1);
    handler_.failures["submit_report_reveal"] = fail(ErrorCode::kUnavailable, "gone");
    EXPECT_FALSE(run(task).ok());
    ASSERT_EQ(claims_->list().size(), 1U) << "it may have arrived";
    handler_.failures.clear();
    ASSERT_TRUE(verifier_->run_once({}).ok());
    const player::Claim claim = *claims_->list().at(0);
    EXPECT_EQ(claims_->list().size(), 1U);
    EXPECT_EQ(claim.role, player::Role::kDefend);
    EXPECT_EQ(claim.subject, player::Subject::kReport);
    EXPECT_EQ(claim.epoch_block, kRootBlock);
    EXPECT_TRUE(claim.evidence.late);
    const records::ReportReveal& reveal = handler_.reveals.at(unit);
    EXPECT_EQ(claim.evidence.commitment.signature, reveal.claim_signature);
    EXPECT_EQ(claim.evidence.commitment.commitment,
              protocol::claim_of(reveal.report, task.commitment.commitment));
    EXPECT_TRUE(
        protocol::check_report_claim(protocol::report_domain(handler_.info.chain_id, report_game_),
                                     reveal.report, claim.evidence.commitment)
            .ok());
    EXPECT_FALSE(
        protocol::check_report_claim(domain_, reveal.report, claim.evidence.commitment).ok())
        << "no commitment's";
}

TEST_F(LateUnitTest, ATaskThatSaysSoWrongIsRefused) {
    records::VerifyTask task = unit_task();
    task.late = false;  // then it would be under the first root
    EXPECT_EQ(run(task).error().code, ErrorCode::kMismatch);
    task = unit_task();
    task.record.accept_late = false;
    task.commitment.commitment.round_record = protocol::hash(task.record);
    task.commitment = protocol::sign(domain_, task.commitment.commitment,
                                     testing::test_key(static_cast<std::uint8_t>(1 + kHeld)));
    const auto ran = run(task);
    ASSERT_FALSE(ran.ok());
    EXPECT_NE(ran.error().message.find("which its round record does not allow"), std::string::npos)
        << ran.error().message;
    EXPECT_TRUE(handler_.report_commits.empty());
}

TEST_F(LateUnitTest, ThatIsWrongIsChallengedInTheNextEpoch) {
    commit_late_to(units_[0].delta);
    const auto ran = run(unit_task());
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    ASSERT_EQ(claims_->list().size(), 1U);
    const player::Claim& claim = *claims_->list()[0];
    EXPECT_EQ(claim.key, first_->unit(kHeld));
    EXPECT_TRUE(claim.evidence.late);
    EXPECT_EQ(claim.evidence.index, kWorkers);
    EXPECT_EQ(claim.evidence.record, protocol::unit_record(first_->record, kHeld));
    EXPECT_EQ(player::decode_claim(player::encode(claim)).value(), claim);
}

/// The delta of a late unit that its run does not give is no fault of the aggregate.
TEST_F(LateUnitTest, WhoseDeltaIsMadeUpIsChallengedItself) {
    commit_late_to(first_units_[0].delta);
    ASSERT_TRUE(handler_.blobs.remove(first_units_[0].delta.root()).ok());
    handler_.tasks[key_.address()] = task_;
    (void)verifier_->run_once({});
    const auto claims = claims_->list();
    const auto of_unit = std::ranges::find_if(
        claims, [&](const auto& claim) { return claim->key == first_->unit(kHeld); });
    ASSERT_NE(of_unit, claims.end());
    EXPECT_TRUE((*of_unit)->evidence.late);
}

TEST_F(LateUnitTest, ThatTheBeaconDrawsIsNotPassedOver) {
    late().status.state = UnitState::kUnsampled;
    verify();
    EXPECT_EQ(contradictions("unit 2 of round 1 is drawn by the beacon, and the coordinator passed "
                             "over it"),
              1);
}

/// What the record does not allow is not believed.
TEST_F(LateUnitTest, AUnitIsLateOnlyWhereItsRecordAllowsIt) {
    view(1).status.late = true;
    view(1).status.state = UnitState::kUnsampled;
    EpochOnChain epoch{epoch_, chain_.epochs[epoch_], task_.beacon};
    EXPECT_TRUE(audit_sample(coordinator_, job_.record, epoch).value().empty())
        << "it may be the next epoch's";
    protocol::RoundRecord strict = job_.record;
    strict.accept_late = false;
    EXPECT_EQ(audit_sample(coordinator_, strict, epoch).value().size(), 1U);
}

}  // namespace
}  // namespace gym::verifier
