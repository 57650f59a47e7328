// Audits run beside the ticks. These tests hold an audit back, let other things happen, and then
// let its result arrive.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "fake_world.hpp"
#include "gym/coordinator/reexecution_board.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

/// Three rounds of two workers; every report is audited, when the test says so.
class AuditOrder : public ::testing::Test {
  protected:
    AuditOrder()
        : worker(world.add_node(NodeRole::kWorker)),
          other(world.add_node(NodeRole::kWorker)),
          verifier(world.add_node(NodeRole::kVerifier)) {
        world.options.audit_ppm = kPpm;
        world.background.held = true;
        world.restart();
        registry::JobTerms terms = World::terms();
        terms.rounds = 3;
        terms.sampling.aggregate_ppm = 0;
        job = world.submit_job(terms);
        world.settle();
    }
    Digest commit(const FakeNode& node) {
        const auto taken = world.commit(node, world.work(node));
        EXPECT_TRUE(taken.ok()) << taken.error().message;
        return taken->unit;
    }
    UnitState state(const Digest& unit) { return world.unit(unit).status.state; }
    registry::RoundState round(std::size_t number) {
        for (const registry::Round& one : world.rounds(job))
            if (one.round == number) return one.state;
        return registry::RoundState::kRecorded;
    }
    std::int64_t due() {
        const auto row = world.owner().transact(
            [](db::Transaction& tx) {
                return tx.exec_one("SELECT count(*) FROM registry.report WHERE audit = 'due'");
            },
            {.read_only = true});
        return row->get<std::int64_t>(0);
    }
    bool excluded(const FakeNode& node) { return world.node(node.address()).excluded; }
    void pass_deadline() { world.pass_deadline({&worker, &other, &verifier}); }

    World world;
    FakeNode worker, other, verifier;
    Digest job;
};

TEST_F(AuditOrder, ALongAuditDelaysNeitherAnotherReportNorTheNextSeal) {
    const Digest first = commit(worker), second = commit(other);
    world.settle();
    ASSERT_TRUE(world.verify(verifier));
    world.settle();
    ASSERT_EQ(world.background.waiting(), 1U) << "its audit is under way";
    ASSERT_TRUE(world.verify(verifier));
    world.settle();
    EXPECT_EQ(state(first), UnitState::kVerified);
    EXPECT_EQ(state(second), UnitState::kVerified) << "the other unit's report was taken";
    EXPECT_EQ(round(1), registry::RoundState::kAggregated);
    commit(worker);
    commit(other);
    world.settle();
    EXPECT_EQ(round(2), registry::RoundState::kVerifying) << "sealed, on chain and drawn";
    EXPECT_EQ(world.background.waiting(), 1U) << "one of the job at a time";
    pass_deadline();
    EXPECT_EQ(state(first), UnitState::kVerified) << "not final before its audit";
    world.background.held = false;
    world.background.release();
    world.settle();
    EXPECT_EQ(due(), 0);
    EXPECT_EQ(state(first), UnitState::kFinal);
    EXPECT_EQ(state(second), UnitState::kFinal);
    EXPECT_FALSE(excluded(verifier));
}

TEST_F(AuditOrder, AnAuditThatComesLateStillFindsACopier) {
    const Digest bad = world.commit(other, world.cheat(other, 7))->unit;
    commit(worker);
    world.settle();
    ASSERT_TRUE(world.copy(verifier) && world.copy(verifier));
    world.settle();
    EXPECT_EQ(round(1), registry::RoundState::kAggregated) << "meanwhile";
    EXPECT_FALSE(excluded(verifier));
    world.background.held = false;
    world.background.release();
    world.settle();
    EXPECT_TRUE(excluded(verifier));
    EXPECT_EQ(state(bad), UnitState::kRejected);
    EXPECT_TRUE(excluded(other));
}

TEST_F(AuditOrder, AResultForAUnitThatEndedMeanwhileChangesNothing) {
    commit(worker);
    commit(other);
    world.settle();
    const auto copied = world.copy(verifier);
    ASSERT_TRUE(copied);
    world.settle();
    ASSERT_EQ(world.background.waiting(), 1U);
    world.void_unit(*copied);
    world.background.held = false;
    world.background.release();
    const auto summary = world.tick();
    EXPECT_TRUE(summary.errors.empty()) << summary.errors.front();
    world.settle();
    EXPECT_FALSE(excluded(verifier)) << "a unit that ended is not audited";
}

