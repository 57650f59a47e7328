// Causes that pause, resume and end a job: its budget, its owner, a specification that cannot
// run.
#include <gtest/gtest.h>
#include <set>

#include "fake_world.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/protocol/dispute_window.hpp"
#include "gym/registry/datasets.hpp"
#include "owner_orders.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using records::NodeRole;

TEST(CoordinatorJobs, AJobPausesWithoutBudgetAndResumesWithMore) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    registry::JobTerms terms = World::terms();
    terms.price_wei_per_pflop = Amount(1'000'000'000'000);  // a unit of 20 MFLOP: 20,000 wei
    const Digest job = world.submit_job(terms, 100'000);
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kPaused);
    const std::string reason = world.job(job).status_reason;
    EXPECT_TRUE(reason.starts_with("budget: with another round the job may cost ")) << reason;
    EXPECT_NE(reason.find("its budget is " + world.job(job).budget_wei.to_tokens() + ";"),
              std::string::npos)
        << reason;
    EXPECT_TRUE(world.rounds(job).empty());
    ASSERT_TRUE(world.owner()
                    .transact([&](db::Transaction& tx) {
                        return gym::testing::add_budget(tx, job, Amount(500'000));
                    })
                    .ok());
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kRunning);
    EXPECT_EQ(world.rounds(job).size(), 1U);
    EXPECT_TRUE(world.core().next_unit(worker.address())->has_value());
}

