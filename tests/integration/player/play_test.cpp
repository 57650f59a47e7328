// Both players on a real chain: every tick is a new process's first.

#include <random>
#include <thread>

#include "gym/contracts/stake.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/game/state.hpp"
#include "log_cache.hpp"
#include "play_fixture.hpp"

namespace gym::testing {
namespace {

TEST_F(PlayTest, AFaultEndsInOneNumberAndTheStakeIsTaken) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    const Amount before = balance(verifier_);
    play_until([&] { return proven(); });
    const auto played = games();
    ASSERT_EQ(played.size(), 1U);
    ASSERT_TRUE(played[0].fault && played[0].ended && played[0].transcript);
    EXPECT_EQ(played[0].ended->status, game::GameStatus::kFaultProven);
    EXPECT_NE(played[0].fault->claimed, played[0].fault->computed);
    EXPECT_EQ(played[0].transcript->step()->step, 2U);
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
        return !verifier_.events.empty() && !played.empty() && played[0].transcript &&
               verifier_.events.back().starts_with("stuck");
    });
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until([&] { return verifier_.claims->list().empty() && all_ended(); });
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kUpheld);
    EXPECT_EQ(on_chain().proven_at_s, 0U);
    EXPECT_EQ(stake_of_worker(), tokens("500"));
    EXPECT_LT(balance(verifier_), before);
    EXPECT_GT(balance(worker_), workers) << "half of the bond";
}

/// The worker's machine is gone; another node has its claims and is its defender on chain.
TEST_F(PlayTest, ADefenderAnswersForAWorkerThatIsAway) {
    break_device(verifier_, {.step = 1, .op = 3, .output = 0, .bit = 30});
    commit();
    Side standby;
    standby.role = player::Role::kDefend;
    enter(standby, "standby", 4);
    save_claim(standby, player::Role::kDefend);
    send(*worker_.sender,
         contracts::Stake(deployment_.stake)
             .set_defender(worker_.key.address(), standby.key.address()),
         "defender");
    play_until(
        [&] {
            tick(standby);
            const auto played = games();
            return !verifier_.events.empty() && !played.empty() && played[0].transcript &&
                   verifier_.events.back().starts_with("stuck");
        },
        false);
    pass(terms().clock_s + 1);
    play_until(
        [&] {
            tick(standby);
            return verifier_.claims->list().empty() && all_ended();
        },
        false);
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kUpheld);
    EXPECT_EQ(on_chain().proven_at_s, 0U);
    EXPECT_EQ(stake_of_worker(), tokens("500"));
    EXPECT_TRUE(worker_.events.empty()) << "it was away";
}

/// Planning can be a run of the whole unit, on a machine that has other work.
TEST_F(PlayTest, AMoveOnItsWayIsNotPlannedAgain) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    play_until([&] { return !games().empty(); }, false);
    anvil_.rpc("evm_setIntervalMining", "[0]");
    for (int i = 0; i < 5; ++i)
        tick(worker_);
    EXPECT_EQ(worker_.opened, 1);
    anvil_.mine(1);
    for (int i = 0; i < 5; ++i)
        tick(verifier_);
    EXPECT_EQ(verifier_.opened, 1);
    anvil_.mine(1);
    tick(worker_);
    EXPECT_EQ(worker_.opened, 2) << "the next one";
}

/// One process for a whole game, which has read most of it long ago; blocks are replaced meanwhile.
TEST_F(PlayTest, PlayersThatLiveLongFollowReorgs) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    const auto worker = player_of(worker_);
    const auto verifier = player_of(verifier_);
    anvil_.rpc("evm_setIntervalMining", "[0]");
    std::mt19937 random(1);
    std::bernoulli_distribution replaced(1.0 / 3);
    int ticks = 0;
    for (; ticks < 600 && !proven(); ++ticks) {
        for (const auto& one : {worker.get(), verifier.get()}) {
            const Status done = one->tick();
            ASSERT_TRUE(done.ok()) << done.error().message;
        }
        anvil_.mine(1);
        // Not deeper than what is not final. Every third block on average: with a period of its
        // own, lost transactions could be sent again only in blocks that are replaced, for ever.
        if (replaced(random)) anvil_.rpc("anvil_reorg", "[1,[]]");
        if (ticks % 8 == 7 && !games().empty())
            anvil_.mine(static_cast<std::uint32_t>(chain::kReorgBlocks));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_TRUE(proven()) << ticks << " ticks";
    const auto played = games();
    ASSERT_EQ(played.size(), 1U);
    EXPECT_EQ(played[0].ended->status, game::GameStatus::kFaultProven);
    EXPECT_FALSE(worker_.told("stuck"));
    EXPECT_FALSE(verifier_.told("stuck"));
}

