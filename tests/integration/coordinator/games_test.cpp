// Effects of games on chain on units, whoever plays them: nothing is final too early, and a node
// that is right loses nothing by them.
#include "games_fixture.hpp"

namespace gym::testing {
namespace {

TEST_F(CoordinatorGames, NoUnitIsFinalBeforeItsWindowOnChainIsOver) {
    const Digest unit = commit(honest);
    commit(other);
    aggregate();
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kVerified) << "its deadline alone is not enough";
    const std::uint64_t posted = *world.rounds(job)[0].posted_block;
    // The last block in which a game may be opened has been seen, but none behind it.
    world.chain.mine(posted + world.chain.window_blocks - world.chain.head());
    world.tick();
    EXPECT_EQ(state(unit), UnitState::kVerified);
    world.chain.mine();
    world.tick();
    EXPECT_EQ(state(unit), UnitState::kFinal);
}

TEST_F(CoordinatorGames, TheWindowAloneIsNotEnoughEither) {
    const Digest unit = commit(honest);
    commit(other);
    aggregate();
    pass_window();
    EXPECT_EQ(state(unit), UnitState::kVerified);
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kFinal);
}

TEST_F(CoordinatorGames, WhatWasNotReadOfTheChainIsNotOver) {
    const Digest unit = commit(honest);
    commit(other);
    aggregate();
    world.chain.mine(world.chain.window_blocks);
    world.chain.down = true;
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kVerified);
    world.chain.down = false;
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kFinal);
}

TEST_F(CoordinatorGames, AGameAboutOneUnitKeepsAllUnitsOfItsWorker) {
    const Digest first = commit(honest);
    const Digest others = commit(other);
    aggregate();
    const Digest second = commit(honest);
    open_game(honest);
    commit(other);
    aggregate();
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(second), UnitState::kDisputed) << "the game is about this one";
    EXPECT_EQ(state(first), UnitState::kVerified);
    EXPECT_EQ(state(others), UnitState::kFinal) << "nobody else waits";
    end_game(honest);
    world.settle();
    EXPECT_EQ(state(first), UnitState::kFinal);
    EXPECT_EQ(state(second), UnitState::kUpheld);
    pass_deadline();
    EXPECT_EQ(state(second), UnitState::kFinal);
    EXPECT_FALSE(node(verifier).excluded) << "its report was right";
    EXPECT_FALSE(node(honest).excluded);
}

TEST_F(CoordinatorGames, AGameThatIsOpenedAfterItsWindowDelaysNoUnit) {
    const Digest first = commit(honest);
    commit(other);
    aggregate();
    pass_window();
    ASSERT_EQ(state(first), UnitState::kVerified);
    const Digest second = commit(honest);
    commit(other);
    aggregate();
    open_game(honest);
    pass_deadline();
    EXPECT_EQ(state(first), UnitState::kFinal) << "or games about newer units keep it for ever";
    EXPECT_EQ(state(second), UnitState::kDisputed);
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(second), UnitState::kDisputed) << "its own game continues";
}

TEST_F(CoordinatorGames, AGameThatWasOpenedInTheLastBlockOfItsWindowDelaysAUnit) {
    const Digest first = commit(honest);
    commit(other);
    aggregate();
    const Digest second = commit(honest);
    commit(other);
    aggregate();
    const std::uint64_t last = *world.rounds(job)[0].posted_block + world.chain.window_blocks;
    world.chain.mine(last - 1 - world.chain.head());
    open_game(honest);
    ASSERT_EQ(world.chain.head(), last);
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(second), UnitState::kDisputed);
    EXPECT_EQ(state(first), UnitState::kVerified);
    end_game(honest);
    world.settle();
    EXPECT_EQ(state(first), UnitState::kFinal);
}

TEST_F(CoordinatorGames, ABondKeepsNoDeltaOutAndNobodyFromWork) {
    const Digest unit = commit(honest);
    commit(other);
    verify_all();
    open_game(honest);
    world.tick();
    EXPECT_TRUE(world.unit(unit).included);
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kDisputed) << "once that is decided, everybody may know";
    EXPECT_EQ(world.unit(unit).reason_code, "challenged");
    EXPECT_TRUE(world.core().next_unit(honest.address())->has_value());
    prove(honest);
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kSlashed);
    EXPECT_EQ(world.unit(unit).reason_code, "game_proved");
}

TEST_F(CoordinatorGames, AnAggregateWaitsForItsWindowAndItsGamesAsWell) {
    commit(honest);
    commit(other);
    aggregate();
    while (world.verify(verifier)) {
    }
    pass_deadline();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kVerified);
    world.chain.play({aggregate_name(1), world.key.address(), 1, false});
    pass_window();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kDisputed);
    world.chain.play({aggregate_name(1), world.key.address(), 0, false});
    world.chain.mine();
    world.settle();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kUpheld);
    pass_deadline();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kFinal);
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kRunning);
}

