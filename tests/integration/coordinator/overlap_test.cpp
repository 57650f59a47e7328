// Rounds whose deltas are verified and aggregated while the next one computes.

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_world.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;
using registry::RoundState;

class OverlapTest : public ::testing::Test {
  protected:
    World world_;
    FakeNode a_ = world_.add_node(NodeRole::kWorker);
    FakeNode b_ = world_.add_node(NodeRole::kWorker);
    FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);

    Digest submit(std::uint64_t rounds, std::uint64_t budget_wei = 1'000'000'000) {
        registry::JobTerms terms = World::terms();
        terms.rounds = rounds;
        terms.elastic.overlap = 1;
        const Digest job = world_.submit_job(terms, budget_wei);
        world_.settle();
        return job;
    }
    void settle() {
        world_.beat({&a_, &b_, &verifier_});
        world_.settle();
        EXPECT_TRUE(world_.tick().errors.empty());
    }
    void verify_all() {
        while (world_.verify(verifier_)) {
        }
        settle();
    }
    /// Both commit to their oldest unit, of this round.
    void train(std::uint64_t round) {
        for (const FakeNode* worker : {&a_, &b_}) {
            const World::Work work = world_.work(*worker);
            EXPECT_EQ(work.assignment.unit.round, round);
            EXPECT_TRUE(world_.commit(*worker, work).ok());
        }
        settle();
    }
    registry::Round round(const Digest& job, std::uint64_t number) {
        return world_.rounds(job).at(number - 1);
    }
    std::vector<protocol::IncludedDelta> included(const Digest& job, std::uint64_t round) {
        return world_.database()
            .transact(
                [&](db::Transaction& tx) { return registry::included_deltas(tx, job, round); })
            .value();
    }
    std::vector<records::TrainTask> tasks(const std::vector<Digest>& computed) {
        std::vector<records::TrainTask> out;
        for (const auto& task : world_.core().next_tasks(std::vector{a_.address()}, computed))
            if (task.ok() && *task) out.push_back(std::get<records::TrainTask>(**task));
        return out;
    }
};

TEST_F(OverlapTest, TheNextRoundIsThereBeforeThisOneIsComputed) {
    const Digest job = submit(3);
    ASSERT_EQ(world_.rounds(job).size(), 2U);
    EXPECT_EQ(round(job, 1).state, RoundState::kOpen);
    EXPECT_EQ(round(job, 2).state, RoundState::kOpen);
    EXPECT_EQ(round(job, 2).base, round(job, 1).base) << "no deltas are there yet";
    EXPECT_EQ(round(job, 2).record.slots.size(), 2U);
    EXPECT_EQ(*round(job, 2).unit_deadline_ms - *round(job, 2).opened_at_ms,
              2 * World::terms().lifecycle.unit_ms);

    const auto first = tasks({});
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].unit.round, 1U);
    const auto second = tasks({first[0].unit_id()});
    ASSERT_EQ(second.size(), 1U) << "a worker computes on while its delta is on its way";
    EXPECT_EQ(second[0].unit.round, 2U);
    EXPECT_TRUE(tasks({first[0].unit_id(), second[0].unit_id()}).empty()) << "one unit ahead";
}

TEST_F(OverlapTest, DeltasGoIntoTheAggregateOfTheNextRound) {
    const Digest job = submit(3);
    train(1);
    EXPECT_EQ(world_.rounds(job).size(), 2U) << "its drawn units are verified first";
    verify_all();

    ASSERT_EQ(world_.rounds(job).size(), 3U);
    EXPECT_EQ(round(job, 2).state, RoundState::kOpen);
    const auto deltas = included(job, 2);
    ASSERT_EQ(deltas.size(), 2U);
    EXPECT_EQ(protocol::held_of(deltas), 2U) << "all of the round before, at full weight";
    EXPECT_TRUE(included(job, 1).empty());
    EXPECT_NE(round(job, 2).next_base, round(job, 2).base);
    EXPECT_EQ(round(job, 3).base, round(job, 2).next_base);
    EXPECT_EQ(round(job, 3).record.included, deltas);
    EXPECT_EQ(round(job, 3).record.previous_record, round(job, 2).record_hash);
}

