#pragma once

#include <string>

#include "gym/game/state.hpp"
#include "outer_fixture.hpp"

namespace gym::testing {

/// How a game about an aggregate ends, and what becomes of stakes and bonds.
class OuterZoo : public OuterPlayTest {
  protected:
    using OuterPlayTest::OuterPlayTest;
    void expect_proven(const std::string& move) {
        play_until([&] { return proven(); });
        const auto played = games();
        ASSERT_EQ(played.size(), 1U);
        ASSERT_TRUE(played[0].ended && played[0].fault);
        EXPECT_EQ(played[0].ended->status, game::GameStatus::kFaultProven);
        EXPECT_TRUE(verifier_.told("proved: " + move));
        expect_slashed();
    }
    void expect_lost_by_opening(std::uint64_t field) {
        play_until([&] { return proven(); });
        const auto played = games();
        ASSERT_EQ(played.size(), 1U);
        ASSERT_TRUE(played[0].fault);
        EXPECT_EQ(played[0].fault->element, Amount(field));
        EXPECT_FALSE(played[0].transcript.has_value() && played[0].transcript->at().answered);
        expect_slashed();
    }
    /// It has no legal answer, so its clock decides.
    void expect_lost_by_clock() {
        play_until([&] { return coordinator_.is_stuck(); });
        pass(terms().clock_s + 1);
        play_until([&] { return proven(); });
        EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultByClock);
        expect_slashed("250");
    }
    /// @param left of the stake: half, where only the clock decided.
    void expect_slashed(const char* left = "0") {
        const Amount before = balance(verifier_);
        pass(terms().settling_s + 1);
        play_until([&] { return on_chain().settled && verifier_.claims->list().empty(); });
        EXPECT_EQ(stake_of(coordinator_).active, tokens(left));
        EXPECT_GT(balance(verifier_), before) << "the reward";
    }
    void expect_upheld() {
        play_until([&] { return verifier_.is_stuck(); });
        const Amount before = balance(coordinator_);
        pass(terms().clock_s + 1);
        play_until([&] { return verifier_.claims->list().empty() && all_ended(); });
        EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kUpheld);
        EXPECT_EQ(on_chain().proven_at_s, 0U);
        EXPECT_EQ(stake_of(coordinator_).active, tokens("500"));
        EXPECT_GT(balance(coordinator_), before) << "half of the bond";
    }
};

}  // namespace gym::testing
