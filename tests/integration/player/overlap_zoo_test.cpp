// Games about the aggregates of a job whose rounds overlap, against the automatic player of the
// other side on a real chain. All deltas of such an aggregate are of the round before, and it is
// signed when nobody has committed in its own round yet: the game is opened later, when the epoch
// is there.

#include "outer_zoo.hpp"
#include "update_liars.hpp"

namespace gym::testing {
namespace {

class OverlapZoo : public OuterZoo {
  protected:
    using OuterZoo::OuterZoo;
    [[nodiscard]] virtual bool trains() const { return true; }
    void SetUp() override {
        sample_.overlap(trains());
        OuterZoo::SetUp();
        run_before_epoch();
    }
    /// What the coordinator knows when it signs.
    void run_before_epoch() {
        game::OuterInputs inputs = sample_.inputs();
        inputs.epoch = {};
        auto run = game::RerunOuter::create(std::move(inputs), sample_.source(), {});
        ASSERT_TRUE(run.ok()) << run.error().message;
        coordinator_.run = std::move(run).value();
    }
    void commit() {
        post_round();
        sign();
        player::Claim own = claim_of(coordinator_);
        own.epoch.clear();
        own.from_block = head();
        ASSERT_EQ(own.epoch_block, 0U);
        ASSERT_TRUE(coordinator_.claims->save(own).ok());
        tick(coordinator_);
        post_epoch();
        ASSERT_TRUE(verifier_.claims->save(claim_of(verifier_)).ok());
    }
};

TEST_F(OverlapZoo, WrongBase) {
    lie(coordinator_).lie_about(OuterTree::kBase, 3, 9);
    commit();
    expect_proven("proveOuter");
    EXPECT_EQ(games().at(0).fault->element, Amount(2)) << "byte 9 is in element 2";
}

TEST_F(OverlapZoo, WrongColumn) {
    lie_about_column();
    commit();
    expect_proven("proveColumn");
    EXPECT_EQ(games().at(0).fault->element, Amount(1)) << "the second delta";
}

TEST_F(OverlapZoo, ADeltaThatNobodyCommittedTo) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->at(1).root = sample_.add_delta();
    commit();
    expect_lost_by_clock();
}

/// It would be in the model twice: the next round's aggregate has it, too.
TEST_F(OverlapZoo, ADeltaOfTheRoundItselfThatIsCalledOneOfTheRoundBefore) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    ASSERT_EQ(liar.list->at(1).slot, sample_.epoch[2].commitment.slot);
    liar.list->at(1).root = sample_.epoch[2].commitment.delta_root;
    liar.known_epoch = sample_.epoch;
    commit();
    expect_lost_by_clock();
}

TEST_F(OverlapZoo, ACommitmentThatIsNoWorkers) {
    const std::uint32_t slot = sample_.included[1].slot;
    const auto says = sample_.commitment(slot, sample_.add_delta(), true);
    sample_.previous_epoch[2] = protocol::sign(domain(), says, coordinator_.key);
    ASSERT_EQ(sample_.previous_epoch[2].commitment.slot, slot);
    sample_.included[1].root = says.delta_root;
    run();
    run_before_epoch();
    commit();
    expect_proven("proveSigner");
    EXPECT_EQ(games().at(0).fault->element, Amount(1)) << "another worker's slot";
}

TEST_F(OverlapZoo, AChallengerThatSumsWrongly) {
    lie(verifier_).lie_about(OuterTree::kBase, 2, 4);
    commit();
    expect_upheld();
}

TEST_F(OverlapZoo, AChallengerWithoutAReason) {
    commit();
    expect_upheld();
}

/// The coordinator has a commitment for each of them.
TEST_F(OverlapZoo, AChallengerThatNeverHeardOfACommitment) {
    lie(verifier_).known_previous = sample_.previous_epoch;
    std::swap(verifier_.lie->known_previous[0], verifier_.lie->known_previous[1]);
    commit();
    expect_upheld();
}

/// The round behind the last that trains: no slots, and an epoch without commitments.
class LastDeltas : public OverlapZoo {
  protected:
    [[nodiscard]] bool trains() const override { return false; }
};

TEST_F(LastDeltas, WrongMomentum) {
    lie(coordinator_).lie_about(OuterTree::kMomentum, 5, 0);
    commit();
    expect_proven("proveOuter");
}

TEST_F(LastDeltas, ADeltaThatNobodyCommittedTo) {
    Liar& liar = lie(coordinator_);
    liar.list = sample_.included;
    liar.list->back().root = sample_.add_delta();
    commit();
    expect_lost_by_clock();
}

TEST_F(LastDeltas, AChallengerWithoutAReason) {
    commit();
    expect_upheld();
}

/// With an update in rows.
class OverlapUpdates : public OverlapZoo {
  protected:
    OverlapUpdates() : OverlapZoo(dispute::testing::kUpdateSample) {}
};

TEST_F(OverlapUpdates, RowsOfAWrongStep) {
    game::testing::UpdateLie wrong(*coordinator_.run, sample_);
    wrong.publish([](std::uint32_t parameter, std::uint64_t element, float step) {
        return parameter == 1 && element == 3 ? step + 1.0F : step;
    });
    wrong.put_into(lie(coordinator_));
    commit();
    expect_proven("proveUpdate");
}

TEST_F(OverlapUpdates, AChallengerWithoutAReason) {
    commit();
    expect_upheld();
}

}  // namespace
}  // namespace gym::testing
