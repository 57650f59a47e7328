// What games on chain prove, and what they do not: who is proven wrong loses what it has, and one
// that is lost on purpose acquits nobody.
#include "games_fixture.hpp"

namespace gym::testing {
namespace {

TEST_F(CoordinatorGames, a_fault_that_anybody_proves_slashes_a_committed_unit) {
    const Digest unit = commit(other);
    ASSERT_EQ(state(unit), UnitState::kCommitted);
    prove(other);
    world.settle();
    expect_slashed(unit);
}

TEST_F(CoordinatorGames, a_fault_that_anybody_proves_slashes_a_unit_that_is_being_verified) {
    const Digest unit = commit(other);
    commit(honest);
    world.settle();
    ASSERT_EQ(state(unit), UnitState::kSampled);
    prove(other);
    world.settle();
    expect_slashed(unit);
    EXPECT_TRUE(world.verify(verifier)) << "the other unit's draw goes on";
    EXPECT_FALSE(world.verify(verifier));
}

TEST_F(CoordinatorGames, a_fault_that_anybody_proves_slashes_a_verified_unit) {
    const Digest unit = commit(other);
    const Digest right = commit(honest);
    verify_all();
    ASSERT_EQ(state(unit), UnitState::kVerified);
    prove(other);
    world.settle();
    expect_slashed(unit);
    EXPECT_FALSE(world.unit(unit).included) << "a delta that is known to be wrong";
    EXPECT_TRUE(world.unit(right).included);
}

TEST_F(CoordinatorGames, a_fault_that_a_report_found_keeps_its_reason) {
    commit(honest);
    const Digest bad = commit_wrong(other);
    verify_all();
    ASSERT_EQ(state(bad), UnitState::kDisputed);
    ASSERT_TRUE(world.core().defend(other.address(), bad).ok());
    open_game(other);
    world.settle();
    pass_deadline();
    EXPECT_EQ(state(bad), UnitState::kDisputed) << "no deadline ends a game";
    prove(other);
    world.settle();
    const registry::Unit slashed = world.unit(bad);
    EXPECT_EQ(slashed.status.state, UnitState::kSlashed);
    EXPECT_EQ(slashed.reason_code, "step_differs");
    EXPECT_NE(slashed.reason.find("its game on chain"), std::string::npos) << slashed.reason;
    EXPECT_TRUE(node(other).excluded);
    EXPECT_FALSE(node(verifier).excluded);
}

TEST_F(CoordinatorGames, a_dispute_that_nobody_played_is_the_referees) {
    commit(honest);
    const Digest bad = commit_wrong(other);
    verify_all();
    pass_deadline();
    EXPECT_EQ(state(bad), UnitState::kDisputed) << "a game can still be opened";
    pass_window();
    EXPECT_EQ(state(bad), UnitState::kRejected);
    // Where its owner and its worker look.
    EXPECT_NE(world.unit(bad).reason.find("no game about it was opened before its window on chain "
                                          "had passed, so no stake is taken"),
              std::string::npos)
        << world.unit(bad).reason;
    EXPECT_EQ(node(other).excluded_reason, world.unit(bad).reason);
}

TEST_F(CoordinatorGames, a_game_that_is_lost_on_purpose_acquits_nobody) {
    commit(honest);
    const Digest bad = commit_wrong(other);
    verify_all();
    ASSERT_EQ(state(bad), UnitState::kDisputed);
    ASSERT_TRUE(world.core().defend(other.address(), bad).ok());
    open_game(other);
    end_game(other);
    world.settle();
    EXPECT_EQ(state(bad), UnitState::kDisputed) << "there may be a game that is meant";
    pass_window();
    EXPECT_EQ(state(bad), UnitState::kRejected) << "the referee looked";
    EXPECT_EQ(world.unit(bad).reason_code, "step_differs");
    EXPECT_EQ(world.unit(bad).reason.find("no game"), std::string::npos) << "there was one";
    EXPECT_TRUE(node(other).excluded);
    EXPECT_FALSE(node(verifier).excluded) << "its report was right";
}

TEST_F(CoordinatorGames, a_game_that_is_lost_on_purpose_acquits_nobody_who_is_silent_either) {
    commit(honest);
    const Digest bad = commit_wrong(other);
    verify_all();
    open_game(other);
    end_game(other);
    pass_window();
    EXPECT_EQ(state(bad), UnitState::kDisputed) << "it may still be defended";
    pass_deadline();
    EXPECT_EQ(state(bad), UnitState::kRejected);
    EXPECT_FALSE(node(verifier).excluded);
}

TEST_F(CoordinatorGames, a_game_that_the_worker_won_and_a_false_report_end_with_the_referee) {
    const Digest unit = commit(honest);
    commit(other);
    verify_all(true);
    ASSERT_EQ(state(unit), UnitState::kDisputed);
    ASSERT_TRUE(world.core().defend(honest.address(), unit).ok());
    open_game(honest);
    end_game(honest);
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kDisputed) << "there may be another game";
    pass_window();
    EXPECT_EQ(state(unit), UnitState::kUpheld);
    EXPECT_FALSE(node(honest).excluded);
    EXPECT_TRUE(node(verifier).excluded);
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kFinal);
}

