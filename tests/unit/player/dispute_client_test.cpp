#include "dispute_client.hpp"

#include <gtest/gtest.h>

namespace gym::player {
namespace {

constexpr std::uint64_t kGwei = 1'000'000'000;

TEST(EtherOfGames, IsTakenOutWhereItPaysForManyTransactions) {
    const Amount base_fee(9 * kGwei);
    // 50'000 gas at 10 gwei, with what a block's maker gets.
    const Amount transaction(500'000 * kGwei);
    const auto times = [&](std::uint64_t count) {
        return transaction.mul_div(Amount(count), Amount(1)).value();
    };
    EXPECT_FALSE(is_worth_withdrawing(Amount(0), Amount(0)));
    EXPECT_FALSE(is_worth_withdrawing(times(1), base_fee));
    EXPECT_FALSE(is_worth_withdrawing(times(49), base_fee));
    EXPECT_TRUE(is_worth_withdrawing(times(50), base_fee));
    EXPECT_TRUE(is_worth_withdrawing(times(49), Amount(8 * kGwei))) << "it became cheaper";
}

TEST(EndOfATick, IsTheChainsOrTheStopAndNothingOfOneClaim) {
    for (const ErrorCode code :
         {ErrorCode::kUnavailable, ErrorCode::kTimeout, ErrorCode::kCancelled})
        EXPECT_TRUE(ends_tick(fail(code, "")));
    for (const ErrorCode code : {ErrorCode::kInternal, ErrorCode::kMismatch, ErrorCode::kNotFound,
                                 ErrorCode::kInsufficientFunds, ErrorCode::kIo})
        EXPECT_FALSE(ends_tick(fail(code, "")));
}

/// An opening that this version cannot read keeps no other game waiting.
TEST(WithheldGames, ThatCannotBeReadAreTold) {
    contracts::Opened opened;
    game::WithheldEvidence evidence;
    evidence.data.what = game::Wanted::kBase;
    opened.game.data.fill(1);
    opened.unit.data.fill(2);
    opened.data = game::encode_withheld(evidence, {});
    contracts::Opened cut = opened;
    cut.game.data.fill(3);
    cut.data.resize(4 + 32);  // the selector, and the first word
    contracts::Opened other = opened;
    other.data = {1, 2, 3, 4};  // of another call
    const std::vector<LoggedEvent> events{{cut, {}, 1}, {other, {}, 2}, {opened, {}, 3}};
    std::vector<Digest> unreadable;
    const auto games = withheld_games_of(
        events,
        [&](const Digest& game, const std::string& /*why*/) { unreadable.push_back(game); });
    ASSERT_EQ(games.size(), 1U);
    EXPECT_EQ(games[0].id, opened.game);
    EXPECT_EQ(games[0].unit, opened.unit);
    EXPECT_EQ(games[0].evidence, evidence);
    EXPECT_EQ(unreadable, std::vector{cut.game});
}

}  // namespace
}  // namespace gym::player
