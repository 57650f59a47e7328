#include <atomic>
#include <thread>

#include "api_fixture.hpp"
#include "gym/registry/size_limits.hpp"

namespace gym::api {
namespace {

using testing::address_of;
using testing::job_spec;
using testing::kAsset;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class SubmitTest : public testing::ApiDatabaseTest {
  protected:
    /// A live worker.
    void join(std::uint8_t number, std::uint64_t flops_per_second) {
        registry::NewNode node;
        node.address = node.owner = address_of(static_cast<std::uint8_t>(100 + number));
        node.profile.flops_per_second = flops_per_second;
        const auto joined = database_.owner().transact([&](db::Transaction& tx) {
            return registry::register_node(tx, node, clock_.now_ms());
        });
        ASSERT_TRUE(joined.ok()) << joined.error().message;
    }
};

TEST_F(SubmitTest, LocksTheBudgetOnceAndReplays) {
    deposit(owner_, "250", "d1");
    const std::string spec = job_spec(dataset_);
    const auto first = submit({owner_, "key-1", spec});
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_FALSE(first->replayed);
    EXPECT_EQ(first->job.terms.rounds, 3U);
    EXPECT_EQ(first->job.terms.price_wei_per_pflop, Amount::parse_tokens("1.5").value());
    const auto again = submit({owner_, "key-1", spec});
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(again->replayed);
    EXPECT_EQ(again->job.id, first->job.id);

    const auto account = backend().account(owner_).value();
    EXPECT_EQ(account.available.to_tokens(), "150");
    EXPECT_EQ(account.escrowed.to_tokens(), "100");
    const auto view = backend().job(first->job.id).value();
    EXPECT_EQ(view.cost.left.to_tokens(), "100");
    EXPECT_TRUE(view.cost.spent.is_zero());
}

TEST_F(SubmitTest, WhatAnEndedJobGaveBackWasNotSpent) {
    deposit(owner_, "250", "d1");
    const Digest id = submit({owner_, "key-1", job_spec(dataset_)}).value().job.id;
    const auto escrow = rewards::escrow_account(testing::kAsset, id);
    book(escrow, rewards::earned_account(testing::kAsset, address_of(7)), "30", "a final unit");
    EXPECT_EQ(backend().job(id).value().cost.spent.to_tokens(), "30");

    const Status ended = database_.owner().transact([&](db::Transaction& tx) {
        return registry::set_job_status(tx, id, registry::JobStatus::kCancelled, "", 2'000'000);
    });
    ASSERT_TRUE(ended.ok()) << ended.error().message;
    book(escrow, rewards::available_account(testing::kAsset, owner_), "70", "what is left");
    const JobCost cost = backend().job(id).value().cost;
    EXPECT_EQ(cost.spent.to_tokens(), "30");
    EXPECT_EQ(cost.refunded.to_tokens(), "70");
    EXPECT_TRUE(cost.left.is_zero());
}

/// A verifier has as long for it as for a unit.
TEST_F(SubmitTest, AnEvaluationIsNoMoreWorkThanAUnit) {
    deposit(owner_, "200", "d1");
    std::string spec = job_spec(dataset_, "100", "evaluate_windows: 65536\n");
    const auto tiny_job = submit({owner_, "tiny", spec});
    EXPECT_TRUE(tiny_job.ok()) << tiny_job.error().message;
    const std::string tiny = "context: 16, layers: 1, heads: 1, width: 16";
    spec.replace(spec.find(tiny), tiny.size(), "context: 256, layers: 4, heads: 4, width: 256");
    const auto refused = submit({owner_, "large", spec});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(has(refused.error().message, "'evaluate_windows' is 65536"))
        << refused.error().message;
}

TEST_F(SubmitTest, OneKeyNamesOneRequest) {
    deposit(owner_, "250", "d1");
    ASSERT_TRUE(submit({owner_, "key-1", job_spec(dataset_)}).ok());
    const auto other = submit({owner_, "key-1", job_spec(dataset_, "50")});
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    // Another owner's key of the same name is another key.
    deposit(address_of(2), "250", "d2");
    EXPECT_TRUE(submit({address_of(2), "key-1", job_spec(dataset_, "50")}).ok());
    EXPECT_EQ(count("registry.job"), 2U);
}

TEST_F(SubmitTest, ConcurrentDuplicatesMakeOneJob) {
    deposit(owner_, "250", "d1");
    const std::string spec = job_spec(dataset_);
    std::atomic<int> created = 0;
    std::atomic<int> replayed = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
        clients.emplace_back([&] {
            const auto result = submit({owner_, "same", spec});
            ASSERT_TRUE(result.ok()) << result.error().message;
            ++(result->replayed ? replayed : created);
        });
    for (std::thread& client : clients)
        client.join();
    EXPECT_EQ(created, 1);
    EXPECT_EQ(replayed, 7);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "150");
}

TEST_F(SubmitTest, TheSameTextUnderAnotherKeyIsRefusedWhileItsJobRuns) {
    deposit(owner_, "250", "d1");
    const std::string spec = job_spec(dataset_);
    const Digest first = submit({owner_, "k1", spec}).value().job.id;
    const auto second = submit({owner_, "k2", spec});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_NE(second.error().message.find("is submitted: " + first.hex()), std::string::npos)
        << second.error().message;
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "150") << "nothing locked";
    EXPECT_EQ(count("api.idempotency"), 1U);
    EXPECT_TRUE(submit({owner_, "k1", spec}).value().replayed);
    EXPECT_TRUE(submit({owner_, "k2", spec, true}).ok()) << "asked for";
    deposit(address_of(2), "100", "d2");
    EXPECT_TRUE(submit({address_of(2), "k3", spec}).ok()) << "somebody else's";
    const Status ended = database_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(const auto jobs, registry::list_jobs(tx, {}));
        for (const registry::Job& job : jobs)
            GYM_CHECK(registry::set_job_status(tx, job.id, registry::JobStatus::kCancelled, "", 2));
        return {};
    });
    ASSERT_TRUE(ended.ok()) << ended.error().message;
    deposit(owner_, "100", "d3");
    EXPECT_TRUE(submit({owner_, "k4", spec}).ok()) << "none runs any more";
}