/// Even if its round's window is over: its own window begins with the record that names it.
TEST_F(CoordinatorGames, AnAggregateThatIsNotOnChainIsNotFinal) {
    commit(honest);
    commit(other);
    world.chain.takes_rounds = false;
    aggregate();
    while (world.verify(verifier)) {
    }
    pass_deadline();
    pass_window();
    pass_window();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kVerified);
    ASSERT_EQ(world.rounds(job).size(), 2U);
    EXPECT_EQ(world.rounds(job)[1].state, registry::RoundState::kRecorded);
    EXPECT_EQ(world.chain.aggregates(), 0U) << "the next record will bring it";
    world.chain.takes_rounds = true;
    world.settle();
    EXPECT_EQ(world.rounds(job)[1].state, registry::RoundState::kOpen);
    EXPECT_EQ(world.chain.aggregates(), 1U);
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kVerified) << "its window has begun";
    while (world.verify(verifier)) {
    }  // the loss
    pass_deadline();
    pass_window();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kFinal);
    EXPECT_EQ(world.rounds(job)[0].state, registry::RoundState::kClosed);
}

/// No record follows: the coordinator posts it alone, so that its window ends.
TEST_F(CoordinatorGames, TheAggregateOfAPausedJobComesOnChainAlone) {
    commit(honest);
    commit(other);
    const Status paused = world.owner().transact([&](db::Transaction& tx) {
        return registry::request_job(tx, job, registry::JobRequest::kPause);
    });
    ASSERT_TRUE(paused.ok()) << paused.error().message;
    aggregate();
    while (world.verify(verifier)) {
    }
    world.settle();
    ASSERT_EQ(world.rounds(job).size(), 1U);
    EXPECT_EQ(world.chain.aggregates(), 1U);
    pass_deadline();
    pass_window();
    EXPECT_EQ(aggregate_unit(1).status.state, UnitState::kFinal);
}

/// As the log checks it: the base of the second round is the first one's.
TEST_F(CoordinatorGames, ARoundWithoutDeltasKeepsItsBase) {
    world.clock.advance_ms(World::terms().lifecycle.unit_ms + 1);
    world.beat({&honest, &other, &verifier});
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 2U);
    EXPECT_NE(rounds[1].state, registry::RoundState::kRecorded) << "the chain took it";
    EXPECT_EQ(rounds[1].base, rounds[0].base);
    EXPECT_EQ(world.chain.aggregates(), 0U);
}

TEST_F(CoordinatorGames, GamesThatAReorganisationTookAreForgotten) {
    const Digest unit = commit(honest);
    commit(other);
    aggregate();
    open_game(honest);
    world.settle();
    ASSERT_EQ(state(unit), UnitState::kDisputed);
    world.chain.play({name(honest), Address(), 0, false});
    pass_window();
    EXPECT_EQ(state(unit), UnitState::kDisputed) << "nobody has spoken for it";
    pass_deadline();
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kFinal) << "the referee did";
}

TEST_F(CoordinatorGames, AFreshInstanceAfterEveryTickChangesNothing) {
    const Digest unit = commit(honest);
    const Digest bad = commit(other);
    verify_all();
    for (int i = 0; i < 40; ++i) {
        if (i == 5) open_game(other);
        if (i == 20) prove(other);
        world.restart();
        world.tick();
        world.restart();
        while (world.verify(verifier)) {
        }
        world.chain.mine(100);
        world.clock.advance_ms(10'000);
        world.beat({&honest, &verifier});
        if (i == 19) {
            EXPECT_EQ(state(bad), UnitState::kDisputed);
        }
    }
    EXPECT_EQ(state(unit), UnitState::kFinal);
    EXPECT_EQ(state(bad), UnitState::kSlashed);
    EXPECT_TRUE(node(other).excluded);
}

TEST_F(CoordinatorGames, AUnitThatCannotBecomeDisputedKeepsNoOtherOneWaiting) {
    const Digest stuck = commit(honest);
    const Digest unit = commit(other);
    aggregate();
    ASSERT_TRUE(world.owner()
                    .transact([&](db::Transaction& tx) -> Status {
                        GYM_TRY([[maybe_unused]] const auto function,
                                tx.exec("CREATE FUNCTION registry.refuse() RETURNS trigger AS $$ "
                                        "BEGIN RAISE EXCEPTION 'not this one'; END $$ "
                                        "LANGUAGE plpgsql"));
                        GYM_TRY([[maybe_unused]] const auto trigger,
                                tx.exec("CREATE TRIGGER refuse BEFORE UPDATE ON registry.unit FOR "
                                        "EACH ROW WHEN (NEW.state = 'disputed' AND NEW.id = '\\x" +
                                        to_hex(stuck.view()) +
                                        "'::bytea) EXECUTE FUNCTION registry.refuse()"));
                        return {};
                    })
                    .ok());
    open_game(honest);
    open_game(other);
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kDisputed);
    EXPECT_EQ(state(stuck), UnitState::kVerified);
    const auto errors = world.tick().errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_NE(errors[0].find("not this one"), std::string::npos) << errors[0];
}

TEST_F(CoordinatorGames, TheChainIsLookedAtOnceATick) {
    commit(honest);
    commit(other);
    aggregate();
    const int before = world.chain.game_looks;
    for (int i = 0; i < 10; ++i)
        world.tick();
    EXPECT_EQ(world.chain.game_looks, before + 10) << "however many units there are";
}

}  // namespace
}  // namespace gym::testing