/// Each game has a clock of its own.
TEST_F(PlayTest, AGameThatCannotBeAnsweredKeepsNoOtherWaiting) {
    commit();
    Side second;
    enter(second, "second", 4);
    save_claim(second, player::Role::kChallenge);
    for (int ticks = 0; ticks < 600 && games().size() < 2; ++ticks) {
        tick(verifier_);
        tick(second);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_EQ(games().size(), 2U);
    worker_.failures = 1;
    tick(worker_);
    EXPECT_TRUE(worker_.told("stuck: the device is broken"));
    EXPECT_TRUE(worker_.told("answered"));
}

/// Games last for weeks, and answers cost ether.
TEST_F(PlayTest, WhatAnswersEarnedIsTakenOutWhileGamesAreOpen) {
    commit();
    const auto base_fee = [&](const char* wei) {
        anvil_.rpc("anvil_setNextBlockBaseFeePerGas", "[\"" + std::string(wei) + "\"]");
    };
    const auto earned = [&] {
        return contract().ether_of(anvil_.client(), worker_.key.address()).value();
    };
    // Dear blocks, so that one answer earns what pays for many transactions in cheap ones.
    const auto in_dear_blocks = [&](const std::function<bool()>& done) {
        return [&base_fee, done] {
            base_fee("0xba43b7400");  // 50 gwei
            return done();
        };
    };
    base_fee("0xba43b7400");
    anvil_.mine(1);
    play_until(in_dear_blocks([&] { return !games().empty(); }), false);
    play_until(in_dear_blocks([&] { return !earned().is_zero(); }), true, false);
    base_fee("0x1");
    play_until([&] { return earned().is_zero(); }, true, false);
    EXPECT_FALSE(games()[0].ended);
}

TEST_F(PlayTest, SilenceLosesOnTheClock) {
    break_device(worker_, {.step = 0, .op = 8, .output = 0, .bit = 30});
    commit();
    play_until([&] { return !games().empty(); }, false);
    pass(contract().terms(anvil_.client()).value().clock_s + 1);
    play_until([&] { return proven(); }, false);
    EXPECT_EQ(games()[0].ended->status, game::GameStatus::kFaultByClock);
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

class ShortWindowTest : public PlayTest {
  protected:
    [[nodiscard]] game::DisputeParams dispute_terms() const override {
        game::DisputeParams terms;
        terms.window_blocks = 120;  // 12 s: tests on a busy machine pause
        return terms;
    }
};

/// A commitment that no epoch came of is stood by for some windows, and then given up.
TEST_F(ShortWindowTest, AClaimWithoutAnEpochHasAnEndToo) {
    sign_unit();
    save_claim(worker_, player::Role::kDefend);
    tick(worker_);
    ASSERT_EQ(worker_.claims->list().size(), 1U);
    EXPECT_NE(worker_.claims->list()[0]->from_block, 0U) << "it is dated by the first tick";
    anvil_.mine(static_cast<std::uint32_t>((player::kWindowsWithoutEpoch - 1) * window()));
    tick(worker_);
    EXPECT_EQ(worker_.claims->list().size(), 1U);
    anvil_.mine(static_cast<std::uint32_t>(window() + 70));
    tick(worker_);
    EXPECT_TRUE(worker_.claims->list().empty());
    EXPECT_TRUE(worker_.told("ended: its round has no epoch"));
    EXPECT_EQ(worker_.released.size(), 1U);
}

/// A coordinator that posts the epoch late and tells nobody.
TEST_F(ShortWindowTest, AnEpochThatTheWorkerWasNotToldOfIsFoundOnTheChain) {
    sign_unit();
    save_claim(worker_, player::Role::kDefend);
    tick(worker_);
    anvil_.mine(static_cast<std::uint32_t>(player::kWindowsWithoutEpoch * window()));
    post_epoch();
    tick(worker_);
    ASSERT_EQ(worker_.claims->list().size(), 1U);
    EXPECT_EQ(worker_.claims->list()[0]->epoch_block, epoch_block_);
    break_device(verifier_, {.step = 1, .op = 3, .output = 0, .bit = 30});
    save_claim(verifier_, player::Role::kChallenge);
    play_until([&] {
        const auto played = games();
        return !played.empty() && played[0].transcript && played[0].transcript->at().answered;
    });
}

class NoStakeTest : public PlayTest {
  protected:
    NoStakeTest() { staked_ = false; }
};

TEST_F(NoStakeTest, NothingIsAnnouncedWhereLessThanABondCanBeWon) {
    break_device(worker_, {.step = 0, .op = 8, .output = 0, .bit = 30});
    commit();
    const Amount before = balance(verifier_);
    const std::string stakes = "skipped: " + worker_.key.address().hex() + " stakes ";
    tick(verifier_);
    EXPECT_TRUE(verifier_.told(stakes + "0 GYM"));
    const Amount less = terms().bond.minus(Amount(1)).value();
    stake(worker_, less.to_tokens().c_str());
    for (int i = 0; i < 3; ++i)
        tick(verifier_);
    EXPECT_TRUE(verifier_.told(stakes + less.to_tokens() + " GYM"));
    EXPECT_EQ(balance(verifier_), before) << "no bond";
    EXPECT_FALSE(verifier_.told("announced"));
    // More may come as long as games can be opened.
    stake(worker_, "0.000000000000000001");
    ASSERT_EQ(stake_of_worker(), terms().bond);
    play_until([&] { return !games().empty(); }, false);
}

TEST_F(PlayTest, StakeThatThawsIsWorthAGame) {
    break_device(worker_, {.step = 0, .op = 8, .output = 0, .bit = 30});
    commit();
    send(*worker_.sender, contracts::Stake(deployment_.stake).thaw(tokens("500")), "thaw");
    ASSERT_TRUE(stake_of_worker().is_zero());
    play_until([&] { return !games().empty(); }, false);
}

/// Whoever announced first has the reward; the other one gets what the slash leaves to provers.
TEST_F(PlayTest, AProverThatIsNotFirstIsPaidFromTheSlash) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    Side second;
    enter(second, "second", 4);
    save_claim(second, player::Role::kChallenge);
    const Amount before = balance(second);
    ASSERT_EQ(balance(verifier_), before);
    play_until([&] {
        tick(second);
        return games().size() == 2 && proven() && all_ended();
    });
    pass(terms().settling_s + 1);
    play_until([&] {
        tick(second);
        return verifier_.claims->list().empty() && second.claims->list().empty();
    });
    const bool first = on_chain().finder == verifier_.key.address();
    EXPECT_EQ(balance(first ? second : verifier_), before.plus(tokens("50")).value());
    EXPECT_EQ(balance(first ? verifier_ : second), before.plus(tokens("200")).value());
}

TEST_F(PlayTest, WhatOthersHaveSettledIsNotPlayedAgain) {
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    play_until([&] { return proven(); });
    Side late;
    enter(late, "late", 4);
    const Amount before = balance(late);
    save_claim(late, player::Role::kChallenge);
    tick(late);
    EXPECT_TRUE(late.told("skipped: a fault in it is proven"));
    pass(terms().settling_s + 1);
    play_until([&] { return on_chain().settled; });
    tick(late);
    EXPECT_TRUE(late.told("skipped: others have settled it"));
    EXPECT_TRUE(late.claims->list().empty());
    EXPECT_EQ(balance(late), before);
    EXPECT_EQ(games().size(), 1U);
}

}  // namespace
}  // namespace gym::testing
