#include "dispute_simulator.hpp"

#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/evidence.hpp"
#include "move_samples.hpp"
#include "posted_tree.hpp"

// Money and time, without a move: tests/integration/game/dispute_simulator_test.cpp compares the
// whole with the contracts, tests/sim/dispute plays on it.

namespace gym::game {
namespace {

using sim::ConflictOpening;
using sim::DisputeSimulator;
using sim::Opening;
using sim::TxContext;
using testing::filled;

Address who(std::uint8_t number) {
    Address address;
    address.data.fill(number);
    return address;
}
const Address kAsserter = who(1), kFirst = who(2), kSecond = who(3), kAnybody = who(9);

class DisputeSimulatorTest : public ::testing::Test {
  protected:
    DisputeSimulatorTest() {
        for (const Address& owner : {kAsserter, kFirst, kSecond})
            simulator_.mint(owner, Amount(1'000));
        EXPECT_TRUE(simulator_.stake(by(kAsserter), Amount(900)).ok());
        unit_.unit = filled(7);
        unit_.asserter = kAsserter;
        unit_.facts = testing::sample_facts();
        unit_.epoch_block = 10;
    }
    static DisputeParams terms() {
        DisputeParams terms;
        terms.bond = Amount(101);
        terms.clock_s = 100;
        terms.settling_s = 250;
        terms.announce_blocks = 2;
        terms.open_blocks = 5;
        terms.escrow_gas = 10;
        terms.window_blocks = 50;
        terms.thaw_period_s = 1'000;
        terms.burned_ppm = 600'000;
        terms.compensation_ppm = 0;
        terms.missed_clock_ppm = 250'000;
        return terms;
    }
    /// A transaction of now.
    [[nodiscard]] TxContext by(const Address& sender) const {
        TxContext tx;
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
        return simulator_.announcement_of(challenger, unit_.unit, filled(1));
    }
    void announce(const Address& challenger) {
        ASSERT_TRUE(simulator_.announce(by(challenger), id_of(challenger)).ok());
    }
    Status open(const Address& challenger) {
        return simulator_.open(by(challenger), unit_, filled(1));
    }
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
        EXPECT_EQ(simulator_.tokens_held().plus(simulator_.burned()).value(), simulator_.minted());
        EXPECT_EQ(simulator_.ether_held().plus(simulator_.ether_out()).value(),
                  simulator_.ether_in());
    }

    DisputeSimulator simulator_{terms(), 31'337, who(8)};
    Opening unit_;
    std::uint64_t block_ = 12, time_ = 1'000;
};

TEST_F(DisputeSimulatorTest, GamesAreOpenedWhereTheyWereAnnounced) {
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kNotFound);
    announce(kFirst);
    EXPECT_EQ(simulator_.tokens_of(kFirst), Amount(899));
    EXPECT_EQ(code(simulator_.announce(by(kSecond), id_of(kFirst))), ErrorCode::kConflict);
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kOutOfRange);  // too early
    EXPECT_EQ(code(open(kSecond)), ErrorCode::kNotFound);   // another's
    block_ += 8;
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kTimeout);
    block_ -= 1;
    TxContext poor = by(kFirst);
    poor.value = Amount(19);
    EXPECT_EQ(code(simulator_.open(poor, unit_, filled(1))), ErrorCode::kInsufficientFunds);
    ASSERT_TRUE(open(kFirst).ok());
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kNotFound);  // once
    EXPECT_EQ(simulator_.locks_of(kAsserter), 1U);
    EXPECT_EQ(simulator_.game(id_of(kFirst))->position, hash_of(start_of(unit_.unit, unit_.facts)));
}

TEST_F(DisputeSimulatorTest, NothingIsOpenedBehindTheWindow) {
    block_ = 58;
    announce(kFirst);
    block_ = 61;
    EXPECT_EQ(code(open(kFirst)), ErrorCode::kTimeout);
    EXPECT_EQ(code(simulator_.forfeit(by(kAnybody), id_of(kFirst))), ErrorCode::kOutOfRange);
    block_ = 66;
    ASSERT_TRUE(simulator_.forfeit(by(kAnybody), id_of(kFirst)).ok());
    EXPECT_EQ(simulator_.burned(), Amount(101));
}

