// What the blob store keeps of rounds that are final, and that it stays bounded.
#include <set>
#include <thread>

#include "pruning_fixture.hpp"

namespace gym::testing {
namespace {

using records::NodeRole;
using Rounds = std::vector<std::uint64_t>;

/// Two workers and a verifier.
class PruningTest : public ::testing::Test {
  protected:
    World world;
    FakeNode a = world.add_node(NodeRole::kWorker);
    FakeNode b = world.add_node(NodeRole::kWorker);
    FakeNode verifier = world.add_node(NodeRole::kVerifier);

    void verify_all() {
        world.settle();
        while (world.verify(verifier)) {
        }
    }
    /// Both workers train the round that is open, and it is closed.
    void train_round() {
        world.settle();
        ASSERT_TRUE(world.commit(a, world.work(a)).ok());
        ASSERT_TRUE(world.commit(b, world.work(b)).ok());
        verify_all();
        verify_all();  // the aggregate
        world.pass_deadline({&a, &b, &verifier});
    }
    std::uint64_t bytes() { return stored_bytes(world.blobs); }
    registry::Round round(const Digest& job, std::uint64_t number) {
        return world.rounds(job).at(number - 1);
    }
};

TEST_F(PruningTest, AStoreIsAsLargeAfterThirtyRoundsAsAfterTen) {
    world.compute.updates = true;
    const Digest job = world.submit_rounds(40);
    std::uint64_t after_ten = 0;
    for (int done = 1; done <= 30; ++done) {
        train_round();
        (void)prune(world);
        if (done == 10) after_ten = bytes();
    }
    EXPECT_GT(after_ten, 0U);
    EXPECT_EQ(bytes(), after_ten);
    ASSERT_EQ(world.rounds(job).size(), 31U);
    EXPECT_EQ(kept_rounds(world, job), (Rounds{0, 29, 30}));
}

TEST_F(PruningTest, KeptBasesAndUpdatesAreAllThatGrows) {
    world.compute.updates = true;
    const Digest job = world.submit_rounds(40);
    std::uint64_t after_ten = 0;
    for (int done = 1; done <= 30; ++done) {
        train_round();
        (void)prune(world, at_once(8));
        if (done == 10) after_ten = bytes();
    }
    // The base states after rounds 16 and 24, and 20 updates; a fake blob has 32 bytes.
    EXPECT_EQ(bytes(), after_ten + 22 * 32);
    EXPECT_EQ(kept_rounds(world, job), (Rounds{0, 8, 16, 24, 29, 30}));
}

TEST_F(PruningTest, OfAJobThatHasEndedTheLastStateStays) {
    world.compute.updates = true;
    const Digest job = world.submit_rounds(6);
    for (int done = 1; done <= 6; ++done)
        train_round();
    ASSERT_EQ(world.job(job).status, registry::JobStatus::kCompleted);
    std::vector<Digest> deltas;
    for (std::uint64_t number = 1; number <= 6; ++number)
        for (const Digest& delta : deltas_of(world, job, number))
            deltas.push_back(delta);
    ASSERT_EQ(deltas.size(), 12U);
    const auto done = prune(world, at_once(4));
    EXPECT_TRUE(done.alone);
    EXPECT_EQ(done.rounds, 6U);
    EXPECT_EQ(kept_rounds(world, job), (Rounds{0, 4, 6}));
    for (const registry::Round& one : world.rounds(job)) {
        const bool kept = one.round == 4 || one.round == 6;
        EXPECT_EQ(has(world, one.next_base->blob), kept) << one.round;
        EXPECT_FALSE(has(world, one.next_momentum->blob)) << one.round;
        EXPECT_FALSE(has(world, one.momentum.blob)) << one.round;
        EXPECT_TRUE(has(world, *one.next_update_blob)) << one.round;
        EXPECT_TRUE(has(world, *one.aggregate_program_blob)) << "programs are small";
    }
    for (const Digest& delta : deltas)
        EXPECT_FALSE(has(world, delta));
    const auto artifacts = world.job(job).artifacts.value();
    for (const Digest& blob : {artifacts.program_blob, artifacts.evaluate_program_blob,
                               artifacts.logits_program_blob, artifacts.base_state_blob})
        EXPECT_TRUE(has(world, blob));
    EXPECT_EQ(done.blobs, 12U + 7 + 4) << "deltas, outer states, and four base states";
    EXPECT_EQ(done.bytes, 32 * done.blobs);
    const auto again = prune(world, at_once(4));
    EXPECT_EQ(again.rounds + again.blobs, 0U);
}

TEST_F(PruningTest, TheNewestRoundsOfARunningJobStayWhole) {
    const Digest job = world.submit_rounds(9);
    for (int done = 1; done <= 6; ++done)
        train_round();
    (void)prune(world, at_once(0, 3));
    ASSERT_EQ(world.rounds(job).size(), 7U);
    for (std::uint64_t number = 5; number <= 6; ++number) {
        const registry::Round kept = round(job, number);
        for (const Digest& blob :
             {kept.base.blob, kept.momentum.blob, kept.next_base->blob, kept.next_momentum->blob})
            EXPECT_TRUE(has(world, blob)) << number;
        for (const Digest& delta : deltas_of(world, job, number))
            EXPECT_TRUE(has(world, delta)) << number;
    }
    EXPECT_FALSE(has(world, round(job, 4).momentum.blob));
    EXPECT_EQ(kept_rounds(world, job), (Rounds{0, 4, 5, 6}));
    train_round();
    EXPECT_EQ(world.job(job).rounds_done, 7U) << "the job continues";
}

TEST_F(PruningTest, AStateThatAnotherJobBeginsFromStays) {
    const Digest first = world.submit_rounds(6);
    for (int done = 1; done <= 6; ++done)
        train_round();
    const registry::StateRef third = *round(first, 3).next_base;
    registry::JobTerms terms = World::terms();
    terms.rounds = 4;
    const Digest second = world.submit_job(terms, 1'000'000'000, third);
    (void)prune(world);
    EXPECT_TRUE(has(world, third.blob)) << "named, although the job has not begun";
    EXPECT_FALSE(has(world, round(first, 2).next_base->blob));
    for (int done = 1; done <= 4; ++done)
        train_round();
    ASSERT_EQ(world.job(second).status, registry::JobStatus::kCompleted);
    (void)prune(world);
    EXPECT_TRUE(has(world, third.blob)) << "what the second job began from";
    EXPECT_EQ(kept_rounds(world, second), (Rounds{0, 4}));
    EXPECT_EQ(kept_rounds(world, first), (Rounds{0, 6}));
}

TEST_F(PruningTest, OfTwoJobsThatShareEveryRootNoneLosesWhatItNeeds) {
    // From one state and one program, so that what they aggregate may be equal; both have the
    // same first outer state.
    const Digest first = world.submit_rounds(5);
    for (int done = 1; done <= 5; ++done)
        train_round();
    ASSERT_EQ(world.job(first).status, registry::JobStatus::kCompleted);
    world.clock.advance_ms(1);
    const Digest second = world.submit_rounds(5);
    train_round();
    const Digest outer = world.job(second).artifacts->momentum_blob;
    ASSERT_EQ(world.job(first).artifacts->momentum_blob, outer);
    (void)prune(world);
    EXPECT_FALSE(is_whole(world, first, 1));
    EXPECT_TRUE(has(world, outer)) << "the second job's first round needs it";
    for (int done = 2; done <= 5; ++done)
        train_round();
    (void)prune(world);
    EXPECT_FALSE(has(world, outer));
}

TEST_F(PruningTest, ABlobThatNobodyNamesGoesAfterTheGraceTime) {
    const Digest lost = world.blobs.put(Bytes{9, 9, 9}).value();
    coordinator::PruneOptions patient = at_once();
    patient.grace_ms = 3'600'000;
    EXPECT_EQ(prune(world, patient).looked_at, 0U);
    EXPECT_TRUE(has(world, lost));
    EXPECT_EQ(prune(world).blobs, 1U) << "not the dataset, which is registered";
    EXPECT_FALSE(has(world, lost));
}

TEST_F(PruningTest, APassThatEndedBetweenDecisionAndFilesIsFinishedByTheNext) {
    const Digest job = world.submit_rounds(4);
    for (int done = 1; done <= 4; ++done)
        train_round();
    const std::size_t before = stored(world.blobs).size();
    const auto decided = world.database().transact([&](db::Transaction& tx) {
        return registry::prune_rounds(tx, {0, 2}, std::nullopt, world.clock.now_ms(), 3);
    });
    ASSERT_EQ(decided.value().size(), 3U);
    EXPECT_EQ(stored(world.blobs).size(), before) << "what is there may be served";
    const auto rest = prune(world);
    EXPECT_EQ(rest.rounds, 1U);
    EXPECT_GT(rest.blobs, 8U);
    EXPECT_EQ(kept_rounds(world, job), (Rounds{0, 4}));
}

TEST_F(PruningTest, OneInstancePrunesAtATime) {
    const Digest lost = world.blobs.put(Bytes{9, 9, 9}).value();
    const Status locked = world.database().transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(const db::Row row, tx.exec_one("SELECT pg_try_advisory_xact_lock(hashtext("
                                               "'gym.coordinator.prune'), 0)"));
        EXPECT_TRUE(row.get<bool>(0));
        EXPECT_FALSE(prune(world).alone);
        EXPECT_TRUE(has(world, lost));
        return {};
    });
    ASSERT_TRUE(locked.ok());
    EXPECT_TRUE(prune(world).alone);
    EXPECT_FALSE(has(world, lost));
}

TEST_F(PruningTest, SaysWhatWasPrunedAndWhichRoundsAreKept) {
    const Digest job = world.submit_rounds(6);
    for (int done = 1; done <= 6; ++done)
        train_round();
    const auto why = [&](const Digest& blob) {
        return world.database()
            .transact([&](db::Transaction& tx) { return registry::why_pruned(tx, blob); })
            .value();
    };
    const Digest delta = deltas_of(world, job, 2).front();
    EXPECT_FALSE(why(delta).has_value());
    (void)prune(world, at_once(4));
    EXPECT_EQ(why(delta).value_or(""),
              "blob " + delta.hex() + " of round 2 of job " + job.hex() +
                  " was pruned when the round was final; the weights that are kept are those after "
                  "rounds 0, 4, 6 (0: before any training)");
    EXPECT_TRUE(why(round(job, 3).next_base->blob).has_value());
    EXPECT_FALSE(why(Digest{{1}}).has_value());
}

TEST(ListOfRounds, JoinsNeighboursAndLeavesOutTheOldest) {
    EXPECT_EQ(registry::list_of_rounds(Rounds{}), "none");
    EXPECT_EQ(registry::list_of_rounds(Rounds{0, 8, 9, 12, 13, 14}), "0, 8, 9, 12 to 14");
    EXPECT_EQ(registry::list_of_rounds(Rounds{0, 2, 4, 6}, 2), "..., 4, 6");
}

/// A new column with a digest is either in registry.named_blobs() or, with its reason, here.
TEST(NamedBlobs, CoverEveryColumnOfTheSchemaThatNamesABlob) {
    const std::set<std::string> named{
        "dataset.blob",
        "dataset_manifest.blob",
        "dataset_tokenizer.blob",
        "delta_place.root",
        "delta_upload.root",
        "job.base_state_blob",
        "job.evaluate_program_blob",
        "job.init_blob",
        "job.logits_program_blob",
        "job.momentum_blob",
        "job.program_blob",
        "mix_recipe.manifest_blob",
        "model_version.program_blob",
        "model_version.state_blob",
        "model_version.tokenizer_blob",
        "round.aggregate_program_blob",
        "round.base_state_blob",
        "round.momentum_blob",
        "round.next_base_blob",
        "round.next_momentum_blob",
        "round.next_update_blob",
        "unit.delta_root",
    };
    const std::set<std::string> other{
        // ids of rows, and references to them
        "chain_commitment.unit_id", "challenge.nonce", "dataset_part.mix", "dataset_part.part",
        "dataset_manifest.dataset", "dataset_tokenizer.dataset", "dataset.nearest", "dataset.root",
        "dataset_version.root", "disputed_unit.name", "equivocation.unit_id", "evaluation.id",
        "evaluation.reference", "idempotency.job_id", "job.dataset_root", "job.id",
        "job_data.dataset", "job_data.job_id", "job_funding.job_id", "job_funding.nonce",
        "job_order.job_id", "job_order.nonce", "job_order.spec", "order_state.job_id",
        "order_state.nonce", "measurement.dataset", "measurement.evaluation", "missed_draw.unit_id",
        "mix_recipe.mix", "mix_recipe.recipe", "model_version.job_id", "node.excluded_unit",
        "report.unit_id", "report_claim.unit_id", "round.job_id", "unit.id", "unit.job_id",
        "unit_commitment.unit_id", "unit_event.unit_id", "unit_records.unit_id",
        // roots of contents, not of a blob's bytes: each has its blob beside it or is in no store
        "dataset.tokenizer", "dataset_manifest.root", "job.base_state_root",
        "job.evaluate_program_root", "job.init_root", "job.logits_program_root",
        "job.momentum_root", "job.program_root", "mix_recipe.manifest_root",
        "model_version.program_root", "model_version.state_root", "model_version.tokenizer",
        "round.aggregate_program_root", "round.base_state_root", "round.momentum_root",
        "round.next_base_root", "round.next_momentum_root",
        // hashes, seeds, salts, trees over other roots
        "chain_commitment.leaf", "evaluation.base_state_root", "evaluation.baseline_state_root",
        "evaluation.held_out", "evaluation.held_out_root", "evaluation.program_root",
        "evaluation.salt", "evaluation.seed", "job.seed", "measurement.state_root",
        "report.delta_root", "report.digest", "report.final_state_root", "report.records_root",
        "report.salt", "report.trace", "round.beacon", "round.commitments_root",
        "round.record_hash", "unit_commitment.leaf",
        // counts
        "node.refused_blobs", "size_limits.blob_bytes_max",
        // of prefixes: their units, and links of record chains
        "unit_prefix.found_link", "unit_prefix.link", "unit_prefix.unit_id",
        // files of gym-api, which are not in the store until a row of the above names them
        "upload.root", "upload.state_root"};
    TestDatabase database;
    const auto rows = database.owner().transact([](db::Transaction& tx) {
        return tx.exec(
            "SELECT c.table_name || '.' || c.column_name FROM information_schema.columns "
            "c JOIN information_schema.tables t USING (table_schema, table_name) WHERE "
            "t.table_type = 'BASE TABLE' AND c.table_schema IN ('registry', 'api', "
            "'rewards', 'ledger', 'chain') AND ((c.domain_name = 'digest' AND "
            "c.domain_schema = 'registry') OR c.column_name ~ 'blob')");
    });
    std::set<std::string> found;
    for (const db::Row row : rows.value())
        found.insert(row.get<std::string>(0));
    for (const std::string& column : found)
        EXPECT_TRUE(named.contains(column) || other.contains(column))
            << column << " is new: if it names a blob, add it to registry.named_blobs()";
    const auto text = database.owner().transact([](db::Transaction& tx) {
        return tx.exec_one(
            "SELECT pg_get_functiondef('registry.named_blobs(bytea[])'::regprocedure)");
    });
    const auto body = text.value().get<std::string>(0);
    for (const std::string& column : named) {
        EXPECT_TRUE(found.contains(column)) << column << " is in the schema no more";
        const std::size_t dot = column.find('.');
        EXPECT_NE(body.find("registry." + column.substr(0, dot) + " "), std::string::npos)
            << column;
        EXPECT_NE(body.find("." + column.substr(dot + 1)), std::string::npos) << column;
    }
}

TEST(NamedBlobs, AreAskedByTheCoordinatorAlone) {
    TestDatabase database;
    const auto ask = [&](const std::string& role) {
        return database.as(role)
            ->transact([](db::Transaction& tx) {
                return registry::named_blobs(tx, std::vector<Digest>{Digest{{1}}});
            })
            .ok();
    };
    EXPECT_TRUE(ask("gym_coordinator"));
    EXPECT_FALSE(ask("gym_api"));
    EXPECT_FALSE(ask("gym_rewards"));
}

}  // namespace
}  // namespace gym::testing
