// Deltas that a game on chain proves wrong after they went into the model.
#include "games_fixture.hpp"
#include "pruning_fixture.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

class WithdrawnDeltas : public CoordinatorGames {
  protected:
    explicit WithdrawnDeltas(bool subtract = true) : CoordinatorGames(subtract) {
        world.claims = player::ClaimStore::open(folder_.path() / "claims").value();
        world.restart();
    }

    /// One round with both workers' deltas. @return the unit whose fault is proven afterwards.
    Digest train_and_prove() {
        const Digest faulty = commit(other);
        commit(honest);
        aggregate();
        EXPECT_TRUE(world.unit(faulty).included);
        prove(other);
        world.settle();
        return faulty;
    }
    void train() {
        commit(honest);
        aggregate();
    }
    std::vector<protocol::IncludedDelta> included(std::uint64_t round) {
        return world.database()
            .transact(
                [&](db::Transaction& tx) { return registry::included_deltas(tx, job, round); })
            .value();
    }
    bool is_named(const Digest& blob) {
        return world.database()
            .transact([&](db::Transaction& tx) {
                return registry::named_blobs(tx, {&blob, 1});
            })
            .value()
            .contains(blob);
    }
    /// As if it were final.
    void mark_pruned(std::uint64_t round) {
        const auto marked = world.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec(
                "UPDATE registry.round SET state = 'closed', closed_at_ms = coalesce(closed_at_ms, "
                "1), validation_loss = coalesce(validation_loss, 1), pruned_at_ms = 1 WHERE "
                "job_id = $1 AND round = $2",
                {job, round}));
            return {};
        });
        ASSERT_TRUE(marked.ok()) << marked.error().message;
    }
    void erase(const Digest& root) {
        const auto listed = world.blobs.list_idle(root.data[0], std::chrono::milliseconds(0));
        for (const blob::StoredBlob& blob : listed.value())
            if (blob.root == root) {
                ASSERT_TRUE(world.blobs.erase(blob).value());
            }
    }

  private:
    TemporaryFolder folder_;
};

TEST_F(WithdrawnDeltas, AreSubtractedByTheNextAggregate) {
    const Digest faulty = train_and_prove();
    ASSERT_EQ(state(faulty), UnitState::kSlashed);
    train();
    const auto second = included(2);
    ASSERT_EQ(second.size(), 2U);
    const protocol::IncludedDelta expected{world.unit(faulty).key.slot, faulty,
                                           *world.unit(faulty).delta_root, false, 1};
    EXPECT_EQ(second[1], expected);
    EXPECT_EQ(included(1).size(), 2U) << "what went in stays listed";
    ASSERT_EQ(world.rounds(job).size(), 3U);
    const registry::Round third = world.rounds(job)[2];
    EXPECT_TRUE(third.record.subtract);
    EXPECT_EQ(third.record.included, second);

    train();
    EXPECT_EQ(included(3).size(), 1U) << "only once";
}

/// What a game would show of it is in the coordinator's claim.
TEST_F(WithdrawnDeltas, AreDefendedWithTheirReasons) {
    const Digest faulty = train_and_prove();
    train();
    player::Claim wanted;
    wanted.subject = player::Subject::kAggregate;
    wanted.key = aggregate_unit(2).key;
    const auto claim = world.claims->find(wanted);
    ASSERT_NE(claim, nullptr);
    EXPECT_EQ(claim->deltas, included(2));
    ASSERT_EQ(claim->withdrawn.size(), 1U);
    ASSERT_TRUE(claim->withdrawn[0].has_value());
    EXPECT_EQ(claim->withdrawn[0]->unit, faulty);
    EXPECT_EQ(claim->withdrawn[0]->listing, world.rounds(job)[1].record);
    EXPECT_EQ(claim->withdrawn[0]->commitment.commitment.delta_root,
              *world.unit(faulty).delta_root);
    EXPECT_TRUE(protocol::prove_included(claim->withdrawn[0]->listing, claim->deltas[1]).ok());
}

/// Whoever was only excluded for another fault was not proven wrong in this unit.
TEST_F(WithdrawnDeltas, OtherUnitsOfTheWorkerStay) {
    const Digest first = commit(other);
    commit(honest);
    aggregate();
    const Digest faulty = commit(other);
    commit(honest);
    aggregate();
    ASSERT_TRUE(world.unit(first).included && world.unit(faulty).included);
    prove(other);
    world.settle();
    train();
    const auto third = included(3);
    ASSERT_EQ(third.size(), 2U);
    EXPECT_EQ(third[1].unit, faulty);
}

TEST_F(WithdrawnDeltas, MayBeProvenRoundsLater) {
    const Digest faulty = commit(other);
    const Digest name_then = name(other);
    commit(honest);
    aggregate();
    commit(other);
    commit(honest);
    aggregate();
    world.chain.play({name_then, other.address(), 0, true});
    world.chain.mine();
    world.settle();
    train();
    const auto third = included(3);
    ASSERT_EQ(third.size(), 2U);
    EXPECT_EQ(third[1].unit, faulty);
    EXPECT_EQ(third[1].age, 2U);
}

TEST_F(WithdrawnDeltas, AreKeptUntilTheyAreSubtracted) {
    const Digest faulty = train_and_prove();
    const Digest root = *world.unit(faulty).delta_root;
    mark_pruned(1);
    EXPECT_TRUE(is_named(root)) << "the next aggregate subtracts it";
    train();
    ASSERT_EQ(included(2).size(), 2U);
    EXPECT_TRUE(is_named(root)) << "the verifier of that aggregate needs it";
    mark_pruned(2);
    EXPECT_FALSE(is_named(root));
}

TEST_F(WithdrawnDeltas, ThatAreLostStayInTheModel) {
    const Digest faulty = train_and_prove();
    verify_all();  // the aggregate that it is in
    erase(*world.unit(faulty).delta_root);
    train();
    EXPECT_EQ(included(2).size(), 1U);
    EXPECT_EQ(world.rounds(job).size(), 3U) << "the job continues";
}

class KeptDeltas : public WithdrawnDeltas {
  protected:
    KeptDeltas() : WithdrawnDeltas(false) {}
};

TEST_F(KeptDeltas, WhereTheJobDoesNotAskForIt) {
    const Digest faulty = train_and_prove();
    ASSERT_EQ(state(faulty), UnitState::kSlashed);
    train();
    EXPECT_EQ(included(2).size(), 1U);
    EXPECT_FALSE(world.rounds(job)[2].record.subtract);
}

}  // namespace
}  // namespace gym::testing