TEST_F(DisputeSimulatorTest, ASilentAsserterLosesAPartOfItsStakeToTheEarliestAnnouncement) {
    open_two();
    EXPECT_EQ(code(simulator_.timeout(by(kAnybody), id_of(kFirst))), ErrorCode::kOutOfRange);
    time_ += 101;  // of the second game, too
    ASSERT_TRUE(simulator_.timeout(by(kAnybody), id_of(kSecond)).ok());
    EXPECT_EQ(simulator_.unit(unit_.unit)->finder, kSecond);
    EXPECT_EQ(code(simulator_.settle(by(kAnybody), unit_.unit)), ErrorCode::kOutOfRange);
    ASSERT_TRUE(simulator_.timeout(by(kAnybody), id_of(kFirst)).ok());
    EXPECT_EQ(simulator_.unit(unit_.unit)->finder, kFirst);
    time_ += 251;
    ASSERT_TRUE(simulator_.settle(by(kAnybody), unit_.unit).ok());
    EXPECT_EQ(code(simulator_.settle(by(kAnybody), unit_.unit)), ErrorCode::kConflict);
    EXPECT_TRUE(simulator_.unit(unit_.unit)->by_clock);
    EXPECT_EQ(simulator_.staked_by(kAsserter), Amount(675));
    EXPECT_EQ(simulator_.tokens_of(kFirst), Amount(1'000 + 90));
    EXPECT_EQ(simulator_.tokens_of(kSecond), Amount(1'000));
    EXPECT_EQ(simulator_.burned(), Amount(135));
    EXPECT_EQ(simulator_.locks_of(kAsserter), 0U);
}

TEST_F(DisputeSimulatorTest, WhoProvesAfterTheSettlingPeriodHasNoReward) {
    open_two();
    time_ += 101;
    ASSERT_TRUE(simulator_.timeout(by(kAnybody), id_of(kSecond)).ok());
    time_ += 251;
    ASSERT_TRUE(simulator_.timeout(by(kAnybody), id_of(kFirst)).ok());
    EXPECT_EQ(simulator_.unit(unit_.unit)->finder, kSecond);
}

TEST_F(DisputeSimulatorTest, AContradictionIsProvenByOpening) {
    unit_.fault = 4;
    announce(kFirst);
    block_ += 2;
    ASSERT_TRUE(open(kFirst).ok());
    EXPECT_EQ(simulator_.game(id_of(kFirst))->status, GameStatus::kFaultProven);
    EXPECT_EQ(simulator_.tokens_of(kFirst), Amount(1'000));
    EXPECT_EQ(simulator_.ether_of(kFirst), Amount(20));
    // Whoever was about to open has its bond back.
    announce(kSecond);
    ASSERT_TRUE(simulator_.reclaim(by(kSecond), unit_.unit, filled(1)).ok());
    EXPECT_EQ(simulator_.tokens_of(kSecond), Amount(1'000));
}

TEST_F(DisputeSimulatorTest, AConflictIsProvenByOpeningHoweverLate) {
    announce(kFirst);
    block_ += 2;
    const ConflictOpening late{{unit_.unit, kAsserter, kEquivocationField}, std::nullopt};
    EXPECT_EQ(code(simulator_.open_conflict(by(kSecond), late, filled(1))), ErrorCode::kNotFound);
    ASSERT_TRUE(simulator_.open_conflict(by(kFirst), late, filled(1)).ok());
    EXPECT_EQ(simulator_.game(id_of(kFirst))->status, GameStatus::kFaultProven);
    EXPECT_EQ(simulator_.unit(unit_.unit)->finder, kFirst);
    EXPECT_EQ(simulator_.tokens_of(kFirst), Amount(1'000));
    // Where there is an epoch the window ends.
    block_ = 58;
    announce(kSecond);
    block_ = 61;
    const ConflictOpening in_window{late.finding, 10};
    EXPECT_EQ(code(simulator_.open_conflict(by(kSecond), in_window, filled(1))),
              ErrorCode::kTimeout);
    ASSERT_TRUE(simulator_.open_conflict(by(kSecond), late, filled(1)).ok());
    time_ += 251;
    ASSERT_TRUE(simulator_.settle(by(kAnybody), unit_.unit).ok());
    EXPECT_EQ(simulator_.staked_by(kAsserter), Amount());
}

TEST_F(DisputeSimulatorTest, AnAggregateMayIncludeManyDeltas) {
    const auto play_with = [&](std::size_t deltas, std::uint32_t held) {
        std::vector<Digest> roots(deltas, filled(9));
        const std::size_t timely = deltas - std::min<std::size_t>(held, deltas);
        std::vector<OuterDelta> included;
        for (std::size_t i = 0; i < deltas; ++i)
            included.push_back({static_cast<std::uint32_t>(i < timely ? i : i - timely), roots[i],
                                i >= timely, 0});
        engine::StepRecord step;
        const commit::MerkleTree tree(roots);
        const NodePlace root{commit::tree_depth(deltas), 0};
        step.batch_root = engine::included_root(deltas, held, tree.root());
        step.state_root = filled(4);
        OuterFacts facts = testing::sample_outer_facts();
        facts.records_root = engine::records_root({&step, 1});
        ++unit_.unit.data[0];
        unit_.facts = facts;
        EXPECT_TRUE(simulator_.announce(by(kFirst), id_of(kFirst)).ok());
        block_ += 2;
        EXPECT_TRUE(open(kFirst).ok());
        return simulator_.play(
            by(kAsserter), {id_of(kFirst), start_of(unit_.unit, unit_.facts),
                            move::DeclareOuter{facts, engine::encode_step_record(step), tree.root(),
                                               answer_to(tree, root, kAnswerLevelsMax),
                                               slots_of(included), held}});
    };
    for (const std::size_t deltas : {1U, 300U, 1024U, 8192U}) {
        const Status played = play_with(deltas, static_cast<std::uint32_t>(deltas / 2));
        EXPECT_TRUE(played.ok()) << deltas << ": " << played.error().message;
    }
    EXPECT_EQ(code(play_with(8193, 1)), ErrorCode::kMalformed);
    EXPECT_EQ(code(play_with(3, 4)), ErrorCode::kMalformed);
}

TEST_F(DisputeSimulatorTest, LockedStakeStays) {
    ASSERT_TRUE(simulator_.thaw(by(kAsserter), Amount(900)).ok());
    open_two();
    time_ += 1'000;
    EXPECT_EQ(code(simulator_.withdraw(by(kAsserter))), ErrorCode::kPermissionDenied);
    for (const Address& challenger : {kFirst, kSecond})
        ASSERT_TRUE(simulator_.timeout(by(kAnybody), id_of(challenger)).ok());
    time_ += 251;
    ASSERT_TRUE(simulator_.settle(by(kAnybody), unit_.unit).ok());
    ASSERT_TRUE(simulator_.withdraw(by(kAsserter)).ok());  // of what is left
    EXPECT_EQ(simulator_.tokens_of(kAsserter), Amount(100 + 675));
}

TEST_F(DisputeSimulatorTest, ReclaimingAndClosingNeedAProvenFault) {
    announce(kSecond);
    EXPECT_EQ(code(simulator_.reclaim(by(kSecond), unit_.unit, filled(1))), ErrorCode::kConflict);
    announce(kFirst);
    block_ += 2;
    ASSERT_TRUE(open(kFirst).ok());
    EXPECT_EQ(code(simulator_.close(by(kFirst), id_of(kFirst))), ErrorCode::kConflict);
}

TEST_F(DisputeSimulatorTest, ACopyIsASnapshot) {
    announce(kFirst);
    const DisputeSimulator before = simulator_;
    block_ += 2;
    ASSERT_TRUE(open(kFirst).ok());
    simulator_ = before;
    EXPECT_EQ(simulator_.game(id_of(kFirst)), nullptr);
    EXPECT_EQ(simulator_.log().size(), 1U);
    ASSERT_TRUE(open(kFirst).ok());
}

}  // namespace
}  // namespace gym::game
