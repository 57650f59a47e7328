// Cheats, lies and bad input: each ends where the rules say, and nobody honest pays for it.
#include <gtest/gtest.h>

#include <functional>

#include "fake_world.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

class CoordinatorFaults : public ::testing::Test {
  protected:
    CoordinatorFaults()
        : honest(world.add_node(NodeRole::kWorker)),
          other(world.add_node(NodeRole::kWorker)),
          verifier(world.add_node(NodeRole::kVerifier)) {
        registry::JobTerms terms = World::terms();
        terms.rounds = 3;
        job = world.submit_job(terms);
        world.settle();
    }
    void pass_deadline() {
        world.clock.advance_ms(60'001);
        world.beat({&honest, &other, &verifier});
        world.settle();
    }
    ErrorCode refused(const FakeNode& worker, const World::Work& work) {
        const auto result = world.commit(worker, work);
        return result.ok() ? ErrorCode::kInternal : result.error().code;
    }
    /// `work` with other content under a fresh signature of `signer`.
    World::Work changed(World::Work work, const FakeNode& signer,
                        const std::function<void(protocol::UnitCommitment&)>& change) {
        change(work.commitment.commitment);
        work.commitment =
            protocol::sign(world.options.domain, work.commitment.commitment, signer.key);
        return work;
    }

    World world;
    FakeNode honest, other, verifier;
    Digest job;
};

TEST_F(CoordinatorFaults, ACheatIsRejectedWithItsStepAndExcluded) {
    const Digest good = world.commit(honest, world.work(honest))->unit;
    const Digest bad = world.commit(other, world.cheat(other, 12))->unit;
    world.settle();
    while (world.verify(verifier)) {
    }
    EXPECT_EQ(world.unit(good).status.state, UnitState::kVerified);
    EXPECT_EQ(world.unit(bad).status.state, UnitState::kDisputed);
    world.settle();
    EXPECT_TRUE(world.unit(good).included);
    EXPECT_FALSE(world.unit(bad).included) << "a disputed delta never enters the base state";
    pass_deadline();
    const registry::Unit rejected = world.unit(bad);
    EXPECT_EQ(rejected.status.state, UnitState::kRejected);
    EXPECT_EQ(rejected.reason_code, "step_differs");
    const std::string sentence = "unit " + std::to_string(rejected.key.slot) +
                                 " of round 1: step 12 differs from re-execution (records root 0x";
    EXPECT_EQ(rejected.reason.substr(0, sentence.size()), sentence) << rejected.reason;
    const auto status = world.core().node_status(other.address());
    EXPECT_TRUE(world.node(other.address()).excluded);
    EXPECT_EQ(status->excluded_because, rejected.reason);
    EXPECT_EQ(status->idle_because, "excluded: " + rejected.reason);
    EXPECT_EQ(status->units_rejected, 1U);
    EXPECT_EQ(world.core().next_unit(other.address()).error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(world.unit(good).status.state, UnitState::kFinal);
    // Stake would not bring it back: it is not told to add any.
    world.options.stake.minimum = Amount(100);
    world.stake.each = Amount(0);
    world.restart();
    EXPECT_TRUE(world.core().node_status(other.address())->stake_because.empty());
    EXPECT_FALSE(world.core().node_status(honest.address())->stake_because.empty());
}

TEST_F(CoordinatorFaults, ADisputedWorkerGetsNoNewUnit) {
    ASSERT_TRUE(world.commit(honest, world.work(honest)).ok());
    ASSERT_TRUE(world.commit(other, world.cheat(other, 0)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    ASSERT_EQ(rounds[1].record.slots.size(), 1U);
    EXPECT_EQ(rounds[1].record.slots[0].worker, honest.address());
}

TEST_F(CoordinatorFaults, ACheatThatDefendsIsRejectedByTheReferee) {
    ASSERT_TRUE(world.commit(honest, world.work(honest)).ok());
    const Digest bad = world.commit(other, world.cheat(other, 5))->unit;
    world.settle();
    while (world.verify(verifier)) {
    }
    ASSERT_TRUE(world.core().defend(other.address(), bad).ok());
    ASSERT_TRUE(world.core().defend(other.address(), bad).ok()) << "repeating it succeeds";
    EXPECT_EQ(world.core().defend(honest.address(), bad).error().code,
              ErrorCode::kPermissionDenied);
    world.settle();
    EXPECT_EQ(world.unit(bad).status.state, UnitState::kRejected);
    EXPECT_TRUE(world.node(other.address()).excluded);
    EXPECT_FALSE(world.node(verifier.address()).excluded);
}

TEST_F(CoordinatorFaults, AnHonestWorkerSurvivesALyingVerifier) {
    const Digest unit = world.commit(honest, world.work(honest))->unit;
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    while (world.verify(verifier, true)) {
    }
    ASSERT_EQ(world.unit(unit).status.state, UnitState::kDisputed);
    ASSERT_TRUE(world.core().defend(honest.address(), unit).ok());
    world.settle();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kUpheld);
    EXPECT_FALSE(world.node(honest.address()).excluded);
    const registry::Node liar = world.node(verifier.address());
    EXPECT_TRUE(liar.excluded);
    EXPECT_EQ(liar.excluded_code, "false_report");
    pass_deadline();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kFinal);
}

TEST_F(CoordinatorFaults, AnHonestWorkerThatLeftIsNotRejectedOnALiarsWord) {
    const Digest unit = world.commit(honest, world.work(honest))->unit;
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    while (world.verify(verifier, true)) {
    }
    ASSERT_EQ(world.unit(unit).status.state, UnitState::kDisputed);
    pass_deadline();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kUpheld) << "nobody had to defend it";
    EXPECT_FALSE(world.node(honest.address()).excluded);
    EXPECT_TRUE(world.node(verifier.address()).excluded);
}

TEST_F(CoordinatorFaults, ADisputeWhoseInputsAreLostIsVoid) {
    const World::Work work = world.cheat(other, 4);
    ASSERT_TRUE(world.commit(honest, world.work(honest)).ok());
    ASSERT_TRUE(world.commit(other, work).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    ASSERT_TRUE(world.blobs.remove(work.assignment.inputs.base_state_blob).ok());
    pass_deadline();
    EXPECT_EQ(world.unit(work.assignment.unit_id()).status.state, UnitState::kVoid);
    EXPECT_EQ(world.unit(work.assignment.unit_id()).reason_code, "inputs_lost");
}

TEST_F(CoordinatorFaults, AnEquivocationRejectsAtOnce) {
    const World::Work first = world.work(honest);
    ASSERT_TRUE(world.commit(honest, first).ok());
    const World::Work second = changed(
        first, honest, [](protocol::UnitCommitment& c) { c.final_state_root.data[0] ^= 1; });
    EXPECT_EQ(refused(honest, second), ErrorCode::kConflict);
    EXPECT_EQ(world.unit(first.assignment.unit_id()).status.state, UnitState::kRejected);
    EXPECT_EQ(world.unit(first.assignment.unit_id()).reason_code, "equivocation");
    EXPECT_TRUE(world.node(honest.address()).excluded);
}

TEST_F(CoordinatorFaults, TheSameCommitmentAgainGivesTheSameReceipt) {
    const World::Work work = world.work(honest);
    const auto first = world.commit(honest, work);
    world.clock.advance_ms(10);
    const auto again = world.commit(honest, work);
    ASSERT_TRUE(first.ok() && again.ok());
    EXPECT_EQ(first->leaf, again->leaf);
    EXPECT_EQ(first->accepted_ms, again->accepted_ms);
}

TEST_F(CoordinatorFaults, CommitmentsThatDoNotFitAreRefusedEachWithItsError) {
    const World::Work good = world.work(honest);
    using C = protocol::UnitCommitment;
    World::Work forged = good;
    forged.commitment.signature.data[10] ^= 1;
    EXPECT_EQ(refused(honest, forged), ErrorCode::kUnauthenticated);
    EXPECT_EQ(refused(other, good), ErrorCode::kUnauthenticated) << "somebody else's commitment";

    const std::uint32_t foreign = world.work(other).assignment.unit.slot;
    EXPECT_EQ(refused(honest, changed(good, honest, [&](C& c) { c.slot = foreign; })),
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.slot = 999; })),
              ErrorCode::kNotFound);
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.round_record.data[0] ^= 1; })),
              ErrorCode::kNotFound);
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.flops += 1; })),
              ErrorCode::kMismatch);
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.records_root.data[0] ^= 1; })),
              ErrorCode::kMismatch);
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.delta_root.data[0] ^= 1; })),
              ErrorCode::kNotFound);
    const Digest garbage = world.blobs.put(Bytes{1, 2, 3}).value();
    const World::Work named = changed(good, honest, [&](C& c) { c.delta_root = garbage; });
    EXPECT_EQ(refused(honest, named), ErrorCode::kNotFound) << "stored, but by somebody else";
    ASSERT_TRUE(world.core().note_upload(honest.address(), garbage).ok());
    EXPECT_EQ(refused(honest, named), ErrorCode::kMalformed);
    World::Work cut = good;
    cut.records.pop_back();
    EXPECT_EQ(refused(honest, cut), ErrorCode::kMismatch);

    EXPECT_EQ(world.unit(good.assignment.unit_id()).status.state, UnitState::kAssigned)
        << "nothing of that changed the unit";
    EXPECT_TRUE(world.commit(honest, good).ok());
}

