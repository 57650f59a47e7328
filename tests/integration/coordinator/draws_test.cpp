// Which verifier a drawn unit goes to, and what happens when that one goes away.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "fake_world.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

Digest digest(std::uint8_t fill) {
    Digest out;
    out.data.fill(fill);
    return out;
}

constexpr std::int64_t kReportMs = 2'400'000;
constexpr std::int64_t kSilenceMs = kReportMs / 8;

/// A round of six new workers, all of whose units are drawn, and three verifiers.
class Draws : public ::testing::Test {
  protected:
    Draws() {
        for (int i = 0; i < 6; ++i)
            workers.push_back(world.add_node(NodeRole::kWorker));
        for (int i = 0; i < 3; ++i)
            verifiers.push_back(world.add_node(NodeRole::kVerifier));
        registry::JobTerms terms = World::terms();
        terms.sampling.aggregate_ppm = 0;
        terms.lifecycle.report_ms = kReportMs;
        world.submit_job(terms);
        world.settle();
        for (const FakeNode& worker : workers)
            units.push_back(world.commit(worker, world.work(worker))->unit);
        world.settle();
    }
    /// The units that each verifier has.
    std::map<Address, std::vector<Digest>> given() {
        std::map<Address, std::vector<Digest>> out;
        for (const Digest& id : units) {
            const registry::Unit unit = world.unit(id);
            if (unit.status.state == UnitState::kSampled && unit.verifier)
                out[*unit.verifier].push_back(id);
        }
        return out;
    }
    void beat_but(const FakeNode& silent) {
        for (const FakeNode& node : verifiers)
            if (node.address() != silent.address()) world.beat({&node});
    }
    /// Time passes with heartbeats of all verifiers but one.
    void pass_without(const FakeNode& silent, std::int64_t ms) {
        for (; ms > 0; ms -= 10'000) {
            world.clock.advance_ms(std::min<std::int64_t>(ms, 10'000));
            beat_but(silent);
        }
        world.settle();
    }

    World world;
    std::vector<FakeNode> workers, verifiers;
    std::vector<Digest> units;
};

TEST(DrawsByDrand, ARoundWaitsForTheDrandRoundThatTheChainNames) {
    World world;
    world.chain.drand = 7;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(1);
    world.settle();
    const Digest unit = world.commit(worker, world.work(worker))->unit;
    world.settle();
    registry::Round round = world.rounds(job).at(0);
    EXPECT_EQ(round.state, registry::RoundState::kPosted) << "whatever blocks come";
    EXPECT_EQ(round.drand_round, 7U);
    EXPECT_FALSE(round.beacon_block);
    world.chain.drand_proven = digest(0x77);
    world.settle();
    round = world.rounds(job).at(0);
    EXPECT_EQ(round.beacon, digest(0x77));
    EXPECT_EQ(world.unit(unit).status.state, UnitState::kSampled);
    EXPECT_TRUE(world.verify(verifier));
}

TEST(Slots, NewcomersThatKnowTheBeaconGetTheSlotsThatAreLeft) {
    World world;
    std::vector<FakeNode> before;
    for (int i = 0; i < 2; ++i)
        before.push_back(world.add_node(NodeRole::kWorker));
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    registry::JobTerms terms = World::terms();
    terms.rounds = 2;
    terms.slots_max = 2;
    const Digest job = world.submit_job(terms);
    world.settle();
    for (const FakeNode& worker : before)
        ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    ASSERT_TRUE(world.rounds(job).at(0).beacon) << "known to everybody";
    world.clock.advance_ms(1);
    // Of twenty addresses some have a lower hash than both workers.
    for (int i = 0; i < 20; ++i)
        world.add_node(NodeRole::kWorker);
    while (world.verify(verifier))
        world.settle();
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    ASSERT_EQ(rounds[1].record.slots.size(), 2U);
    for (const protocol::SlotAssignment& slot : rounds[1].record.slots)
        EXPECT_TRUE(slot.worker == before[0].address() || slot.worker == before[1].address());
}

TEST_F(Draws, VerifiersHaveEquallyManyUnitsOfARound) {
    ASSERT_EQ(given().size(), 3U);
    for (const auto& [verifier, of] : given())
        EXPECT_EQ(of.size(), 2U) << verifier.hex();
}

TEST_F(Draws, WhatAVerifierLeavesGoesToTheOthersAtOnce) {
    const FakeNode& leaves = verifiers.front();
    const auto left = given().at(leaves.address());
    ASSERT_TRUE(world.core().leave(leaves.address()).ok());
    world.settle();
    const auto now = given();
    ASSERT_EQ(now.size(), 2U);
    for (const auto& [verifier, of] : now)
        EXPECT_EQ(of.size(), 3U) << verifier.hex();
    for (const Digest& id : left)
        EXPECT_EQ(world.unit(id).status.draws, 2U);
}

TEST_F(Draws, AVerifierThatIsSilentForLongLosesItsUnits) {
    const FakeNode& silent = verifiers.front();
    pass_without(silent, kSilenceMs - 10'000);
    EXPECT_EQ(given().at(silent.address()).size(), 2U) << "its line may be down";
    pass_without(silent, 20'000);
    EXPECT_FALSE(given().contains(silent.address()));
    EXPECT_EQ(given().size(), 2U);
}

/// Nodes that could not reach the coordinator have been silent through no fault of theirs.
TEST_F(Draws, AfterARestartVerifiersHaveTimeToComeBack) {
    world.clock.advance_ms(2 * kSilenceMs);
    world.restart();
    world.settle();
    const FakeNode& comes_late = verifiers.front();
    pass_without(comes_late, kSilenceMs - 10'000);
    EXPECT_EQ(given().size(), 3U);
    pass_without(comes_late, 20'000);
    EXPECT_FALSE(given().contains(comes_late.address()));
}

/// There are two draws; a unit that were drawn once more would end unpaid.
TEST_F(Draws, TheLastDrawIsLeftToItsDeadline) {
    ASSERT_TRUE(world.core().leave(verifiers[0].address()).ok());
    world.settle();
    ASSERT_TRUE(world.core().leave(verifiers[1].address()).ok());
    world.settle();
    int waiting = 0;
    for (const Digest& id : units) {
        const registry::Unit unit = world.unit(id);
        EXPECT_EQ(unit.status.state, UnitState::kSampled);
        waiting += unit.verifier == verifiers[1].address() ? 1 : 0;
    }
    EXPECT_EQ(waiting, 1) << "of its three units, what it had from the one that left first";
    EXPECT_EQ(given().at(verifiers[2].address()).size(), 5U);
}

}  // namespace
}  // namespace gym::testing
