// Commitments that come after their deadline, in jobs that take them.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "fake_world.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// Two workers that are in time and one that is slow; all are trusted, and no beacon draws them
/// unless a test says so.
class LateUnitsTest : public ::testing::Test {
  protected:
    World world_;
    FakeNode a_ = world_.add_node(NodeRole::kWorker);
    FakeNode b_ = world_.add_node(NodeRole::kWorker);
    FakeNode slow_ = world_.add_node(NodeRole::kWorker);
    FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    Digest job_;

    void submit(std::uint64_t rounds, bool hold_drawn = false) {
        registry::JobTerms terms = World::terms();
        terms.rounds = rounds;
        terms.elastic.accept_late = true;
        terms.elastic.hold_drawn = hold_drawn;
        for (const FakeNode* worker : {&a_, &b_, &slow_})
            world_.trust(*worker);
        world_.chain.beacon = Digest();
        job_ = world_.submit_job(terms);
        world_.settle();
    }
    void beat() { world_.beat({&a_, &b_, &slow_, &verifier_}); }
    /// Every block's: draws `wanted` alone of these units.
    void choose_beacon(const std::vector<World::Work>& works, const std::vector<Digest>& wanted) {
        const auto fits = [&](const Digest& beacon) {
            return std::ranges::all_of(works, [&](const World::Work& work) {
                const records::TrainTask& task = work.assignment;
                const bool drawn = protocol::is_sampled(beacon, task.unit_id(),
                                                        task.record.assignment->sampling_rate_ppm);
                return drawn == (std::ranges::count(wanted, task.unit_id()) != 0);
            });
        };
        Digest beacon;
        while (!fits(beacon))
            GYM_ASSERT(++beacon.data[0] != 0 || ++beacon.data[1] != 0, "no beacon draws so");
        world_.chain.beacon = beacon;
    }
    /// The first round without the slow worker's commitment, up to the second one.
    World::Work first_round() {
        const auto first = world_.work(a_), second = world_.work(b_), third = world_.work(slow_);
        choose_beacon({first, second, third}, {});
        EXPECT_TRUE(world_.commit(a_, first).ok());
        EXPECT_TRUE(world_.commit(b_, second).ok());
        world_.clock.advance_ms(600'001);
        beat();
        world_.settle();
        return third;
    }
    /// The two that are in time commit; the beacon draws `drawn` alone, of their units and `late`.
    void next_round(const std::vector<World::Work>& late, const std::vector<Digest>& drawn = {}) {
        std::vector<World::Work> works{world_.work(a_), world_.work(b_)};
        const auto first = works[0], second = works[1];
        std::ranges::copy(late, std::back_inserter(works));
        choose_beacon(works, drawn);
        EXPECT_TRUE(world_.commit(a_, first).ok());
        EXPECT_TRUE(world_.commit(b_, second).ok());
        beat();
        world_.settle();
    }
    void verify_all(bool lie = false) {
        while (world_.verify(verifier_, lie)) {
        }
        world_.settle();
    }
    std::vector<protocol::IncludedDelta> included(std::uint64_t round) {
        return world_.database()
            .transact(
                [&](db::Transaction& tx) { return registry::included_deltas(tx, job_, round); })
            .value();
    }
    registry::Unit unit(const World::Work& work) { return world_.unit(work.assignment.unit_id()); }
    registry::Round round(std::size_t number) { return world_.rounds(job_).at(number - 1); }
};

TEST_F(LateUnitsTest, GoIntoTheNextAggregateAndArePaid) {
    submit(3);
    const auto late = first_round();
    ASSERT_EQ(world_.rounds(job_).size(), 2U) << "the round does not wait for it";
    EXPECT_TRUE(round(1).record.accept_late);
    EXPECT_EQ(included(1).size(), 2U);
    EXPECT_EQ(unit(late).status.state, UnitState::kAssigned);
    EXPECT_TRUE(unit(late).status.late);
    EXPECT_EQ(round(2).record.slots.size(), 2U) << "it is still busy";
    EXPECT_TRUE(world_.core().next_unit(slow_.address()).value().has_value())
        << "a worker that begins again gets it again";

    ASSERT_TRUE(world_.commit(slow_, late).ok());
    EXPECT_TRUE(world_.commit(slow_, late).ok()) << "the same again";
    EXPECT_EQ(unit(late).status.state, UnitState::kCommitted);
    EXPECT_FALSE(unit(late).epoch.has_value());
    next_round({late});
    EXPECT_EQ(world_.chain.epochs.at(round(1).epoch).count, 2U);
    EXPECT_EQ(world_.chain.epochs.at(round(2).epoch).count, 3U);
    EXPECT_EQ(unit(late).epoch, round(2).epoch);
    EXPECT_EQ(unit(late).leaf_index, 2U) << "behind the round's own";
    const auto all = included(2);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(protocol::held_of(all), 1U);
    EXPECT_EQ(all[2].unit, late.assignment.unit_id());
    EXPECT_TRUE(unit(late).included_late);
    ASSERT_EQ(world_.rounds(job_).size(), 3U);
    EXPECT_EQ(round(3).record.included, all);
    EXPECT_FALSE(round(3).record.accept_late) << "the last round takes none";
    EXPECT_EQ(round(3).record.slots.size(), 3U) << "and the slow worker is back";

    const Amount before = world_.node(slow_.address()).valid_value;
    world_.pass_deadline({&a_, &b_, &slow_, &verifier_});
    verify_all();
    EXPECT_EQ(unit(late).status.state, UnitState::kFinal);
    EXPECT_GT(unit(late).flops, 0U);
    EXPECT_EQ(
        world_.node(slow_.address()).valid_value,
        before
            .plus(
                protocol::work_value(unit(late).flops, World::terms().price_wei_per_pflop).value())
            .value());
}

TEST_F(LateUnitsTest, AreProvenUnderTheNextRoot) {
    submit(3);
    const auto late = first_round();
    ASSERT_TRUE(world_.commit(slow_, late).ok());
    next_round({late});
    const auto receipt = world_.core().unit_receipt(late.assignment.unit_id()).value();
    ASSERT_TRUE(receipt.inclusion.has_value());
    EXPECT_TRUE(receipt.status.late);
    EXPECT_EQ(receipt.inclusion->epoch, round(2).epoch);
    EXPECT_EQ(receipt.inclusion->commitments_root, *round(2).commitments_root);
    EXPECT_TRUE(commit::merkle_verify(*round(2).commitments_root, {2, 3},
                                      protocol::commitment_leaf(late.commitment),
                                      receipt.inclusion->siblings)
                    .ok());
}

TEST_F(LateUnitsTest, ASecondAfterTheDeadlineIsEnough) {
    submit(2);
    const auto late = world_.work(slow_);
    EXPECT_GT(late.assignment.late_until_ms, late.assignment.deadline_ms);
    world_.clock.advance_ms(601'000);
    ASSERT_TRUE(world_.commit(slow_, late).ok()) << "before any tick";
    EXPECT_TRUE(unit(late).status.late);
    EXPECT_EQ(unit(late).status.state, UnitState::kCommitted);
    beat();
    world_.settle();
    EXPECT_EQ(world_.chain.epochs.at(round(1).epoch).count, 0U);
}

TEST_F(LateUnitsTest, AreRefusedOnceTheNextRoundIsSealed) {
    submit(3);
    const auto late = first_round();
    next_round({});
    EXPECT_EQ(unit(late).status.state, UnitState::kExpired);
    EXPECT_EQ(unit(late).reason_code, "late_commitment");
    EXPECT_FALSE(world_.commit(slow_, late).ok());
    EXPECT_EQ(world_.chain.epochs.at(round(2).epoch).count, 2U);
    EXPECT_EQ(included(2).size(), 2U);
    EXPECT_EQ(round(3).record.slots.size(), 3U) << "its worker is free again";
}

TEST_F(LateUnitsTest, AreDrawnByTheNextBeacon) {
    submit(3);
    const auto late = first_round();
    ASSERT_TRUE(world_.commit(slow_, late).ok());
    next_round({late}, {late.assignment.unit_id()});
    EXPECT_EQ(unit(late).status.state, UnitState::kSampled);
    EXPECT_TRUE(included(2).empty()) << "the round waits for it as for its own";
    const auto task = world_.core().next_task(verifier_.address()).value();
    ASSERT_TRUE(task.has_value());
    EXPECT_TRUE(task->late);
    EXPECT_EQ(task->record, protocol::unit_record(round(1).record, task->unit.slot));
    EXPECT_EQ(task->beacon, *round(2).beacon);
    verify_all();
    EXPECT_EQ(unit(late).status.state, UnitState::kVerified);
    ASSERT_EQ(included(2).size(), 3U);
    EXPECT_EQ(protocol::held_of(included(2)), 1U);
}

TEST_F(LateUnitsTest, ThatAreDrawnAreLeftOutOfARoundThatDoesNotWait) {
    submit(4, true);
    const auto late = first_round();
    ASSERT_TRUE(world_.commit(slow_, late).ok());
    next_round({late}, {late.assignment.unit_id()});
    ASSERT_EQ(world_.rounds(job_).size(), 3U);
    EXPECT_EQ(included(2).size(), 2U);
    verify_all();
    EXPECT_TRUE(protocol::is_accepted(unit(late).status.state)) << "and is paid";
    const auto again = world_.work(slow_);
    ASSERT_TRUE(world_.commit(slow_, again).ok());
    next_round({again});
    EXPECT_EQ(included(3).size(), 3U);
    EXPECT_EQ(protocol::held_of(included(3)), 0U) << "older ones never go in";
    EXPECT_FALSE(unit(late).included);
}

TEST_F(LateUnitsTest, ThatAreWrongAreRejected) {
    submit(3);
    const auto honest = first_round();
    const auto late = world_.cheat(slow_, 5);
    ASSERT_EQ(late.assignment.unit, honest.assignment.unit);
    ASSERT_TRUE(world_.commit(slow_, late).ok());
    next_round({late}, {late.assignment.unit_id()});
    EXPECT_TRUE(world_.verify(verifier_));
    EXPECT_EQ(unit(late).status.state, UnitState::kDisputed);
    world_.settle();
    EXPECT_EQ(included(2).size(), 2U);
    world_.pass_deadline({&a_, &b_, &verifier_});
    EXPECT_EQ(unit(late).status.state, UnitState::kRejected);
    EXPECT_TRUE(world_.node(slow_.address()).excluded);
}

TEST_F(LateUnitsTest, ASecondCommitmentIsAFaultStill) {
    submit(3);
    const auto late = first_round();
    const auto other = world_.cheat(slow_, 5);
    ASSERT_TRUE(world_.commit(slow_, late).ok());
    const auto second = world_.commit(slow_, other);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_EQ(unit(late).status.state, UnitState::kRejected);
    next_round({});
    EXPECT_EQ(world_.chain.epochs.at(round(2).epoch).count, 2U) << "nor is it a leaf";
}

TEST_F(LateUnitsTest, ThereAreNoneInTheLastRound) {
    submit(1);
    const auto late = world_.work(slow_);
    EXPECT_EQ(late.assignment.late_until_ms, 0);
    world_.clock.advance_ms(600'001);
    EXPECT_EQ(world_.commit(slow_, late).error().code, ErrorCode::kTimeout);
    beat();
    world_.settle();
    EXPECT_EQ(unit(late).status.state, UnitState::kExpired);
    EXPECT_FALSE(unit(late).status.late);
}

/// A worker that is alone has no next round before it has committed.
TEST_F(LateUnitsTest, AWorkerThatIsAloneIsNotLost) {
    submit(2);
    const auto first = world_.work(a_), second = world_.work(b_), third = world_.work(slow_);
    world_.clock.advance_ms(600'001);
    beat();
    world_.settle();
    ASSERT_EQ(world_.rounds(job_).size(), 1U) << "all workers are busy";
    EXPECT_TRUE(included(1).empty());
    choose_beacon({first, second, third}, {});
    ASSERT_TRUE(world_.commit(slow_, third).ok());
    beat();
    world_.settle();
    ASSERT_EQ(world_.rounds(job_).size(), 2U);
    ASSERT_EQ(round(2).record.slots.size(), 1U);
    const auto next = world_.work(slow_);
    choose_beacon({third, next}, {});
    ASSERT_TRUE(world_.commit(slow_, next).ok());
    beat();
    world_.settle();
    EXPECT_EQ(world_.chain.epochs.at(round(2).epoch).count, 2U);
    const auto all = included(2);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].unit, next.assignment.unit_id());
    EXPECT_EQ(all[1].unit, third.assignment.unit_id());
    EXPECT_EQ(unit(first).status.state, UnitState::kExpired);
}

/// Those that never come back are not waited for.
TEST_F(LateUnitsTest, TheTimeOfALateUnitEnds) {
    submit(2);
    const auto work = world_.work(a_);
    world_.clock.advance_ms(600'001);
    beat();
    world_.settle();
    ASSERT_EQ(world_.rounds(job_).size(), 1U);
    world_.clock.advance_ms(720'000);
    beat();
    world_.settle();
    EXPECT_EQ(unit(work).status.state, UnitState::kExpired);
    ASSERT_EQ(world_.rounds(job_).size(), 2U);
    EXPECT_EQ(round(2).record.slots.size(), 3U);
}

TEST_F(LateUnitsTest, AreVoidWhereTheJobEndsBefore) {
    submit(2);
    const auto late = world_.work(slow_);
    world_.clock.advance_ms(600'001);
    ASSERT_TRUE(world_.commit(slow_, late).ok());
    const auto asked = world_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(tx.exec("UPDATE registry.job SET request = 'cancel' WHERE id = $1", {job_}));
        return {};
    });
    ASSERT_TRUE(asked.ok());
    world_.settle();
    EXPECT_EQ(world_.job(job_).status, registry::JobStatus::kCancelled);
    EXPECT_EQ(unit(late).status.state, UnitState::kVoid);
    EXPECT_NE(unit(late).reason.find("the job ended before"), std::string::npos);
    beat();
    world_.settle();
    while (world_.verify(verifier_)) {
    }  // the loss
    world_.pass_deadline({&a_, &b_, &slow_});
    EXPECT_EQ(round(1).state, registry::RoundState::kClosed);
}

TEST_F(LateUnitsTest, ALateUnitIsNeitherHurriedNorCounted) {
    registry::JobTerms terms = World::terms();
    terms.rounds = 2;
    terms.elastic.accept_late = true;
    terms.elastic.quorum_ppm = 600'000;
    terms.lifecycle.grace_ms = 5'000;
    for (const FakeNode* worker : {&a_, &b_, &slow_})
        world_.trust(*worker);
    world_.chain.beacon = Digest();
    job_ = world_.submit_job(terms);
    world_.settle();
    const auto first = world_.work(a_), second = world_.work(b_), third = world_.work(slow_);
    choose_beacon({first, second, third}, {});
    ASSERT_TRUE(world_.commit(a_, first).ok());
    ASSERT_TRUE(world_.commit(b_, second).ok());
    world_.settle();
    world_.clock.advance_ms(5'001);
    beat();
    world_.settle();
    EXPECT_TRUE(unit(third).status.late) << "a quorum's deadline is one, too";
    ASSERT_EQ(world_.rounds(job_).size(), 2U);
    ASSERT_TRUE(world_.commit(slow_, third).ok());
    next_round({third});
    EXPECT_EQ(protocol::held_of(included(2)), 1U);
}

}  // namespace
}  // namespace gym::testing