TEST_F(CoordinatorGames, a_proven_fault_voids_whatever_is_not_final) {
    const Digest paid = commit(other);
    commit(honest);
    aggregate();
    pass_window();
    pass_deadline();
    ASSERT_EQ(state(paid), UnitState::kFinal);
    const Digest verified = commit(other);
    commit(honest);
    aggregate();
    const Digest faulty = commit(other);
    prove(other);
    world.settle();
    EXPECT_EQ(state(faulty), UnitState::kSlashed);
    const registry::Unit voided = world.unit(verified);
    EXPECT_EQ(voided.status.state, UnitState::kVoid);
    EXPECT_EQ(voided.reason_code, "worker_excluded");
    EXPECT_NE(voided.reason.find(protocol::name_unit(world.unit(faulty).key)), std::string::npos)
        << voided.reason;
    EXPECT_EQ(state(paid), UnitState::kFinal) << "what is paid is paid";
}

TEST_F(CoordinatorGames, a_fault_in_a_commitment_that_was_never_sent_here_counts_too) {
    const Digest unit = commit(other);
    commit(honest);
    verify_all();
    Digest elsewhere;
    elsewhere.data[0] = 1;
    world.chain.play({elsewhere, other.address(), 1, false});
    world.chain.mine();
    world.settle();
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kVerified) << "its worker's stake is at risk";
    world.chain.play({elsewhere, other.address(), 0, true});
    world.chain.mine();
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kVoid);
    EXPECT_EQ(node(other).excluded_code, "game_proved");
    EXPECT_NE(node(other).excluded_reason.find(elsewhere.hex()), std::string::npos);
}

TEST_F(CoordinatorGames, a_fault_of_a_stranger_is_nobodys_here) {
    Digest elsewhere;
    elsewhere.data[0] = 1;
    world.chain.play({elsewhere, FakeNode().address(), 0, true});
    world.chain.mine();
    world.settle();
    EXPECT_TRUE(world.tick().errors.empty());
    EXPECT_FALSE(node(honest).excluded);
}

TEST_F(CoordinatorGames, a_report_that_is_refuted_after_its_worker_was_excluded_pays_nobody) {
    const Digest first = commit(honest);
    commit(other);
    verify_all(true);
    ASSERT_EQ(state(first), UnitState::kDisputed);
    Digest elsewhere;
    elsewhere.data[0] = 1;
    world.chain.play({elsewhere, honest.address(), 0, true});
    open_game(honest);
    end_game(honest);
    world.settle();
    EXPECT_TRUE(node(honest).excluded);
    EXPECT_EQ(state(first), UnitState::kDisputed) << "the verifier's word is at stake";
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(first), UnitState::kVoid) << "right, and its worker has lost all";
    EXPECT_TRUE(node(verifier).excluded);
}

TEST_F(CoordinatorGames, an_aggregate_that_is_proven_wrong_pauses_its_job) {
    commit(honest);
    commit(other);
    aggregate();
    world.chain.play({aggregate_name(1), world.key.address(), 0, true});
    world.chain.mine();
    world.settle();
    const registry::Unit slashed = aggregate_unit(1);
    EXPECT_EQ(slashed.status.state, UnitState::kSlashed);
    const registry::Job paused = world.job(job);
    EXPECT_EQ(paused.status, registry::JobStatus::kPaused);
    EXPECT_EQ(paused.status_reason.find("a game on chain proved the aggregate unit of round 1 "
                                        "wrong: the model from round 2 on is not to be trusted"),
              0U)
        << paused.status_reason;
    const auto resumed = world.owner().transact([&](db::Transaction& tx) {
        return registry::request_job(tx, job, registry::JobRequest::kResume);
    });
    ASSERT_TRUE(resumed.ok());
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kRunning) << "its owner decides";
}

}  // namespace
}  // namespace gym::testing
