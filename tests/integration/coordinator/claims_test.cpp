// Claims that the coordinator leaves to the player of games on chain.
#include "games_fixture.hpp"
#include "gym/commit/merkle.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

TEST_F(CoordinatorGames, TwoSignedCommitmentsAreEvidenceUntilAPlayerHasThem) {
    const World::Work first = world.work(other);
    ASSERT_TRUE(world.commit(other, first).ok());
    World::Work second = first;
    second.commitment.commitment.final_state_root.data[0] ^= 1;
    second.commitment =
        protocol::sign(world.options.domain, second.commitment.commitment, other.key);
    EXPECT_EQ(world.commit(other, second).error().code, ErrorCode::kConflict);
    World::Work third = second;
    third.commitment.commitment.final_state_root.data[1] ^= 1;
    third.commitment = protocol::sign(world.options.domain, third.commitment.commitment, other.key);
    EXPECT_EQ(world.commit(other, third).error().code, ErrorCode::kConflict);
    const auto unfiled = [&] {
        return world.database()
            .transact([](db::Transaction& tx) { return registry::unfiled_equivocations(tx); })
            .value();
    };
    const auto found = unfiled();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].unit, first.assignment.unit_id());
    EXPECT_EQ(found[0].key, first.assignment.unit);
    EXPECT_EQ(found[0].worker, other.address());
    EXPECT_EQ(found[0].first, first.commitment);
    EXPECT_EQ(found[0].second, second.commitment);
    ASSERT_TRUE(world.database()
                    .transact([&](db::Transaction& tx) {
                        return registry::mark_equivocation_filed(tx, found[0].unit, 1);
                    })
                    .ok());
    EXPECT_TRUE(unfiled().empty());
}

class CoordinatorClaims : public CoordinatorGames {
  protected:
    CoordinatorClaims() {
        world.claims = player::ClaimStore::open(folder_.path() / "claims").value();
        world.restart();
    }
    TemporaryFolder folder_;
};

TEST_F(CoordinatorClaims, AnAggregateIsStoodByWithAllThatAGameNeeds) {
    commit(honest);
    commit(other);
    verify_all();
    world.settle();
    const auto held = world.claims->list();
    ASSERT_EQ(held.size(), 1U);
    const player::Claim& claim = *held[0];
    EXPECT_EQ(claim.role, player::Role::kDefend);
    EXPECT_EQ(claim.subject, player::Subject::kAggregate);
    EXPECT_TRUE(player::check(claim).ok());
    const registry::Round round = world.rounds(job)[0];
    EXPECT_EQ(claim.key, (protocol::UnitKey{job, 1, protocol::kAggregateSlot, 0}));
    EXPECT_EQ(claim.round, round.record);
    EXPECT_EQ(game::unit_of(world.options.domain, claim.evidence.commitment).value(),
              aggregate_name(1));
    EXPECT_EQ(claim.base_state_blob, round.base.blob);
    EXPECT_EQ(claim.momentum_blob, round.momentum.blob);
    EXPECT_EQ(claim.program_blob, world.job(job).artifacts->program_blob);
    EXPECT_EQ(claim.epoch_block, round.posted_block);
    ASSERT_EQ(claim.deltas.size(), 2U);
    EXPECT_EQ(claim.deltas, world.rounds(job)[1].record.included);
    std::vector<Digest> leaves;
    for (const protocol::SignedCommitment& commitment : claim.epoch)
        leaves.push_back(protocol::commitment_leaf(commitment));
    EXPECT_EQ(commit::merkle_root(leaves), round.commitments_root);
}

TEST_F(CoordinatorClaims, AnInstanceWithAnEmptyFolderStandsByWhatIsNotFinal) {
    commit(honest);
    commit(other);
    verify_all();
    world.settle();
    const auto held = world.claims->list();
    ASSERT_EQ(held.size(), 1U);
    world.claims = player::ClaimStore::open(folder_.path() / "another").value();
    world.restart();
    world.tick();
    const auto restored = world.claims->list();
    ASSERT_EQ(restored.size(), 1U);
    EXPECT_EQ(*restored[0], *held[0]);
    while (world.verify(verifier)) {
    }
    pass_deadline();
    pass_window();
    ASSERT_EQ(aggregate_unit(1).status.state, UnitState::kFinal);
    world.claims = player::ClaimStore::open(folder_.path() / "a third").value();
    world.restart();
    world.tick();
    EXPECT_TRUE(world.claims->list().empty());
}

