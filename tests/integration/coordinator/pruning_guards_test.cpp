// What somebody still needs is never erased: games, verifiers, held deltas, claims, uploads.
#include <atomic>
#include <thread>

#include "games_fixture.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/vault/sealed_store.hpp"
#include "pruning_fixture.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

/// The shortest retention there is: only what is needed stays.
coordinator::PruneOptions greedy() {
    return at_once(0, 1);
}

class PruningGuards : public CoordinatorGames {
  protected:
    void train_round() {
        world.settle();
        commit(honest);
        commit(other);
        close_round();
    }
    void close_round() {
        aggregate();
        verify_all();
        pass_window();
        pass_deadline();
    }
    void expect_round_needs(std::uint64_t number, bool needed) {
        const registry::Round round = world.rounds(job).at(number - 1);
        EXPECT_EQ(has(world, round.momentum.blob), needed) << "outer state of round " << number;
        for (const Digest& delta : deltas_of(world, job, number))
            EXPECT_EQ(has(world, delta), needed) << "delta of round " << number;
    }
};

TEST_F(PruningGuards, ARoundGoesWhenItAndTheNextAreClosed) {
    train_round();
    (void)prune(world, greedy());
    expect_round_needs(1, true);
    train_round();
    (void)prune(world, greedy());
    expect_round_needs(1, false);
    expect_round_needs(2, true);
    train_round();
    ASSERT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    (void)prune(world, greedy());
    expect_round_needs(3, false);
    EXPECT_TRUE(has(world, world.rounds(job)[2].next_base->blob));
}

TEST_F(PruningGuards, AnOpenGameKeepsItsRoundAndTheOneBefore) {
    train_round();
    world.settle();
    commit(honest);
    commit(other);
    world.settle();
    open_game(other);
    close_round();
    ASSERT_NE(world.rounds(job)[1].state, registry::RoundState::kClosed);
    (void)prune(world, greedy());
    expect_round_needs(1, true);
    expect_round_needs(2, true);
    end_game(other);
    close_round();
    (void)prune(world, greedy());
    expect_round_needs(1, false);
}

TEST_F(PruningGuards, AGameAboutAWorkerThatWasRejectedKeepsARoundThatIsClosed) {
    train_round();
    // The second commitment rejects the unit, and a game about the first is opened all the same.
    world.settle();
    commit(honest);
    const World::Work first = remember(other, world.work(other));
    ASSERT_TRUE(world.commit(other, first).ok());
    World::Work second = first;
    second.commitment.commitment.final_state_root.data[0] ^= 1;
    second.commitment =
        protocol::sign(world.options.domain, second.commitment.commitment, other.key);
    ASSERT_EQ(world.commit(other, second).error().code, ErrorCode::kConflict);
    world.settle();
    world.chain.play({name(other), other.address(), 1, false, world.chain.head()});
    world.chain.mine();
    close_round();
    ASSERT_EQ(world.rounds(job)[1].state, registry::RoundState::kClosed);
    world.settle();
    commit(honest);
    close_round();
    ASSERT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    (void)prune(world, greedy());
    EXPECT_TRUE(is_whole(world, job, 1));
    EXPECT_TRUE(is_whole(world, job, 2));
    expect_round_needs(2, true);
    EXPECT_FALSE(is_whole(world, job, 3)) << "the game is not about it";
    end_game(other);
    world.settle();
    (void)prune(world, greedy());
    expect_round_needs(1, false);
    expect_round_needs(2, false);
}

TEST_F(PruningGuards, WhatWasNotReadOfTheChainIsNotOver) {
    train_round();
    train_round();
    const auto forget = world.owner().transact([](db::Transaction& tx) {
        return tx.exec("UPDATE registry.game_watch SET seen_block = 1");
    });
    ASSERT_TRUE(forget.ok());
    (void)prune(world, greedy());
    expect_round_needs(1, true);
    world.settle();
    (void)prune(world, greedy());
    expect_round_needs(1, false);
}

TEST_F(PruningGuards, ALateVerifierFindsWhatItsUnitBeganFrom) {
    train_round();
    world.settle();
    commit(honest);
    commit(other);
    world.settle();
    const auto task = world.core().next_task(verifier.address());
    ASSERT_TRUE(task.ok() && task->has_value());
    pass_deadline();  // its time is over, and others are drawn or none
    (void)prune(world, greedy());
    EXPECT_TRUE(has(world, (*task)->inputs.base_state_blob));
    EXPECT_TRUE(has(world, *(*task)->inputs.dataset_blob));
    expect_round_needs(2, true);
    for (int i = 0; i < 4; ++i)
        pass_deadline();
    (void)prune(world, greedy());
    EXPECT_TRUE(has(world, (*task)->inputs.base_state_blob))
        << "a challenge of it can be opened until the window is over";
}

TEST_F(PruningGuards, ADisputedReportKeepsItsRound) {
    train_round();
    world.settle();
    commit(honest);
    commit_wrong(other);
    world.settle();
    ASSERT_TRUE(world.verify(verifier));
    ASSERT_TRUE(world.verify(verifier));
    (void)prune(world, greedy());
    expect_round_needs(1, true);
    expect_round_needs(2, true);
}

TEST_F(PruningGuards, AClaimOfTheCoordinatorKeepsWhatItIsComputedFrom) {
    const TemporaryFolder folder;
    world.claims = player::ClaimStore::open(folder.path() / "claims").value();
    world.restart();
    train_round();
    train_round();
    const auto claims = world.claims->list();
    ASSERT_FALSE(claims.empty());
    const player::Claim claim = *claims.front();
    ASSERT_EQ(claim.key.round, 1U);
    (void)prune(world, greedy());
    EXPECT_FALSE(is_whole(world, job, 1));
    for (const Digest& blob : player::blobs_of(claim))
        EXPECT_TRUE(has(world, blob));
    ASSERT_TRUE(world.claims->remove(claim).ok());
    (void)prune(world, greedy());
    for (const protocol::IncludedDelta& delta : claim.deltas)
        EXPECT_FALSE(has(world, delta.delta_root));
}

