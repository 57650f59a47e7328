#include "gym/player/game_log.hpp"

#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/calldata.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/rules.hpp"
#include "samples.hpp"

namespace gym::player {
namespace {

using gym::testing::digest;

/// A unit of two steps, and what happens in games about it.
class GameLogTest : public ::testing::Test {
  protected:
    GameLogTest() {
        protocol::RoundRecord record = gym::testing::round_record();
        record.slots[1].steps = 2;
        protocol::UnitCommitment commitment = gym::testing::commitment(record);
        commitment.records_root = commit::merkle_root(links_);
        commitment.final_state_root = end_;
        evidence_ = {protocol::sign(gym::testing::domain(), commitment, gym::testing::key(1)),
                     protocol::unit_record(record, commitment.slot),
                     0,
                     {}};
        facts_ = game::facts_of(commitment, evidence_.record);
        start_ = game::start_of(unit_, facts_);
    }

    void open(std::uint64_t id) {
        contracts::Opened opened;
        opened.game = digest(id);
        opened.unit = unit_;
        opened.cursor = start_;
        opened.data = game::encode_open(evidence_, digest(0));
        happened_.push_back({opened, Digest(), 0});
    }
    /// The asserter says in game `id` that `first` was the state after the first step.
    /// @return where that leads.
    Digest declare(std::uint64_t id, const Digest& first) {
        const std::vector<Digest> states{first, end_};
        const game::Move move =
            game::move::DeclareStates{facts_, commit::merkle_root(states), links_, states};
        const Digest next =
            game::hash_of(std::get<game::Cursor>(game::decide(start_, move).value()));
        contracts::Moved moved;
        moved.game = digest(id);
        moved.unit = unit_;
        moved.by_asserter = true;
        moved.position = next;
        moved.data = game::encode_call({digest(id), start_, move});
        happened_.push_back({moved, Digest(), 0});
        return next;
    }
    Digest position(std::size_t index) {
        const UnitLog log = replay(happened_);
        EXPECT_EQ(log.games.at(index).unreadable, "");
        if (!log.games[index].transcript) return Digest();
        return game::hash_of(log.games[index].transcript->at());
    }

    const std::vector<Digest> links_{digest(101), digest(102)};
    const Digest end_ = digest(103);
    const Digest unit_ = digest(104);
    game::Evidence evidence_;
    game::Facts facts_;
    game::Cursor start_;
    std::vector<LoggedEvent> happened_;
};

TEST_F(GameLogTest, AnOpeningGoesOnBehindWhatWasAnswered) {
    open(1);
    const Digest answered = declare(1, digest(201));
    open(2);
    EXPECT_EQ(position(0), answered);
    EXPECT_EQ(position(1), answered);
}

/// The contract takes calls that no encoder of ours writes; a game must not be lost by that.
TEST_F(GameLogTest, CallsWithMoreInThemAreFollowed) {
    open(1);
    auto& opened = std::get<contracts::Opened>(happened_.back().event);
    opened.data.insert(opened.data.end(), {1, 2, 3});
    const Digest answered = declare(1, digest(201));
    auto& moved = std::get<contracts::Moved>(happened_.back().event);
    moved.data.push_back(0);
    EXPECT_EQ(position(0), answered);
}

/// An asserter that has an accomplice with two games must not confuse those who come later.
TEST_F(GameLogTest, ALaterAnswerInAnotherGameMovesNoGame) {
    open(1);
    open(2);
    const Digest answered = declare(1, digest(201));
    open(3);
    const Digest other = declare(2, digest(202));
    open(4);
    ASSERT_NE(answered, other);
    EXPECT_EQ(position(0), answered);
    EXPECT_EQ(position(1), other);
    EXPECT_EQ(position(2), answered);
    EXPECT_EQ(position(3), other);
}

TEST_F(GameLogTest, AGameThatCannotBeFollowedStopsNoOther) {
    open(1);
    open(2);
    contracts::Moved nonsense;
    nonsense.game = digest(1);
    nonsense.unit = unit_;
    nonsense.data = {1, 2, 3, 4, 5};
    happened_.push_back({nonsense, Digest(), 0});
    const Digest answered = declare(2, digest(201));
    const UnitLog log = replay(happened_);
    EXPECT_FALSE(log.games.at(0).transcript.has_value());
    EXPECT_NE(log.games[0].unreadable, "");
    EXPECT_EQ(position(1), answered);
}

/// A game about an aggregate, and one that two signatures decide.
class AggregateLogTest : public GameLogTest {
  protected:
    AggregateLogTest() {
        protocol::UnitCommitment says = evidence_.commitment.commitment;
        says.kind = protocol::UnitKind::kAggregate;
        says.slot = protocol::kAggregateSlot;
        says.steps = 1;
        says.tokens = 0;
        engine::StepRecord step;
        step.batch_root = engine::included_root(1, 0, digest(301));  // the tree of one delta
        step.state_root = digest(302);
        record_ = engine::encode_step_record(step);
        says.records_root = engine::records_root({&step, 1});
        evidence_.commitment = sign(says);
        facts_of_outer_ = game::outer_facts_of(says, evidence_.record, epochs_);
        start_ = game::start_of(unit_, facts_of_outer_);
    }
    static protocol::SignedCommitment sign(const protocol::UnitCommitment& says) {
        return protocol::sign(gym::testing::domain(), says, gym::testing::key(1));
    }
    GameRecord replayed(const std::optional<game::EpochRoots>& epochs) {
        return replay(happened_, epochs).games.at(0);
    }

