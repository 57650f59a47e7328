// Rounds that do not wait for the verification of their units.

#include <gtest/gtest.h>

#include "fake_world.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// Two workers that are trusted and one that is new, whose units alone are drawn.
class HeldDeltasTest : public ::testing::Test {
  protected:
    World world_;
    FakeNode a_ = world_.add_node(NodeRole::kWorker);
    FakeNode b_ = world_.add_node(NodeRole::kWorker);
    FakeNode new_ = world_.add_node(NodeRole::kWorker);
    FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);

    Digest submit(std::uint64_t rounds, std::uint32_t overlap = 0) {
        registry::JobTerms terms = World::terms();
        terms.rounds = rounds;
        terms.elastic.hold_drawn = true;
        terms.elastic.overlap = overlap;
        world_.trust(a_);
        world_.trust(b_);
        return world_.submit_job(terms);
    }
    /// All three commit, and the beacon draws the new worker's unit alone. @return its id.
    Digest train_round() { return train(true); }
    void train_round_without_draws() { (void)train(false); }
    Digest train(bool draws_new) {
        world_.settle();
        const auto first = world_.work(a_), second = world_.work(b_), third = world_.work(new_);
        const auto is_drawn = [&](const World::Work& work) {
            const records::TrainTask& task = work.assignment;
            return protocol::is_sampled(*world_.chain.beacon, task.unit_id(),
                                        task.record.assignment->sampling_rate_ppm);
        };
        Digest beacon;
        do {
            GYM_ASSERT(++beacon.data[0] != 0, "no beacon draws so");
            world_.chain.beacon = beacon;
        } while (is_drawn(first) || is_drawn(second) || is_drawn(third) != draws_new);
        EXPECT_TRUE(world_.commit(a_, first).ok());
        EXPECT_TRUE(world_.commit(b_, second).ok());
        EXPECT_TRUE(world_.commit(new_, third).ok());
        world_.beat({&a_, &b_, &new_, &verifier_});
        world_.settle();
        return third.assignment.unit_id();
    }
    void verify_all() {
        while (world_.verify(verifier_)) {
        }
        world_.settle();
    }
    std::vector<protocol::IncludedDelta> included(const Digest& job, std::uint64_t round) {
        return world_.database()
            .transact(
                [&](db::Transaction& tx) { return registry::included_deltas(tx, job, round); })
            .value();
    }
};

TEST_F(HeldDeltasTest, GoInOneRoundLater) {
    const Digest job = submit(3);
    const Digest first = train_round();
    EXPECT_EQ(world_.unit(first).status.state, UnitState::kSampled);
    ASSERT_EQ(world_.rounds(job).size(), 2U) << "the next round does not wait for the verifier";
    EXPECT_EQ(included(job, 1).size(), 2U);
    EXPECT_EQ(world_.rounds(job)[1].record.included, included(job, 1));

    verify_all();
    EXPECT_TRUE(protocol::is_accepted(world_.unit(first).status.state));
    const Digest second = train_round();
    const auto all = included(job, 2);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(protocol::held_of(all), 1U);
    EXPECT_EQ(all[2].unit, first);
    EXPECT_EQ(included(job, 1).size(), 2U) << "what went in before stays as it was";
    ASSERT_EQ(world_.rounds(job).size(), 3U);
    EXPECT_EQ(world_.rounds(job)[2].record.included, all);

    verify_all();
    EXPECT_TRUE(protocol::is_accepted(world_.unit(second).status.state));
    const Digest third = train_round();
    EXPECT_TRUE(included(job, 3).empty()) << "the last round waits for its own units";
    verify_all();
    const auto last = included(job, 3);
    ASSERT_EQ(last.size(), 4U);
    EXPECT_EQ(protocol::held_of(last), 1U);
    EXPECT_EQ(last[3].unit, second);
    EXPECT_TRUE(std::ranges::any_of(
        last, [&](const auto& delta) { return delta.unit == third && !delta.held; }));
}