TEST(PruningUploads, AreKeptForAWorkerThatHasAUnitToCommit) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_rounds(1);
    world.settle();
    const World::Work work = world.work(worker);
    const Digest delta = work.commitment.commitment.delta_root;
    world.clock.advance_ms(1);
    (void)prune(world);
    EXPECT_TRUE(has(world, delta));
    world.clock.advance_ms(600'001);
    world.beat({&worker, &verifier});
    world.settle();
    world.clock.advance_ms(1);
    (void)prune(world);
    EXPECT_FALSE(has(world, delta)) << "its unit has expired";
    EXPECT_EQ(world.commit(worker, work).error().code, ErrorCode::kNotFound)
        << "to commit takes another upload";
    EXPECT_EQ(world.rounds(job).size(), 1U);
}

/// Two trusted workers and a new one, whose unit alone is drawn: its delta is held.
TEST(PruningHeldDeltas, StayUntilTheNextRoundThatTookThemIsClosed) {
    World world;
    const FakeNode a = world.add_node(NodeRole::kWorker);
    const FakeNode b = world.add_node(NodeRole::kWorker);
    const FakeNode fresh = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    for (const FakeNode* worker : {&a, &b})
        world.trust(*worker);
    registry::JobTerms terms = World::terms();
    terms.rounds = 4;
    terms.elastic.hold_drawn = true;
    const Digest job = world.submit_job(terms);
    const auto train = [&] {
        world.settle();
        const World::Work works[] = {world.work(a), world.work(b), world.work(fresh)};
        const auto drawn = [&](const World::Work& work) {
            const records::TrainTask& task = work.assignment;
            return protocol::is_sampled(*world.chain.beacon, task.unit_id(),
                                        task.record.assignment->sampling_rate_ppm);
        };
        Digest beacon;
        do {
            GYM_ASSERT(++beacon.data[0] != 0, "no beacon draws so");
            world.chain.beacon = beacon;
        } while (drawn(works[0]) || drawn(works[1]) || !drawn(works[2]));
        const FakeNode* const nodes[] = {&a, &b, &fresh};
        for (std::size_t i = 0; i < 3; ++i)
            ASSERT_TRUE(world.commit(*nodes[i], works[i]).ok());
        world.beat({&a, &b, &fresh, &verifier});
        world.settle();
    };
    const auto verify_all = [&] {
        while (world.verify(verifier)) {
        }
        world.settle();
    };
    train();
    const std::vector<Digest> first = deltas_of(world, job, 1);
    ASSERT_EQ(first.size(), 3U);
    verify_all();
    world.pass_deadline({&a, &b, &fresh, &verifier});
    ASSERT_EQ(world.rounds(job)[0].state, registry::RoundState::kClosed);
    (void)prune(world, greedy());
    for (const Digest& delta : first)
        EXPECT_TRUE(has(world, delta)) << "the next aggregate takes what is held";
    train();
    const auto included = world.database().transact(
        [&](db::Transaction& tx) { return registry::included_deltas(tx, job, 2); });
    ASSERT_EQ(protocol::held_of(included.value()), 1U);
    (void)prune(world, greedy());
    for (const Digest& delta : first)
        EXPECT_TRUE(has(world, delta)) << "the verifier of that aggregate needs it";
    verify_all();
    world.pass_deadline({&a, &b, &fresh, &verifier});
    ASSERT_EQ(world.rounds(job)[1].state, registry::RoundState::kClosed);
    (void)prune(world, greedy());
    for (const Digest& delta : first)
        EXPECT_FALSE(has(world, delta));
}

/// One thread puts and holds a blob at moments when it is about to become idle, or is gone; another
/// one, with a store of its own as in another process, erases what is idle.
TEST(PruningRaces, WhatIsPutWhileItIsErasedIsThereAfterwards) {
    using Steady = std::chrono::steady_clock;
    const TemporaryFolder folder;
    const auto key = vault::StoreKey::load_or_create(folder.path() / "key").value();
    auto store = vault::SealedStore::open(folder.path() / "blobs", key).value();
    const Bytes content(10'000, 7);
    const Digest root = store.put(content).value();
    constexpr std::chrono::milliseconds kGrace{100};
    std::atomic<std::uint64_t> erased{0};
    std::uint64_t looks = 0;
    {
        const std::jthread eraser([&](const std::stop_token& stop) {
            auto mine = vault::SealedStore::open(folder.path() / "blobs", key).value();
            while (!stop.stop_requested()) {
                const auto listed = mine.list_idle(root.data[0], kGrace);
                // As while the database is asked.
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                for (const blob::StoredBlob& blob : listed.value())
                    erased += mine.erase(blob).value() ? 1 : 0;
            }
        });
        for (int i = 0; i < 80; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(96 + i % 9));
            const auto began = Steady::now();
            if (i % 2 == 0) {
                if (!store.hold(root).value()) continue;
            } else {
                ASSERT_EQ(store.put(content).value(), root);
            }
            const bool there = store.has(root).value();
            if (Steady::now() - began >= kGrace) continue;  // the machine was busy
            ++looks;
            ASSERT_TRUE(there) << "erased within its grace time, pass " << i;
        }
    }
    EXPECT_GT(erased.load(), 0U);
    EXPECT_GT(looks, 40U);
}

}  // namespace
}  // namespace gym::testing
