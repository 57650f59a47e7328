// The referee runs a disputed unit again beside the ticks. These tests hold its run back, let other
// things happen, and then let its answer arrive.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>

#include "fake_world.hpp"
#include "gym/coordinator/background.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// Three rounds; the second worker's first unit is wrong, reported, and defended.
class RulingOrder : public ::testing::Test {
  protected:
    RulingOrder()
        : worker(world.add_node(NodeRole::kWorker)),
          cheat(world.add_node(NodeRole::kWorker)),
          verifier(world.add_node(NodeRole::kVerifier)) {
        registry::JobTerms terms = World::terms();
        terms.rounds = 3;
        terms.sampling.aggregate_ppm = 0;
        job = world.submit_job(terms);
        world.settle();
        EXPECT_TRUE(world.commit(worker, world.work(worker)).ok());
        bad = world.commit(cheat, world.cheat(cheat, 5))->unit;
        world.settle();
        while (world.verify(verifier)) {
        }
        world.background.held = true;
        EXPECT_TRUE(world.core().defend(cheat.address(), bad).ok());
        world.settle();
    }
    void release() {
        world.background.held = false;
        world.background.release();
        world.settle();
    }
    UnitState state(const Digest& unit) { return world.unit(unit).status.state; }

    World world;
    FakeNode worker, cheat, verifier;
    Digest job, bad;
};

TEST_F(RulingOrder, ALongRulingDelaysNoRound) {
    ASSERT_EQ(world.background.waiting(), 1U) << "the ruling is under way";
    ASSERT_EQ(world.rounds(job).size(), 2U);
    const Digest next = world.commit(worker, world.work(worker))->unit;
    world.settle();
    ASSERT_TRUE(world.verify(verifier));
    world.settle();
    EXPECT_EQ(world.rounds(job).size(), 3U) << "the next round began";
    EXPECT_EQ(state(next), UnitState::kVerified);
    EXPECT_EQ(state(bad), UnitState::kDisputed);
    EXPECT_EQ(world.background.waiting(), 1U) << "one of the job at a time";
    release();
    EXPECT_EQ(state(bad), UnitState::kRejected);
    EXPECT_TRUE(world.node(cheat.address()).excluded);
    EXPECT_FALSE(world.node(verifier.address()).excluded);
}

TEST_F(RulingOrder, AnAnswerForADisputeThatEndedMeanwhileChangesNothing) {
    world.void_unit(bad);
    world.background.held = false;
    world.background.release();
    const auto summary = world.tick();
    EXPECT_TRUE(summary.errors.empty()) << summary.errors.front();
    world.settle();
    EXPECT_EQ(state(bad), UnitState::kVoid);
    EXPECT_FALSE(world.node(cheat.address()).excluded);
}

TEST_F(RulingOrder, AKilledCoordinatorBeginsItsRulingAnew) {
    world.background.forget();
    world.settle();
    EXPECT_EQ(world.background.waiting(), 0U) << "the same process waits for it";
    world.restart();
    world.settle();
    ASSERT_EQ(world.background.waiting(), 1U);
    release();
    EXPECT_EQ(state(bad), UnitState::kRejected);
}

TEST_F(RulingOrder, OfTwoInstancesThatRuleOneCounts) {
    const auto beside = world.beside(nullptr);
    ASSERT_TRUE(beside->tick().ok());
    ASSERT_EQ(world.background.waiting(), 2U) << "it does not know that the other one is at it";
    world.background.release();
    const auto first = beside->tick();
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(first->errors.empty());
    EXPECT_EQ(state(bad), UnitState::kRejected);
    const auto second = world.tick();
    EXPECT_TRUE(second.errors.empty()) << second.errors.front();
    EXPECT_EQ(state(bad), UnitState::kRejected);
}

TEST_F(RulingOrder, WhatFailsForNowIsBegunAnew) {
    world.compute.runs_fail = true;
    world.background.held = false;
    world.background.release();
    const auto summary = world.tick();
    ASSERT_EQ(summary.errors.size(), 1U);
    EXPECT_NE(summary.errors.front().find("no machine is free"), std::string::npos)
        << summary.errors.front();
    EXPECT_EQ(state(bad), UnitState::kDisputed);
    world.compute.runs_fail = false;
    world.settle();
    EXPECT_EQ(state(bad), UnitState::kRejected);
}

/// An audit holds no stake and no pay.
TEST(BackgroundOrder, WhatIsSoonComesBeforeWhatWaits) {
    const auto background = coordinator::make_background();
    std::mutex mutex;
    std::condition_variable changed;
    bool begun = false, go = false;
    std::string order;
    const auto add = [&](char name) {
        return [&, name](const std::stop_token&) {
            const std::scoped_lock lock(mutex);
            order += name;
            changed.notify_all();
        };
    };
    background->run([&](const std::stop_token&) {
        std::unique_lock lock(mutex);
        begun = true;
        changed.notify_all();
        changed.wait(lock, [&] { return go; });
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun; });
    background->run(add('a'));
    background->run(add('b'));
    background->run_soon(add('c'));
    background->run_soon(add('d'));
    go = true;
    changed.notify_all();
    changed.wait(lock, [&] { return order.size() == 4; });
    EXPECT_EQ(order, "cdab");
}

}  // namespace
}  // namespace gym::testing
