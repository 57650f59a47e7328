// Games that accomplices open to keep an audit from a unit: they do not.
#include "games_fixture.hpp"

namespace gym::testing {
namespace {

class AuditedGames : public CoordinatorGames {
  protected:
    void audit(std::uint32_t ppm) {
        world.options.audit_ppm = ppm;
        world.restart();
    }
    /// Reports on what is drawn without running anything.
    void copy_all() {
        world.settle();
        while (world.copy(verifier)) {
        }
    }
    void require_audit(const Digest& unit) {
        const auto drawn = world.owner().transact([&](db::Transaction& tx) {
            return tx.exec("UPDATE registry.report SET audit = 'due' WHERE unit_id = $1", {unit});
        });
        ASSERT_TRUE(drawn.ok()) << drawn.error().message;
    }
};

TEST_F(AuditedGames, NoGamePutsAnAuditOff) {
    audit(kPpm);
    const FakeNode third = world.add_node(NodeRole::kWorker);
    commit(honest);
    commit(other);
    aggregate();  // the third worker joins the next round
    verify_all();
    std::vector<Digest> wrong;
    const std::vector<const FakeNode*> workers{&honest, &other, &third};
    for (const FakeNode* worker : workers)
        wrong.push_back(commit_wrong(*worker));
    copy_all();
    for (const FakeNode* worker : workers)
        open_game(*worker);
    for (const Digest& unit : wrong)
        ASSERT_EQ(state(unit), UnitState::kVerified) << "nothing shows yet";
    // One report is audited a tick, and the games are seen in all of them.
    world.settle();
    for (const Digest& unit : wrong) {
        EXPECT_EQ(state(unit), UnitState::kRejected);
        EXPECT_EQ(world.unit(unit).reason_code, "result_differs");
    }
    EXPECT_TRUE(node(verifier).excluded);
}

TEST_F(AuditedGames, AFailedAuditBringsThoseOfUnitsInGames) {
    audit(0);
    const Digest upheld = commit_wrong(other);
    commit(honest);
    copy_all();
    world.settle();
    verify_all();  // the aggregate
    open_game(other);
    world.settle();
    ASSERT_EQ(state(upheld), UnitState::kDisputed);
    end_game(other);
    pass_window();
    ASSERT_EQ(state(upheld), UnitState::kUpheld) << "lost on purpose";
    const Digest disputed = commit_wrong(honest);
    const Digest copied = commit(other);
    copy_all();
    world.settle();
    open_game(honest);
    world.settle();
    ASSERT_EQ(state(disputed), UnitState::kDisputed);
    require_audit(copied);
    world.settle();
    EXPECT_TRUE(node(verifier).excluded);
    EXPECT_EQ(state(upheld), UnitState::kRejected);
    EXPECT_EQ(state(disputed), UnitState::kRejected);
    EXPECT_TRUE(node(other).excluded);
    EXPECT_TRUE(node(honest).excluded) << "it was wrong, too";
}

}  // namespace
}  // namespace gym::testing
