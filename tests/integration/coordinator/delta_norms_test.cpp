// Deltas that are too large for a round.

#include <gtest/gtest.h>

#include "fake_world.hpp"
#include "gym/registry/units.hpp"

namespace gym::testing {
namespace {

using records::NodeRole;

using protocol::UnitState;

/// Three workers that are never drawn, but for lots of one in a million, and a verifier.
class SingledOut : public ::testing::Test {
  protected:
    void SetUp() override {
        for (int i = 0; i < 3; ++i)
            workers_.push_back(world_.add_node(NodeRole::kWorker));
        set_runs();
        registry::JobTerms terms = World::terms();
        terms.rounds = 3;
        terms.delta_norm_factor = 4;
        terms.sampling.floor_ppm = 1;
        job_ = world_.submit_job(terms);
        world_.settle();
    }
    /// All commit; the delta of the second is far too large.
    void commit_round(bool lies = false) {
        works_.clear();
        for (std::size_t i = 0; i < workers_.size(); ++i)
            works_.push_back(lies && i == 1 ? world_.cheat(workers_[i], 3)
                                            : world_.work(workers_[i]));
        world_.compute.norms[works_[1].commitment.commitment.delta_root] = 1e6;
        for (std::size_t i = 0; i < workers_.size(); ++i)
            ASSERT_TRUE(world_.commit(workers_[i], works_[i]).ok());
        world_.settle();
    }
    void set_runs() {
        ASSERT_TRUE(world_.owner()
                        .transact([](db::Transaction& tx) -> Status {
                            GYM_CHECK(tx.exec("UPDATE registry.node SET valid_value = 1e60"));
                            return {};
                        })
                        .ok());
    }
    UnitState state(std::size_t slot) {
        return world_.unit(works_[slot].assignment.unit_id()).status.state;
    }

    World world_;
    std::vector<FakeNode> workers_;
    const FakeNode verifier_ = world_.add_node(NodeRole::kVerifier);
    std::vector<World::Work> works_;
    Digest job_;
};

TEST_F(SingledOut, AnHonestUnitIsVerifiedAndPaidAndItsDeltaStaysOut) {
    commit_round();
    EXPECT_EQ(state(0), UnitState::kUnsampled);
    EXPECT_EQ(state(2), UnitState::kUnsampled);
    ASSERT_EQ(state(1), UnitState::kSampled);
    EXPECT_EQ(world_.rounds(job_).size(), 2U) << "the next round does not wait for it";
    EXPECT_EQ(world_.rounds(job_)[1].record.included.size(), 2U);
    const Digest unit = works_[1].assignment.unit_id();
    while (world_.verify(verifier_)) {
    }
    EXPECT_EQ(world_.unit(unit).status.state, UnitState::kVerified);
    world_.pass_deadline({&workers_[0], &workers_[1], &workers_[2], &verifier_});
    EXPECT_EQ(world_.unit(unit).status.state, UnitState::kFinal);
    EXPECT_FALSE(world_.unit(unit).included);
}

TEST_F(SingledOut, AFaultThatNoBeaconDrewIsFound) {
    commit_round(true);
    const Digest unit = works_[1].assignment.unit_id();
    ASSERT_EQ(world_.unit(unit).status.state, UnitState::kSampled);
    while (world_.verify(verifier_)) {
    }
    EXPECT_EQ(world_.unit(unit).status.state, UnitState::kDisputed);
    world_.pass_deadline({&workers_[0], &workers_[2], &verifier_});
    EXPECT_EQ(world_.unit(unit).status.state, UnitState::kRejected);
    EXPECT_TRUE(world_.node(workers_[1].address()).excluded_at_ms.has_value());
}

/// The aggregate is made after it; a crash in between makes the same one.
TEST_F(SingledOut, ARestartChangesNothing) {
    commit_round();
    const auto before = world_.rounds(job_);
    world_.restart();
    world_.settle();
    EXPECT_EQ(world_.rounds(job_).size(), before.size());
    EXPECT_EQ(state(1), UnitState::kSampled);
}

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
