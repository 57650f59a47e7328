#include "gym/game/table.hpp"

#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/evidence.hpp"
#include "move_samples.hpp"

// Money and time, without a move: tests/integration/game/table_test.cpp compares the whole with the
// contracts, tests/sim/dispute plays on it.

namespace gym::game {
namespace {

using testing::filled;

Address who(std::uint8_t number) {
    Address address;
    address.data.fill(number);
    return address;
}
const Address kAsserter = who(1), kFirst = who(2), kSecond = who(3), kAnybody = who(9);

class TableTest : public ::testing::Test {
  protected:
    TableTest() {
        for (const Address& owner : {kAsserter, kFirst, kSecond})
            table_.mint(owner, Amount(1'000));
        EXPECT_TRUE(table_.stake(by(kAsserter), Amount(900)).ok());
        unit_.unit = filled(7);
        unit_.asserter = kAsserter;
        unit_.facts = testing::sample_facts();
        unit_.epoch_block = 10;
    }
    static Terms terms() {
        Terms terms;
        terms.bond = Amount(101);
        terms.clock = 100;
        terms.settling = 250;
        terms.announce_blocks = 2;
        terms.open_blocks = 5;
        terms.escrow_gas = 10;
        terms.window_blocks = 50;
        terms.thaw_period = 1'000;
        terms.burned_ppm = 600'000;
        return terms;
    }
    /// A transaction of now.
    [[nodiscard]] Tx by(const Address& sender) const {
        Tx tx;
        tx.sender = sender;
        tx.block = block_;
        tx.time = time_;
        tx.base_fee = 1;
        tx.value = Amount(20);
        return tx;
    }
    static ErrorCode code(const Status& status) {
        EXPECT_FALSE(status.ok());
        return status.ok() ? ErrorCode::kInternal : status.error().code;
    }
    [[nodiscard]] Digest id_of(const Address& challenger) const {
        return table_.announcement_of(challenger, unit_.unit, filled(1));
    }
    void announce(const Address& challenger) {
        ASSERT_TRUE(table_.announce(by(challenger), id_of(challenger)).ok());
    }
    Status open(const Address& challenger) { return table_.open(by(challenger), unit_, filled(1)); }
    /// Both challengers have games, announced in this order; the asserter is to move.
    void open_two() {
        announce(kFirst);
        announce(kSecond);
        block_ += 2;
        ASSERT_TRUE(open(kFirst).ok());
        time_ += 60;
        ASSERT_TRUE(open(kSecond).ok());
    }
    void TearDown() override {
        EXPECT_EQ(table_.tokens_held().plus(table_.burned()).value(), table_.minted());
        EXPECT_EQ(table_.ether_held().plus(table_.ether_out()).value(), table_.ether_in());
    }

    Table table_{terms(), 31'337, who(8)};
    Opening unit_;
    std::uint64_t block_ = 12, time_ = 1'000;
};

TEST_F(TableTest, GamesAreOpenedWhereTheyWereAnnounced) {
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kNotFound);
    announce(kFirst);
    EXPECT_EQ(table_.tokens_of(kFirst), Amount(899));
    EXPECT_EQ(code(table_.announce(by(kSecond), id_of(kFirst))), ErrorCode::kConflict);
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kOutOfRange);  // too early
    EXPECT_EQ(code(open(kSecond)), ErrorCode::kNotFound);   // another's
    block_ += 8;
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kTimeout);
    block_ -= 1;
    Tx poor = by(kFirst);
    poor.value = Amount(19);
    EXPECT_EQ(code(table_.open(poor, unit_, filled(1))), ErrorCode::kInsufficientFunds);
    ASSERT_TRUE(open(kFirst).ok());
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kNotFound);  // once
    EXPECT_EQ(table_.locks_of(kAsserter), 1U);
    EXPECT_EQ(table_.game(id_of(kFirst))->position, hash_of(start_of(unit_.unit, unit_.facts)));
}

TEST_F(TableTest, NothingIsOpenedBehindTheWindow) {
    block_ = 58;
    announce(kFirst);
    block_ = 61;
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kTimeout);
    EXPECT_EQ(code(table_.forfeit(by(kAnybody), id_of(kFirst))), ErrorCode::kOutOfRange);
    block_ = 66;
    ASSERT_TRUE(table_.forfeit(by(kAnybody), id_of(kFirst)).ok());
    EXPECT_EQ(table_.burned(), Amount(101));
}