    const game::EpochRoots epochs_{{digest(303), 7}, {digest(304), 8}};
    Bytes record_;
    game::OuterFacts facts_of_outer_;
};

TEST_F(AggregateLogTest, ItsGamesAreReadWithTheEpochOfItsRound) {
    open(1);
    EXPECT_FALSE(replayed(std::nullopt).transcript);
    EXPECT_NE(replayed(std::nullopt).unreadable, "");
    const game::Cursor start = start_;
    EXPECT_EQ(replayed(epochs_).transcript->at(), start);
    const std::vector<game::OuterDelta> declared{{9, digest(301)}};
    const game::Move move = game::move::DeclareOuter{
        facts_of_outer_, record_, digest(301), {}, game::slots_of(declared), 0};
    contracts::Moved moved;
    moved.game = digest(1);
    moved.unit = unit_;
    moved.by_asserter = true;
    moved.position = game::hash_of(std::get<game::Cursor>(game::decide(start, move).value()));
    moved.data = game::encode_call({digest(1), start, move});
    happened_.push_back({moved, Digest(), 0});
    const GameRecord game = replayed(epochs_);
    ASSERT_TRUE(game.transcript) << game.unreadable;
    EXPECT_EQ(game::hash_of(game.transcript->at()), moved.position);
    ASSERT_EQ(game.transcript->included().size(), 1U);
    EXPECT_EQ(game.transcript->included()[0], (game::OuterDelta{9, digest(301)}));
    // Facts of another epoch are another unit's.
    EXPECT_FALSE(replayed(game::EpochRoots{{digest(303), 8}, epochs_.previous}).transcript);
    EXPECT_FALSE(replayed(game::EpochRoots{epochs_.own, {digest(304), 9}}).transcript);
    EXPECT_FALSE(replayed(game::EpochRoots{epochs_.own, {}}).transcript);
}

/// A coordinator must not make a game unreadable by an epoch that it posts afterwards.
TEST_F(AggregateLogTest, AnEpochOfTheRoundBeforeThatCameLaterIsNotInTheGame) {
    const game::UnitFacts without =
        game::outer_facts_of(evidence_.commitment.commitment, evidence_.record, {epochs_.own, {}});
    start_ = game::start_of(unit_, without);
    open(1);
    EXPECT_EQ(replayed(game::EpochRoots{epochs_.own, {}}).transcript->at(), start_);
    EXPECT_EQ(replayed(epochs_).transcript->at(), start_);
}

TEST_F(AggregateLogTest, AConflictIsOverWithItsOpening) {
    protocol::UnitCommitment other = evidence_.commitment.commitment;
    other.flops += 1;
    contracts::Opened opened;
    opened.game = digest(1);
    opened.unit = unit_;
    opened.data = game::encode_conflict(
        {evidence_.commitment, evidence_.record, protocol::encode(sign(other))}, digest(0));
    happened_.push_back({opened, Digest(), 0});
    happened_.push_back({contracts::FaultFound{.game = digest(1), .unit = unit_}, Digest(), 0});
    const GameRecord game = replayed(std::nullopt);
    EXPECT_EQ(game.unreadable, "");
    EXPECT_FALSE(game.transcript);
    EXPECT_TRUE(game.fault);
    std::get<contracts::Opened>(happened_[0].event).data[0] ^= 1;
    EXPECT_NE(replayed(std::nullopt).unreadable, "");
}

/// A player can send through a contract that makes several calls in one transaction.
TEST(GameCostTest, CountsEachTransactionOfASideOnce) {
    contracts::Moved answer, pick;
    answer.by_asserter = true;
    const std::vector<LoggedEvent> events{{contracts::Announced{}, digest(1), 10},
                                          {contracts::Opened{}, digest(2), 11},
                                          {answer, digest(3), 12},
                                          {contracts::GasPaid{}, digest(3), 12},
                                          {pick, digest(4), 13},
                                          {contracts::FaultFound{}, digest(4), 13},
                                          {contracts::UnitFaulty{}, digest(4), 13},
                                          {contracts::GameEnded{}, digest(4), 13}};
    const auto cost = game_cost(events, [](const Digest& transaction) -> Result<std::uint64_t> {
        std::uint64_t gas = 1;  // another power of ten for each
        for (int i = 1; digest(static_cast<std::uint64_t>(i)) != transaction; ++i)
            gas *= 10;
        return gas;
    });
    ASSERT_TRUE(cost.ok()) << cost.error().message;
    EXPECT_EQ(cost->transactions, 4U);
    EXPECT_EQ(cost->challenger_gas, 1'011U);
    EXPECT_EQ(cost->asserter_gas, 100U);
}

/// Anybody can end a game by its clock: what that costs is no side's.
TEST(GameCostTest, AnEndByTheClockIsNotCounted) {
    const std::vector<LoggedEvent> events{{contracts::Opened{}, digest(2), 11},
                                          {contracts::GameEnded{}, digest(5), 90},
                                          {contracts::UnitSettled{}, digest(6), 95}};
    const auto all = transactions_of(events);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].hash, digest(2));
    EXPECT_EQ(all[0].block_number, 11U);
}

}  // namespace
}  // namespace gym::player
