// Several jobs at once: each round has all its workers, and the jobs take turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_world.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

class CoordinatorTurns : public ::testing::Test {
  protected:
    void SetUp() override {
        for (int i = 0; i < 3; ++i)
            workers.push_back(world.add_node(NodeRole::kWorker));
        verifier = world.add_node(NodeRole::kVerifier);
    }
    Digest submit(std::uint64_t rounds, std::uint32_t slots, std::int64_t unit_ms = 600'000,
                  std::uint32_t overlap = 0) {
        registry::JobTerms terms = World::terms();
        terms.elastic.overlap = overlap;
        terms.rounds = rounds;
        terms.slots_max = slots;
        terms.lifecycle.unit_ms = unit_ms;
        const Digest job = world.submit_job(terms);
        world.clock.advance_ms(1);  // another id, and another place in the turn
        return job;
    }
    /// Trains what the worker was given, if anything.
    bool train(const FakeNode& worker) {
        const auto given = world.core().next_unit(worker.address());
        if (!given.ok() || !*given) return false;
        EXPECT_TRUE(world.commit(worker, world.work(worker)).ok());
        return true;
    }
    void beat() {
        for (const FakeNode& worker : workers)
            world.beat({&worker});
        world.beat({&verifier});
    }
    /// One worker after the other ends its unit, with the coordinator planning in between.
    void train_all(const std::vector<Digest>& jobs) {
        const auto trained = [&](const Digest& job) { return world.job(job).rounds_done == 3; };
        for (int i = 0; i < 100 && !std::ranges::all_of(jobs, trained); ++i) {
            for (const FakeNode& worker : workers) {
                train(worker);
                world.settle();
            }
            while (world.verify(verifier)) {
            }
            world.clock.advance_ms(1'000);
            beat();
            world.settle();
        }
    }
    void expect_full_rounds(const Digest& id) {
        const registry::Job job = world.job(id);
        const auto rounds = world.rounds(id);
        ASSERT_EQ(rounds.size(), 3U + job.terms.elastic.overlap) << "no job starves";
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_EQ(rounds[i].record.slots.size(), job.terms.slots_max) << "round " << i + 1;
    }
    std::size_t slots(const Digest& job, std::size_t round) {
        return world.rounds(job).at(round).record.slots.size();
    }

    World world;
    std::vector<FakeNode> workers;
    FakeNode verifier;
};

TEST_F(CoordinatorTurns, JobsAtOnceTrainAllTheirTokens) {
    const std::vector<Digest> jobs{submit(3, 3), submit(3, 3), submit(3, 2)};
    train_all(jobs);
    for (const Digest& job : jobs)
        expect_full_rounds(job);
}

/// Its workers have a unit under way at each moment.
TEST_F(CoordinatorTurns, AJobWhoseRoundsOverlapLeavesWorkersToOthers) {
    const Digest overlaps = submit(3, 3, 600'000, 1);
    world.settle();
    const std::vector<Digest> jobs{overlaps, submit(3, 3), submit(3, 3, 600'000, 1)};
    train_all(jobs);
    for (const Digest& job : jobs)
        expect_full_rounds(job);
}

TEST_F(CoordinatorTurns, AJobTakesNoWorkerThatAnotherOneWaitsFor) {
    const Digest first = submit(1, 3);
    world.settle();
    ASSERT_EQ(slots(first, 0), 3U);
    const Digest whole = submit(1, 3);
    world.settle();  // it waits from here on; of two that begin at once, ids decide
    const Digest small = submit(1, 1);
    ASSERT_TRUE(train(workers[0]));
    world.settle();
    EXPECT_TRUE(world.rounds(whole).empty()) << "two of its workers are busy";
    EXPECT_TRUE(world.rounds(small).empty()) << "it came later";
    ASSERT_TRUE(train(workers[1]) && train(workers[2]));
    world.settle();
    EXPECT_EQ(slots(whole, 0), 3U);
    EXPECT_TRUE(world.rounds(small).empty());
}

TEST_F(CoordinatorTurns, ARoundWaitsNoLongerThanItsUnitsMayTake) {
    (void)submit(1, 3);
    world.settle();
    constexpr std::int64_t kUnitMs = 20'000;
    const Digest hurried = submit(1, 3, kUnitMs);
    world.settle();
    ASSERT_TRUE(train(workers[0]) && train(workers[1]));
    world.settle();
    EXPECT_TRUE(world.rounds(hurried).empty());
    world.clock.advance_ms(kUnitMs);
    beat();
    world.settle();
    EXPECT_EQ(slots(hurried, 0), 2U) << "the third one still works";
}

}  // namespace
}  // namespace gym::testing
