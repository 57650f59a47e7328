// Attempts of a dishonest coordinator with the aggregate of a round, or of a challenger against an
// honest one, each against the automatic player of the other side on a real chain.

#include "outer_zoo.hpp"

namespace gym::testing {
namespace {

TEST_F(OuterZoo, WrongBase) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    expect_proven("proveOuter");
    EXPECT_EQ(games().at(0).fault->element, Amount(2)) << "byte 9 is in element 2";
}

TEST_F(OuterZoo, WrongMomentum) {
    lie(coordinator_).lie_about(OuterTree::kMomentum, 5, 0);
    commit();
    expect_proven("proveOuter");
}

TEST_F(OuterZoo, WrongColumn) {
    lie_about_column();
    commit();
    expect_proven("proveColumn");
    EXPECT_EQ(games().at(0).fault->element, Amount(1)) << "the second delta";
}

TEST_F(OuterZoo, WrongRecord) {
    lie(coordinator_).lie_about_joint(1, engine::testing::seed_of("another tensor"));
    commit();
    expect_proven("proveOuterSlot");
}

TEST_F(OuterZoo, ADeltaThatNobodyCommittedTo) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->at(1).root = sample_.add_delta();
    commit();
    expect_lost_by_clock();
}

TEST_F(OuterZoo, ALeafThatNobodyCanOpen) {
    lie(coordinator_).lie_about_leaf(1, engine::testing::seed_of("no delta"));
    commit();
    expect_lost_by_clock();
}

TEST_F(OuterZoo, ASlotTwice) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->at(1) = liar.list->at(0);
    commit();
    expect_lost_by_clock();
}

TEST_F(OuterZoo, SlotsThatDoNotAscend) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    std::swap(liar.list->at(1), liar.list->at(2));
    commit();
    expect_lost_by_clock();
}

TEST_F(OuterZoo, ACommitmentThatIsNoWorkers) {
    // The coordinator posts the epoch's root: it can put anything under it.
    const std::uint32_t slot = sample_.included[1].slot;
    const protocol::UnitCommitment says = sample_.commitment(slot, sample_.add_delta());
    sample_.epoch[2] = protocol::sign(domain(), says, coordinator_.key);
    ASSERT_EQ(sample_.epoch[2].commitment.slot, slot);
    sample_.included[1].root = says.delta_root;
    run();
    commit();
    expect_proven("proveSigner");
    EXPECT_EQ(games().at(0).fault->element, Amount(1)) << "another worker's slot";
}

/// Two of its five deltas are of the round before.
class HeldZoo : public OuterZoo {
  protected:
    void SetUp() override {
        sample_.add_held();
        OuterZoo::SetUp();
    }
};

TEST_F(HeldZoo, HeldDeltasThatCountFully) {
    lie(coordinator_).lie_about_weights();
    commit();
    expect_proven("proveOuter");
}

TEST_F(HeldZoo, AHeldDeltaThatNobodyCommittedTo) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->back().root = sample_.add_delta();
    commit();
    expect_lost_by_clock();
}

TEST_F(HeldZoo, AHeldDeltaThatIsCalledTheRounds) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    // Slot 1 has none of this round among them.
    liar.list->at(3).held = false;
    std::swap(liar.list->at(3), liar.list->at(2));
    std::swap(liar.list->at(2), liar.list->at(1));
    commit();
    expect_lost_by_clock();
}

TEST_F(HeldZoo, TooHighAHeldCount) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->at(2).held = true;
    std::ranges::sort(*liar.list, {},
                      [](const game::OuterDelta& one) { return std::pair(one.held, one.slot); });
    commit();
    expect_lost_by_clock();
}

/// Nobody could challenge the units of such a round.
TEST_F(HeldZoo, HeldDeltasOfARecordThatWasNotPosted) {
    posted_before_ = engine::testing::seed_of("another record");
    commit();
    expect_lost_by_clock();
}

TEST_F(HeldZoo, ACommitmentToAHeldDeltaThatIsNoWorkers) {
    const std::uint32_t slot = sample_.included.back().slot;
    const auto says = sample_.commitment(slot, sample_.add_delta(), true);
    sample_.previous_epoch[2] = protocol::sign(domain(), says, coordinator_.key);
    ASSERT_EQ(sample_.previous_epoch[2].commitment.slot, slot);
    sample_.included.back().root = says.delta_root;
    run();
    commit();
    expect_proven("proveSigner");
    EXPECT_EQ(games().at(0).fault->element, Amount(1)) << "another worker's slot";
}

