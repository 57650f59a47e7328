// What a verifier's report does before the window on chain is over: the referee looks at once, so
// that a false report costs its worker no round and its author its place, while pay waits.
#include "games_fixture.hpp"

namespace gym::testing {
namespace {

class FalseReports : public CoordinatorGames {
  protected:
    bool has_work(const FakeNode& worker) {
        return world.core().next_unit(worker.address())->has_value();
    }
    /// Whether a dispute keeps the worker out of the next round that begins.
    bool is_kept_out(const FakeNode& worker) {
        const std::string why = world.core().node_status(worker.address())->idle_because;
        return why.find("is disputed") != std::string::npos;
    }
};

TEST_F(FalseReports, AnHonestWorkerHasItsNextUnitBeforeTheWindowIsOver) {
    const Digest unit = commit(honest);
    commit(other);
    verify_all(true);
    ASSERT_EQ(state(unit), UnitState::kDisputed);
    world.settle();
    // The round begins with the one whose unit the referee runs first.
    EXPECT_TRUE(has_work(honest) || has_work(other));
    EXPECT_FALSE(is_kept_out(honest));
    EXPECT_FALSE(is_kept_out(other));
    EXPECT_TRUE(node(verifier).excluded) << "nor is it drawn again";
    EXPECT_EQ(node(verifier).excluded_code, "false_report");
    EXPECT_EQ(world.unit(unit).reason_code, "false_report");
    EXPECT_EQ(state(unit), UnitState::kDisputed) << "a game can still prove a fault";
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kDisputed);
    const std::uint32_t runs = world.compute.runs;
    pass_window();
    EXPECT_EQ(state(unit), UnitState::kUpheld);
    EXPECT_EQ(world.compute.runs, runs) << "the referee knows";
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kFinal);
    EXPECT_FALSE(node(honest).excluded);
}

TEST_F(FalseReports, ARightOneKeepsItsWorkerFromWorkUntilTheEnd) {
    commit(honest);
    const Digest bad = commit_wrong(other);
    verify_all();
    world.settle();
    const std::uint32_t runs = world.compute.runs;
    EXPECT_EQ(state(bad), UnitState::kDisputed);
    EXPECT_EQ(world.unit(bad).reason_code, "step_differs");
    EXPECT_FALSE(has_work(other));
    EXPECT_TRUE(has_work(honest));
    EXPECT_FALSE(node(verifier).excluded);
    for (int i = 0; i < 5; ++i)
        world.settle();
    EXPECT_EQ(world.compute.runs, runs) << "the same is not found again and again";
    pass_window();
    pass_deadline();
    EXPECT_EQ(state(bad), UnitState::kRejected);
    EXPECT_TRUE(node(other).excluded);
}

TEST_F(FalseReports, AFaultThatNobodyTakesToTheChainIsWarnedOfInTime) {
    commit(honest);
    commit_wrong(other);
    verify_all();
    world.settle();
    EXPECT_TRUE(world.tick().errors.empty());
    world.chain.mine(world.chain.window_blocks * 3 / 4 + 1);
    world.settle();
    const auto errors = world.tick().errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_NE(errors.front().find("nobody has opened a game about it"), std::string::npos)
        << errors.front();
    open_game(other);
    world.settle();
    EXPECT_TRUE(world.tick().errors.empty());
}

TEST_F(FalseReports, AProofCountsWhateverTheRefereeFound) {
    const Digest unit = commit(other);
    commit(honest);
    verify_all(true);
    world.settle();
    ASSERT_EQ(world.unit(unit).reason_code, "false_report");
    prove(other);
    world.settle();
    EXPECT_EQ(state(unit), UnitState::kSlashed);
    EXPECT_EQ(world.unit(unit).reason_code, "game_proved");
    EXPECT_TRUE(node(other).excluded);
}

TEST_F(FalseReports, ARefereeThatIsHinderedLooksAgain) {
    const Digest unit = commit(honest);
    commit(other);
    world.compute.runs_fail = true;
    verify_all(true);
    world.settle();
    EXPECT_TRUE(is_kept_out(honest));
    world.compute.runs_fail = false;
    world.settle();
    EXPECT_EQ(world.unit(unit).reason_code, "false_report");
    EXPECT_FALSE(is_kept_out(honest));
}

TEST_F(FalseReports, ARestartChangesNothing) {
    const Digest unit = commit(honest);
    commit(other);
    verify_all(true);
    world.settle();
    world.restart();
    world.settle();
    EXPECT_EQ(world.unit(unit).reason_code, "false_report");
    EXPECT_FALSE(is_kept_out(honest));
    pass_window();
    pass_deadline();
    pass_deadline();
    EXPECT_EQ(state(unit), UnitState::kFinal);
}

}  // namespace
}  // namespace gym::testing
