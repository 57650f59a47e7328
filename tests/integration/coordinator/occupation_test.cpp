// Jobs that would occupy workers for nothing.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "fake_world.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// A unit has 20 steps of a million FLOPs: in ten seconds 2,000,000 a second are enough.
class OccupationTest : public ::testing::Test {
  protected:
    World world_;
    FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);

    FakeNode worker(std::uint64_t flops_per_second) {
        return world_.add_node(NodeRole::kWorker, 0, flops_per_second);
    }
    static registry::JobTerms terms(std::int64_t unit_ms = 10'000) {
        registry::JobTerms out = World::terms();
        out.lifecycle.unit_ms = unit_ms;
        return out;
    }
    Digest submit(const registry::JobTerms& terms) {
        const Digest job = world_.submit_job(terms);
        world_.clock.advance_ms(1);  // another id
        world_.settle();
        return job;
    }
    std::optional<records::TrainTask> task(const FakeNode& worker) {
        return world_.core().next_unit(worker.address()).value();
    }
};

TEST_F(OccupationTest, AUnitThatAWorkerCannotDoInTimeIsNotGivenToIt) {
    const FakeNode slow = worker(1'999'999), fast = worker(2'000'000), unknown = worker(0);
    const Digest job = submit(terms());
    EXPECT_FALSE(task(slow).has_value());
    EXPECT_EQ(world_.core().node_status(slow.address())->idle_because,
              "its benchmark says 2.00 MFLOP/s, and no running job has units that it does in time; "
              "2.00 MFLOP/s would be enough for one");
    EXPECT_TRUE(task(fast).has_value());
    EXPECT_TRUE(task(unknown).has_value()) << "its speed is not known";
    EXPECT_EQ(world_.rounds(job).at(0).record.slots.size(), 2U);
}

TEST_F(OccupationTest, AJobThatAdaptsItsStepsGivesAsManyAsFit) {
    const FakeNode slow = worker(1'999'999), slower = worker(99'999);
    registry::JobTerms adapts = terms();
    adapts.elastic.adapt_steps = true;
    (void)submit(adapts);
    const auto given = task(slow);
    ASSERT_TRUE(given.has_value());
    EXPECT_EQ(given->record.find_slot(given->unit.slot)->steps, 19U);
    EXPECT_FALSE(task(slower).has_value()) << "not even one step fits";
}

TEST_F(OccupationTest, AJobThatNobodyCanDoKeepsNobodyFromOtherJobs) {
    const FakeNode one = worker(1'000'000), another = worker(1'000'000);
    registry::JobTerms greedy = terms(19'999);
    greedy.workers_min = 2;
    const Digest impossible = submit(greedy);
    EXPECT_TRUE(world_.rounds(impossible).empty());
    EXPECT_EQ(world_.job(impossible).status, registry::JobStatus::kRunning)
        << "a faster worker may come";
    (void)submit(terms(20'000));
    EXPECT_TRUE(task(one).has_value());
    EXPECT_TRUE(task(another).has_value());
    const FakeNode fast = worker(1'000'051), as_fast = worker(1'000'051);
    world_.settle();
    ASSERT_EQ(world_.rounds(impossible).size(), 1U);
    EXPECT_TRUE(task(fast).has_value());
    EXPECT_TRUE(task(as_fast).has_value());
}

TEST_F(OccupationTest, AJobBelowTheLeastPriceIsNotStartedWhoeverStoredIt) {
    const FakeNode fast = worker(2'000'000);
    world_.options.price_per_pflop_min = Amount(1'000'000'000);
    world_.restart();
    registry::JobTerms cheap = terms();
    cheap.price_wei_per_pflop = Amount(999'999'999);
    const Digest refused = submit(cheap);
    EXPECT_EQ(world_.job(refused).status, registry::JobStatus::kFailed);
    EXPECT_NE(world_.job(refused).status_reason.find("this network takes no job below"),
              std::string::npos)
        << world_.job(refused).status_reason;
    EXPECT_TRUE(world_.rounds(refused).empty());
    EXPECT_FALSE(task(fast).has_value());
    (void)submit(terms());
    EXPECT_TRUE(task(fast).has_value()) << "at the least price it is";
}

}  // namespace
}  // namespace gym::testing