TEST_F(HeldZoo, AChallengerThatLetsHeldDeltasCountFully) {
    lie(verifier_).lie_about_weights();
    commit();
    expect_upheld();
}

/// It has a commitment for each of them.
TEST_F(HeldZoo, AChallengerThatNeverHeardOfTheCommitmentToAHeldDelta) {
    lie(verifier_).known_previous = sample_.previous_epoch;
    std::swap(verifier_.lie->known_previous[0], verifier_.lie->known_previous[1]);
    commit();
    expect_upheld();
}

TEST_F(OuterZoo, TwoSteps) {
    change_ = [](protocol::UnitCommitment& claim) { claim.steps = 2; };
    commit();
    expect_lost_by_opening(3);
}

TEST_F(OuterZoo, AnotherRecordWasSignedThanIsShown) {
    change_ = [](protocol::UnitCommitment& claim) {
        claim.records_root = engine::testing::seed_of("no records");
    };
    commit();
    expect_lost_by_clock();
}

TEST_F(OuterZoo, Silence) {
    lie(coordinator_).lie_about(OuterTree::kBase, 0, 0);
    commit();
    play_until([&] { return !games().empty(); }, false);
    pass(terms().clock_s + 1);
    play_until([&] { return proven(); }, false);
    EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultByClock);
}

TEST_F(OuterZoo, AChallengerThatSumsWrongly) {
    lie(verifier_).lie_about(OuterTree::kBase, 2, 4);
    commit();
    expect_upheld();
}

TEST_F(OuterZoo, AChallengerWithoutAReason) {
    commit();
    expect_upheld();
}

TEST_F(OuterZoo, AChallengerThatNeverHeardOfACommitment) {
    lie(verifier_).known_epoch = sample_.epoch;
    verifier_.lie->known_epoch.erase(verifier_.lie->known_epoch.begin());
    commit();
    expect_upheld();
}

/// The coordinator shows its aggregate, or names it on chain, only when its round's window is over.
class KeptBack : public OuterZoo {
  protected:
    void mine_window() { anvil_.mine(static_cast<std::uint32_t>(window() + 70)); }
    void post_aggregate() {
        let_sign(anvil_, deployment_.commitment_log, coordinator_.key.address());
        send(admin_,
             commitments().post_aggregate(sample_.record.job_id, sample_.record.round,
                                          protocol::encode(commitment_)),
             "aggregate");
    }
};

TEST_F(KeptBack, AWrongAggregateIsChallengedHoweverLateItIsShown) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    mine_window();
    expect_proven("proveOuter");
}

TEST_F(KeptBack, AWrongAggregateIsChallengedOnceItIsOnChain) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    mine_window();
    post_aggregate();
    expect_proven("proveOuter");
}

TEST_F(KeptBack, TheWindowEndsBehindThePost) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    post_aggregate();
    mine_window();
    tick(verifier_);
    EXPECT_TRUE(verifier_.told("ended: too late"));
    EXPECT_TRUE(verifier_.claims->list().empty());
}

/// Another one than was shown is named when the round's window is over.
TEST_F(KeptBack, ASecondAggregateIsAFaultHoweverLateItIsNamed) {
    commit();
    mine_window();
    protocol::UnitCommitment second = outcome_;
    second.final_state_root = engine::testing::seed_of("another base");
    const auto other = protocol::sign(domain(), second, coordinator_.key);
    ASSERT_TRUE(verifier_.claims->remove(claim_of(verifier_)).ok());
    ASSERT_TRUE(verifier_.claims->save(conflict_with(protocol::encode(other))).ok());
    post_aggregate();
    if (protocol::signing_digest(domain(), second) < protocol::signing_digest(domain(), outcome_))
        commitment_ = other;
    expect_lost_by_opening(game::kEquivocationField);
}

/// Games can be opened as long: a player without its claim would lose them by the clock.
TEST_F(KeptBack, AClaimIsKeptUntilTheWindowBehindThePostIsOver) {
    commit();
    mine_window();
    tick(coordinator_);
    ASSERT_EQ(coordinator_.claims->list().size(), 1U) << "it is not on chain";
    post_aggregate();
    tick(coordinator_);
    tick(coordinator_);
    ASSERT_EQ(coordinator_.claims->list().size(), 1U) << "its window has begun";
    mine_window();
    tick(coordinator_);
    EXPECT_TRUE(coordinator_.claims->list().empty());
}

