// Usefulness measured with the real engine: a small model that learns to count in English words.
#include "gym/measure/measurement.hpp"

#include <cstdlib>
#include <random>
#include <set>

#include "gym/common/file.hpp"
#include "must.hpp"
#include "small_model.hpp"
#include "streams.hpp"

namespace gym::measure {
namespace {

using engine::testing::counting_text;
using engine::testing::seed_of;
using testing::must;

constexpr std::size_t kReferenceBytes = 40'000;

blob::Dataset bytes_of(std::string_view text) {
    return must(blob::Dataset::build_from_text(as_bytes(text)));
}

EvaluationInputs inputs(std::uint32_t base_steps = 0) {
    const std::string text = counting_text(kReferenceBytes + 5'000);
    EvaluationInputs out{.model = engine::testing::small_config(),
                         .seed = seed_of("evaluation"),
                         .base_steps = base_steps,
                         .steps = 80,
                         .windows = 64,
                         .reference = bytes_of(text.substr(0, kReferenceBytes)),
                         .held_out = bytes_of(text.substr(kReferenceBytes)),
                         .salt = seed_of("salt")};
    out.model.batch = 8;
    out.model.optimizer.learning_rate = 1e-2;
    out.model.optimizer.warmup_steps = 5;
    return out;
}

/// An evaluation whose reference is measured already.
struct Bench {
    explicit Bench(std::uint32_t base_steps = 0)
        : evaluation(must(Evaluation::create(inputs(base_steps)))),
          base(must(make_base(evaluation))),
          reference(must(measure_reference(evaluation, base))) {}
    [[nodiscard]] std::uint32_t usefulness(const blob::Dataset& dataset) const {
        const Scored after = must(measure_dataset(evaluation, base, dataset));
        return must(quality::usefulness_ppm(losses_of(reference, after)));
    }
    Evaluation evaluation;
    Base base;
    ReferenceLosses reference;
};

const Bench& bench() {
    static const Bench it;
    return it;
}

blob::Dataset random_bytes() {
    std::mt19937_64 random{7};
    return must(blob::Dataset::from_tokens(quality::random_tokens(random, 40'000, 256), 256));
}

/// English, and not about numbers: this project's licence.
blob::Dataset english() {
    const Bytes text = must(read_file(std::getenv("GYM_SOURCE_DIR") + std::string("/LICENSE")));
    return must(blob::Dataset::build_from_text(text));
}

/// The letters of the reference, each as often, in an order that says nothing.
blob::Dataset shuffled_letters() {
    std::string text = counting_text(kReferenceBytes);
    std::mt19937_64 random{8};
    for (std::size_t i = text.size(); i > 1; --i)
        std::swap(text[i - 1], text[random() % i]);
    return bytes_of(text);
}

TEST(Measurement, TheReferenceItselfHasAllOfItsDrop) {
    EXPECT_EQ(bench().usefulness(bench().evaluation.reference()), 1'000'000U);
}

TEST(Measurement, RandomTokensHaveNone) {
    EXPECT_LT(bench().usefulness(random_bytes()), 20'000U);
}

TEST(Measurement, AnotherTextIsInBetween) {
    const std::uint32_t ppm = bench().usefulness(english());
    EXPECT_GT(ppm, 100'000U);
    EXPECT_LT(ppm, 900'000U);
    // More of the same kind is worth as much as the reference, nearly.
    const std::string later = counting_text(3 * kReferenceBytes).substr(2 * kReferenceBytes);
    EXPECT_GT(bench().usefulness(bytes_of(later)), ppm);
}

// The frequencies of letters are learnt before the base state is taken: nothing is left to gain by
// them.
TEST(Measurement, WithATrainedBaseStateTheFrequencyOfLettersIsWorthNothing) {
    EXPECT_GT(bench().usefulness(shuffled_letters()), 300'000U);
    const Bench trained(120);
    EXPECT_EQ(trained.usefulness(shuffled_letters()), 0U);
    EXPECT_EQ(trained.usefulness(random_bytes()), 0U);
    EXPECT_EQ(trained.usefulness(trained.evaluation.reference()), 1'000'000U);
    EXPECT_NE(trained.evaluation.id(), bench().evaluation.id());
}

TEST(Measurement, ThreadsAndInstructionSetsChangeNoBit) {
    const Bench& one = bench();
    MeasureOptions other;
    other.engine.threads = 2;
    other.engine.isa = "scalar";
    const Base base = must(make_base(one.evaluation, other));
    EXPECT_EQ(base.state_root, one.base.state_root);
    EXPECT_EQ(must(measure_reference(one.evaluation, base, other)), one.reference);
    EXPECT_EQ(must(measure_dataset(one.evaluation, base, english(), other)),
              must(measure_dataset(one.evaluation, one.base, english())));
}

TEST(Measurement, TheHeldOutTextIsAllThatTheLossDependsOn) {
    EvaluationInputs changed = inputs();
    changed.held_out = bytes_of(counting_text(9'000).substr(4'000));
    const Evaluation evaluation = must(Evaluation::create(std::move(changed)));
    const Base base = must(make_base(evaluation));
    EXPECT_EQ(base.state_root, bench().base.state_root) << "the base state is the seed's alone";
    const Scored after = must(measure_dataset(evaluation, base, english()));
    const Scored before = must(measure_dataset(bench().evaluation, bench().base, english()));
    EXPECT_EQ(after.state_root, before.state_root) << "training never sees it";
    EXPECT_NE(after.loss_bits, before.loss_bits);
}

TEST(Measurement, AReferenceThatTeachesNothingIsRefused) {
    EvaluationInputs useless = inputs();
    useless.held_out = random_bytes();
    const auto created = Evaluation::create(std::move(useless));
    ASSERT_TRUE(created.ok()) << created.error().message;
    const auto measured = measure_reference(*created, must(make_base(*created)));
    ASSERT_FALSE(measured.ok());
    EXPECT_EQ(measured.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(measured.error().message.find("does not lower the loss"), std::string::npos);
}

TEST(Measurement, ProgressIsToldAndAStopIsHeeded) {
    std::set<std::string> told;
    MeasureOptions options;
    std::stop_source stop;
    options.cancel = stop.get_token();
    options.progress = [&](std::string_view what, const engine::UnitProgress& at) {
        told.emplace(what);
        EXPECT_LE(at.step, at.steps);
        if (what == "held-out text") stop.request_stop();
    };
    const auto stopped = measure_dataset(bench().evaluation, bench().base, english(), options);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(told, (std::set<std::string>{"dataset", "held-out text"}));
}

void expect_refused(const Status& status, const std::string& words) {
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument) << status.error().message;
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
}

TEST(Measurement, DatasetsThatItDoesNotApplyToAreRefused) {
    const blob::Dataset words = must(blob::Dataset::from_tokens(std::vector<std::uint16_t>(99), 7));
    const auto measured = measure_dataset(bench().evaluation, bench().base, words);
    expect_refused(measured.ok() ? Status{} : Status(measured.error()),
                   "its vocabulary has 7 tokens, the evaluation is for 256");
    expect_refused(bench().evaluation.check(bytes_of("sixteen letters.")), "one window needs 17");
}

TEST(EvaluationTest, BadOnesAreRefused) {
    const auto refused = [](const std::string& words, auto change) {
        EvaluationInputs bad = inputs();
        change(bad);
        const auto created = Evaluation::create(std::move(bad));
        expect_refused(created.ok() ? Status{} : Status(created.error()), words);
    };
    refused("steps of an evaluation: 0", [](EvaluationInputs& bad) { bad.steps = 0; });
    refused("windows of an evaluation: 7 is outside [8, ",
            [](EvaluationInputs& bad) { bad.windows = 7; });
    refused("a classifier or an encoder does not",
            [](EvaluationInputs& bad) { bad.model.model.classes = 4; });
    refused("the reference text: its vocabulary",
            [](EvaluationInputs& bad) { bad.model.model.vocabulary = 300; });
    refused("the held-out text: the text is too short: it has 3 tokens, one window needs 17",
            [](EvaluationInputs& bad) { bad.held_out = bytes_of("abc"); });
}

TEST(EvaluationTest, ItsIdCoversEverythingAndHidesTheHeldOutText) {
    std::set<Digest> ids;
    const auto id = [&](auto change) {
        EvaluationInputs one = inputs();
        change(one);
        EXPECT_TRUE(ids.insert(must(Evaluation::create(std::move(one))).id()).second);
    };
    id([](EvaluationInputs&) {});
    id([](EvaluationInputs& one) { one.model.optimizer.learning_rate = 2e-2; });
    id([](EvaluationInputs& one) { one.model.batch = 4; });
    id([](EvaluationInputs& one) { one.seed = seed_of("another"); });
    id([](EvaluationInputs& one) { one.base_steps = 1; });
    id([](EvaluationInputs& one) { one.steps = 81; });
    id([](EvaluationInputs& one) { one.windows = 65; });
    id([](EvaluationInputs& one) { one.reference = bytes_of(counting_text(30'000)); });
    id([](EvaluationInputs& one) { one.held_out = bytes_of(counting_text(30'000)); });
    id([](EvaluationInputs& one) { one.salt = seed_of("another"); });
    const Evaluation evaluation = must(Evaluation::create(inputs()));
    EXPECT_EQ(evaluation.id(), quality::evaluation_id(evaluation.terms()));
    EXPECT_EQ(evaluation.terms().held_out,
              quality::held_out_commitment(evaluation.salt(), evaluation.held_out().root()));
}

}  // namespace
}  // namespace gym::measure
