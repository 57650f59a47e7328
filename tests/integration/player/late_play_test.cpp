// Both players on a real chain, about units whose commitments may be in the next round's epoch.

#include "gym/game/state.hpp"
#include "play_fixture.hpp"

namespace gym::testing {
namespace {

class LatePlayTest : public PlayTest {
  protected:
    LatePlayTest() { accept_late_ = late_ = true; }
    [[nodiscard]] game::DisputeParams dispute_terms() const override {
        game::DisputeParams terms;
        terms.window_blocks = window_;
        return terms;
    }
    void mine_window() { anvil_.mine(static_cast<std::uint32_t>(window() + 70)); }
    std::uint32_t window_ = 1'000;
};

TEST_F(LatePlayTest, AFaultOfALateUnitTakesTheStake) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    play_until([&] { return proven(); });
    const auto played = games();
    ASSERT_EQ(played.size(), 1U);
    ASSERT_TRUE(played[0].fault && played[0].ended && played[0].transcript);
    EXPECT_EQ(played[0].ended->status, game::GameStatus::kFaultProven);
    EXPECT_EQ(played[0].transcript->step()->step, 2U);
    pass(contract().terms(anvil_.client()).value().settling_s + 1);
    play_until([&] { return verifier_.claims->list().empty(); });
    EXPECT_TRUE(stake_of_worker().is_zero());
}

TEST_F(LatePlayTest, AChallengerThatIsWrongLosesItsBond) {
    break_device(verifier_, {.step = 1, .op = 3, .output = 0, .bit = 30});
    commit();
    play_until([&] {
        return !games().empty() && !verifier_.events.empty() &&
               verifier_.events.back().starts_with("stuck");
    });
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until([&] { return verifier_.claims->list().empty() && all_ended(); });
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kUpheld);
    EXPECT_EQ(stake_of_worker(), tokens("500"));
}

/// Two commitments to one unit, one in time and one late.
TEST_F(LatePlayTest, ASecondCommitmentIsAFaultAsLongAsTheNextEpochsWindow) {
    late_ = false;
    commit();
    ASSERT_TRUE(verifier_.claims->remove(*verifier_.claims->list()[0]).ok());
    protocol::UnitCommitment other = commitment_.commitment;
    other.delta_root = engine::testing::seed_of("another delta");
    player::Claim claim = claim_of(verifier_, player::Role::kChallenge);
    claim.subject = player::Subject::kConflict;
    claim.epoch_block = 0;
    claim.other = protocol::encode(protocol::sign(domain(), other, worker_.key));
    const auto conflict = player::conflict_of(claim).value();
    const Digest unit = game::decide_conflict(domain(), conflict)->unit;
    mine_window();
    post_next_round();
    post_epoch(2, record_.round + 1, protocol::commitment_leaf(commitment_));
    ASSERT_TRUE(verifier_.claims->save(claim).ok());
    play_until([&] { return contract().unit_of(anvil_.client(), unit).value().proven_at_s != 0; },
               false);
}

class LateShortWindowTest : public LatePlayTest {
  protected:
    LateShortWindowTest() { window_ = 120; }
};

/// Whatever its receipt says, its commitment can be under the next root, too.
TEST_F(LateShortWindowTest, AClaimIsKeptUntilTheNextEpochsWindowIsOver) {
    late_ = false;
    commit();
    mine_window();
    tick(worker_);
    ASSERT_EQ(worker_.claims->list().size(), 1U) << "there is no next epoch yet";
    post_next_round();
    const std::uint64_t next = post_epoch(2, record_.round + 1, engine::testing::seed_of("next"));
    tick(worker_);
    ASSERT_EQ(worker_.claims->list().size(), 1U);
    EXPECT_EQ(worker_.claims->list()[0]->epoch_block, next);
    mine_window();
    tick(worker_);
    EXPECT_TRUE(worker_.claims->list().empty());
}

TEST_F(LateShortWindowTest, AClaimIsNotKeptForEverWhereThereIsNoNextEpoch) {
    late_ = false;
    commit();
    anvil_.mine(static_cast<std::uint32_t>((player::kWindowsWithoutEpoch - 1) * window()));
    tick(worker_);
    EXPECT_EQ(worker_.claims->list().size(), 1U);
    mine_window();
    mine_window();
    tick(worker_);
    EXPECT_TRUE(worker_.claims->list().empty());
}

TEST_F(LateShortWindowTest, WhereTheRoundTakesNoneItIsForgottenAsBefore) {
    late_ = accept_late_ = false;
    commit();
    mine_window();
    tick(worker_);
    EXPECT_TRUE(worker_.claims->list().empty());
}

}  // namespace
}  // namespace gym::testing
