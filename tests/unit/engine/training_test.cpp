// Training's additions to a forward pass, run: dropout, micro-batches, skipped steps, rows with
// classes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gym/engine/batch.hpp"
#include "gym/engine/dataset_check.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/generate.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/train.hpp"
#include "gym/kernels/philox.h"
#include "gym/program/builder.hpp"
#include "gym/program/expand.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using program::Opcode;
using program::Program;
using program::SlotId;

const Digest kSeed = testing::seed_of("training features");

std::vector<StepRecord> train(const Program& program, const blob::Dataset& dataset, State state,
                              std::uint32_t steps, const EngineOptions& options = {}) {
    auto trainer =
        Trainer::create(program, std::move(state), dataset, {{kSeed, 3, 1}, steps, 1}, options);
    EXPECT_TRUE(trainer.ok()) << (trainer.ok() ? "" : trainer.error().message);
    std::vector<StepRecord> records;
    for (std::uint32_t i = 0; i < steps; ++i) {
        auto record = trainer->step();
        EXPECT_TRUE(record.ok()) << (record.ok() ? "" : record.error().message);
        records.push_back(std::move(record).value());
    }
    return records;
}

std::vector<StepRecord> train(const Program& program, std::uint32_t steps,
                              const EngineOptions& options = {}) {
    return train(program, testing::counting_dataset(), initial_state(program, kSeed).value(), steps,
                 options);
}

float loss_of(const StepRecord& record) {
    return std::bit_cast<float>(record.loss_bits);
}

TEST(TrainingFeatures, HaveTheSameBitsFusedExpandedAndOnEveryLevel) {
    const Program fused = program::train_program(testing::full_training_config()).value();
    const Program expanded = program::expand(fused).value();
    const auto records = train(fused, 3);
    EXPECT_EQ(records, train(expanded, 3));
    EXPECT_EQ(records, train(fused, 3, {.threads = 2, .isa = "scalar"}));
}

TEST(TrainingFeatures, TrainTogether) {
    const auto records =
        train(program::train_program(testing::full_training_config()).value(), 120);
    EXPECT_LT(loss_of(records.back()), loss_of(records.front()) - 2.0F);
}

/// mask of a program with nothing else.
std::vector<float> mask(std::vector<std::int32_t> position, std::uint64_t op,
                        std::uint64_t threshold, std::uint32_t count) {
    program::Builder b;
    const SlotId place = b.input("random", program::DType::kI32, {program::kRandomWords});
    const SlotId out = b.temp(program::DType::kF32, {count});
    b.append({Opcode::kRandomMask, {place}, {out}, {op, threshold, 0x40000000}});
    b.output("mask", out);
    const Program program = b.build().value();
    auto engine = Engine::create(program);
    State none;
    const ByteView bytes{reinterpret_cast<const std::uint8_t*>(position.data()),
                         position.size() * 4};
    const NamedTensorView input{"random", bytes};
    EXPECT_TRUE(engine.ok() && engine->run(none, {&input, 1}).ok());
    std::vector<float> values(count);
    std::memcpy(values.data(), engine->output("mask")->data(), count * 4UL);
    return values;
}

TEST(Dropout, IsThePhiloxWordOfTheElement) {
    const std::vector<float> found = mask({5, -6, 7, 8, 9}, 10, 0x60000000, 1003);
    const kernels::PhiloxKey key{{5, 0xFFFFFFFA}};
    std::size_t zeros = 0;
    for (std::uint64_t i = 0; i < found.size(); ++i) {
        const bool dropped = kernels::random_word(key, {7, 8, 9, 10}, i) < 0x60000000;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(found[i]), dropped ? 0U : 0x40000000U) << i;
        zeros += dropped ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(zeros) / 1003, 0.375, 0.05);
}

TEST(Dropout, DropsNothingAtZeroAndDiffersByStepAndOp) {
    EXPECT_EQ(mask({1, 2, 3, 4, 5}, 6, 0, 9), std::vector<float>(9, 2.0F));
    const auto one = mask({1, 2, 3, 4, 5}, 6, 0x80000000, 200);
    EXPECT_NE(one, mask({1, 2, 3, 4, 6}, 6, 0x80000000, 200));
    EXPECT_NE(one, mask({1, 2, 3, 4, 5}, 7, 0x80000000, 200));
    // Fields are taken modulo their width, so that every input means something.
    EXPECT_EQ(one, mask({1, 2, 3 + (1 << 24), 4 - (1 << 20), 5 + (1 << 20)}, 6, 0x80000000, 200));
}

float bits(std::uint32_t value) {
    return std::bit_cast<float>(value);
}