TEST_F(AuditOrder, OfTwoInstancesThatAuditTheSameOneCounts) {
    commit(worker);
    commit(other);
    world.settle();
    ASSERT_TRUE(world.copy(verifier));
    world.settle();
    ASSERT_EQ(world.background.waiting(), 1U);
    const auto beside = world.beside(nullptr);
    ASSERT_TRUE(beside->tick().ok());
    ASSERT_EQ(world.background.waiting(), 2U) << "it does not know that the other one is at it";
    world.background.release();
    const auto first = beside->tick();
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(first->errors.empty());
    EXPECT_TRUE(excluded(verifier));
    const auto second = world.tick();
    EXPECT_TRUE(second.errors.empty()) << second.errors.front();
    EXPECT_EQ(due(), 0);
}

TEST_F(AuditOrder, AKilledCoordinatorBeginsItsAuditAnew) {
    commit(worker);
    commit(other);
    world.settle();
    ASSERT_TRUE(world.copy(verifier));
    world.settle();
    ASSERT_EQ(world.background.waiting(), 1U);
    world.background.forget();
    world.settle();
    EXPECT_EQ(world.background.waiting(), 0U) << "the same process waits for it";
    world.restart();
    world.settle();
    ASSERT_EQ(world.background.waiting(), 1U);
    world.background.release();
    world.settle();
    EXPECT_TRUE(excluded(verifier));
}

TEST_F(AuditOrder, WhatFailsForNowIsBegunAnewAndHoldsNothingElse) {
    world.background.held = false;
    world.compute.runs_fail = true;
    commit(worker);
    commit(other);
    world.settle();
    while (world.verify(verifier)) {
    }
    const auto summary = world.tick();
    ASSERT_EQ(summary.errors.size(), 1U);
    EXPECT_NE(summary.errors.front().find("no machine is free"), std::string::npos);
    world.settle();
    EXPECT_EQ(round(1), registry::RoundState::kAggregated);
    EXPECT_EQ(due(), 2);
    world.compute.runs_fail = false;
    world.settle();
    EXPECT_EQ(due(), 0);
}

/// With the thread that a process has.
TEST_F(AuditOrder, TicksDoNotWaitForTheThreadAndAStopEndsIt) {
    world.has_own_background = true;
    world.compute.runs_wait = true;
    world.restart();
    commit(worker);
    commit(other);
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();  // would not return if it waited
    for (int i = 0; i < 1'000 && world.compute.runs == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(world.compute.runs, 1U);
    EXPECT_EQ(round(1), registry::RoundState::kAggregated);
    EXPECT_EQ(due(), 2);
    world.restart();  // ends the run that waits, and begins another one
    world.compute.runs_wait = false;
    for (int i = 0; i < 1'000 && due() > 0; ++i) {
        world.tick();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(due(), 0);
    EXPECT_FALSE(excluded(verifier));
}

TEST(ReexecutionBoard, HoldsOneOfEachJobAndAFixedNumber) {
    coordinator::ReexecutionBoard board;
    const auto job = [](std::uint8_t i) { return tagged("job", {ByteView(&i, 1)}); };
    const coordinator::ReexecutionBoard::Key key{tagged("unit", {}), 1};
    std::uint8_t jobs = 0;
    for (; board.has_room(job(jobs), 0); ++jobs)
        board.begin(job(jobs), key);
    EXPECT_EQ(jobs, coordinator::ReexecutionBoard::kRunsMax);
    EXPECT_EQ(board.size(), coordinator::ReexecutionBoard::kRunsMax);
    EXPECT_FALSE(board.take(job(0)));
    const auto failed = [] { return fail(ErrorCode::kNotFound, "lost"); };
    board.finish(job(0), {tagged("another unit", {}), 1}, failed(), 5);
    EXPECT_FALSE(board.take(job(0))) << "of another audit";
    board.finish(job(0), key, failed(), 5);
    EXPECT_FALSE(board.has_room(job(99), 6)) << "its job takes it soon";
    const auto late = 6 + coordinator::ReexecutionBoard::kUntakenMs;
    EXPECT_FALSE(board.has_room(job(0), late)) << "its job has it";
    EXPECT_TRUE(board.has_room(job(99), late)) << "nobody took it";
    board.finish(job(0), key, failed(), 7);
    EXPECT_FALSE(board.take(job(0)));
    board.finish(job(1), key, failed(), 7);
    EXPECT_EQ(board.take(job(1))->result.error().message, "lost");
    EXPECT_FALSE(board.take(job(1))) << "once";
    EXPECT_EQ(board.size(), coordinator::ReexecutionBoard::kRunsMax - 2);
}

}  // namespace
}  // namespace gym::testing
