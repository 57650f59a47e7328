// Both players on a real chain: every tick is a new process's first.

#include <thread>

#include "play_fixture.hpp"

namespace gym::testing {
namespace {

TEST_F(PlayTest, AFaultEndsInOneNumberAndTheStakeIsTaken) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    const Amount before = balance(verifier_);
    play_until([&] { return on_chain().proven_at_s != 0; });
    const auto played = games();
    ASSERT_EQ(played.size(), 1U);
    ASSERT_TRUE(played[0].fault && played[0].ended && played[0].line);
    EXPECT_EQ(played[0].ended->status, chain::GameStatus::kFaultProven);
    EXPECT_NE(played[0].fault->claimed, played[0].fault->computed);
    EXPECT_EQ(played[0].line->step()->step, 2U);
    EXPECT_EQ(stake_of_worker(), tokens("500")) << "earlier announcements may still prove";
    pass(contract().terms(anvil_.client()).value().settling_s + 1);
    play_until([&] { return verifier_.claims->list().empty(); });
    EXPECT_TRUE(on_chain().settled);
    EXPECT_TRUE(stake_of_worker().is_zero());
    EXPECT_GT(balance(verifier_), before) << "bond back, and the reward";
}

TEST_F(PlayTest, AChallengerThatIsWrongLosesItsBond) {
    break_device(verifier_, {.step = 1, .op = 3, .output = 0, .bit = 30});
    commit();
    const Amount before = balance(verifier_);
    const Amount workers = balance(worker_);
    // It goes down to where it has nothing to prove; then its clock runs out.
    play_until([&] {
        const auto played = games();
        return !verifier_.events.empty() && !played.empty() && played[0].line &&
               verifier_.events.back().starts_with("stuck");
    });
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until([&] { return verifier_.claims->list().empty(); });
    EXPECT_EQ(games()[0].ended->status, chain::GameStatus::kUpheld);
    EXPECT_EQ(on_chain().proven_at_s, 0U);
    EXPECT_EQ(stake_of_worker(), tokens("500"));
    EXPECT_LT(balance(verifier_), before);
    EXPECT_GT(balance(worker_), workers) << "half of the bond";
}

TEST_F(PlayTest, SilenceLosesOnTheClock) {
    break_device(worker_, {.step = 0, .op = 8, .output = 0, .bit = 30});
    commit();
    play_until([&] { return !games().empty(); }, false);
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until([&] { return on_chain().proven_at_s != 0; }, false);
    EXPECT_EQ(games()[0].ended->status, chain::GameStatus::kFaultByClock);
}

TEST_F(PlayTest, AClaimIsForgottenWhenNoGameCanBeOpenedAnyMore) {
    commit();
    tick(worker_);
    EXPECT_EQ(worker_.claims->list().size(), 1U);
    const std::uint64_t window = contract().opening(anvil_.client()).value().window_blocks;
    anvil_.mine(static_cast<std::uint32_t>(window + 70));
    tick(worker_);
    EXPECT_TRUE(worker_.claims->list().empty());
    tick(verifier_);
    EXPECT_TRUE(verifier_.claims->list().empty()) << "too late";
    EXPECT_TRUE(games().empty());
}

}  // namespace
}  // namespace gym::testing