/// op over tensors of one element each.
std::uint32_t element(Opcode code, const std::vector<float>& operands) {
    program::Builder b;
    std::vector<SlotId> slots;
    for (std::size_t i = 0; i < operands.size(); ++i)
        slots.push_back(b.constant("c" + std::to_string(i), {1}, {operands[i]}));
    b.output("y", b.elementwise(code, slots));
    const Program program = b.build().value();
    auto engine = Engine::create(program);
    State none;
    EXPECT_TRUE(engine.ok() && engine->run(none, {}).ok());
    std::uint32_t found = 0;
    std::memcpy(&found, engine->output("y")->data(), 4);
    return found;
}

TEST(Comparisons, AreFalseWithNanAndSeeNoSignOfZero) {
    const float nan = bits(0x7FC00000), inf = bits(0x7F800000), tiny = bits(1);
    const auto le = [](float a, float b) { return element(Opcode::kLessEqual, {a, b}); };
    EXPECT_EQ(le(1, 1), 0x3F800000U);
    EXPECT_EQ(le(2, 1), 0U);
    EXPECT_EQ(le(0.0F, -0.0F), 0x3F800000U);
    EXPECT_EQ(le(tiny, 0.0F), 0U) << "subnormals are numbers";
    EXPECT_EQ(le(inf, inf), 0x3F800000U);
    EXPECT_EQ(le(nan, inf), 0U);
    EXPECT_EQ(le(-inf, nan), 0U);
    const auto select = [](float c, float a, float b) {
        return element(Opcode::kSelect, {c, a, b});
    };
    EXPECT_EQ(select(tiny, -0.0F, 1), 0x80000000U);
    EXPECT_EQ(select(0.0F, 2, -0.0F), 0x80000000U);
    EXPECT_EQ(select(-0.0F, 2, 3), 0x40400000U);
    EXPECT_EQ(select(nan, 2, 3), 0x40400000U);
    EXPECT_EQ(select(inf, nan, 3), 0x7FC00000U);
}

Program guarded_program(double loss_factor) {
    program::TrainConfig config = testing::small_config();
    config.optimizer.guard = {.enabled = true, .loss_factor = loss_factor};
    return program::train_program(config).value();
}

TEST(Guard, AStepThatIsNotFiniteLeavesTheStateAsItWas) {
    const Program program = guarded_program(0);
    for (const std::uint32_t poison : {0x7FC00000U, 0x7F800000U, 0x7F000000U}) {
        State state = initial_state(program, kSeed).value();
        std::memcpy(state.tensors[0].bytes.data(), &poison, 4);  // the embedding of token 0
        for (StateTensor& tensor : state.tensors)
            if (tensor.name == "final_norm.gamma") std::memcpy(tensor.bytes.data(), &poison, 4);
        const Digest before = state_root(state);
        const auto records = train(program, testing::counting_dataset(), state, 2);
        for (const StepRecord& record : records) {
            EXPECT_TRUE(record.skipped) << std::hex << poison;
            EXPECT_EQ(record.state_root, before) << std::hex << poison;
        }
    }
}

TEST(Guard, OrdinaryStepsAreTheUnguardedOnes) {
    const auto guarded = train(guarded_program(0), 3);
    const auto plain = train(testing::small_program(), 3);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_FALSE(guarded[i].skipped);
        EXPECT_EQ(guarded[i], plain[i]);
    }
}

TEST(Guard, ASpikeIsSkippedAndLossesThatStayHigherAreFollowed) {
    const Program program = guarded_program(1.5);
    const auto dataset = testing::counting_dataset();
    State state = initial_state(program, kSeed).value();
    const auto set = [&](std::string_view name, float value) {
        for (StateTensor& tensor : state.tensors)
            if (tensor.name == name) std::memcpy(tensor.bytes.data(), &value, 4);
    };
    // The first loss is about ln 256 = 5.5.
    set("guard.loss_mean", 3.0F);
    EXPECT_FALSE(train(program, dataset, state, 1)[0].skipped) << "no mean yet";
    set("guard.loss_seen", 1.0F);
    auto trainer = Trainer::create(program, state, dataset, {{kSeed, 3, 1}, 12, 1});
    ASSERT_TRUE(trainer.ok());
    EXPECT_TRUE(trainer->step()->skipped && trainer->step()->skipped);
    const State& after = **trainer->state();
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
        const bool moves = state.tensors[i].name == "guard.loss_mean";
        EXPECT_EQ(after.tensors[i].bytes == state.tensors[i].bytes, !moves)
            << state.tensors[i].name;
    }
    // Each of them moves the mean by a factor of 0.9 + 0.1 * 1.5.
    const auto steps = train(program, dataset, state, 12);
    EXPECT_TRUE(steps[1].skipped);
    EXPECT_FALSE(steps[11].skipped);
}

