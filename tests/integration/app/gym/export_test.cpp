// `gym job export` against gym-api over a socket and a real chain: what is checked against what,
// what is written, and what happens when one of them says something else.
#include <algorithm>
#include <boost/json.hpp>

#include "blob_site.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/common/ppm.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/engine/state.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "log_storage.hpp"
#include "money_fixture.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using gym::testing::Outcome;
using testing::digest_of;

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kMismatch = 3, kRejected = 5;

/// A job of two rounds, both aggregated; round 2 is the last, so no record begins from its result.
class ExportTest : public testing::MoneyCommandsTest {
  protected:
    void SetUp() override {
        MoneyCommandsTest::SetUp();
        ::setenv("GYM_API_KEY", testing::kGoodKey, 1);
        program::TrainConfig config;
        config.batch = 1;
        config.model.vocabulary = 256;
        config.model.context = 8;
        config.model.layers = 1;
        config.model.heads = 2;
        config.model.width = 16;
        program_ = program::train_program(config).value();
        artifacts_.program_root = program::program_root(program_);
        artifacts_.program_blob = backend_.blobs.put(program::encode(program_)).value();
        for (const char* name : {"zero", "one", "two"})
            states_.push_back(store(name));
        artifacts_.base_state_root = states_[0].root;
        artifacts_.base_state_blob = states_[0].blob;
        backend_.edit_job = [this](JobView& view) { describe(view); };
        backend_.edit_round = [this](RoundView& view) { describe(view); };
        post(1, {});
        post(2, protocol::hash(records_.at(1)));
        sign(2, states_[2].root, admin_);
    }
    void TearDown() override {
        ::unsetenv("GYM_API_KEY");
        MoneyCommandsTest::TearDown();
    }

    registry::StateRef store(const std::string& seed) {
        const auto state = engine::initial_state(program_, commit::sha256(as_bytes(seed))).value();
        const auto base = engine::base_of(program_, state).value();
        return {engine::state_root(base), backend_.blobs.put(engine::encode_state(base)).value()};
    }
    void describe(JobView& view) {
        view.job.terms.rounds = 2;
        view.job.rounds_done = 2;
        view.job.status = registry::JobStatus::kRunning;
        view.job.artifacts = artifacts_;
        view.rounds.clear();
        for (std::uint64_t number = 1; number < states_.size(); ++number) {
            registry::Round round;
            round.round = number;
            round.state = registry::RoundState::kAggregated;
            round.next_base = states_[number];
            round.validation_loss = 3.0 / static_cast<double>(number);
            view.rounds.push_back(round);
        }
    }
    void describe(RoundView& view) {
        const auto record = records_.find(view.round.round);
        if (record == records_.end()) return;
        view.round.record = record->second;
        view.aggregate.reset();
        const auto aggregate = aggregates_.find(view.round.round);
        if (aggregate != aggregates_.end()) view.aggregate = aggregate->second;
    }
    /// Puts the hash of the record of `round` on chain.
    void post(std::uint64_t round, const Digest& previous) {
        protocol::RoundRecord record;
        record.job_id = digest_of(1);
        record.round = round;
        record.previous_record = previous;
        record.base_state_root = states_[round - 1].root;
        record.momentum_root = digest_of(9);
        record.program_root = artifacts_.program_root;
        record.evaluate_program_root = digest_of(10);
        record.dataset_root = digest_of(11);
        record.job_seed = digest_of(12);
        record.trace_root = digest_of(13);
        record.initial_state_root = digest_of(14);
        record.checkpoint_every = 1;
        record.tokens_per_step = record.flops_per_step = 1;
        record.slots.push_back({0, testing::address_of(4), kPpm, 1});
        records_[round] = record;
        gym::testing::put_round(anvil_, deployment_.commitment_log, record);
    }
    /// The coordinator's commitment to the result of `round`.
    void sign(std::uint64_t round, const Digest& result, const crypto::PrivateKey& key) {
        protocol::UnitCommitment claim;
        claim.kind = protocol::UnitKind::kAggregate;
        claim.round_record = protocol::hash(records_.at(round));
        claim.slot = protocol::kAggregateSlot;
        claim.records_root = digest_of(20);
        claim.final_state_root = result;
        claim.delta_root = digest_of(21);
        claim.steps = 1;
        const auto domain =
            protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
        aggregates_[round] = protocol::encode(protocol::sign(domain, claim, key));
    }
    [[nodiscard]] contracts::CommitmentLog log() const {
        return contracts::CommitmentLog(deployment_.commitment_log);
    }

