#pragma once

#include <algorithm>

#include "gym/game/state.hpp"
#include "liars.hpp"
#include "play_fixture.hpp"

namespace gym::testing {

/// A worker that lies about its unit, against the automatic player of a verifier.
class FraudZoo : public PlayTest {
  protected:
    using PlayTest::PlayTest;

    /// The worker runs another unit, and claims that it was this one.
    void run_instead(std::unique_ptr<dispute::testing::SampleUnit> other) {
        other_ = std::move(other);
        worker_.lie = game::testing::rerun(*other_);
    }
    game::testing::Liar& lie() {
        auto liar = std::make_unique<game::testing::Liar>(*worker_.run);
        game::testing::Liar& out = *liar;
        worker_.lie = std::move(liar);
        return out;
    }

    /// The fault is proven by a move, not by the clock.
    void expect_proven(const std::string& move) {
        play_until([&] { return proven(); });
        const auto played = games();
        ASSERT_EQ(played.size(), 1U);
        ASSERT_TRUE(played[0].ended);
        EXPECT_EQ(played[0].ended->status, game::GameStatus::kFaultProven);
        ASSERT_TRUE(played[0].fault);
        EXPECT_NE(played[0].fault->claimed, played[0].fault->computed);
        EXPECT_TRUE(std::ranges::any_of(verifier_.events, [&](const std::string& event) {
            return event.starts_with("proved: " + move);
        }));
        expect_slashed();
    }
    void expect_lost_by_opening(std::uint64_t field) {
        play_until([&] { return proven(); });
        const auto played = games();
        ASSERT_EQ(played.size(), 1U);
        ASSERT_TRUE(played[0].fault);
        EXPECT_EQ(played[0].fault->element, Amount(field));
        expect_slashed();
    }
    /// It has no legal answer, so its clock decides.
    void expect_lost_by_clock() {
        play_until([&] { return worker_.is_stuck(); });
        pass(contract().terms(anvil_.client()).value().clock_s + 1);
        play_until([&] { return proven(); });
        EXPECT_EQ(games().at(0).ended->status, game::GameStatus::kFaultByClock);
        expect_slashed("250");
    }
    /// @param left of the stake: half, where only the clock decided.
    void expect_slashed(const char* left = "0") {
        pass(contract().terms(anvil_.client()).value().settling_s + 1);
        play_until([&] { return on_chain().settled; });
        EXPECT_EQ(stake_of_worker(), tokens(left));
    }

    std::unique_ptr<dispute::testing::SampleUnit> other_;
};

}  // namespace gym::testing
