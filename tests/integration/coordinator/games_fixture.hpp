#pragma once

#include <gtest/gtest.h>

#include <map>

#include "fake_world.hpp"
#include "gym/game/evidence.hpp"

namespace gym::testing {

using protocol::UnitState;
using records::NodeRole;

/// A network that plays games: two workers, a verifier, a job of three rounds, or of five whose
/// aggregates subtract what is proven wrong.
class CoordinatorGames : public ::testing::Test {
  protected:
    explicit CoordinatorGames(bool subtract = false)
        : honest(world.add_node(NodeRole::kWorker)),
          other(world.add_node(NodeRole::kWorker)),
          verifier(world.add_node(NodeRole::kVerifier)) {
        world.chain.games_contract = Address::parse("0x" + std::string(40, '7')).value();
        registry::JobTerms terms = World::terms();
        terms.rounds = subtract ? 5 : 3;
        terms.elastic.subtract = subtract;
        job = world.submit_job(terms);
        world.settle();
    }
    void pass_deadline() { world.pass_deadline({&honest, &other, &verifier}); }
    void pass_window() {
        world.chain.mine(world.chain.window_blocks);
        world.settle();
    }
    void verify_all(bool lie = false) {
        world.settle();
        while (world.verify(verifier, lie)) {
        }
    }
    void aggregate() {
        verify_all();
        world.settle();
    }
    Digest commit(const FakeNode& worker) {
        return world.commit(worker, remember(worker, world.work(worker)))->unit;
    }
    Digest commit_wrong(const FakeNode& worker) {
        return world.commit(worker, remember(worker, world.cheat(worker, 5)))->unit;
    }
    const World::Work& remember(const FakeNode& worker, World::Work work) {
        return signed_[worker.address()] = std::move(work);
    }
    /// The chain's name for what the worker signed last.
    Digest name(const FakeNode& worker) {
        return game::unit_of(world.options.domain, signed_.at(worker.address()).commitment).value();
    }
    void open_game(const FakeNode& worker) {
        world.chain.play({name(worker), worker.address(), 1, false});
        world.chain.mine();
    }
    void end_game(const FakeNode& worker) {
        world.chain.play({name(worker), worker.address(), 0, false});
        world.chain.mine();
    }
    void prove(const FakeNode& worker) {
        world.chain.play({name(worker), worker.address(), 0, true});
        world.chain.mine();
    }
    UnitState state(const Digest& unit) { return world.unit(unit).status.state; }
    registry::Node node(const FakeNode& of) { return world.node(of.address()); }
    void expect_slashed(const Digest& unit) {
        const registry::Unit slashed = world.unit(unit);
        EXPECT_EQ(slashed.status.state, UnitState::kSlashed);
        EXPECT_EQ(slashed.reason_code, "game_proved");
        EXPECT_EQ(slashed.reason,
                  protocol::name_unit(slashed.key) + ": a game on chain proved a fault");
        EXPECT_TRUE(node(other).excluded);
        EXPECT_EQ(node(other).excluded_reason, slashed.reason);
        EXPECT_FALSE(node(honest).excluded);
        EXPECT_FALSE(node(verifier).excluded) << "who was not asked is not at fault";
    }
    registry::Unit aggregate_unit(std::uint64_t round) {
        return world.unit(protocol::unit_id({job, round, protocol::kAggregateSlot, 0}));
    }
    Digest aggregate_name(std::uint64_t round) {
        const Digest id = protocol::unit_id({job, round, protocol::kAggregateSlot, 0});
        const auto stored = world.database().transact(
            [&](db::Transaction& tx) { return registry::find_commitment(tx, id); });
        return game::unit_of(world.options.domain, stored.value()->commitment).value();
    }

    World world;
    FakeNode honest, other, verifier;
    Digest job;
    std::map<Address, World::Work> signed_;
};

}  // namespace gym::testing
