// Everything is in the database: a coordinator may die anywhere, PostgreSQL and the chain may go
// away.
#include <gtest/gtest.h>

#include <thread>

#include "fake_world.hpp"

namespace gym::testing {
namespace {

using records::NodeRole;

/// Nothing is twice and nothing is lost: the views that must be empty are.
void expect_sound(World& world) {
    for (const char* view : {"registry_feed_gaps", "registry_state_without_event",
                             "registry_commitment_mismatch", "registry_included_not_accepted"}) {
        const auto rows = world.owner().transact([&](db::Transaction& tx) {
            return tx.exec(std::string("SELECT * FROM audit.") + view);
        });
        ASSERT_TRUE(rows.ok());
        EXPECT_EQ(rows->size(), 0U) << view;
    }
}

TEST(CoordinatorRestart, AFreshInstanceAfterEveryTickChangesNothing) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(2);
    for (int i = 0; i < 60 && world.job(job).status != registry::JobStatus::kCompleted; ++i) {
        world.tick();
        world.restart();
        const auto unit = world.core().next_unit(worker.address());
        ASSERT_TRUE(unit.ok());
        if (*unit) {
            ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
        }
        world.restart();
        world.verify(verifier);
        world.chain.mine();
        world.clock.advance_ms(10'000);
        world.beat({&worker, &verifier});
    }
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    EXPECT_EQ(world.core().node_status(worker.address())->units_final, 2U);
    EXPECT_EQ(world.chain.posts, 4) << "two rounds, two roots, none twice";
    expect_sound(world);
}

TEST(CoordinatorRestart, AnAggregationThatFailsIsRepeated) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_job(World::terms());
    world.settle();
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.compute.aggregate_fails = true;
    const auto failed = world.tick();
    ASSERT_EQ(failed.errors.size(), 1U);
    EXPECT_NE(failed.errors[0].find("the disk is full"), std::string::npos);
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kVerifying);
    world.compute.aggregate_fails = false;
    world.settle();
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kAggregated);
    expect_sound(world);
}

TEST(CoordinatorRestart, AChainThatIsAwayStopsOnlyWhatNeedsIt) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const Digest job = world.submit_job(World::terms());
    world.settle();
    const World::Work work = world.work(worker);
    world.chain.down = true;
    EXPECT_FALSE(world.tick().errors.empty());
    EXPECT_TRUE(world.commit(worker, work).ok()) << "workers do not notice";
    for (int i = 0; i < 5; ++i)
        world.tick();
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kOpen)
        << "what workers published is not known";
    world.chain.down = false;
    world.settle();
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kVerifying);
    expect_sound(world);
}

TEST(CoordinatorRestart, ADatabaseCrashLosesNothingThatWasAnswered) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_job(World::terms());
    world.settle();
    const auto receipt = world.commit(worker, world.work(worker));
    ASSERT_TRUE(receipt.ok());
    ASSERT_TRUE(postgres().restart(db::StopMode::kImmediate).ok());
    EXPECT_EQ(world.unit(receipt->unit).status.state, protocol::UnitState::kCommitted);
    world.settle();
    while (world.verify(verifier)) {
    }
    ASSERT_TRUE(postgres().restart(db::StopMode::kImmediate).ok());
    world.settle();
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kAggregated);
    expect_sound(world);
}

TEST(CoordinatorRestart, TwoInstancesAtOnceDoEverythingOnce) {
    World world;
    std::vector<FakeNode> workers;
    for (int i = 0; i < 4; ++i)
        workers.push_back(world.add_node(NodeRole::kWorker));
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(3);
    coordinator::Coordinator second(
        {world.database(), world.blobs, world.chain, world.compute, world.clock, world.key},
        world.options);
    for (int i = 0; i < 80 && world.job(job).status != registry::JobStatus::kCompleted; ++i) {
        std::thread beside([&] { EXPECT_TRUE(second.tick().ok()); });
        world.tick();
        beside.join();
        std::vector<std::thread> calls;
        for (const FakeNode& worker : workers)
            if (world.core().next_unit(worker.address())->has_value())
                calls.emplace_back([&world, &second, &worker, work = world.work(worker)] {
                    EXPECT_TRUE(world.commit(worker, work).ok());
                    EXPECT_TRUE(
                        second.commit_unit(worker.address(), work.commitment, work.records).ok());
                });
        for (std::thread& call : calls)
            call.join();
        while (world.verify(verifier)) {
        }
        world.chain.mine();
        world.clock.advance_ms(20'000);
        for (const FakeNode& worker : workers)
            world.beat({&worker});
        world.beat({&verifier});
    }
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    EXPECT_EQ(world.chain.posts, 6);
    for (const FakeNode& worker : workers)
        EXPECT_EQ(world.core().node_status(worker.address())->units_final, 3U);
    expect_sound(world);
}

}  // namespace
}  // namespace gym::testing
