// The way of a job from submission to its end, and who gets work.
#include <gtest/gtest.h>

#include "fake_world.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/registry/feed.hpp"
#include "gym/registry/size_limits.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

TEST(CoordinatorRounds, AJobRunsFromSubmissionToCompletion) {
    World world;
    const FakeNode a = world.add_node(NodeRole::kWorker);
    const FakeNode b = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(3);
    for (int round = 1; round <= 3; ++round) {
        world.settle();
        ASSERT_TRUE(world.commit(a, world.work(a)).ok());
        ASSERT_TRUE(world.commit(b, world.work(b)).ok());
        world.settle();
        while (world.verify(verifier)) {
        }
        world.settle();
        while (world.verify(verifier)) {
        }  // the aggregate unit
        world.pass_deadline({&a, &b, &verifier});
    }
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 3U);
    for (const registry::Round& round : rounds) {
        EXPECT_EQ(round.state, registry::RoundState::kClosed);
        EXPECT_EQ(round.commitment_count, 2U);
        EXPECT_TRUE(round.validation_loss.has_value());
        EXPECT_EQ(world.chain.epochs.at(round.epoch).commitments_root, round.commitments_root);
    }
    EXPECT_EQ(rounds[1].record.included.size(), 2U);
    EXPECT_EQ(rounds[1].record.previous_record, rounds[0].record_hash);
    EXPECT_EQ(rounds[1].base, rounds[0].next_base);
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    EXPECT_EQ(world.core().node_status(a.address())->units_final, 3U);
    EXPECT_EQ(world.node(a.address()).valid_value, world.value_of_units(job, 3));
}

TEST(CoordinatorRounds, AReceiptProvesTheCommitmentUnderThePostedRoot) {
    World world;
    std::vector<FakeNode> workers;
    for (int i = 0; i < 5; ++i)
        workers.push_back(world.add_node(NodeRole::kWorker));
    world.submit_job(World::terms());
    world.settle();
    std::vector<Digest> units;
    for (const FakeNode& worker : workers)
        units.push_back(world.commit(worker, world.work(worker))->unit);
    EXPECT_FALSE(world.core().unit_receipt(units[0])->inclusion.has_value());
    world.settle();
    for (const Digest& unit : units) {
        const auto receipt = world.core().unit_receipt(unit);
        ASSERT_TRUE(receipt.ok() && receipt->inclusion && receipt->commitment);
        const auto& proof = *receipt->inclusion;
        EXPECT_EQ(proof.commitments_root, world.chain.epochs.at(proof.epoch).commitments_root);
        EXPECT_TRUE(
            commit::merkle_verify(proof.commitments_root, {proof.leaf_index, proof.leaf_count},
                                  protocol::commitment_leaf(*receipt->commitment), proof.siblings)
                .ok());
    }
}

TEST(CoordinatorRounds, AWorkerThatLeavesCostsOnlyItsUnit) {
    World world;
    const FakeNode stays = world.add_node(NodeRole::kWorker);
    const FakeNode leaves = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(2);
    world.settle();
    const auto lost = world.work(leaves);
    const Digest kept = world.commit(stays, world.work(stays))->unit;
    world.clock.advance_ms(600'001);
    world.beat({&stays, &verifier});
    world.settle();
    EXPECT_EQ(world.unit(lost.assignment.unit_id()).status.state, UnitState::kExpired);
    EXPECT_EQ(world.unit(lost.assignment.unit_id()).reason_code, "late_commitment");
    while (world.verify(verifier)) {
    }
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    ASSERT_EQ(rounds[1].record.slots.size(), 1U) << "who is gone gets no slot";
    EXPECT_EQ(rounds[1].record.slots[0].worker, stays.address());
    EXPECT_TRUE(world.unit(kept).included);
}

/// Or a job whose units nobody can finish would have the coordinator evaluate for nothing.
TEST(CoordinatorRounds, ARoundWithoutDeltasIsNotEvaluatedAgain) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(2);
    world.settle();
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    ASSERT_EQ(world.compute.evaluations, 1U);
    (void)world.work(worker);  // of round 2, and never committed
    world.clock.advance_ms(World::terms().lifecycle.unit_ms + 1);
    world.beat({&worker, &verifier});
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    ASSERT_TRUE(rounds[1].validation_loss.has_value());
    EXPECT_EQ(rounds[1].validation_loss, rounds[0].validation_loss);
    EXPECT_EQ(world.compute.evaluations, 1U);
}

