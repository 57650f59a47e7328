// Games about verifiers' reports on a real chain: the fixture's worker is a verifier that reported
// on somebody else's unit, and what it signed is its report.

#include "gym/contracts/stake.hpp"
#include "gym/game/state.hpp"
#include "play_fixture.hpp"

namespace gym::testing {
namespace {

class ReportPlay : public PlayTest {
  protected:
    [[nodiscard]] bool about_reports() const override { return true; }
    Amount stake_of_reporter() { return stake_of(worker_).active; }
    /// Plays until the challenger has nothing that it could prove, and past its clock.
    void play_out() {
        play_until([&] {
            const auto played = games();
            return !verifier_.events.empty() && !played.empty() && played[0].transcript &&
                   verifier_.events.back().starts_with("stuck");
        });
        pass(terms().clock_s + 1);
        play_until([&] { return verifier_.claims->list().empty() && all_ended(); });
    }
};

TEST_F(ReportPlay, AFalseReportCostsItsVerifierAllOfItsStake) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    play_until([&] { return proven(); });
    ASSERT_EQ(games().size(), 1U);
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kFaultProven);
    pass(terms().settling_s + 1);
    play_until([&] { return verifier_.claims->list().empty(); });
    EXPECT_TRUE(on_chain().settled);
    EXPECT_TRUE(stake_of_reporter().is_zero());
}

TEST_F(ReportPlay, AnHonestVerifierIsUpheld) {
    break_device(verifier_, {.step = 1, .op = 3, .output = 0, .bit = 30});
    commit();
    const Amount before = balance(worker_);
    play_out();
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kUpheld);
    EXPECT_EQ(stake_of_reporter(), tokens("500"));
    EXPECT_GT(balance(worker_), before) << "half of the bond";
}

TEST_F(ReportPlay, AVerifierThatIsAwayLosesAPart) {
    commit();
    play_until([&] { return !games().empty(); }, false);
    pass(terms().clock_s + 1);
    play_until([&] { return proven(); }, false);
    pass(terms().settling_s + 1);
    play_until([&] { return verifier_.claims->list().empty(); }, false);
    EXPECT_EQ(stake_of_reporter(), tokens("250"));
}

/// Reports and units have names and contracts of their own: a player of one has nothing to do with
/// the other's claims.
TEST_F(ReportPlay, APlayerOfUnitsLeavesReportsAlone) {
    commit();
    player::PlayerSetup units{
        anvil_.client(),
        *verifier_.sender->manager,
        contracts::DisputeGame(deployment_.dispute_game),
        protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log),
        *verifier_.claims,
        verifier_,
        {}};
    const auto challenger = player::make_challenger(std::move(units));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(challenger->tick().ok());
        anvil_.mine(1);
    }
    EXPECT_EQ(verifier_.opened, 0);
    EXPECT_EQ(verifier_.claims->list().size(), 1U);
    EXPECT_TRUE(games().empty());
}

/// Reports can be challenged for two windows after the root, and are forgotten after that.
TEST_F(ReportPlay, AReportIsDefendedForTwoWindows) {
    commit();
    EXPECT_EQ(window(), 2 * dispute_terms().window_blocks);
    const auto over = [&](std::uint64_t windows) {
        for (std::uint64_t i = 0; i < windows * dispute_terms().window_blocks; i += 50)
            anvil_.mine(50);
        tick(worker_);
    };
    over(1);
    EXPECT_EQ(worker_.claims->list().size(), 1U);
    over(2);
    EXPECT_TRUE(worker_.claims->list().empty());
}

}  // namespace
}  // namespace gym::testing
