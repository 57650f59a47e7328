// Faults that games on chain prove, and those that they do not: a node proven wrong loses what it
// has, and one that is lost on purpose acquits nobody.
#include "games_fixture.hpp"

namespace gym::testing {
namespace {

TEST_F(CoordinatorGames, AFaultThatAnybodyProvesSlashesACommittedUnit) {
    const Digest unit = commit(other);
    ASSERT_EQ(state(unit), UnitState::kCommitted);
    prove(other);
    world.settle();
    expect_slashed(unit);
}

TEST_F(CoordinatorGames, AFaultThatAnybodyProvesSlashesAUnitThatIsBeingVerified) {
    const Digest unit = commit(other);
    commit(honest);
    world.settle();
    ASSERT_EQ(state(unit), UnitState::kSampled);
    prove(other);
    world.settle();
    expect_slashed(unit);
    EXPECT_TRUE(world.verify(verifier)) << "the other unit's draw continues";
    EXPECT_FALSE(world.verify(verifier));
}

TEST_F(CoordinatorGames, AFaultThatAnybodyProvesSlashesAVerifiedUnit) {
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

TEST_F(CoordinatorGames, AFaultThatAReportFoundKeepsItsReason) {
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

TEST_F(CoordinatorGames, ADisputeThatNobodyPlayedIsTheReferees) {
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

TEST_F(CoordinatorGames, AGameThatIsLostOnPurposeAcquitsNobody) {
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
    EXPECT_NE(world.unit(bad).reason.find("its challengers lost every game about it on chain, so "
                                          "no stake is taken"),
              std::string::npos)
        << "`gym job status` tells the owner: " << world.unit(bad).reason;
    EXPECT_TRUE(node(other).excluded);
    EXPECT_FALSE(node(verifier).excluded) << "its report was right";
}

TEST_F(CoordinatorGames, AGameThatIsLostOnPurposeAcquitsNobodyWhoIsSilentEither) {
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

TEST_F(CoordinatorGames, AGameThatTheWorkerWonAndAFalseReportEndWithTheReferee) {
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

TEST_F(CoordinatorGames, AProvenFaultVoidsWhateverIsNotFinal) {
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

TEST_F(CoordinatorGames, AFaultInACommitmentThatWasNeverSentHereCountsToo) {
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

TEST_F(CoordinatorGames, AFaultOfAStrangerIsNobodysHere) {
    Digest elsewhere;
    elsewhere.data[0] = 1;
    world.chain.play({elsewhere, FakeNode().address(), 0, true});
    world.chain.mine();
    world.settle();
    EXPECT_TRUE(world.tick().errors.empty());
    EXPECT_FALSE(node(honest).excluded);
}

TEST_F(CoordinatorGames, AReportThatIsRefutedAfterItsWorkerWasExcludedPaysNobody) {
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

TEST_F(CoordinatorGames, AnAggregateThatIsProvenWrongPausesItsJob) {
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

/// Data that it did not show in time says nothing about the model.
TEST_F(CoordinatorGames, AGameAboutDataThatItLostPausesNoJob) {
    commit(honest);
    commit(other);
    registry::DisputedUnit lost{Digest{{9}}, world.key.address(), 0, true};
    lost.asks_data = true;
    world.chain.play(lost);
    world.chain.mine();
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kRunning);
}

}  // namespace
}  // namespace gym::testing