/// An evaluation may take as long as a share of a unit, in which all workers would be idle.
TEST(CoordinatorRounds, TheNextRoundDoesNotWaitForTheLoss) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(2);
    world.settle();
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    ASSERT_TRUE(world.verify(verifier));
    while (world.rounds(job).size() < 2)
        world.tick();
    EXPECT_EQ(world.rounds(job)[1].state, registry::RoundState::kRecorded);
    EXPECT_EQ(world.compute.evaluations, 0U);
    world.tick();
    EXPECT_EQ(world.compute.evaluations, 0U) << "the record is on its way";
    world.settle();
    EXPECT_EQ(world.rounds(job)[1].state, registry::RoundState::kOpen);
    EXPECT_EQ(world.compute.evaluations, 1U);
    EXPECT_TRUE(world.rounds(job)[0].validation_loss.has_value());
    EXPECT_FALSE(world.rounds(job)[1].validation_loss.has_value());
}

/// Four workers have a unit each of a round with a quorum and five seconds of grace.
class Quorums : public ::testing::Test {
  protected:
    void begin(std::uint32_t quorum_ppm, std::int64_t unit_ms = World::terms().lifecycle.unit_ms) {
        for (int i = 0; i < 4; ++i)
            workers.push_back(world.add_node(NodeRole::kWorker));
        registry::JobTerms terms = World::terms();
        terms.elastic.quorum_ppm = quorum_ppm;
        terms.lifecycle.grace_ms = 5'000;
        terms.lifecycle.unit_ms = unit_ms;
        job = world.submit_job(terms);
        world.settle();
        for (const FakeNode& worker : workers)
            works.push_back(world.work(worker));
    }
    protocol::UnitStatus status(std::size_t i) {
        return world.unit(works[i].assignment.unit_id()).status;
    }
    UnixMs deadline(std::size_t i) { return status(i).deadline_ms; }
    UnitState state(std::size_t i) { return status(i).state; }

    World world;
    std::vector<FakeNode> workers;
    std::vector<World::Work> works;
    Digest job;
};