class Conflicts : public OuterZoo {
  protected:
    /// The verifier has nothing else against the coordinator.
    void accuse(Bytes other) {
        ASSERT_TRUE(verifier_.claims->remove(claim_of(verifier_)).ok());
        ASSERT_TRUE(verifier_.claims->save(conflict_with(std::move(other))).ok());
    }
};

TEST_F(Conflicts, TwoAggregatesOfOneRound) {
    commit();
    protocol::UnitCommitment second = outcome_;
    second.final_state_root = engine::testing::seed_of("another base");
    const auto other = protocol::sign(domain(), second, coordinator_.key);
    accuse(protocol::encode(other));
    // The unit is the one with the lower digest, whichever is named first.
    if (protocol::signing_digest(domain(), second) < protocol::signing_digest(domain(), outcome_))
        commitment_ = other;
    expect_lost_by_opening(game::kEquivocationField);
    EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultProven);
}

TEST_F(Conflicts, TwoAggregatesOfARoundWithoutAnEpoch) {
    post_round();
    outcome_ = sample_.outcome(coordinator_.work());
    commitment_ = protocol::sign(domain(), outcome_, coordinator_.key);
    protocol::UnitCommitment second = outcome_;
    second.delta_root = engine::testing::seed_of("another momentum");
    const auto other = protocol::sign(domain(), second, coordinator_.key);
    ASSERT_TRUE(verifier_.claims->save(conflict_with(protocol::encode(other))).ok());
    if (protocol::signing_digest(domain(), second) < protocol::signing_digest(domain(), outcome_))
        commitment_ = other;
    expect_lost_by_opening(game::kEquivocationField);
}

TEST_F(Conflicts, ANextRoundWithAnotherBase) {
    commit();
    protocol::RoundRecord next = next_record();
    next.base_state_root = engine::testing::seed_of("another base");
    post(next);
    accuse(protocol::encode(protocol::head_of(next)));
    expect_lost_by_opening(game::kNextRecordField);
}

TEST_F(Conflicts, ANextRoundWithAnotherMomentum) {
    commit();
    protocol::RoundRecord next = next_record();
    next.momentum_root = engine::testing::seed_of("another momentum");
    post(next);
    accuse(protocol::encode(protocol::head_of(next)));
    expect_lost_by_opening(game::kNextRecordField);
}

TEST_F(Conflicts, ANextRoundBehindAnotherRecord) {
    commit();
    protocol::RoundRecord next = next_record();
    next.previous_record = engine::testing::seed_of("garbage");
    post(next);
    accuse(protocol::encode(protocol::head_of(next)));
    expect_lost_by_opening(game::kNextRecordField);
}

/// A conflict that contradicts nothing is not announced: the bond would be lost.
TEST_F(Conflicts, ANextRoundThatGoesOnFromTheAggregate) {
    commit();
    const protocol::RoundRecord next = next_record();
    post(next);
    accuse(protocol::encode(protocol::head_of(next)));
    const Amount before = balance(verifier_);
    for (int i = 0; i < 3; ++i)
        tick(verifier_);
    EXPECT_TRUE(verifier_.is_stuck());
    EXPECT_FALSE(verifier_.told("announced"));
    EXPECT_EQ(balance(verifier_), before);
}

/// A game about an aggregate is in vain once the next record has decided it: its bond comes back.
TEST_F(Conflicts, TheNextRoundDecidesAGameThatIsPlayed) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    play_until([&] { return !games().empty(); });
    const Amount before = balance(verifier_);
    protocol::RoundRecord next = next_record();
    next.base_state_root = engine::testing::seed_of("another base");
    post(next);
    ASSERT_TRUE(
        verifier_.claims->save(conflict_with(protocol::encode(protocol::head_of(next)))).ok());
    play_until(
        [&] {
            const auto played = games();
            return played.size() == 2 && played[0].ended && played[1].ended;
        },
        false);
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kMoot);
    EXPECT_EQ(games()[1].ended->status, game::GameStatus::kFaultProven);
    EXPECT_EQ(balance(verifier_), before.plus(terms().bond).value());
    expect_slashed();
}

}  // namespace
}  // namespace gym::testing