TEST_F(TableTest, ASilentAsserterLosesItsStakeToTheEarliestAnnouncement) {
    open_two();
    EXPECT_EQ(code(table_.timeout(by(kAnybody), id_of(kFirst))), ErrorCode::kOutOfRange);
    time_ += 101;  // of the second game, too
    ASSERT_TRUE(table_.timeout(by(kAnybody), id_of(kSecond)).ok());
    EXPECT_EQ(table_.unit(unit_.unit)->finder, kSecond);
    EXPECT_EQ(code(table_.settle(by(kAnybody), unit_.unit)), ErrorCode::kOutOfRange);
    ASSERT_TRUE(table_.timeout(by(kAnybody), id_of(kFirst)).ok());
    EXPECT_EQ(table_.unit(unit_.unit)->finder, kFirst);
    time_ += 251;
    ASSERT_TRUE(table_.settle(by(kAnybody), unit_.unit).ok());
    EXPECT_EQ(code(table_.settle(by(kAnybody), unit_.unit)), ErrorCode::kConflict);
    EXPECT_EQ(table_.staked_by(kAsserter), Amount());
    EXPECT_EQ(table_.tokens_of(kFirst), Amount(1'000 + 360));
    EXPECT_EQ(table_.tokens_of(kSecond), Amount(1'000));
    EXPECT_EQ(table_.burned(), Amount(540));
    EXPECT_EQ(table_.locks_of(kAsserter), 0U);
}

TEST_F(TableTest, WhoProvesAfterTheSettlingPeriodHasNoReward) {
    open_two();
    time_ += 101;
    ASSERT_TRUE(table_.timeout(by(kAnybody), id_of(kSecond)).ok());
    time_ += 251;
    ASSERT_TRUE(table_.timeout(by(kAnybody), id_of(kFirst)).ok());
    EXPECT_EQ(table_.unit(unit_.unit)->finder, kSecond);
}

TEST_F(TableTest, AContradictionIsProvenByOpening) {
    unit_.fault = 4;
    announce(kFirst);
    block_ += 2;
    ASSERT_TRUE(open(kFirst).ok());
    EXPECT_EQ(table_.game(id_of(kFirst))->status, GameStatus::kFaultProven);
    EXPECT_EQ(table_.tokens_of(kFirst), Amount(1'000));
    EXPECT_EQ(table_.ether_of(kFirst), Amount(20));
    // Whoever was about to open has its bond back.
    announce(kSecond);
    ASSERT_TRUE(table_.reclaim(by(kSecond), unit_.unit, filled(1)).ok());
    EXPECT_EQ(table_.tokens_of(kSecond), Amount(1'000));
}

TEST_F(TableTest, AConflictIsProvenByOpeningHoweverLate) {
    announce(kFirst);
    block_ += 2;
    const ConflictOpening late{{unit_.unit, kAsserter, kEquivocationField}, std::nullopt};
    EXPECT_EQ(code(table_.open_conflict(by(kSecond), late, filled(1))), ErrorCode::kNotFound);
    ASSERT_TRUE(table_.open_conflict(by(kFirst), late, filled(1)).ok());
    EXPECT_EQ(table_.game(id_of(kFirst))->status, GameStatus::kFaultProven);
    EXPECT_EQ(table_.unit(unit_.unit)->finder, kFirst);
    EXPECT_EQ(table_.tokens_of(kFirst), Amount(1'000));
    // Where there is an epoch the window ends.
    block_ = 58;
    announce(kSecond);
    block_ = 61;
    const ConflictOpening in_window{late.finding, 10};
    EXPECT_EQ(code(table_.open_conflict(by(kSecond), in_window, filled(1))), ErrorCode::kTimeout);
    ASSERT_TRUE(table_.open_conflict(by(kSecond), late, filled(1)).ok());
    time_ += 251;
    ASSERT_TRUE(table_.settle(by(kAnybody), unit_.unit).ok());
    EXPECT_EQ(table_.staked_by(kAsserter), Amount());
}

TEST_F(TableTest, AnAggregateMayIncludeManyDeltas) {
    const auto play_with = [&](std::size_t deltas) {
        std::vector<Digest> roots(deltas, filled(9));
        Bytes slots;
        for (std::size_t i = 0; i < deltas; ++i)
            slots.insert(slots.end(),
                         {0, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)});
        engine::StepRecord step;
        step.batch_root = engine::included_root(deltas, commit::merkle_root(roots));
        step.state_root = filled(4);
        OuterFacts facts = testing::sample_outer_facts();
        facts.records_root = engine::records_root({&step, 1});
        ++unit_.unit.data[0];
        unit_.facts = facts;
        EXPECT_TRUE(table_.announce(by(kFirst), id_of(kFirst)).ok());
        block_ += 2;
        EXPECT_TRUE(open(kFirst).ok());
        return table_.play(
            by(kAsserter),
            {id_of(kFirst), start_of(unit_.unit, unit_.facts),
             move::DeclareOuter{facts, engine::encode_step_record(step), roots, slots}});
    };
    for (const std::size_t deltas : {1U, 300U, 1024U}) {
        const Status played = play_with(deltas);
        EXPECT_TRUE(played.ok()) << deltas << ": " << played.error().message;
    }
    EXPECT_EQ(code(play_with(1025)), ErrorCode::kMalformed);
}

TEST_F(TableTest, LockedStakeStays) {
    ASSERT_TRUE(table_.thaw(by(kAsserter), Amount(900)).ok());
    open_two();
    time_ += 1'000;
    EXPECT_EQ(code(table_.withdraw(by(kAsserter))), ErrorCode::kPermissionDenied);
    for (const Address& challenger : {kFirst, kSecond})
        ASSERT_TRUE(table_.timeout(by(kAnybody), id_of(challenger)).ok());
    time_ += 251;
    ASSERT_TRUE(table_.settle(by(kAnybody), unit_.unit).ok());
    ASSERT_TRUE(table_.withdraw(by(kAsserter)).ok());  // of nothing
    EXPECT_EQ(table_.tokens_of(kAsserter), Amount(100));
}

TEST_F(TableTest, ReclaimingAndClosingNeedAProvenFault) {
    announce(kSecond);
    EXPECT_EQ(code(table_.reclaim(by(kSecond), unit_.unit, filled(1))), ErrorCode::kConflict);
    announce(kFirst);
    block_ += 2;
    ASSERT_TRUE(open(kFirst).ok());
    EXPECT_EQ(code(table_.close(by(kFirst), id_of(kFirst))), ErrorCode::kConflict);
}

TEST_F(TableTest, ACopyIsASnapshot) {
    announce(kFirst);
    const Table before = table_;
    block_ += 2;
    ASSERT_TRUE(open(kFirst).ok());
    table_ = before;
    EXPECT_EQ(table_.game(id_of(kFirst)), nullptr);
    EXPECT_EQ(table_.log().size(), 1U);
    ASSERT_TRUE(open(kFirst).ok());
}

}  // namespace
}  // namespace gym::game