TEST_F(Quorums, AQuorumDoesNotWaitForTheSlowest) {
    begin(750'000);
    const UnixMs first = deadline(3);
    for (std::size_t i = 0; i < 2; ++i)
        ASSERT_TRUE(world.commit(workers[i], works[i]).ok());
    world.settle();
    EXPECT_EQ(deadline(3), first) << "half is no quorum";
    ASSERT_TRUE(world.commit(workers[2], works[2]).ok());
    world.settle();
    EXPECT_EQ(deadline(3), world.clock.now_ms() + 5'000);
    EXPECT_EQ(world.rounds(job).at(0).state, registry::RoundState::kOpen) << "the grace time";
    world.clock.advance_ms(5'001);
    world.settle();
    EXPECT_EQ(state(3), UnitState::kExpired);
    EXPECT_NE(world.rounds(job).at(0).state, registry::RoundState::kOpen);
    EXPECT_FALSE(world.commit(workers[3], works[3]).ok()) << "too late";
    EXPECT_FALSE(world.node(workers[3].address()).excluded_at_ms.has_value()) << "and no fault";
}

/// Or a round of which more than a tenth of the workers left waits for its last deadline.
TEST_F(Quorums, ARoundDoesNotWaitForWorkersThatSignedOff) {
    begin(900'000);
    ASSERT_TRUE(world.core().leave(workers[2].address()).ok());
    ASSERT_TRUE(world.core().leave(workers[3].address()).ok());
    ASSERT_TRUE(world.commit(workers[0], works[0]).ok());
    world.clock.advance_ms(1'000);
    world.settle();
    EXPECT_EQ(state(2), UnitState::kAssigned) << "there is no quorum";
    world.beat({&workers[3]});  // it is back
    ASSERT_TRUE(world.commit(workers[1], works[1]).ok());
    world.settle();
    world.clock.advance_ms(1'000);
    world.settle();
    EXPECT_EQ(state(2), UnitState::kAssigned) << "two of the three that are there are no quorum";
    ASSERT_TRUE(world.commit(workers[3], works[3]).ok());
    world.settle();
    world.clock.advance_ms(1);
    world.settle();
    EXPECT_EQ(state(2), UnitState::kExpired) << "without a grace time";
    EXPECT_EQ(world.rounds(job).at(0).commitment_count, 3U);
}

/// One that comes back commits within the grace time, or late.
TEST_F(Quorums, ARoundWaitsTheGraceTimeAloneForWorkersThatAreSilent) {
    begin(900'000, 1'000'000);
    const UnixMs first = deadline(2);
    for (std::size_t i = 0; i < 2; ++i)
        ASSERT_TRUE(world.commit(workers[i], works[i]).ok());
    world.clock.advance_ms(119'000);
    world.beat({&workers[0], &workers[1], &workers[3]});
    world.settle();
    EXPECT_EQ(deadline(2), first) << "two minutes of silence may be a line that is down";
    world.clock.advance_ms(1'001);
    world.settle();
    EXPECT_EQ(deadline(2), first) << "two of the three that are heard are no quorum";
    ASSERT_TRUE(world.commit(workers[3], works[3]).ok());
    world.settle();
    EXPECT_EQ(deadline(2), world.clock.now_ms() + 5'000);
    ASSERT_TRUE(world.commit(workers[2], works[2]).ok()) << "it is back in time";
    world.settle();
    EXPECT_EQ(world.rounds(job).at(0).commitment_count, 4U);
}

TEST(CoordinatorRounds, AHurriedWorkerMayStillCommitInTheGraceTime) {
    World world;
    const FakeNode fast = world.add_node(NodeRole::kWorker);
    const FakeNode slow = world.add_node(NodeRole::kWorker);
    registry::JobTerms terms = World::terms();
    terms.elastic.quorum_ppm = 500'000;
    terms.lifecycle.grace_ms = 5'000;
    const Digest job = world.submit_job(terms);
    world.settle();
    const auto mine = world.work(slow);
    ASSERT_TRUE(world.commit(fast, world.work(fast)).ok());
    world.settle();
    world.clock.advance_ms(4'999);
    ASSERT_TRUE(world.commit(slow, mine).ok());
    world.settle();
    EXPECT_EQ(world.rounds(job).at(0).commitment_count, 2U);
}

/// Otherwise it would get a whole unit again and again, and never have a pace.
TEST(CoordinatorRounds, AWorkerWhoseUnitExpiresGetsHalfAUnitNext) {
    World world;
    const FakeNode fast = world.add_node(NodeRole::kWorker);
    const FakeNode slow = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    registry::JobTerms terms = World::terms();
    terms.rounds = 4;
    terms.workers_min = 2;
    terms.elastic.adapt_steps = true;
    const Digest job = world.submit_job(terms);
    std::vector<std::uint32_t> steps;
    for (std::size_t round = 0; round < 4; ++round) {
        world.settle();
        const auto rounds = world.rounds(job);
        ASSERT_EQ(rounds.size(), round + 1);
        for (const protocol::SlotAssignment& slot : rounds[round].record.slots)
            if (slot.worker == slow.address()) steps.push_back(slot.steps);
        const auto theirs = world.work(fast), mine = world.work(slow);
        world.clock.advance_ms(1'000);  // a quarter of a unit, at the pace of the other one
        if (round == 2) {
            ASSERT_TRUE(world.commit(slow, mine).ok());
        }
        world.clock.advance_ms(3'000);
        ASSERT_TRUE(world.commit(fast, theirs).ok());
        world.clock.advance_ms(600'001);
        world.beat({&fast, &slow, &verifier});
        world.settle();
        while (world.verify(verifier)) {
        }
    }
    EXPECT_EQ(steps, (std::vector<std::uint32_t>{20, 10, 5, 20})) << "once measured, by that";
}

/// The next round gives a slow worker what it can do in the time of the others, and it is paid for
/// that.
TEST(CoordinatorRounds, StepsFollowTheMeasuredPace) {
    World world;
    const FakeNode a = world.add_node(NodeRole::kWorker);
    const FakeNode b = world.add_node(NodeRole::kWorker);
    const FakeNode slow = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    registry::JobTerms terms = World::terms();
    terms.rounds = 2;
    terms.elastic.adapt_steps = true;
    const Digest job = world.submit_job(terms);
    world.settle();
    const auto late = world.work(slow);
    const auto first = world.work(a), second = world.work(b);
    world.clock.advance_ms(10'000);
    ASSERT_TRUE(world.commit(a, first).ok());
    ASSERT_TRUE(world.commit(b, second).ok());
    world.clock.advance_ms(30'000);
    ASSERT_TRUE(world.commit(slow, late).ok());
    world.beat({&a, &b, &slow, &verifier});
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    for (const protocol::SlotAssignment& slot : rounds[0].record.slots)
        EXPECT_EQ(slot.steps, 20U) << "nothing was measured yet";
    for (const protocol::SlotAssignment& slot : rounds[1].record.slots)
        EXPECT_EQ(slot.steps, slot.worker == slow.address() ? 5U : 20U);
    const auto fewer = world.work(slow);
    EXPECT_TRUE(world.commit(slow, fewer).ok());
    EXPECT_EQ(world.unit(fewer.assignment.unit_id()).flops * 4,
              world.unit(late.assignment.unit_id()).flops);
}

TEST(CoordinatorRounds, ARoundHasNoMoreSlotsThanDeltasFitIntoTheStore) {
    World world;
    for (int i = 0; i < 4; ++i)
        (void)world.add_node(NodeRole::kWorker);
    constexpr std::uint64_t kDeltaBytesMax = 64 + 4 * 10;  // FakeCompute's ten parameters
    world.options.deltas_bytes_max = 3 * kDeltaBytesMax - 1;
    world.restart();
    const Digest job = world.submit_job(World::terms());
    world.settle();
    EXPECT_EQ(world.rounds(job).at(0).record.slots.size(), 2U);
}

TEST(CoordinatorRounds, AJobWhoseDeltasNoWorkerCanSendIsPausedAndSaysWhy) {
    World world;
    (void)world.add_node(NodeRole::kWorker);
    world.options.blob_bytes_max = 64 + 4 * 10 - 1;
    world.restart();
    const Digest job = world.submit_job(World::terms());
    world.settle();
    EXPECT_TRUE(world.rounds(job).empty());
    const registry::Job paused = world.job(job);
    EXPECT_EQ(paused.status, registry::JobStatus::kPaused);
    EXPECT_NE(paused.status_reason.find("blob_bytes_max"), std::string::npos)
        << paused.status_reason;
    const auto published = world.database().transact(
        [](db::Transaction& tx) { return registry::published_size_limits(tx); });
    ASSERT_TRUE(published.ok() && *published) << "so that such jobs are refused from now on";
    EXPECT_EQ((*published)->blob_bytes, world.options.blob_bytes_max);
    EXPECT_EQ((*published)->deltas_bytes, world.options.deltas_bytes_max);
}

TEST(CoordinatorRounds, AWorkerWithLessThanTheMinimumOfStakeGetsNoUnit) {
    World world;
    world.options.stake.minimum = Amount(100);
    world.stake.each = Amount(100);
    world.restart();
    const FakeNode staked = world.add_node(NodeRole::kWorker);
    const FakeNode poor = world.add_node(NodeRole::kWorker);
    world.stake.of[poor.address()] = Amount(99);
    const Digest job = world.submit_rounds(2);
    world.settle();
    ASSERT_EQ(world.rounds(job).at(0).record.slots.size(), 1U);
    EXPECT_EQ(world.rounds(job)[0].record.slots[0].worker, staked.address());
    EXPECT_FALSE(world.core().next_unit(poor.address())->has_value());
    const auto status = world.core().node_status(poor.address()).value();
    EXPECT_NE(status.stake_because.find("`gym stake add 0.000000000000000001`"), std::string::npos)
        << status.stake_because;
    EXPECT_EQ(status.idle_because, status.stake_because);
    EXPECT_TRUE(world.core().node_status(staked.address())->stake_because.empty());

    // Stake that it adds counts from the next round on, and so does a withdrawal.
    world.stake.of[poor.address()] = Amount(100);
    world.stake.of[staked.address()] = Amount(0);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    EXPECT_TRUE(world.core().next_unit(staked.address())->has_value())
        << "it continues with this one";
    ASSERT_TRUE(world.commit(staked, world.work(staked)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    ASSERT_EQ(world.rounds(job).size(), 2U);
    ASSERT_EQ(world.rounds(job)[1].record.slots.size(), 1U);
    EXPECT_EQ(world.rounds(job)[1].record.slots[0].worker, poor.address());
}

/// Its units pay 1,000 wei each, and 40 times that is to be at stake.
registry::JobTerms dear_terms() {
    constexpr std::uint64_t kPflop = 1'000'000'000'000'000;
    registry::JobTerms out = World::terms();
    out.price_wei_per_pflop = Amount(1'000 * kPflop / (FakeCompute::kFlopsPerStep * out.steps));
    return out;
}

TEST(CoordinatorRounds, AUnitThatPaysMoreNeedsMoreStake) {
    World world;
    world.options.stake = {Amount(100), 40};
    world.stake.each = Amount(40'001);
    world.restart();
    const FakeNode staked = world.add_node(NodeRole::kWorker);
    const FakeNode poor = world.add_node(NodeRole::kWorker);
    world.stake.of[poor.address()] = Amount(40'000);
    const Digest dear = world.submit_job(dear_terms());
    world.settle();
    ASSERT_EQ(world.rounds(dear).at(0).record.slots.size(), 1U);
    EXPECT_EQ(world.rounds(dear)[0].record.slots[0].worker, staked.address());
    const auto status = world.core().node_status(poor.address()).value();
    EXPECT_NE(status.stake_because.find("needs 40 times its pay at stake"), std::string::npos)
        << status.stake_because;
    EXPECT_NE(status.stake_because.find("`gym stake add 0.000000000000000001`"), std::string::npos)
        << status.stake_because;

    world.clock.advance_ms(1);  // jobs are named by the time
    registry::JobTerms cheap_terms = World::terms();
    cheap_terms.slots_max = 1;  // it waits for nobody else
    const Digest cheap = world.submit_job(cheap_terms);
    world.settle();
    ASSERT_EQ(world.rounds(cheap).at(0).record.slots.size(), 1U);
    EXPECT_EQ(world.rounds(cheap)[0].record.slots[0].worker, poor.address());
    EXPECT_TRUE(world.core().node_status(poor.address())->stake_because.empty());
}

TEST(CoordinatorRounds, AStakeThatBacksNoWholeUnitBacksAShorterOne) {
    World world;
    world.options.stake = {Amount(100), 40};
    world.stake.each = Amount(40'001);
    world.restart();
    const FakeNode staked = world.add_node(NodeRole::kWorker);
    const FakeNode poor = world.add_node(NodeRole::kWorker);
    world.stake.of[poor.address()] = Amount(10'001);
    registry::JobTerms terms = dear_terms();
    terms.elastic.adapt_steps = true;
    const Digest job = world.submit_job(terms);
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.at(0).record.slots.size(), 2U);
    for (const protocol::SlotAssignment& slot : rounds[0].record.slots)
        EXPECT_EQ(slot.steps, slot.worker == poor.address() ? terms.steps / 4 : terms.steps);
}

/// A worker may order work of itself: what it is worth is what its record says.
TEST(CoordinatorRounds, ARecordOfTinyUnitsLowersNoRateOfADearOne) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest tiny = world.submit_rounds(1);
    world.settle();
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    world.pass_deadline({&worker, &verifier});
    EXPECT_EQ(world.node(worker.address()).valid_value, world.value_of_units(tiny, 1));
    ASSERT_TRUE(world.owner()
                    .transact([&](db::Transaction& tx) -> Status {
                        GYM_CHECK(tx.exec("UPDATE registry.node SET valid_value = $1",
                                          {world.value_of_units(tiny, 20)}));
                        return {};
                    })
                    .ok());
    const Digest dear = world.submit_job(dear_terms());
    world.settle();
    EXPECT_EQ(world.rounds(dear).at(0).record.slots.at(0).sampling_rate_ppm, kPpm);
}

TEST(CoordinatorRounds, TheStakesOfAllWorkersAreOneQuestion) {
    World world;
    world.options.stake.minimum = Amount(100);
    world.stake.each = Amount(100);
    world.restart();
    for (int i = 0; i < 20; ++i)
        world.add_node(NodeRole::kWorker);
    registry::JobTerms terms = World::terms();
    terms.slots_max = 20;
    terms.rounds = 1;
    const Digest job = world.submit_job(terms);
    world.settle();
    ASSERT_EQ(world.rounds(job).at(0).record.slots.size(), 20U);
    EXPECT_EQ(world.stake.questions, 1);
}

TEST(CoordinatorRounds, ARoundWaitsWhileStakesCannotBeRead) {
    World world;
    world.options.stake.minimum = Amount(100);
    world.stake.each = Amount(100);
    world.stake.down = true;
    world.restart();
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const Digest job = world.submit_job(World::terms());
    coordinator::TickSummary last;
    for (int i = 0; i < 3; ++i)
        last = world.tick();
    EXPECT_TRUE(world.rounds(job).empty());
    ASSERT_FALSE(last.errors.empty());
    EXPECT_NE(last.errors[0].find("stakes of 1 workers: the chain does not answer"),
              std::string::npos)
        << last.errors[0];
    EXPECT_NE(world.core().node_status(worker.address())->stake_because.find("could not be read"),
              std::string::npos);
    world.stake.down = false;
    world.settle();
    EXPECT_EQ(world.rounds(job).size(), 1U);
}

TEST(CoordinatorRounds, ANewWorkerJoinsAtTheNextRound) {
    World world;
    const FakeNode first = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(2);
    world.settle();
    const FakeNode late = world.add_node(NodeRole::kWorker);
    const auto nothing = world.core().next_unit(late.address());
    ASSERT_TRUE(nothing.ok());
    EXPECT_FALSE(nothing->has_value());
    EXPECT_EQ(world.core().node_status(late.address())->idle_because,
              "waiting for the next round to begin");
    ASSERT_TRUE(world.commit(first, world.work(first)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    EXPECT_EQ(world.rounds(job)[1].record.slots.size(), 2U);
    EXPECT_TRUE(world.core().next_unit(late.address())->has_value());
}

TEST(CoordinatorRounds, TheSamplingRateFallsWithARunOfValidUnits) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    registry::JobTerms terms = World::terms();
    terms.rounds = 4;
    terms.sampling.aggregate_ppm = 0;
    const Digest job = world.submit_job(terms);
    for (int round = 0; round < 4; ++round) {
        world.settle();
        ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
        world.settle();
        while (world.verify(verifier)) {
        }
        world.clock.advance_ms(60'001);
        world.beat({&worker, &verifier});
        // Finality before the next record, as it is when rounds are longer than the challenge
        // window.
        world.settle();
    }
    std::vector<std::uint32_t> rates;
    for (const registry::Round& round : world.rounds(job))
        rates.push_back(round.record.slots.at(0).sampling_rate_ppm);
    EXPECT_EQ(rates.front(), kPpm);
    EXPECT_LT(rates.back(), kPpm);
    EXPECT_TRUE(std::is_sorted(rates.rbegin(), rates.rend()));
}

TEST(CoordinatorRounds, WithoutAVerifierUnitsEndUnpaidAndTheJobGoesOn) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const Digest job = world.submit_job(World::terms());
    world.settle();
    const Digest unit = world.commit(worker, world.work(worker))->unit;
    world.settle();
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kSampled);
    world.pass_deadline({&worker});
    world.pass_deadline({&worker});
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kUnpaid);
    EXPECT_EQ(world.unit(unit).reason_code, "no_report");
    world.pass_deadline({&worker});  // nobody computes the loss again, either
    world.pass_deadline({&worker});
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    EXPECT_EQ(world.rounds(job)[0].next_base, world.rounds(job)[0].base)
        << "nothing was accepted, so the base state stays";
}

TEST(CoordinatorRounds, TheFeedHasNoGapsAndNamesWhoIsCredited) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    world.submit_job(World::terms());
    world.settle();
    const Digest unit = world.commit(worker, world.work(worker))->unit;
    world.settle();
    while (world.verify(verifier)) {
    }
    world.pass_deadline({&worker, &verifier});
    const auto events =
        world.database()
            .transact([](db::Transaction& tx) { return registry::read_events(tx, 0, 1000); })
            .value();
    std::vector<UnitState> states;
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].seq, i + 1);
        if (events[i].unit != unit) continue;
        states.push_back(events[i].to);
        EXPECT_EQ(events[i].owner, worker.address());
        EXPECT_EQ(events[i].flops, events[i].to == UnitState::kAssigned ? 0U : 20'000'000U);
    }
    EXPECT_EQ(states, (std::vector<UnitState>{UnitState::kAssigned, UnitState::kCommitted,
                                              UnitState::kSampled, UnitState::kReported,
                                              UnitState::kRevealed, UnitState::kVerified,
                                              UnitState::kFinal}));
    const auto reports = world.database()
                             .transact([](db::Transaction& tx) {
                                 return registry::read_accepted_reports(tx, 0, 1000);
                             })
                             .value();
    ASSERT_GE(reports.size(), 1U);
    EXPECT_EQ(reports[0].verifier, verifier.address());
    EXPECT_EQ(reports[0].flops, 20'000'000U);
    EXPECT_FALSE(reports[0].found_fault);
}

}  // namespace
}  // namespace gym::testing