// Or a job whose data costs much more than its compute ran out of budget by the fee on it, before
// the last workers were paid.
TEST(CoordinatorJobs, TheFeeOnDataCountsAgainstTheBudget) {
    World world;
    world.options.fee_ppm = 100'000;
    world.restart();
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const auto priced = world.owner().transact([](db::Transaction& tx) {
        return tx.exec(
            "ALTER TABLE registry.dataset DISABLE TRIGGER guard_dataset; "
            "UPDATE registry.dataset SET price_wei_per_mtoken = 1000000000, novelty_ppm = 1000000, "
            "usefulness_ppm = 1000000");
    });
    ASSERT_TRUE(priced.ok()) << priced.error().message;
    registry::JobTerms terms = World::terms();
    terms.slots_max = 1;  // 1,280 tokens: 1,280,000 wei, and 128,000 of fee
    const Digest job = world.submit_job(terms, 1'400'000);
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kPaused);
    EXPECT_TRUE(world.rounds(job).empty());
    const auto add = world.owner().transact(
        [&](db::Transaction& tx) { return gym::testing::add_budget(tx, job, Amount(8'100)); });
    ASSERT_TRUE(add.ok());
    world.settle();
    EXPECT_EQ(world.rounds(job).size(), 1U);
}

TEST(CoordinatorJobs, ReportsOnRejectedUnitsCountAgainstTheBudget) {
    World world;
    const FakeNode honest = world.add_node(NodeRole::kWorker);
    const FakeNode cheat = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    registry::JobTerms terms = World::terms();
    terms.rounds = 3;
    terms.slots_max = 2;
    terms.price_wei_per_pflop = Amount(1'000'000'000'000);  // a unit: 20,000 wei, 50,000 at most
    // Two honest units and one more round of two, and not the report on a third unit.
    const Digest job = world.submit_job(terms, 205'000);
    world.settle();
    ASSERT_TRUE(world.commit(honest, world.work(honest)).ok());
    const Digest bad = world.commit(cheat, world.cheat(cheat, 3))->unit;
    const auto verify_all = [&] {
        world.settle();
        while (world.verify(verifier)) {
        }
        world.pass_deadline({&honest, &cheat, &verifier});
    };
    verify_all();
    ASSERT_EQ(world.unit(bad).status.state, UnitState::kRejected);
    ASSERT_EQ(world.rounds(job).size(), 2U);
    ASSERT_TRUE(world.commit(honest, world.work(honest)).ok());
    verify_all();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kPaused);
    EXPECT_TRUE(world.job(job).status_reason.starts_with("budget: "))
        << world.job(job).status_reason;
    EXPECT_EQ(world.rounds(job).size(), 2U);
    const auto add = world.owner().transact(
        [&](db::Transaction& tx) { return gym::testing::add_budget(tx, job, Amount(30'000)); });
    ASSERT_TRUE(add.ok());
    world.settle();
    EXPECT_EQ(world.rounds(job).size(), 3U);
}

TEST(CoordinatorJobs, UnitsAreGivenToWorkersThatHaveTheMemory) {
    World world;
    const std::uint64_t needed = gym::testing::kFakeWorkerMemoryBytes;
    const FakeNode small = world.add_node(NodeRole::kWorker, needed - 1);
    const FakeNode unknown = world.add_node(NodeRole::kWorker);
    const FakeNode enough = world.add_node(NodeRole::kWorker, needed);
    const std::uint64_t of_gpu = gym::testing::kFakeWorkerGpuMemoryBytes;
    const FakeNode small_gpu = world.add_node(NodeRole::kWorker, of_gpu - 1, 0, "Card A");
    const FakeNode gpu = world.add_node(NodeRole::kWorker, of_gpu, 0, "Card A");
    registry::JobTerms terms = World::terms();
    terms.workers_min = 2;
    terms.slots_max = 5;
    const Digest job = world.submit_job(terms);
    world.settle();
    const auto rounds = world.rounds(job);
    ASSERT_EQ(rounds.size(), 1U);
    std::set<Address> chosen;
    for (const protocol::SlotAssignment& slot : rounds[0].record.slots)
        chosen.insert(slot.worker);
    EXPECT_EQ(chosen, (std::set{unknown.address(), enough.address(), gpu.address()}));
    EXPECT_FALSE(chosen.contains(small.address()));
    EXPECT_FALSE(chosen.contains(small_gpu.address())) << "enough for a CPU alone";
}

/// gym-rewards recovers the owner's signature before anybody works for the money.
TEST(CoordinatorJobs, AJobIsStartedOnlyIfItsChecksFitTheWindowToTheMillisecond) {
    World world;
    (void)world.add_node(NodeRole::kWorker);
    world.chain.games_contract = Address::parse("0x" + std::string(40, '7')).value();
    const registry::JobTerms terms = World::terms();
    world.options.block_time_ms = 1;
    world.options.beacon_delay_blocks = 3;
    const auto fits = static_cast<std::uint64_t>(protocol::checks_ms(terms.lifecycle)) + 3;
    for (const bool is_short : {false, true}) {
        world.chain.window_blocks = fits - (is_short ? 1 : 0);
        world.restart();
        world.clock.advance_ms(1);  // another job
        const Digest id = world.submit_job(terms);
        world.settle();
        const registry::Job job = world.job(id);
        EXPECT_EQ(job.status,
                  is_short ? registry::JobStatus::kFailed : registry::JobStatus::kRunning)
            << job.status_reason;
    }
    // While the chain cannot be asked the job waits.
    world.chain.down = true;
    world.clock.advance_ms(1);
    const Digest id = world.submit_job(terms);
    (void)world.tick();
    EXPECT_EQ(world.job(id).status, registry::JobStatus::kSubmitted);
}

TEST(CoordinatorJobs, AJobStartsOnceItsOrderIsLockedAndFailsIfItIsRefused) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    registry::NewJob job;
    job.owner = world.key.address();
    job.name = "a job";
    job.spec_yaml = "model";
    job.dataset_root = world.job(world.submit_job(World::terms())).dataset_root;
    job.terms = World::terms();
    job.budget_wei = Amount(1'000'000'000);
    const auto order = [&](const std::string& key) {
        job.id = registry::make_job_id(job.owner, key);
        const records::JobOrder terms{.owner = job.owner,
                                      .spec = records::spec_digest(job.spec_yaml),
                                      .datasets = {job.dataset_root},
                                      .budget_wei = job.budget_wei,
                                      .price_wei_per_pflop = job.terms.price_wei_per_pflop,
                                      .nonce = job.id};
        const Status stored = world.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(registry::store_order(tx, job.id, terms, {}, world.clock.now_ms()));
            GYM_CHECK(registry::submit_job(tx, job, world.clock.now_ms()));
            return {};
        });
        ASSERT_TRUE(stored.ok()) << stored.error().message;
        world.settle();
        EXPECT_EQ(world.job(job.id).status, registry::JobStatus::kSubmitted) << "it waits";
    };
    const auto decide = [&](registry::OrderState state, const std::string& reason) {
        const Status decided = world.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const auto stored, registry::order_of_job(tx, job.id));
            return registry::decide_order(tx, stored, state, reason, world.clock.now_ms());
        });
        ASSERT_TRUE(decided.ok()) << decided.error().message;
        world.settle();
    };
    order("locked");
    decide(registry::OrderState::kLocking, "");
    EXPECT_EQ(world.job(job.id).status, registry::JobStatus::kSubmitted) << "for the chain";
    decide(registry::OrderState::kLocked, "");
    EXPECT_EQ(world.job(job.id).status, registry::JobStatus::kRunning);
    order("refused");
    decide(registry::OrderState::kRefused, "it is not signed");
    EXPECT_EQ(world.job(job.id).status, registry::JobStatus::kFailed);
    EXPECT_EQ(world.job(job.id).status_reason, "order: it is not signed");
}

TEST(CoordinatorJobs, OwnersPauseResumeAndCancel) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    registry::JobTerms terms = World::terms();
    terms.workers_min = 2;
    const Digest job = world.submit_job(terms);
    world.settle();
    const auto request = [&](registry::JobRequest what) {
        ASSERT_TRUE(
            world.owner()
                .transact([&](db::Transaction& tx) { return registry::request_job(tx, job, what); })
                .ok());
        world.settle();
    };
    request(registry::JobRequest::kPause);
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kPaused);
    EXPECT_EQ(world.job(job).status_reason, "paused by its owner");
    EXPECT_EQ(world.job(job).request, std::nullopt);
    const FakeNode second = world.add_node(NodeRole::kWorker);
    world.settle();
    EXPECT_TRUE(world.rounds(job).empty()) << "a paused job begins no round";
    request(registry::JobRequest::kResume);
    EXPECT_EQ(world.rounds(job).size(), 1U);
    request(registry::JobRequest::kCancel);
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCancelled);
    // Work that was given out is still taken and settled.
    EXPECT_TRUE(world.commit(worker, world.work(worker)).ok());
    EXPECT_TRUE(world.commit(second, world.work(second)).ok());
}