TEST_F(SubmitTest, AJobThatRunsIsNamedBeforeMoneyIsMissing) {
    const auto expect_named = [&](const char* key) {
        const auto again = submit({owner_, key, job_spec(dataset_)});
        EXPECT_EQ(again.error().code, ErrorCode::kConflict) << again.error().message;
        EXPECT_NE(again.error().message.find("submitted before"), std::string::npos);
    };
    deposit(owner_, "100", "d1");
    ASSERT_TRUE(submit({owner_, "k1", job_spec(dataset_)}).ok());
    expect_named("k2");  // no money at all
    deposit(owner_, "50", "d2");
    expect_named("k3");  // less than the budget
}

TEST_F(SubmitTest, ConcurrentSubmissionsOfOneTextMakeOneJob) {
    deposit(owner_, "2500", "d1");
    const std::string spec = job_spec(dataset_);
    std::atomic<int> created = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
        clients.emplace_back([&, i] {
            const auto result = submit({owner_, "k" + std::to_string(i), spec});
            if (result.ok()) {
                ++created;
            } else {
                EXPECT_EQ(result.error().code, ErrorCode::kConflict);
            }
        });
    for (std::thread& client : clients)
        client.join();
    EXPECT_EQ(created, 1);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "2400");
}

TEST_F(SubmitTest, ARefusalLeavesNoTraceAndTheKeyUsable) {
    const auto poor = submit({owner_, "key-1", job_spec(dataset_)});
    ASSERT_FALSE(poor.ok());
    EXPECT_EQ(poor.error().code, ErrorCode::kInsufficientFunds);
    EXPECT_NE(
        poor.error().message.find("the job's budget is 100 GYM, 0 are available: deposit 100 more"),
        std::string::npos)
        << poor.error().message;
    EXPECT_EQ(count("registry.job"), 0U);
    EXPECT_EQ(count("api.idempotency"), 0U);
    deposit(owner_, "100", "d1");
    EXPECT_TRUE(submit({owner_, "key-1", job_spec(dataset_)}).ok());
}