TEST_F(OverlapTest, AnAggregateIsDrawnByItsOwnRoundsBeacon) {
    const Digest job = submit(3);
    train(1);
    verify_all();
    const Digest aggregate = protocol::unit_id({job, 2, protocol::kAggregateSlot, 0});
    EXPECT_EQ(world_.unit(aggregate).status.state, UnitState::kCommitted);
    train(2);
    EXPECT_EQ(world_.unit(aggregate).status.state, UnitState::kSampled);
    verify_all();
    EXPECT_TRUE(protocol::is_accepted(world_.unit(aggregate).status.state));
}

TEST_F(OverlapTest, ARoundWithoutSlotsTakesTheLastDeltas) {
    const Digest job = submit(2);
    train(1);
    verify_all();
    ASSERT_EQ(world_.rounds(job).size(), 3U);
    EXPECT_EQ(round(job, 3).state, RoundState::kOpen)
        << "the window of its aggregate begins when that is there";
    train(2);
    EXPECT_EQ(round(job, 3).state, RoundState::kOpen);
    verify_all();
    ASSERT_EQ(world_.rounds(job).size(), 3U);
    EXPECT_TRUE(round(job, 3).record.slots.empty());
    EXPECT_EQ(included(job, 3).size(), 2U);
    verify_all();
    EXPECT_EQ(world_.job(job).rounds_done, 2U);
    world_.pass_deadline({&a_, &b_, &verifier_});
    world_.pass_deadline({&a_, &b_, &verifier_});
    EXPECT_EQ(world_.job(job).status, registry::JobStatus::kCompleted);
    for (const registry::Round& ended : world_.rounds(job))
        EXPECT_EQ(ended.state, RoundState::kClosed);
    for (const FakeNode* node : {&a_, &b_})
        EXPECT_EQ(world_.node(node->address()).valid_value, world_.value_of_units(job, 2));
}

/// The round without slots costs no unit: a budget of two rounds brings the last deltas in, too.
TEST_F(OverlapTest, ABudgetOfItsRoundsIsEnough) {
    const std::string begin = "may cost ", end = " tokens";
    const std::string reason = world_.job(submit(2, 1)).status_reason;
    const std::size_t at = reason.find(begin) + begin.size();
    const auto round = Amount::parse_tokens(reason.substr(at, reason.find(end, at) - at));
    ASSERT_TRUE(round.ok()) << reason;
    const std::uint64_t round_wei = round->to_u64().value();
    world_.clock.advance_ms(1);  // another id
    const Digest job = submit(2, 2 * round_wei + round_wei / 2);
    for (std::uint64_t number = 1; number <= 2; ++number) {
        ASSERT_EQ(world_.job(job).status, registry::JobStatus::kRunning);
        train(number);
        verify_all();
    }
    EXPECT_EQ(world_.job(job).status, registry::JobStatus::kRunning)
        << world_.job(job).status_reason;
    EXPECT_EQ(included(job, 3).size(), 2U);
}

TEST_F(OverlapTest, ACancelledJobEndsWithoutItsLastDeltas) {
    const Digest job = submit(3);
    train(1);
    verify_all();
    train(2);
    const auto asked = world_.owner().transact([&](db::Transaction& tx) {
        return registry::set_job_status(tx, job, registry::JobStatus::kCancelled, "by a test",
                                        world_.clock.now_ms());
    });
    ASSERT_TRUE(asked.ok()) << asked.error().message;
    verify_all();
    world_.clock.advance_ms(2 * World::terms().lifecycle.unit_ms + 1);
    settle();
    for (int i = 0; i < 3; ++i) {
        verify_all();
        world_.pass_deadline({&a_, &b_, &verifier_});
    }
    for (const registry::Round& ended : world_.rounds(job))
        EXPECT_EQ(ended.state, RoundState::kClosed) << ended.round;
}

TEST_F(OverlapTest, SurvivesARestartAtEachStep) {
    const Digest job = submit(2);
    for (std::uint64_t number = 1; number <= 2; ++number) {
        world_.restart();
        train(number);
        world_.restart();
        verify_all();
    }
    verify_all();
    ASSERT_EQ(world_.rounds(job).size(), 3U);
    EXPECT_EQ(included(job, 2).size(), 2U);
    EXPECT_EQ(included(job, 3).size(), 2U);
}

}  // namespace
}  // namespace gym::testing