TEST(CoordinatorJobs, APauseThatWasAskedForInTheOwnersPlaceSaysWhy) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    registry::JobTerms terms = World::terms();
    terms.workers_min = 2;  // so that no round begins
    const Digest job = world.submit_job(terms);
    world.settle();
    const auto write = [&](auto&& body) {
        const Status written = world.owner().transact(body);
        ASSERT_TRUE(written.ok()) << written.error().message;
    };
    const auto pause = [&](db::Transaction& tx) {
        return registry::request_pause_for_owner(tx, job, "budget: used up");
    };
    write(pause);
    EXPECT_EQ(world.job(job).request_reason, "budget: used up");
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kPaused);
    EXPECT_EQ(world.job(job).status_reason, "budget: used up");
    const auto fund = [&](db::Transaction& tx) {
        return gym::testing::add_budget(tx, job, Amount(500'000));
    };
    write(fund);
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kRunning);
    write(pause);
    write(fund);
    EXPECT_EQ(world.job(job).request, std::nullopt) << "money came before the coordinator acted";
}

// The base state's root is in the round's record, whose hash is on chain: a dispute of a unit of
// round 1 is about the given weights.
TEST(CoordinatorJobs, AJobWithGivenWeightsRecordsTheirRootAndItsUnitsAreVerified) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Bytes weights{7, 7, 7};
    const registry::StateRef given{commit::sha256(as_bytes("their root")),
                                   world.blobs.put(weights).value()};
    const Digest job = world.submit_job(World::terms(), 1'000'000'000, given);
    world.settle();
    ASSERT_EQ(world.rounds(job).size(), 1U);
    const registry::Round round = world.rounds(job).front();
    EXPECT_EQ(round.base.root, given.root);
    EXPECT_EQ(round.base.blob, given.blob);
    EXPECT_EQ(round.record.base_state_root, given.root);
    EXPECT_EQ(round.record.initial_state_root, commit::sha256(weights));
    EXPECT_TRUE(world.chain.round_posted(job, 1, protocol::hash(round.record)).value());
    EXPECT_EQ(world.job(job).artifacts->base_state_root, given.root);

    const auto ack = world.commit(worker, world.work(worker));
    ASSERT_TRUE(ack.ok()) << ack.error().message;
    world.settle();
    ASSERT_TRUE(world.verify(verifier));
    while (world.verify(verifier)) {
    }
    world.pass_deadline({&worker, &verifier});
    while (world.verify(verifier)) {
    }
    world.pass_deadline({&worker, &verifier});
    EXPECT_EQ(world.unit(ack->unit).status.state, UnitState::kFinal);
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
}