TEST_F(CoordinatorFaults, ALateCommitmentIsRefusedAndChangesNothing) {
    const World::Work work = world.work(honest);
    world.clock.advance_ms(600'001);
    EXPECT_EQ(refused(honest, work), ErrorCode::kTimeout);
    world.settle();
    EXPECT_EQ(world.unit(work.assignment.unit_id()).status.state, UnitState::kExpired);
    EXPECT_EQ(refused(honest, work), ErrorCode::kConflict);
}

TEST_F(CoordinatorFaults, AReplayFromAnotherRoundIsRefused) {
    const World::Work old = world.work(honest);
    ASSERT_TRUE(world.commit(honest, old).ok());
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    const World::Work next = world.work(honest);
    ASSERT_EQ(next.assignment.unit.round, 2U);
    const auto replayed = world.commit(honest, old);
    ASSERT_TRUE(replayed.ok());
    EXPECT_EQ(replayed->unit, old.assignment.unit_id())
        << "the old receipt, not credit for round 2";
    EXPECT_EQ(world.unit(next.assignment.unit_id()).status.state, UnitState::kAssigned);
}

// One person with a hundred addresses would be drawn for nearly every unit: pass what is wrong, or
// let what is right run out of draws.
TEST_F(CoordinatorFaults, VerifiersThatTheOperatorDoesNotKnowGetNoDraws) {
    std::vector<FakeNode> crowd;
    for (int i = 0; i < 20; ++i)
        crowd.push_back(world.add_node(NodeRole::kVerifier));
    world.options.verifiers_allowed = {verifier.address()};
    world.restart();
    std::vector<Digest> units;
    for (const FakeNode* worker : {&honest, &other})
        units.push_back(world.commit(*worker, world.work(*worker))->unit);
    world.settle();
    for (const Digest& unit : units)
        EXPECT_EQ(world.unit(unit).verifier, verifier.address());
    registry::NewNode late;
    late.address = late.owner = FakeNode().address();
    late.profile.role = NodeRole::kVerifier;
    EXPECT_EQ(world.core().register_node(late).error().code, ErrorCode::kPermissionDenied);
    late.profile.role = NodeRole::kWorker;
    EXPECT_TRUE(world.core().register_node(late).ok()) << "workers are not listed";
    world.options.workers_allowed = {honest.address()};
    world.restart();
    late.address = late.owner = FakeNode().address();
    EXPECT_EQ(world.core().register_node(late).error().code, ErrorCode::kPermissionDenied);
}

TEST_F(CoordinatorFaults, ASilentVerifierIsReplaced) {
    const FakeNode second = world.add_node(NodeRole::kVerifier);
    const Digest unit = world.commit(honest, world.work(honest))->unit;
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    const Address silent = *world.unit(unit).verifier;
    world.clock.advance_ms(60'001);
    world.beat({&honest, &other, &verifier, &second});
    world.settle();
    const registry::Unit redrawn = world.unit(unit);
    EXPECT_EQ(redrawn.status.state, UnitState::kSampled);
    EXPECT_EQ(redrawn.status.draws, 2U);
    EXPECT_NE(*redrawn.verifier, silent);
}

TEST_F(CoordinatorFaults, ReportsAreTakenOnlyFromWhoWasDrawnAndAsCommitted) {
    const FakeNode stranger = world.add_node(NodeRole::kVerifier);
    ASSERT_TRUE(world.commit(honest, world.work(honest)).ok());
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    auto task = world.core().next_task(verifier.address());
    const FakeNode& drawn = task->has_value() ? verifier : stranger;
    const FakeNode& idle = task->has_value() ? stranger : verifier;
    task = world.core().next_task(drawn.address());
    ASSERT_TRUE(task.ok() && *task);
    Bytes records;
    protocol::Report report = world.report(drawn, **task, false, records);
    const Digest digest = protocol::report_digest((*task)->beacon, report);
    const auto commit = [&](const FakeNode& who, std::uint32_t draw, const Digest& what) {
        const auto result = world.core().commit_report(who.address(), report.unit, draw, what);
        return result.ok() ? ErrorCode::kInternal : result.error().code;
    };
    EXPECT_EQ(commit(idle, 0, digest), world.unit(report.unit).verifier == idle.address()
                                           ? ErrorCode::kInternal
                                           : ErrorCode::kPermissionDenied);
    EXPECT_EQ(commit(drawn, 1, digest), ErrorCode::kPermissionDenied);
    EXPECT_EQ(world.core().reveal_report(report, records).error().code,
              ErrorCode::kPermissionDenied)
        << "a reveal needs a commitment";
    EXPECT_EQ(commit(drawn, 0, digest), ErrorCode::kInternal) << "taken";
    EXPECT_EQ(commit(drawn, 0, digest), ErrorCode::kInternal) << "taken again";
    EXPECT_EQ(commit(drawn, 0, Digest{}), ErrorCode::kConflict);
    protocol::Report other_report = report;
    other_report.salt.data[0] ^= 1;
    EXPECT_EQ(world.core().reveal_report(other_report, records).error().code, ErrorCode::kMismatch);
    Bytes cut = records;
    cut.pop_back();
    EXPECT_EQ(world.core().reveal_report(report, cut).error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(world.core().reveal_report(report, records)->equal);
    EXPECT_TRUE(world.core().reveal_report(report, records)->equal) << "repeated";
    EXPECT_EQ(world.unit(report.unit).status.state, UnitState::kVerified);
}

TEST_F(CoordinatorFaults, ALostDeltaVoidsTheUnitWithoutBlame) {
    const World::Work work = world.work(honest);
    ASSERT_TRUE(world.commit(honest, work).ok());
    ASSERT_TRUE(world.commit(other, world.work(other)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    ASSERT_TRUE(world.blobs.remove(work.commitment.commitment.delta_root).ok());
    world.settle();
    EXPECT_EQ(world.unit(work.assignment.unit_id()).status.state, UnitState::kVoid);
    EXPECT_EQ(world.unit(work.assignment.unit_id()).reason_code, "inputs_lost");
    EXPECT_FALSE(world.node(honest.address()).excluded);
    EXPECT_EQ(world.rounds(job).size(), 2U) << "the round went on without it";
}

}  // namespace
}  // namespace gym::testing