TEST(Records, SkippedIsPartOfTheHashAndTheEncoding) {
    StepRecord record;
    record.loss_bits = 7;
    StepRecord skipped = record;
    skipped.skipped = true;
    EXPECT_NE(record_hash({}, record), record_hash({}, skipped));
    const std::vector<StepRecord> both{record, skipped};
    const Bytes bytes = encode_records(both);
    EXPECT_EQ(decode_records(bytes).value(), both);
    EXPECT_EQ(find_first_difference({&record, 1}, {&skipped, 1})->field, "skipped");
    Bytes unknown = bytes;
    const std::size_t flags = 8 + 4 + 8 + 32 + 4 + 4;  // of the first record
    unknown[flags] = 4;
    EXPECT_EQ(decode_records(unknown).error().code, ErrorCode::kMalformed);
}

/// Rows of four features and a class: which feature is largest.
blob::Dataset rows_dataset(std::size_t rows, std::uint16_t classes = 4) {
    std::vector<std::uint16_t> tokens;
    std::uint32_t word = 1;
    for (std::size_t r = 0; r < rows; ++r) {
        std::uint16_t best = 0;
        for (std::uint16_t k = 0; k < 4; ++k) {
            word = word * 1664525U + 1013904223U;
            tokens.push_back(static_cast<std::uint16_t>(word >> 24));
            if (tokens.back() > tokens[tokens.size() - 1 - k + best]) best = k;
        }
        tokens.push_back(best % classes);
    }
    return blob::Dataset::from_tokens(std::move(tokens), 256).value();
}

program::TrainConfig mlp_config() {
    program::TrainConfig config;
    config.batch = 32;
    config.model = {.vocabulary = 256, .context = 4, .layers = 1, .width = 24, .init_std = 0.3};
    config.model.architecture = program::Architecture::kMlp;
    config.model.classes = 4;
    config.optimizer.learning_rate = 1e-2;
    return config;
}

TEST(Classifier, LearnsWhichFeatureIsLargest) {
    const Program program = program::train_program(mlp_config()).value();
    const auto records =
        train(program, rows_dataset(2000), initial_state(program, kSeed).value(), 200);
    EXPECT_NEAR(loss_of(records.front()), std::log(4.0F), 0.6);
    EXPECT_LT(loss_of(records.back()), 0.5F);
    const Program expanded = program::expand(program).value();
    const auto few = train(program, rows_dataset(50), initial_state(program, kSeed).value(), 2);
    EXPECT_EQ(few, train(expanded, rows_dataset(50), initial_state(program, kSeed).value(), 2));
}

/// Rows whose class has the largest logit, counted with the logits program.
std::uint32_t correct_by_logits(const Program& train, const State& state,
                                const blob::Dataset& dataset, std::uint32_t rows) {
    const Program logits = program::logits_program(train).value();
    Engine engine = Engine::create(logits).value();
    State base = base_of(train, state).value();
    std::uint32_t correct = 0;
    for (std::uint32_t first = 0; first < rows; first += 32) {
        const Batch batch = validation_batch(dataset, first, 32, rows, 4, 5).value();
        const NamedTensorView input{program::kBatchInput,
                                    {reinterpret_cast<const std::uint8_t*>(batch.tokens.data()),
                                     batch.tokens.size() * sizeof(std::int32_t)}};
        EXPECT_TRUE(engine.run(base, {&input, 1}).ok());
        std::vector<float> scores(32 * 4);
        std::memcpy(scores.data(), engine.output(program::kLogitsOutput).value().data(), 32 * 16);
        for (std::size_t r = 0; r < 32; ++r) {
            const auto row = scores.begin() + static_cast<std::ptrdiff_t>(4 * r);
            correct += std::max_element(row, row + 4) - row == batch.tokens[5 * r + 4];
        }
    }
    return correct;
}