    Outcome run_export(std::vector<std::string> more = {}) {
        std::vector<std::string> words{"job", "export", digest_of(1).hex(), "-o", folder()};
        words.insert(words.end(), more.begin(), more.end());
        return gym::testing::run(place_, std::move(words));
    }
    [[nodiscard]] std::string folder() const { return (place_ / "model").string(); }
    void expect_named(const Outcome& outcome, int exit_code, const std::string& sentence) {
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err << outcome.out;
        EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
        EXPECT_FALSE(interchange::read_model_folder(folder()).ok()) << "no model is left behind";
    }

    program::Program program_ = program::train_program({}).value();
    registry::JobArtifacts artifacts_;
    std::vector<registry::StateRef> states_;  ///< after round i
    std::map<std::uint64_t, protocol::RoundRecord> records_;
    std::map<std::uint64_t, Bytes> aggregates_;
};

TEST_F(ExportTest, TheLastRoundIsCheckedAgainstTheCoordinatorsSignatureAboutARecordOnChain) {
    const Outcome outcome = run_export();
    ASSERT_EQ(outcome.exit_code, kOk) << outcome.err << outcome.out;
    EXPECT_NE(outcome.out.find("after round 2 of 2"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("that coordinator " + admin_.address().hex() +
                               " signed as the "
                               "result of round 2"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find(protocol::hash(records_.at(2)).hex()), std::string::npos);
    const auto read = interchange::read_model_folder(folder());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->state_root, states_[2].root);
    EXPECT_EQ(read->program_root, artifacts_.program_root);
    EXPECT_EQ(read->job, digest_of(1));
    EXPECT_EQ(read->round, 2U);
    EXPECT_FALSE(std::filesystem::exists(place_ / "model" / ".download"));
    const std::string card = gym::testing::slurp(place_ / "model" / "README.md");
    for (const char* part : {"| 2 | 1.5000 |", "CC0-1.0", "round | 2 of 2", "signed as the result"})
        EXPECT_NE(card.find(part), std::string::npos) << part << card;
}

TEST_F(ExportTest, AnEarlierRoundIsCheckedAgainstTheRecordThatBeginsFromIt) {
    for (const auto& [round, state] : {std::pair{"1", 1U}, std::pair{"0", 0U}}) {
        const Outcome outcome = run_export({"--round", round, "--json"});
        ASSERT_EQ(outcome.exit_code, kOk) << outcome.err << outcome.out;
        const auto object = json::parse(outcome.out).as_object();
        EXPECT_TRUE(object.at("checked_on_chain").as_bool());
        EXPECT_EQ(object.at("state_root").as_string(), states_[state].root.hex());
        EXPECT_NE(
            json::serialize(object.at("checks"))
                .find("the record of round " + std::to_string(state + 1) + " on chain begins from"),
            std::string::npos)
            << outcome.out;
    }
}

TEST_F(ExportTest, WithoutAChainItSaysThatOnlyTheApiWasBelieved) {
    ::unsetenv("GYM_CHAIN");
    ::unsetenv("GYM_DEPLOYMENT");
    const Outcome outcome = run_export();
    ASSERT_EQ(outcome.exit_code, kOk) << outcome.err;
    EXPECT_NE(outcome.out.find("not checked        the bytes have the roots that gym-api named; "
                               "nothing was compared with a chain"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(gym::testing::slurp(place_ / "model" / "README.md").find("nothing was compared"),
              std::string::npos);
    EXPECT_EQ(run_export({"--chain", anvil_.url()}).exit_code, kUsage)
        << "a chain without contracts";
}

TEST_F(ExportTest, TheTokenizerOfTheDataComesAlong) {
    const ByteView model = as_bytes("a SentencePiece model");
    const auto bundle =
        tokenizer::make_bundle({{"tokenizer.model", Bytes(model.begin(), model.end())}}).value();
    const Bytes files = tokenizer::encode_bundle(bundle);
    Digest named = bundle.root;
    backend_.edit_dataset = [&](registry::Dataset& dataset) { dataset.tokenizer = named; };
    const Outcome without = run_export();
    ASSERT_EQ(without.exit_code, kOk) << without.err;
    EXPECT_FALSE(std::filesystem::exists(folder() + "/tokenizer.model")) << "nobody gave it";
    const Digest dataset = backend_.job(digest_of(1)).value().job.dataset_root;
    ASSERT_TRUE(backend_.add_dataset_tokenizer(dataset, files).ok());
    const Outcome with = run_export();
    ASSERT_EQ(with.exit_code, kOk) << with.err;
    EXPECT_EQ(read_file(folder() + "/tokenizer.model").value(), Bytes(model.begin(), model.end()));
    named = digest_of(99);
    const Outcome wrong = run_export();
    EXPECT_EQ(wrong.exit_code, kMismatch) << wrong.err;
    EXPECT_NE(wrong.err.find(bundle.root.hex()), std::string::npos) << wrong.err;
}

TEST_F(ExportTest, WhatTheOwnerOfSomebodyElsesDataWroteIsLeftOutUnlessItIsAskedFor) {
    const auto bytes = [](std::string_view text) { return Bytes(text.begin(), text.end()); };
    const auto bundle = tokenizer::make_bundle({{"tokenizer.model", bytes("a model")},
                                                {"chat_template.jinja", bytes("Buy it")}})
                            .value();
    registry::Dataset of_data;
    backend_.edit_dataset = [&](registry::Dataset& dataset) {
        dataset.tokenizer = bundle.root;
        dataset.owner = of_data.owner;
    };
    const registry::Job job = backend_.job(digest_of(1)).value().job;
    ASSERT_TRUE(
        backend_.add_dataset_tokenizer(job.dataset_root, tokenizer::encode_bundle(bundle)).ok());
    const auto template_there = [&] {
        return std::filesystem::exists(folder() + "/chat_template.jinja");
    };
    const auto card = [&] { return gym::testing::slurp(place_ / "model" / "README.md"); };

    of_data.owner = testing::address_of(9);
    const Outcome strangers = run_export();
    ASSERT_EQ(strangers.exit_code, kOk) << strangers.err;
    EXPECT_FALSE(template_there());
    EXPECT_TRUE(std::filesystem::exists(folder() + "/tokenizer.model"));
    EXPECT_NE(strangers.err.find("--all-tokenizer-files"), std::string::npos) << strangers.err;
    EXPECT_NE(card().find(of_data.owner.hex() + ", who is not the job's owner"), std::string::npos)
        << card();

    const Outcome asked = run_export({"--all-tokenizer-files"});
    ASSERT_EQ(asked.exit_code, kOk) << asked.err;
    EXPECT_TRUE(template_there());
    EXPECT_NE(card().find("Nobody checked what else"), std::string::npos) << card();
    ASSERT_EQ(run_export().exit_code, kOk);
    EXPECT_FALSE(template_there()) << "that of the export before";

    of_data.owner = job.owner;
    const Outcome own = run_export();
    ASSERT_EQ(own.exit_code, kOk) << own.err;
    EXPECT_TRUE(template_there());
    EXPECT_NE(card().find("from the job's owner"), std::string::npos) << card();
}

TEST_F(ExportTest, WeightsThatTheChainDoesNotNameAreRefused) {
    // The API serves other weights, with roots and hashes that fit them.
    const registry::StateRef forged = store("forged");
    states_[1] = forged;
    expect_named(run_export({"--round", "1"}), kMismatch,
                 "the record of round 2 on chain names " + records_.at(2).base_state_root.hex());
    states_[2] = forged;
    expect_named(run_export(), kMismatch, "the coordinator signed");
    sign(2, forged.root, owner_);
    expect_named(run_export(), kMismatch, "which is no coordinator of CommitmentLog");
    aggregates_.erase(2);
    expect_named(run_export(), kMismatch, "the round has no result");
    records_.at(2).base_state_root = forged.root;
    expect_named(run_export(), kMismatch, "gym-api's record of round 2 has the hash");
}

TEST_F(ExportTest, ASignatureAboutAnotherRoundIsRefused) {
    sign(1, states_[2].root, admin_);
    aggregates_[2] = aggregates_.at(1);
    expect_named(run_export(), kMismatch, "is of another round");
}

TEST_F(ExportTest, ARoundThatChangedNothingKeepsItsBase) {
    aggregates_.erase(2);
    states_[2] = states_[1];
    const Outcome outcome = run_export();
    ASSERT_EQ(outcome.exit_code, kOk) << outcome.err;
    EXPECT_NE(outcome.out.find("the round itself changed nothing"), std::string::npos);
}

TEST_F(ExportTest, AnotherProgramThanTheRecordsIsRefused) {
    program::TrainConfig config;
    config.model.layers = 1;
    const auto other = program::train_program(config).value();
    artifacts_.program_root = program::program_root(other);
    artifacts_.program_blob = backend_.blobs.put(program::encode(other)).value();
    expect_named(run_export(), kMismatch, "the program has the root");
}

TEST_F(ExportTest, WhatCannotBeExportedHasAReason) {
    expect_named(run_export({"--round", "3"}), kFailed, "the newest are those after round 2 of 2");
    ::setenv("GYM_API_KEY", testing::kOtherKey, 1);
    backend_.edit_job = [this](JobView& view) {
        describe(view);
        view.job.access = {registry::Visibility::kPrivate, {}};
    };
    expect_named(run_export(), kFailed, "no job " + digest_of(1).hex());
    ::unsetenv("GYM_API_KEY");
    expect_named(run_export(), kRejected, "this needs an API key");
    ::setenv("GYM_API_KEY", testing::kGoodKey, 1);
    states_[2].root = digest_of(99);
    expect_named(run_export(), kMismatch, "the downloaded state has the root");
    states_[2].blob = digest_of(98);
    expect_named(run_export(), kMismatch, "the download is altered");
    std::filesystem::create_directory(place_ / "full");
    gym::testing::spill(place_ / "full" / "thesis.txt", "mine");
    expect_named(gym::testing::run(place_, {"job", "export", digest_of(1).hex(), "-o",
                                            (place_ / "full").string()}),
                 kRejected, "holds files that are no exported model");
}

class ExportFromMirrorsTest : public ExportTest {
  protected:
    gym::testing::BlobSite first_{backend_.blobs}, second_{backend_.blobs};
};

TEST_F(ExportFromMirrorsTest, APublicModelComesFromMirrors) {
    backend_.mirrors_named = {first_.url(), second_.url()};
    const Outcome outcome = run_export({"--json"});
    ASSERT_EQ(outcome.exit_code, kOk) << outcome.err << outcome.out;
    EXPECT_GE(first_.pieces + second_.pieces, 2U) << "program and state";
    EXPECT_EQ(json::parse(outcome.out).at("state_root").as_string(), states_[2].root.hex());
    EXPECT_EQ(outcome.err.find("gym-api is asked"), std::string::npos) << outcome.err;
    EXPECT_TRUE(interchange::read_model_folder(folder()).ok());
}

TEST_F(ExportFromMirrorsTest, WhatMirrorsDoNotGiveComesFromTheApi) {
    using gym::testing::Fault;
    backend_.mirrors_named = {first_.url()};
    for (const Fault fault : {Fault::kAbsent, Fault::kHtml, Fault::kLies, Fault::kFails,
                              Fault::kRedirects, Fault::kListsLie, Fault::kTruncates}) {
        first_.fault = fault;
        std::filesystem::remove_all(folder());
        const Outcome outcome = run_export();
        ASSERT_EQ(outcome.exit_code, kOk) << static_cast<int>(fault) << outcome.err << outcome.out;
        EXPECT_NE((outcome.out + outcome.err).find("gym-api is asked instead of mirrors"),
                  std::string::npos)
            << outcome.out << outcome.err;
        EXPECT_TRUE(interchange::read_model_folder(folder()).ok());
    }
    backend_.mirrors_named = {"ftp://example.org"};
    EXPECT_EQ(run_export().exit_code, kOk) << "an address that is none";
}

TEST_F(ExportFromMirrorsTest, APrivateModelIsNotAskedOfMirrors) {
    backend_.mirrors_named = {first_.url()};
    backend_.edit_job = [this](JobView& view) {
        describe(view);
        view.job.access = {registry::Visibility::kPrivate, {}};
    };
    (void)run_export();
    EXPECT_EQ(first_.pieces + first_.lists, 0U);
}

TEST_F(ExportTest, WeightsThatNoRoundHasTrainedSaySo) {
    const auto early = run_export({"--round", "0", "--json"});
    ASSERT_EQ(early.exit_code, kOk) << early.err;
    EXPECT_NE(early.err.find("no round of it has changed them, and the newest is round 2"),
              std::string::npos)
        << early.err;
    EXPECT_FALSE(json::parse(early.out).at("trained").as_bool());
    states_.resize(1);
    backend_.edit_job = [this](JobView& view) {
        describe(view);
        view.job.rounds_done = 0;
    };
    const auto first = run_export({"--json"});
    ASSERT_EQ(first.exit_code, kOk) << first.err;
    const std::string told =
        "no round of the job is trained yet: these are the weights that the "
        "job begins from, not a result";
    EXPECT_NE(first.err.find(told), std::string::npos) << first.err;
    EXPECT_TRUE(json::parse(first.out).at("warnings").at(0).as_string().starts_with(told));
    EXPECT_NE(gym::testing::slurp(place_ / "model" / "README.md").find("Not trained by this job"),
              std::string::npos);
    EXPECT_NE(run_export().out.find("before round 1 of 2"), std::string::npos);
}

TEST_F(ExportTest, ATrainedModelHasNoSuchWarning) {
    const auto done = run_export({"--json"});
    ASSERT_EQ(done.exit_code, kOk) << done.err;
    EXPECT_TRUE(json::parse(done.out).at("trained").as_bool());
    EXPECT_TRUE(json::parse(done.out).at("warnings").as_array().empty());
    EXPECT_EQ(gym::testing::slurp(place_ / "model" / "README.md").find("Not trained"),
              std::string::npos);
}

TEST_F(ExportTest, AnExportReplacesAnOlderOneAndAFailureLeavesItAlone) {
    ASSERT_EQ(run_export({"--round", "1"}).exit_code, kOk);
    EXPECT_EQ(run_export({"--round", "7"}).exit_code, kFailed);
    EXPECT_EQ(interchange::read_model_folder(folder()).value().round, 1U);
    ASSERT_EQ(run_export().exit_code, kOk);
    EXPECT_EQ(interchange::read_model_folder(folder()).value().round, 2U);
}

TEST_F(ExportTest, StatusAndWatchSayThatTheModelIsTrained) {
    backend_.edit_job = [this](JobView& view) {
        describe(view);
        view.open_units = {3, 3, 1'000};
    };
    const std::string told = "trained            all 2 rounds; `gym job export ";
    const auto status = gym::testing::run(place_, {"job", "status", digest_of(1).hex()});
    EXPECT_NE(status.out.find(told), std::string::npos) << status.out;
    const auto watch = gym::testing::run(place_, {"job", "watch", digest_of(1).hex()});
    EXPECT_EQ(watch.exit_code, kOk) << "the job is running still: " << watch.err;
    EXPECT_NE(watch.out.find(told), std::string::npos) << watch.out;
    EXPECT_NE(watch.out.find("settling: 3 units to become final"), std::string::npos) << watch.out;
    for (const char* line : {"round 1 of 2", "round 2 of 2", "settling: 3 units", "trained   "}) {
        const std::size_t first = watch.out.find(line);
        EXPECT_NE(first, std::string::npos) << line;
        EXPECT_EQ(watch.out.find(line, first + 1), std::string::npos)
            << line << " is there twice:\n"
            << watch.out;
    }
    backend_.edit_job = [this](JobView& view) {
        describe(view);
        view.job.rounds_done = 1;
        view.job.status = registry::JobStatus::kCancelled;
        view.job.ended_at_ms = 5;
    };
    const auto cancelled = gym::testing::run(place_, {"job", "watch", digest_of(1).hex()});
    EXPECT_EQ(cancelled.exit_code, kFailed);
    EXPECT_NE(cancelled.out.find("1 of 2 rounds are trained"), std::string::npos) << cancelled.out;
}

TEST_F(ExportTest, AQuoteComparesAJobsWeightsWithTheModelAndDownloadsNone) {
    gym::testing::spill(place_ / "text.txt", std::string(4'000, 'z'));
    const auto quote = [&](const std::string& init, const std::string& width) {
        gym::testing::spill(place_ / "job.yaml",
                            "name: continued\nmodel:\n  batch: 1\n  model: {vocabulary: 256, "
                            "context: 8, layers: 1, heads: 2, width: " +
                                width +
                                "}\ndataset: text.txt\nrounds: 3\nslots: 2\nsteps_per_round: 4\n"
                                "price_per_pflop: 2\nbudget: 40\ninit: job:" +
                                init + "\n");
        return gym::testing::run(place_,
                                 {"job", "quote", (place_ / "job.yaml").string(), "--no-bench"});
    };
    const std::string id = digest_of(1).hex();
    for (const char* after : {"", "@1", "@0"}) {
        const auto fits = quote(id + after, "16");
        EXPECT_EQ(fits.exit_code, kOk) << fits.err;
        EXPECT_EQ((fits.out + fits.err).find("not checked"), std::string::npos) << fits.err;
    }
    const auto wide = quote(id, "32");
    EXPECT_EQ(wide.exit_code, kFailed) << wide.err;
    for (const program::SlotId slot : program_.slots_of(program::SlotKind::kParam))
        EXPECT_NE(wide.err.find("'" + program_.slot(slot).name + "'"), std::string::npos)
            << wide.err;
    const auto late = quote(id + "@9", "16");
    EXPECT_EQ(late.exit_code, kFailed) << late.err;
    EXPECT_NE(late.err.find("job:" + id + "@9: "), std::string::npos) << late.err;
}

TEST_F(ExportTest, AModelGoesFromTheNetworkToAText) {
    ASSERT_EQ(run_export().exit_code, kOk);
    const auto text = gym::testing::run(
        place_, {"generate", "--model", folder(), "--prompt", "ab", "--tokens", "4", "--json"});
    ASSERT_EQ(text.exit_code, kOk) << text.err;
    EXPECT_EQ(json::parse(text.out).at("tokens").as_array().size(), 4U);
}

}  // namespace
}  // namespace gym::api