/// The aggregate of the round after the next has deltas of another round alone.
TEST_F(HeldDeltasTest, WhereRoundsOverlapWhatIsNotVerifiedInTimeStaysOutAndIsPaid) {
    const Digest job = submit(3, 1);
    const Digest first = train_round();
    EXPECT_EQ(world_.unit(first).status.state, UnitState::kSampled);
    const auto timely = included(job, 2);
    ASSERT_EQ(timely.size(), 2U) << "the aggregate does not wait for the verifier";
    EXPECT_EQ(protocol::held_of(timely), 2U);
    ASSERT_EQ(world_.rounds(job).size(), 3U);
    verify_all();
    EXPECT_TRUE(protocol::is_accepted(world_.unit(first).status.state));
    EXPECT_EQ(included(job, 2), timely);

    train_round();
    const auto all = included(job, 3);
    EXPECT_EQ(all.size(), 2U);
    EXPECT_TRUE(std::ranges::none_of(all, [&](const auto& delta) { return delta.unit == first; }));
    EXPECT_FALSE(world_.unit(first).included);
}

TEST_F(HeldDeltasTest, AVerifierIsShownTheirRound) {
    const Digest job = submit(3);
    train_round();
    verify_all();
    train_round();
    std::size_t aggregates = 0;
    for (auto task = world_.core().next_task(verifier_.address()).value(); task;
         task = world_.core().next_task(verifier_.address()).value()) {
        if (task->unit.slot == protocol::kAggregateSlot) {
            ++aggregates;
            EXPECT_TRUE(task->hold_drawn);
            ASSERT_TRUE(task->earlier.has_value());
            EXPECT_EQ(task->earlier->record, world_.rounds(job)[0].record);
            EXPECT_EQ(task->deltas, included(job, 2));
        }
        ASSERT_TRUE(world_.verify(verifier_)) << "the coordinator's own sums agree with it";
    }
    EXPECT_EQ(aggregates, 1U);
}

TEST_F(HeldDeltasTest, OlderOnesNeverGoIn) {
    const Digest job = submit(4);
    world_.settle();
    world_.trust(new_);  // counts from the second round on
    const Digest first = train_round();
    ASSERT_EQ(world_.unit(first).status.state, UnitState::kSampled);
    train_round_without_draws();
    ASSERT_EQ(world_.rounds(job).size(), 3U);
    EXPECT_EQ(included(job, 2).size(), 3U);
    verify_all();
    EXPECT_TRUE(protocol::is_accepted(world_.unit(first).status.state)) << "and is paid";
    train_round_without_draws();
    EXPECT_EQ(included(job, 3).size(), 3U);
    EXPECT_FALSE(world_.unit(first).included);
}

TEST_F(HeldDeltasTest, OfADisputedUnitNeverGoIn) {
    const Digest job = submit(3);
    const Digest first = train_round();
    EXPECT_TRUE(world_.verify(verifier_, true)) << "which says that it differs";
    EXPECT_EQ(world_.unit(first).status.state, UnitState::kDisputed);
    world_.settle();
    ASSERT_EQ(world_.rounds(job).size(), 2U);
    EXPECT_EQ(included(job, 1).size(), 2U);
    train_round();
    EXPECT_EQ(included(job, 2).size(), 2U) << "of its own round alone";
    EXPECT_FALSE(world_.unit(first).included);
}

TEST_F(HeldDeltasTest, ARoundOfNewWorkersWaits) {
    registry::JobTerms terms = World::terms();
    terms.rounds = 2;
    terms.elastic.hold_drawn = true;
    const Digest job = world_.submit_job(terms);
    world_.settle();
    for (const FakeNode* worker : {&a_, &b_, &new_})
        EXPECT_TRUE(world_.commit(*worker, world_.work(*worker)).ok());
    world_.beat({&a_, &b_, &new_, &verifier_});
    world_.settle();
    EXPECT_EQ(world_.rounds(job).size(), 1U);
    verify_all();
    EXPECT_EQ(world_.rounds(job).size(), 2U);
    EXPECT_EQ(included(job, 1).size(), 3U);
}

}  // namespace
}  // namespace gym::testing
