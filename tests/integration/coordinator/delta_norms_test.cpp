// Deltas that are too large for a round.

#include <gtest/gtest.h>

#include "fake_world.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::testing {
namespace {

using records::NodeRole;

TEST(DeltaNorms, OneWorkersDeltaFarAboveTheOthersStaysOutAndItsUnitIsPaid) {
    World world;
    std::vector<FakeNode> workers;
    for (int i = 0; i < 3; ++i)
        workers.push_back(world.add_node(NodeRole::kWorker));
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    registry::JobTerms terms = World::terms();
    terms.rounds = 2;
    terms.delta_norm_factor = 4;
    const Digest job = world.submit_job(terms);
    world.settle();
    std::vector<World::Work> works;
    for (const FakeNode& worker : workers)
        works.push_back(world.work(worker));
    world.compute.norms[works[1].commitment.commitment.delta_root] = 1e6;
    for (std::size_t i = 0; i < workers.size(); ++i)
        ASSERT_TRUE(world.commit(workers[i], works[i]).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    ASSERT_EQ(rounds[1].record.included.size(), 2U);
    for (const protocol::IncludedDelta& delta : rounds[1].record.included)
        EXPECT_NE(delta.unit, works[1].assignment.unit_id());
    EXPECT_TRUE(protocol::is_accepted(world.unit(works[1].assignment.unit_id()).status.state));
    // The job keeps its factor, which the tasks of verifiers name.
    EXPECT_EQ(terms.delta_norm_factor, world.job(job).terms.delta_norm_factor);
}

}  // namespace
}  // namespace gym::testing