TEST(Classifier, EvaluationCountsRowsWhoseClassHasTheLargestLogit) {
    const blob::Dataset dataset = rows_dataset(2000);
    program::TrainConfig config = mlp_config();
    const Program program = program::train_program(config).value();
    auto trainer = Trainer::create(program, initial_state(program, kSeed).value(), dataset,
                                   {{kSeed, 0, 0}, 100, 0})
                       .value();
    for (int step = 0; step < 100; ++step)
        ASSERT_TRUE(trainer.step().ok());
    const State& state = **trainer.state();
    const auto result = evaluate(program, state, dataset, 96);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->windows, 96U);
    EXPECT_EQ(result->correct, correct_by_logits(program, state, dataset, 96));
    EXPECT_GT(result->correct, 60U);
    EXPECT_LT(result->correct, 96U) << "a count of all rows would prove nothing";

    // Parts of a batch are counted too, and nothing about it enters the root.
    config.micro_batches = 4;
    const Program parts = program::train_program(config).value();
    EXPECT_EQ(evaluate(parts, state, dataset, 96)->correct, result->correct);
    const auto bare = program::evaluation_program(program).value();
    EXPECT_EQ(result->program_root, program::program_root(bare));

    // 400 tokens are 80 rows to validate on, in batches of 32: two, however many are asked for.
    EXPECT_EQ(evaluate(program, state, rows_dataset(800), 4'000'000'000U)->windows, 64U);
    // Scores that are all alike choose the first class.
    State alike = state;
    for (StateTensor& tensor : alike.tensors)
        std::ranges::fill(tensor.bytes, std::uint8_t{0});
    EXPECT_EQ(evaluate(program, alike, dataset, 96)->correct,
              correct_by_logits(program, alike, dataset, 96));
    int asked = 0;
    const auto stopped = evaluate(program, state, dataset, 96, {},
                                  [&](std::uint32_t, std::uint32_t, float) { return ++asked < 2; });
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(asked, 2);
}

TEST(Classifier, ATransformerLearnsItToo) {
    program::TrainConfig config = mlp_config();
    config.model = {.vocabulary = 256, .context = 4, .layers = 1, .heads = 2, .width = 24};
    config.model.init_std = 0.1;
    config.model.classes = 4;
    for (const auto architecture : {program::Architecture::kGpt, program::Architecture::kLlama}) {
        config.model.architecture = architecture;
        const Program program = program::train_program(config).value();
        const auto records =
            train(program, rows_dataset(2000), initial_state(program, kSeed).value(), 150);
        EXPECT_LT(loss_of(records.back()), loss_of(records.front()) - 0.3F);
    }
}

TEST(Classifier, WindowsAreWholeRowsInBothSplits) {
    const auto dataset = rows_dataset(37);  // 185 tokens: the validation split begins inside a row
    const auto all = dataset.tokens();
    const auto is_row = [&](std::span<const std::int32_t> row) {
        for (std::size_t r = 0; r < 37; ++r)
            if (std::equal(row.begin(), row.end(),
                           all.begin() + static_cast<std::ptrdiff_t>(5 * r)))
                return true;
        return false;
    };
    for (std::uint64_t step = 0; step < 20; ++step) {
        const auto batch = training_batch(dataset, {kSeed, 0, 0}, step, 2, 4, 5);
        ASSERT_TRUE(batch.ok());
        EXPECT_TRUE(is_row(std::span(batch->tokens).first(5)));
        EXPECT_TRUE(is_row(std::span(batch->tokens).last(5)));
    }
    const auto validation = validation_batch(dataset, 0, 3, 3, 4, 5);
    ASSERT_TRUE(validation.ok()) << validation.error().message;
    EXPECT_TRUE(std::equal(validation->tokens.end() - 5, validation->tokens.end(), all.end() - 5));
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(is_row(std::span(validation->tokens).subspan(5 * i, 5)));
}

TEST(Classifier, ADatasetIsCheckedRowByRow) {
    const Program program = program::train_program(mlp_config()).value();
    const blob::Dataset good = rows_dataset(100);
    EXPECT_TRUE(check_dataset(program, good).ok());
    const std::uint64_t row = mlp_config().model.context + std::uint64_t{1};
    for (const std::uint64_t bad : {0U, 57U, 99U}) {
        std::vector<std::uint16_t> tokens(good.tokens().begin(), good.tokens().end());
        tokens[bad * row + row - 1] = static_cast<std::uint16_t>(mlp_config().model.classes);
        const auto altered = blob::Dataset::from_tokens(std::move(tokens), good.vocabulary());
        EXPECT_EQ(check_dataset(program, *altered).error().code, ErrorCode::kInvalidArgument)
            << bad;
    }
    // One tenth of 5 rows is less than a row to validate on.
    EXPECT_EQ(check_dataset(program, rows_dataset(5)).error().code, ErrorCode::kInvalidArgument);
}

TEST(Classifier, AClassThatTheModelDoesNotKnowIsAnError) {
    program::TrainConfig config = mlp_config();
    config.model.classes = 2;
    const Program program = program::train_program(config).value();
    const blob::Dataset dataset = rows_dataset(100);
    auto trainer = Trainer::create(program, initial_state(program, kSeed).value(), dataset,
                                   {{kSeed, 0, 0}, 1, 0});
    ASSERT_TRUE(trainer.ok());
    const auto step = trainer->step();
    ASSERT_FALSE(step.ok());
    EXPECT_NE(step.error().message.find("label"), std::string::npos) << step.error().message;
    const State base = initial_state(program, kSeed).value();
    const std::int32_t prompt[] = {1};
    EXPECT_FALSE(generate(program, base, prompt).ok()) << "a classifier writes no text";
}

}  // namespace
}  // namespace gym::engine
