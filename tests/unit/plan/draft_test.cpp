#include "gym/plan/draft.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gym/engine/outer_state.hpp"
#include "gym/program/train_program.hpp"
#include "sample_facts.hpp"

namespace gym::plan {
namespace {

using testing::sample_facts;
using testing::sample_work;

const std::string kBegin =
    "# the owner's words\n"
    "name: wishes\n"
    "model: {batch: 2}\n"
    "dataset: text.txt\n";

Result<Draft> draft_of(const std::string& text) {
    return read_draft(YamlText(text, "job.yaml"));
}

std::string refusal(const std::string& text) {
    const auto draft = draft_of(text);
    return draft.ok() ? "accepted" : draft.error().message;
}

TEST(Draft, WishesTakeThePlaceOfTerms) {
    const auto draft =
        draft_of(kBegin + "tokens: 1e9  # as many\nnodes: 8\nmax_cost: 50.5\nwithin: 12h\n");
    ASSERT_TRUE(draft.ok()) << draft.error().message;
    EXPECT_EQ(draft->wishes.tokens, 1'000'000'000U);
    EXPECT_EQ(draft->wishes.nodes, 8U);
    EXPECT_EQ(draft->wishes.max_cost_wei->to_tokens(), "50.5");
    EXPECT_EQ(draft->wishes.within_s, 43'200U);
    EXPECT_TRUE(draft->needs_plan());
    EXPECT_FALSE(draft->fixed.rounds || draft->fixed.slots || draft->fixed.budget_wei);
    EXPECT_NE(draft->text.text().find("# tokens: 1e9"), std::string::npos);
}

TEST(Draft, ACompletedDraftIsAJobFile) {
    const auto draft = draft_of(kBegin +
                                "tokens: 300M\n"
                                "steps_per_round: 20   # short\n"
                                "deadlines:\n"
                                "  unit_ms: 700000   # mine\n"
                                "\n"
                                "sampling: {floor_ppm: 60000}\n");
    ASSERT_TRUE(draft.ok()) << draft.error().message;
    const auto plan = make_plan(draft->wishes, draft->fixed, sample_work(), sample_facts(8));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const auto text = complete(*draft, *plan);
    ASSERT_TRUE(text.ok()) << text.error().message;
    const auto spec = registry::parse_job_spec(*text, "completed");
    ASSERT_TRUE(spec.ok()) << spec.error().message << *text;
    EXPECT_EQ(spec->terms, plan->terms);
    EXPECT_EQ(spec->budget_wei, plan->budget_wei);
    EXPECT_EQ(spec->terms.steps, 20U);
    EXPECT_EQ(spec->terms.lifecycle.unit_ms, 700'000);
    EXPECT_EQ(spec->terms.sampling.floor_ppm, 60'000U);
    EXPECT_NE(text->find("# the owner's words"), std::string::npos);
    const auto again = draft_of(*text);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_FALSE(again->needs_plan());
    EXPECT_EQ(again->text.text(), *text);
}

TEST(Draft, ElasticityThatIsWrittenStands) {
    const auto draft = draft_of(kBegin + "tokens: 300M\nelastic: {accept_late: true}\n");
    ASSERT_TRUE(draft.ok()) << draft.error().message;
    const auto plan = make_plan(draft->wishes, draft->fixed, sample_work(), sample_facts(8));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    registry::Elasticity written;
    written.accept_late = true;
    EXPECT_EQ(plan->terms.elastic, written);
    const auto text = complete(*draft, *plan);
    ASSERT_TRUE(text.ok()) << text.error().message;
    const auto spec = registry::parse_job_spec(*text, "completed");
    ASSERT_TRUE(spec.ok()) << spec.error().message << *text;
    EXPECT_EQ(spec->terms, plan->terms);
}

TEST(Draft, AFullJobFileNeedsNoPlan) {
    const std::string full = kBegin +
                             "rounds: 3\nslots: 2\nsteps_per_round: 4\nprice_per_pflop: 2\n"
                             "budget: 40\n";
    const auto draft = draft_of(full);
    ASSERT_TRUE(draft.ok()) << draft.error().message;
    EXPECT_FALSE(draft->needs_plan());
    EXPECT_EQ(draft->text.text(), full);
}

TEST(Draft, ASchedulesEndFollowsThePlan) {
    auto draft = draft_of(kBegin + "tokens: 1e9\n").value();
    draft.follow = Draft::WarmUps{100'000, 1'000};
    const auto plan = make_plan(draft.wishes, draft.fixed, sample_work(), sample_facts(8)).value();
    const auto text = complete(draft, plan);
    ASSERT_TRUE(text.ok()) << text.error().message;
    const std::uint64_t steps = plan.terms.rounds * plan.terms.steps;
    EXPECT_NE(text->find("total_steps: " + std::to_string(steps)), std::string::npos) << *text;
    EXPECT_NE(text->find("warmup_steps: " + std::to_string(steps / 10)), std::string::npos);
    EXPECT_NE(text->find("inner_warmup_steps: " + std::to_string(plan.terms.steps / 5)),
              std::string::npos);
    EXPECT_NE(text->find("batch: 2"), std::string::npos);
}

TEST(Draft, TheOuterStepOfAFewRoundsIsWrittenWhereItWasLeftOpen) {
    const std::string small = "tokens: 327680\n";
    auto draft = draft_of(kBegin + small).value();
    EXPECT_TRUE(leaves_outer_open(draft).value());
    ModelWork work = sample_work();
    leave_open({.outer = true}, {}, draft, work);
    const auto plan = make_plan(draft.wishes, draft.fixed, work, sample_facts(1)).value();
    const auto text = complete(draft, plan);
    ASSERT_TRUE(text.ok()) << text.error().message;
    auto spec = registry::parse_job_spec(*text, "completed").value();
    auto outer = spec.model->map("outer");
    ASSERT_TRUE(outer.ok()) << *text;
    EXPECT_EQ(outer->string("momentum").value(), "0.4");
    EXPECT_EQ(outer->string("learning_rate").value(), "0.7");
    // A preset's text has one, which nobody chose.
    const std::string preset =
        "name: wishes\nmodel: {batch: 2, outer: {learning_rate: 0.7, momentum: 0.9}}\n"
        "dataset: text.txt\n";
    auto inlined = draft_of(preset + small).value();
    EXPECT_FALSE(leaves_outer_open(inlined).value());
    EXPECT_NE(complete(inlined, plan).value().find("momentum: 0.4"), std::string::npos);
    EXPECT_EQ(complete(inlined, plan).value().find("momentum: 0.9"), std::string::npos);
}

TEST(Draft, APlannedJobThatNamesNoCompressionCompressesItsDeltas) {
    auto draft = draft_of(kBegin + "tokens: 1e9\n").value();
    program::TrainConfig config;
    ASSERT_TRUE(compress_deltas(draft, config).ok());
    EXPECT_EQ(config.compression, program::DeltaCodec::kDense);
    ModelWork work = sample_work();
    leave_open({}, {}, draft, work);
    const auto plan = make_plan(draft.wishes, draft.fixed, work, sample_facts(8)).value();
    EXPECT_TRUE(std::ranges::any_of(
        plan.reasons, [](const Reason& reason) { return reason.term == kCompressionTerm; }));
    const std::string whole = complete(draft, plan).value();
    auto spec = registry::parse_job_spec(whole, "completed").value();
    EXPECT_EQ(spec.model->string("compression").value(), "dense-4bit") << whole;
}

class DraftOfAnUpdate : public ::testing::Test {
  protected:
    /// A planned job whose deltas are compressed.
    static Draft compressed(const std::string& model = "{batch: 2}") {
        auto draft =
            draft_of("name: wishes\nmodel: " + model + "\ndataset: text.txt\ntokens: 1e9\n")
                .value();
        program::TrainConfig config = config_;
        EXPECT_TRUE(compress_deltas(draft, config).ok());
        return draft;
    }
    static Facts facts(std::uint64_t blob_bytes_max) {
        Facts out = sample_facts(8);
        out.sizes = protocol::SizeLimits{.blob_bytes = blob_bytes_max,
                                         .deltas_bytes = std::uint64_t{1} << 40};
        return out;
    }
    static program::TrainConfig dense() {
        program::TrainConfig config = config_;
        config.compression = program::DeltaCodec::kDense;
        return config;
    }
    static inline const program::TrainConfig config_;
};

TEST_F(DraftOfAnUpdate, APlannedJobWithCompressedDeltasHasUpdatesInRows) {
    Draft draft = compressed();
    program::TrainConfig config = dense();
    ASSERT_TRUE(compress_updates(draft, facts(std::uint64_t{1} << 40), config).ok());
    EXPECT_EQ(config.update, program::UpdateCodec::kDense);
    ModelWork work = sample_work();
    leave_open({}, {}, draft, work);
    const auto plan = make_plan(draft.wishes, draft.fixed, work, sample_facts(8)).value();
    EXPECT_TRUE(std::ranges::any_of(
        plan.reasons, [](const Reason& reason) { return reason.term == kUpdateTerm; }));
    const std::string whole = complete(draft, plan).value();
    auto spec = registry::parse_job_spec(whole, "completed").value();
    EXPECT_EQ(spec.model->string("update").value(), "dense-4bit") << whole;
}

TEST_F(DraftOfAnUpdate, ANetworkThatCannotSendTheOuterStateTrainsWithout) {
    program::TrainConfig with = dense();
    with.update = program::UpdateCodec::kDense;
    const std::uint64_t bytes =
        engine::state_bytes_max(program::train_program(with).value()).value();
    Facts unknown = facts(bytes);
    unknown.sizes.reset();
    for (const Facts& given : {facts(bytes - 1), unknown}) {
        Draft draft = compressed();
        const std::string before = draft.text.text();
        program::TrainConfig config = dense();
        ASSERT_TRUE(compress_updates(draft, given, config).ok());
        EXPECT_EQ(config.update, program::UpdateCodec::kNone);
        EXPECT_EQ(draft.text.text(), before);
    }
    Draft draft = compressed();
    program::TrainConfig config = dense();
    ASSERT_TRUE(compress_updates(draft, facts(bytes), config).ok());
    EXPECT_EQ(config.update, program::UpdateCodec::kDense) << "exactly as large as is sent";
}

TEST_F(DraftOfAnUpdate, WhatIsWrittenStands) {
    const Facts roomy = facts(std::uint64_t{1} << 40);
    Draft written = compressed("{batch: 2, update: none}");
    program::TrainConfig config = dense();
    ASSERT_TRUE(compress_updates(written, roomy, config).ok());
    EXPECT_EQ(config.update, program::UpdateCodec::kNone);
    Draft whole = compressed("{batch: 2, compression: none}");
    program::TrainConfig plain = config_;
    ASSERT_TRUE(compress_updates(whole, roomy, plain).ok());
    EXPECT_EQ(plain.update, program::UpdateCodec::kNone) << "its deltas are whole";
}

TEST(Draft, ACompressionThatIsWrittenStands) {
    for (const std::string& written :
         {kBegin + "rounds: 3\nslots: 2\nsteps_per_round: 4\nprice_per_pflop: 2\nbudget: 40\n",
          std::string("name: wishes\nmodel: {batch: 2, compression: none}\n"
                      "dataset: text.txt\ntokens: 1e9\n")}) {
        auto draft = draft_of(written).value();
        const std::string before = draft.text.text();
        program::TrainConfig config;
        ASSERT_TRUE(compress_deltas(draft, config).ok());
        EXPECT_EQ(config.compression, program::DeltaCodec::kFloat);
        EXPECT_EQ(draft.text.text(), before);
        EXPECT_FALSE(draft.compresses);
    }
}

TEST(Draft, MistakesNameTheLineOfTheFile) {
    EXPECT_NE(refusal(kBegin + "tokens: lots\n").find("job.yaml:5: 'tokens'"), std::string::npos)
        << refusal(kBegin + "tokens: lots\n");
    EXPECT_NE(refusal(kBegin + "nodes: 0\n").find("job.yaml:5: 'nodes'"), std::string::npos);
    EXPECT_NE(refusal(kBegin + "tokens: 5\nslotz: 3\n").find("job.yaml:6: 'slotz'"),
              std::string::npos)
        << refusal(kBegin + "tokens: 5\nslotz: 3\n");
    EXPECT_NE(refusal(kBegin + "nodes: 5\nslots: 3\n").find("'nodes' and 'slots' are the same"),
              std::string::npos);
    EXPECT_NE(refusal(kBegin + "max_cost: 1e3\n").find("job.yaml:5: 'max_cost'"),
              std::string::npos);
    EXPECT_NE(refusal(kBegin + "within: 5\n").find("is not a time like"), std::string::npos);
    EXPECT_NE(refusal("name: x\ntokens: 5\n").find("'model' is missing"), std::string::npos)
        << refusal("name: x\ntokens: 5\n");
}

TEST(Draft, AMistypedKeyIsAnsweredWithAllThatThereAre) {
    const auto draft = read_draft(
        YamlText("name: a\nmodel: gpt-nano\ndataset: text.txt\ntoken: 20k\n", "job.yaml"));
    ASSERT_FALSE(draft.ok());
    const std::string& said = draft.error().message;
    EXPECT_NE(said.find("job.yaml:4: 'token' is not a known key (did you mean tokens?)"),
              std::string::npos)
        << said;
    for (const char* key : {"tokens", "nodes", "max_cost", "within", "data", "use", "sampling",
                            "deadlines", "max_data_price", "delta_norm_max", "init"})
        EXPECT_NE(said.find(std::string(" ") + key), std::string::npos) << key << " in " << said;
    const auto set = read_draft(
        YamlText("name: a\nmodel: gpt-nano\ndataset: text.txt\nmodle: {batch: 8}\n", "job.yaml"));
    ASSERT_FALSE(set.ok());
    EXPECT_NE(set.error().message.find("'modle' is not a known key (did you mean model?)"),
              std::string::npos)
        << set.error().message;
}

}  // namespace
}  // namespace gym::plan