TEST_F(SubmitTest, ABudgetThatCoversNoRoundIsRefusedAndThatOfOneIsNot) {
    deposit(owner_, "250", "d1");
    publish_terms(20'000);
    const auto terms = backend().terms();
    ASSERT_TRUE(terms.ok() && terms->bound) << "both have said it";
    EXPECT_EQ(terms->bound->cost_bound_ppm, 2'500'000U);
    EXPECT_EQ(terms->bound->fee_ppm, 20'000U);
    const auto refused = submit({owner_, "k", job_spec(dataset_, "0.000000000000000001")});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    const std::string said = refused.error().message;
    const std::string part = "covers no round: one may cost ";
    ASSERT_NE(said.find(part), std::string::npos) << said;
    EXPECT_EQ(count("registry.job"), 0U);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "250");
    const std::size_t at = said.find(part) + part.size();
    const std::string one = said.substr(at, said.find(',', at) - at);
    const auto less = Amount::parse_tokens(one).value().minus(Amount(1)).value().to_tokens();
    EXPECT_FALSE(submit({owner_, "k", job_spec(dataset_, less)}).ok());
    EXPECT_TRUE(submit({owner_, "k", job_spec(dataset_, one)}).ok());
}

// A premium that the coordinator's bound does not cover would be missing from the quote.
TEST_F(SubmitTest, TheBoundIsOfWhicheverServiceTakesMore) {
    EXPECT_EQ(backend().terms().error().code, ErrorCode::kNotFound);
    publish_terms(400'000);
    EXPECT_EQ(backend().terms()->bound->cost_bound_ppm, 3'010'000U);
    publish_terms(0, 4'000'000);
    EXPECT_EQ(backend().terms()->bound->cost_bound_ppm, 4'000'000U);
    EXPECT_EQ(backend().terms()->bound->fee_ppm, 0U);
    // A number that none of our types holds would end gym-api.
    for (const char* rate :
         {"rewards.fee_terms SET verification_premium_ppm",
          "rewards.fee_terms SET uptime_bonus_max_ppm", "registry.cost_rates SET cost_bound_ppm"}) {
        const auto written = database_.owner().transact([&](db::Transaction& tx) {
            return tx.exec(std::string("UPDATE ") + rate + " = 9223372036854775807");
        });
        EXPECT_FALSE(written.ok()) << rate;
    }
}

TEST_F(SubmitTest, AJobWhoseChecksOutlastTheWindowIsRefusedBeforeMoneyIsLocked) {
    deposit(owner_, "250", "d1");
    const auto coordinator = database_.as("gym_coordinator");
    const auto publish = [&](std::int64_t window_ms) {
        return coordinator->transact([&](db::Transaction& tx) {
            return registry::publish_dispute_window(tx, window_ms, 1);
        });
    };
    ASSERT_TRUE(publish(2'579'999).ok());
    const auto refused = submit({owner_, "key", job_spec(dataset_, "1")});
    ASSERT_FALSE(refused.ok());
    EXPECT_TRUE(has(refused.error().message,
                    "sampling.draws_max 3 x (deadlines.report_ms 600 s + deadlines.reveal_ms 60 "
                    "s) + 600 s"))
        << refused.error().message;
    EXPECT_TRUE(has(refused.error().message,
                    "for 2579.999 s after the draw: set "
                    "deadlines.report_ms to 599000 at most"))
        << refused.error().message;
    ASSERT_TRUE(publish(2'580'000).ok());
    EXPECT_TRUE(submit({owner_, "key", job_spec(dataset_, "1")}).ok());
    // The role of gym-api cannot make the window longer.
    const auto api = database_.as("gym_api");
    const Status written = api->transact([&](db::Transaction& tx) {
        return registry::publish_dispute_window(tx, 1'000'000'000, 1);
    });
    EXPECT_EQ(written.error().code, ErrorCode::kPermissionDenied);
}

// Terms that would let a job's owner have the work and not pay for it.
TEST_F(SubmitTest, TermsThatLeaveNodesNoChanceAreRefused) {
    deposit(owner_, "250", "d1");
    const auto message = [&](const std::string& extra) {
        const auto result = submit({owner_, "key", job_spec(dataset_, "1", extra)});
        return result.ok() ? std::string("accepted") : result.error().message;
    };
    EXPECT_TRUE(has(message("deadlines: {report_ms: 1}\n"), "report_ms"));
    EXPECT_TRUE(has(message("deadlines: {unit_ms: 1}\n"), "unit_ms"));
    EXPECT_TRUE(has(message("deadlines: {reveal_ms: 1}\n"), "reveal_ms"));
    EXPECT_TRUE(has(message("deadlines: {unit_ms: 3600000, report_ms: 10000}\n"),
                    "'report_ms' must be at least half of unit_ms"))
        << message("deadlines: {unit_ms: 3600000, report_ms: 10000}\n");
    std::string gift = job_spec(dataset_, "1");
    gift.replace(gift.find("1.5"), 3, "0.0");
    const auto unpaid = submit({owner_, "key", gift});
    ASSERT_FALSE(unpaid.ok());
    EXPECT_TRUE(has(unpaid.error().message, "'price_per_pflop' must be above zero"))
        << unpaid.error().message;
    std::string crumbs = job_spec(dataset_, "1");
    crumbs.replace(crumbs.find("1.5"), 3, "0.000000000000000001");
    const auto rounded = submit({owner_, "key", crumbs});
    ASSERT_FALSE(rounded.ok());
    EXPECT_TRUE(has(rounded.error().message, "would earn less than one base unit"))
        << rounded.error().message;
    PostgresBackend::Options dear;
    dear.asset = kAsset;
    dear.network = testing::kNetwork;
    dear.price_per_pflop_min = Amount::parse_tokens("1.6").value();
    PostgresBackend floor(*api_db_, blobs_, clock_, dear);
    const auto cheap = floor.submit_job(sealed(Submission{owner_, "key", job_spec(dataset_, "1")}));
    ASSERT_FALSE(cheap.ok());
    EXPECT_TRUE(has(cheap.error().message, "no job below 1.6")) << cheap.error().message;
    std::string wide = job_spec(dataset_, "1");
    wide.replace(wide.find("slots: 2"), 8, "slots: 8193");
    EXPECT_FALSE(submit({owner_, "key", wide}).ok())
        << "more than an aggregate takes: no round could end";
    EXPECT_EQ(count("registry.job"), 0U);
}

TEST_F(SubmitTest, AUnitThatNoWorkerCanDoByItsDeadlineIsRefusedBeforeMoneyIsLocked) {
    deposit(owner_, "250", "d1");
    const std::string hurried = job_spec(dataset_, "1", "deadlines: {unit_ms: 10000}\n");
    join(1, 1'000);
    join(2, 2'000);
    const auto refused = submit({owner_, "key", hurried});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(
        has(refused.error().message, "'deadlines.unit_ms' is 10000: a unit of 4 steps takes"))
        << refused.error().message;
    EXPECT_TRUE(has(refused.error().message, "on the slowest of the 1 workers"))
        << refused.error().message;
    EXPECT_EQ(count("registry.job"), 0U);
    join(3, 1'000'000'000'000);
    const auto two = submit(
        {owner_, "key", job_spec(dataset_, "1", "workers_min: 2\ndeadlines: {unit_ms: 10000}\n")});
    ASSERT_FALSE(two.ok()) << "one of two";
    EXPECT_TRUE(submit({owner_, "key", hurried}).ok()) << "one is fast enough, and one begins it";
}

TEST_F(SubmitTest, WhereNobodyIsThereOrMeasuredNoDeadlineIsRefused) {
    deposit(owner_, "250", "d1");
    const std::string hurried = job_spec(dataset_, "1", "deadlines: {unit_ms: 10000}\n");
    join(1, 1'000);
    clock_.advance_ms(60'000);
    EXPECT_TRUE(submit({owner_, "gone", hurried}).ok()) << "it is not live any more";
    join(2, 0);
    const std::string other = job_spec(dataset_, "2", "deadlines: {unit_ms: 10000}\n");
    EXPECT_TRUE(submit({owner_, "unknown", other}).ok()) << "its speed is not known";
}

TEST_F(SubmitTest, AModelWhoseDeltasTheCoordinatorDoesNotTakeIsRefusedBeforeMoneyIsLocked) {
    deposit(owner_, "250", "d1");
    constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;
    publish_sizes({64, kPlenty});
    const auto blob = submit({owner_, "key", job_spec(dataset_, "1")});
    ASSERT_FALSE(blob.ok());
    EXPECT_EQ(blob.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(has(blob.error().message, "ask its operator to raise blob_bytes_max"))
        << blob.error().message;
    publish_sizes({kPlenty, 64});
    const auto deltas = submit({owner_, "key", job_spec(dataset_, "1", "workers_min: 2\n")});
    ASSERT_FALSE(deltas.ok());
    EXPECT_TRUE(has(deltas.error().message, "ask its operator to raise deltas_bytes_max"))
        << deltas.error().message;
    EXPECT_EQ(count("registry.job"), 0U);
    publish_sizes({kPlenty, kPlenty});
    EXPECT_TRUE(submit({owner_, "key", job_spec(dataset_, "1")}).ok());
}

TEST_F(SubmitTest, BadJobFilesAreNamedByLineAndKey) {
    deposit(owner_, "250", "d1");
    const auto message = [&](const std::string& spec) {
        const auto result = submit({owner_, "k", spec});
        return result.ok() ? std::string("accepted") : result.error().message;
    };
    EXPECT_NE(message(job_spec(dataset_, "1", "roundz: 3\n")).find("'roundz' is not a known key"),
              std::string::npos);
    EXPECT_NE(message(job_spec(dataset_, "0")).find("'budget' must be above zero"),
              std::string::npos);
    EXPECT_NE(message(job_spec(dataset_, "1.5e3")).find("'budget' must be an amount of GYM"),
              std::string::npos);
    EXPECT_NE(message(job_spec(dataset_, "1", "checkpoint_every: 5\n")).find("between 1 and 4"),
              std::string::npos);
    EXPECT_NE(message(job_spec(dataset_, "1", "on_fraud: ignore\n")).find("must be one of"),
              std::string::npos);
    EXPECT_NE(message(job_spec(dataset_, "1", "sampling: {floor_ppm: 0}\n")).find("floor_ppm"),
              std::string::npos);
    EXPECT_NE(message("just text").find("mapping"), std::string::npos);
    EXPECT_NE(message(std::string(60'000, '[')).find("not valid YAML"), std::string::npos);
    std::string zero_batch = job_spec(dataset_);
    zero_batch.replace(zero_batch.find("batch: 2"), 8, "batch: 0");
    EXPECT_NE(message(zero_batch).find("'batch' must be between 1"), std::string::npos);
    std::string odd_heads = job_spec(dataset_);
    odd_heads.replace(odd_heads.find("heads: 1"), 8, "heads: 3");
    EXPECT_NE(message(odd_heads).find("heads"), std::string::npos) << message(odd_heads);
    EXPECT_NE(message("name: \"mine\\e[8m\"\n").find("has a control character"), std::string::npos);
    std::string file_model = job_spec(dataset_);
    const auto model = file_model.find("model:");
    file_model.replace(model, file_model.find("dataset:") - model, "model: gpt.yaml\n");
    EXPECT_NE(message(file_model).find("'model' must be a mapping"), std::string::npos);
    EXPECT_EQ(count("api.idempotency"), 0U);
    EXPECT_EQ(message(job_spec(dataset_, "1", "on_fraud: continue\n")), "accepted");
}

TEST_F(SubmitTest, AModelThatNoGameCanDecideIsRefusedBeforeMoneyIsLocked) {
    deposit(owner_, "250", "d1");
    std::string large = job_spec(dataset_);
    const std::string model = "{vocabulary: 256, context: 16, layers: 1, heads: 1, width: 16}";
    large.replace(large.find(model), model.size(),
                  "{vocabulary: 256, context: 16, layers: 96, heads: 1, width: 16384}");
    const auto refused = submit({owner_, "k", large});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(has(refused.error().message,
                    "no network can train this model: its parameters "
                    "take "))
        << refused.error().message;
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "250");
}

TEST_F(SubmitTest, ALicenceForbidsOthersWhatItSays) {
    deposit(owner_, "250", "d1");
    deposit(address_of(2), "250", "d2");
    const auto offer = [&](const std::string& licence, char letter, bool shown = false) {
        const Bytes file = dataset_file(std::string(2'000, letter));
        DatasetOffer terms{
            .owner = address_of(2), .name = "theirs", .licence = licence, .file = file};
        if (shown) terms.access = registry::Access{registry::Visibility::kAllowList, {owner_}};
        return backend().add_dataset(terms).value().dataset;
    };
    const auto trains = [&](const registry::Dataset& data, const Address& who,
                            const std::string& more = "") {
        const auto job =
            submit({who, data.name + data.licence + more, job_spec(data.root, "1", more)});
        if (job.ok()) return std::string("yes");
        EXPECT_EQ(job.error().code, ErrorCode::kPermissionDenied) << job.error().message;
        return job.error().message;
    };
    const std::string other = "use: non-commercial\n";
    const auto nc = offer("cc-by-nc-4.0", 'a');
    EXPECT_EQ(nc.licence, "CC-BY-NC-4.0") << "as SPDX spells it";
    EXPECT_TRUE(has(trains(nc, owner_), "dataset " + nc.root.hex() +
                                            " (theirs) is under CC-BY-NC-4.0, and CC-BY-NC-4.0 "
                                            "forbids commercial use"))
        << trains(nc, owner_);
    EXPECT_TRUE(has(trains(nc, owner_), "--use non-commercial"));
    EXPECT_EQ(trains(nc, owner_, other), "yes");
    EXPECT_EQ(trains(nc, address_of(2)), "yes") << "its owner needs no licence";
    const auto nd = offer("CC-BY-ND-4.0", 'b');
    EXPECT_TRUE(has(trains(nd, owner_, other), "forbids derivatives"));
    EXPECT_FALSE(has(trains(nd, owner_, other), "--use")) << "no other use is permitted";
    const auto secret = offer("private", 'c', true);
    EXPECT_TRUE(has(trains(secret, owner_, other), "lets only its owner train"));
    EXPECT_EQ(trains(secret, address_of(2)), "yes");
    const auto reserved = offer("no-training", 'd');
    EXPECT_TRUE(has(trains(reserved, owner_, other), "reserves training to its owner"));
    EXPECT_EQ(trains(offer("private OR CC-BY-4.0", 'e', true), owner_), "yes");
    EXPECT_EQ(count("registry.job"), 4U);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "248");
}

TEST_F(SubmitTest, AUseIsOneOfTwoWords) {
    const auto odd = submit({owner_, "k", job_spec(dataset_, "1", "use: research\n")});
    ASSERT_FALSE(odd.ok());
    EXPECT_TRUE(has(odd.error().message, "'use' 'research' must be commercial or non-commercial"))
        << odd.error().message;
}

TEST_F(SubmitTest, ADatasetMustExistAndHoldAWindow) {
    deposit(owner_, "250", "d1");
    const auto unknown = submit({owner_, "k", job_spec(Digest{})});
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
    const auto tiny = add(owner_, "tiny", dataset_file(std::string(160, 'y'))).value().dataset;
    const auto short_text = submit({owner_, "k", job_spec(tiny.root)});
    ASSERT_FALSE(short_text.ok());
    EXPECT_NE(short_text.error().message.find("16 tokens, one window of the model needs 17"),
              std::string::npos)
        << short_text.error().message;
}

TEST_F(SubmitTest, DatasetsAreCheckedAndKeptOnce) {
    Bytes file = dataset_file("hello, hello");
    const auto first = add(owner_, "hello", file);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(first->is_new);
    EXPECT_EQ(blobs_.get(first->dataset.blob).value(), file);
    const auto again = add(owner_, "another name", file);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_FALSE(again->is_new);
    EXPECT_EQ(again->dataset.name, "hello") << "what stands there stays";
    EXPECT_EQ(add(address_of(2), "mine", file).error().code, ErrorCode::kConflict);
    file.pop_back();
    EXPECT_FALSE(add(owner_, "cut", file).ok());
}

TEST_F(SubmitTest, OnlyTheOwnerSteersAJob) {
    deposit(owner_, "250", "d1");
    const auto job = submit({owner_, "k", job_spec(dataset_)}).value().job;
    const auto stranger =
        backend().request_job(address_of(2), job.id, registry::JobRequest::kCancel);
    ASSERT_FALSE(stranger.ok());
    EXPECT_EQ(stranger.error().code, ErrorCode::kPermissionDenied);
    EXPECT_TRUE(backend().request_job(owner_, job.id, registry::JobRequest::kCancel).ok());
    const auto steered = database_.owner().transact(
        [&](db::Transaction& tx) { return registry::get_job(tx, job.id); });
    EXPECT_EQ(steered.value().request, registry::JobRequest::kCancel);
}

TEST_F(SubmitTest, MoreBudgetIsLockedOncePerKey) {
    deposit(owner_, "250", "d1");
    const Digest job = submit({owner_, "k", job_spec(dataset_)}).value().job.id;
    const Amount forty = Amount::parse_tokens("40").value();
    for (int i = 0; i < 2; ++i) {
        const auto funded = fund({owner_, job, forty, "more"});
        ASSERT_TRUE(funded.ok()) << funded.error().message;
        EXPECT_EQ(funded->budget_wei.to_tokens(), "140");
    }
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "110");
    EXPECT_EQ(backend().job(job).value().cost.left.to_tokens(), "140");
    const auto other = fund({owner_, job, Amount(1), "more"});
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    const auto poor = fund({owner_, job, Amount::parse_tokens("111").value(), "x"});
    EXPECT_EQ(poor.error().code, ErrorCode::kInsufficientFunds);
    EXPECT_NE(poor.error().message.find("the sum to add to the job's budget is 111 GYM, 110 are "
                                        "available: deposit 1 more"),
              std::string::npos)
        << poor.error().message;
    const auto stranger = fund({address_of(2), job, Amount(1), "x"});
    EXPECT_EQ(stranger.error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "110");
}

TEST_F(SubmitTest, AJobThatPausedForBudgetGoesOnWhenFunded) {
    deposit(owner_, "250", "d1");
    const Digest job = submit({owner_, "k", job_spec(dataset_)}).value().job.id;
    const Status paused = database_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::start_job(tx, job, {}, clock_.now_ms()));
        return registry::set_job_status(tx, job, registry::JobStatus::kPaused, "budget: ...",
                                        clock_.now_ms());
    });
    ASSERT_TRUE(paused.ok()) << paused.error().message;
    ASSERT_TRUE(fund({owner_, job, Amount(1), "more"}).ok());
    const auto funded =
        database_.owner().transact([&](db::Transaction& tx) { return registry::get_job(tx, job); });
    EXPECT_EQ(funded.value().request, registry::JobRequest::kResume);
}

TEST_F(SubmitTest, AJobThatItsOwnerPausedStaysPausedWhenFunded) {
    deposit(owner_, "250", "d1");
    const Digest job = submit({owner_, "k", job_spec(dataset_)}).value().job.id;
    const Status paused = database_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::start_job(tx, job, {}, clock_.now_ms()));
        return registry::set_job_status(tx, job, registry::JobStatus::kPaused,
                                        "paused by its owner", clock_.now_ms());
    });
    ASSERT_TRUE(paused.ok()) << paused.error().message;
    const auto funded = fund({owner_, job, Amount(1), "more"});
    ASSERT_TRUE(funded.ok()) << funded.error().message;
    EXPECT_EQ(funded->request, std::nullopt);
    EXPECT_EQ(funded->status, registry::JobStatus::kPaused);
}

}  // namespace
}  // namespace gym::api