// A pause then would keep the budget locked and the job from its end.
TEST(CoordinatorJobs, AfterTheLastRoundThereIsNothingToPause) {
    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const Digest job = world.submit_job(World::terms());
    world.settle();
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    while (world.verify(verifier)) {
    }
    world.settle();
    ASSERT_EQ(world.job(job).rounds_done, world.job(job).terms.rounds);
    ASSERT_EQ(world.job(job).status, registry::JobStatus::kRunning) << "its unit is not final";
    const Status refused = world.owner().transact([&](db::Transaction& tx) {
        return registry::request_job(tx, job, registry::JobRequest::kPause);
    });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("nothing left to pause"), std::string::npos);
    // One that was asked for while the round ran, and is answered now.
    ASSERT_TRUE(world.owner()
                    .transact([&](db::Transaction& tx) -> Status {
                        GYM_CHECK(tx.exec("UPDATE registry.job SET request = 'pause'", {}));
                        return {};
                    })
                    .ok());
    world.settle();
    EXPECT_EQ(world.job(job).request, std::nullopt);
    for (int i = 0; i < 4; ++i) {
        while (world.verify(verifier)) {
        }
        world.pass_deadline({&worker, &verifier});
    }
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
}

TEST(CoordinatorJobs, AJobWhoseWeightsAreGoneFailsWithTheReason) {
    World world;
    const registry::StateRef lost{commit::sha256(as_bytes("root")), commit::sha256(as_bytes("no"))};
    const Digest job = world.submit_job(World::terms(), 1'000'000'000, lost);
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kFailed);
    EXPECT_NE(world.job(job).status_reason.find("the state that the job begins from is not in"),
              std::string::npos)
        << world.job(job).status_reason;
}

// Everybody may read the reason of any job.
TEST(CoordinatorJobs, AJobWhoseTextIsGoneFailsWithAReasonThatDoesNotNameIt) {
    World world;
    const Digest job = world.submit_job(World::terms());
    const auto dataset = world.owner().transact([&](db::Transaction& tx) {
        return registry::get_dataset(tx, world.job(job).dataset_root);
    });
    ASSERT_TRUE(world.blobs.remove(dataset->blob).ok());
    world.settle();
    EXPECT_EQ(world.job(job).status, registry::JobStatus::kFailed);
    const std::string reason = world.job(job).status_reason;
    EXPECT_NE(reason.find(dataset->root.hex()), std::string::npos) << reason;
    EXPECT_EQ(reason.find(dataset->name), std::string::npos) << reason;
}

TEST(CoordinatorJobs, AJobThatCannotRunFailsWithTheReason) {
    World world;
    registry::NewJob job;
    job.owner = world.key.address();
    job.name = "broken";
    job.spec_yaml = "broken";
    job.id = registry::make_job_id(job.owner, "broken");
    job.dataset_root = world.job(world.submit_job(World::terms())).dataset_root;
    job.terms = World::terms();
    job.budget_wei = Amount(1);
    ASSERT_TRUE(world.owner()
                    .transact([&](db::Transaction& tx) {
                        return gym::testing::submit_job(tx, job, world.clock.now_ms());
                    })
                    .ok());
    world.settle();
    EXPECT_EQ(world.job(job.id).status, registry::JobStatus::kFailed);
    EXPECT_EQ(world.job(job.id).status_reason, "model: zero layers");
}

}  // namespace
}  // namespace gym::testing