TEST_F(CoordinatorClaims, AnInstanceThatRunsStandsByWhatAnotherOneSigned) {
    const auto own = player::ClaimStore::open(folder_.path() / "another").value();
    const auto second = world.beside(own.get());
    ASSERT_TRUE(second->tick().ok()) << "it runs before anything is signed";
    commit(honest);
    commit(other);
    verify_all();
    world.settle();
    ASSERT_EQ(world.claims->list().size(), 1U);
    ASSERT_TRUE(own->list().empty());
    const auto ticked = second->tick();
    ASSERT_TRUE(ticked.ok() && ticked->errors.empty());
    ASSERT_EQ(own->list().size(), 1U);
    EXPECT_EQ(*own->list()[0], *world.claims->list()[0]);
}

TEST_F(CoordinatorClaims, AClaimOnWhatWasNotStoredGivesWayToTheRegistrys) {
    commit(honest);
    commit(other);
    verify_all();
    world.settle();
    const player::Claim right = *world.claims->list().at(0);
    player::Claim lost = right;
    lost.evidence.commitment.commitment.final_state_root.data[0] ^= 1;
    lost.evidence.commitment =
        protocol::sign(world.options.domain, lost.evidence.commitment.commitment, world.key);
    ASSERT_TRUE(world.claims->save(lost).ok());
    world.tick();
    ASSERT_EQ(world.claims->list().size(), 1U);
    EXPECT_EQ(*world.claims->list()[0], right);
}

TEST_F(CoordinatorClaims, WhatCanBeInNoGameIsLeftForgotten) {
    commit(honest);
    commit(other);
    verify_all();
    world.settle();
    const player::Claim claim = *world.claims->list().at(0);
    ASSERT_TRUE(world.claims->remove(claim).ok());
    world.tick();
    ASSERT_TRUE(world.claims->contains(claim)) << "there may be a game";
    pass_window();
    ASSERT_NE(aggregate_unit(1).status.state, UnitState::kFinal);
    ASSERT_TRUE(world.claims->remove(claim).ok());
    world.tick();
    EXPECT_FALSE(world.claims->contains(claim));
}

TEST_F(CoordinatorClaims, AnAggregateWhoseClaimCannotBeKeptIsNotSigned) {
    commit(honest);
    commit(other);
    verify_all();
    std::filesystem::remove_all(folder_.path() / "claims");
    const auto failed = world.tick();
    ASSERT_EQ(failed.errors.size(), 1U);
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kVerifying);
    std::filesystem::create_directories(folder_.path() / "claims");
    world.settle();
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kAggregated);
    EXPECT_EQ(world.claims->list().size(), 1U);
}

TEST_F(CoordinatorClaims, AWorkerThatSignsTwiceIsLeftToThePlayerOnce) {
    const World::Work first = world.work(other);
    ASSERT_TRUE(world.commit(other, first).ok());
    World::Work second = first;
    second.commitment.commitment.final_state_root.data[0] ^= 1;
    second.commitment =
        protocol::sign(world.options.domain, second.commitment.commitment, other.key);
    EXPECT_EQ(world.commit(other, second).error().code, ErrorCode::kConflict);
    world.tick();
    const auto held = world.claims->list();
    ASSERT_EQ(held.size(), 1U);
    const player::Claim claim = *held[0];
    EXPECT_EQ(claim.role, player::Role::kChallenge);
    EXPECT_FALSE(claim.salt.is_zero());
    const auto conflict = player::conflict_of(claim);
    ASSERT_TRUE(conflict.ok());
    const auto found = game::decide_conflict(world.options.domain, *conflict);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->asserter, other.address());
    EXPECT_EQ(found->field, game::kEquivocationField);
    // The player is done with it: nobody files it again.
    ASSERT_TRUE(world.claims->remove(claim).ok());
    world.restart();
    world.settle();
    EXPECT_TRUE(world.claims->list().empty());
    // What the chain says then is of no unit that the coordinator took, or of the first.
    world.chain.play({found->unit, other.address(), 0, true});
    world.chain.mine();
    world.settle();
    EXPECT_TRUE(world.tick().errors.empty());
    EXPECT_EQ(world.unit(first.assignment.unit_id()).reason_code, "equivocation");
}

}  // namespace
}  // namespace gym::testing
