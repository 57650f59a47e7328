// Encoders, trained: each task falls to a loss that guessing cannot reach, with the same bits on
// every level and expanded.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "gym/engine/engine.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/generate.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/expand.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using program::Architecture;
using program::Pooling;
using program::Program;
using program::Task;
using program::TrainConfig;

const Digest kSeed = testing::seed_of("encoders");

/// Numbers that are the same on every machine.
class Words {
  public:
    std::uint16_t below(std::uint32_t bound) {
        state_ = state_ * 1664525U + 1013904223U;
        return static_cast<std::uint16_t>((state_ >> 8) % bound);
    }

  private:
    std::uint32_t state_ = 7;
};

TrainConfig encoder_config(Task task) {
    TrainConfig config;
    config.batch = 16;
    config.model = {.vocabulary = 64, .context = 8, .layers = 1, .heads = 2, .width = 24};
    config.model.init_std = 0.1;
    config.model.architecture = Architecture::kEncoder;
    config.model.task = task;
    config.optimizer.learning_rate = 5e-3;
    config.optimizer.total_steps = 600;
    return config;
}

Program made(const TrainConfig& config) {
    auto program = program::train_program(config);
    GYM_ASSERT(program.ok(), program.ok() ? "" : program.error().message);
    return *std::move(program);
}

struct Training {
    std::vector<StepRecord> records;
    State state;
    [[nodiscard]] float loss(std::size_t step) const {
        return std::bit_cast<float>(records.at(step).loss_bits);
    }
    /// Over the last ten steps.
    [[nodiscard]] float last_loss() const {
        float sum = 0;
        for (std::size_t i = records.size() - 10; i < records.size(); ++i)
            sum += loss(i);
        return sum / 10;
    }
};

Training train(const Program& program, const blob::Dataset& dataset, std::uint32_t steps,
               const EngineOptions& options = {}) {
    Training run;
    auto trainer = Trainer::create(program, initial_state(program, kSeed).value(), dataset,
                                   {{kSeed, 0, 1}, steps, 1}, options);
    EXPECT_TRUE(trainer.ok()) << (trainer.ok() ? "" : trainer.error().message);
    for (std::uint32_t i = 0; trainer.ok() && i < steps; ++i) {
        auto record = trainer->step();
        EXPECT_TRUE(record.ok()) << (record.ok() ? "" : record.error().message);
        run.records.push_back(std::move(record).value());
    }
    run.state = **trainer->state();
    return run;
}

void expect_same_bits(const TrainConfig& config, const blob::Dataset& dataset) {
    const Program program = made(config);
    const auto records = train(program, dataset, 3).records;
    EXPECT_EQ(records, train(program, dataset, 3, {.threads = 2, .isa = "scalar"}).records);
    EXPECT_EQ(records, train(program::expand(program).value(), dataset, 3).records);
}

blob::Dataset tokens_of(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary = 64) {
    return blob::Dataset::from_tokens(std::move(tokens), vocabulary).value();
}

TEST(MaskedTokens, AreLearnedFromBothSides) {
    TrainConfig config = encoder_config(Task::kMasked);
    // Every other token is noise, the ones between repeat what is after the next noise.
    Words words;
    std::vector<std::uint16_t> tokens;
    for (int i = 0; i < 3000; ++i) {
        const std::uint16_t token = words.below(20);
        tokens.insert(tokens.end(), {token, token});
    }
    const blob::Dataset dataset = tokens_of(std::move(tokens), 20);
    const Training run = train(made(config), dataset, 400);
    EXPECT_NEAR(run.loss(0), std::log(64.0F), 1.0F);
    EXPECT_LT(run.last_loss(), 2.5F) << "how often tokens are tells no more than ln 20 = 3";
    EXPECT_GT(run.last_loss(), 0.1F) << "hidden tokens must not be seen";
    const auto result = evaluate(made(config), run.state, dataset, 64);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_NEAR(result->mean_loss, run.last_loss(), 0.6F);
    EXPECT_EQ(result->root,
              evaluate(made(config), run.state, dataset, 64, {.isa = "scalar"})->root);
    config.micro_batches = 2;
    config.model.dropout = 0.1;
    config.optimizer.guard = {.enabled = true, .loss_factor = 3};
    expect_same_bits(config, dataset);
}

/// Logits of an evaluation over `tokens`.
Bytes logits_of(const Program& logits, State base, const std::vector<std::int32_t>& tokens) {
    Engine engine = Engine::create(logits).value();
    const NamedTensorView input{
        program::kBatchInput,
        {reinterpret_cast<const std::uint8_t*>(tokens.data()), tokens.size() * 4}};
    EXPECT_TRUE(engine.run(base, {&input, 1}).ok());
    const ByteView bytes = engine.output(program::kLogitsOutput).value();
    return {bytes.begin(), bytes.end()};
}

TEST(MaskedTokens, AreReadByNobodyAndTheOthersByAll) {
    TrainConfig config = encoder_config(Task::kMasked);
    config.batch = 4;
    const Program train = made(config);
    const Program logits = program::logits_program(train).value();
    const State base = base_of(train, initial_state(train, kSeed).value()).value();
    const program::Slot& spread = logits.slot(logits.find_slot("hidden_in_evaluation"));
    std::vector<float> hidden(32);
    std::memcpy(hidden.data(), spread.value.data(), 128);
    std::vector<std::int32_t> tokens(4UL * 9, 5);
    const Bytes before = logits_of(logits, base, tokens);
    std::size_t hidden_rows = 0;
    for (std::size_t row = 0; row < 32; ++row) {
        auto changed = tokens;
        changed[row / 8 * 9 + row % 8] = 9;
        const Bytes after = logits_of(logits, base, changed);
        hidden_rows += hidden[row] == 1.0F ? 1 : 0;
        ASSERT_EQ(after == before, hidden[row] == 1.0F) << row;
        if (after == before) continue;
        // The first token of its window reads it, wherever it is; other windows do not.
        for (std::size_t window = 0; window < 4; ++window) {
            const std::size_t first = window * 8 * 64 * 4;
            EXPECT_EQ(std::memcmp(after.data() + first, before.data() + first, 256) != 0,
                      window == row / 8)
                << row;
        }
    }
    EXPECT_EQ(hidden_rows, 4U) << "0.15 of 32";
}

/// Rows of 8 tokens and a class: the token that stands twice, of 4, anywhere among others.
blob::Dataset marked_rows(std::size_t rows) {
    Words words;
    std::vector<std::uint16_t> tokens;
    for (std::size_t r = 0; r < rows; ++r) {
        std::vector<std::uint16_t> row(8);
        for (auto& token : row)
            token = static_cast<std::uint16_t>(4 + words.below(12));
        const std::uint16_t marked = words.below(4);
        row[words.below(8)] = marked;
        tokens.insert(tokens.end(), row.begin(), row.end());
        tokens.push_back(marked);
    }
    return tokens_of(std::move(tokens));
}

TEST(EncoderClassifier, FindsAMarkAnywhere) {
    for (const Pooling pooling : {Pooling::kFirst, Pooling::kMean}) {
        TrainConfig config = encoder_config(Task::kClassify);
        config.model.classes = 4;
        config.model.pooling = pooling;
        const blob::Dataset dataset = marked_rows(2000);
        const Training run = train(made(config), dataset, 250);
        EXPECT_NEAR(run.loss(0), std::log(4.0F), 0.7F);
        EXPECT_LT(run.last_loss(), 0.2F) << static_cast<int>(pooling);
        const auto result = evaluate(made(config), run.state, dataset, 160);
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_GT(result->correct, 150U) << static_cast<int>(pooling);
        expect_same_bits(config, dataset);
    }
}

/// Rows of a query of 4 tokens, its passage, which says the same in another alphabet, `others`
/// passages that say something else, and a 0.
blob::Dataset query_rows(std::size_t rows, std::size_t others) {
    Words words;
    std::vector<std::uint16_t> tokens;
    for (std::size_t r = 0; r < rows; ++r) {
        std::vector<std::uint16_t> query(4);
        for (auto& token : query)
            token = words.below(16);
        tokens.insert(tokens.end(), query.begin(), query.end());
        for (const std::uint16_t token : query)
            tokens.push_back(static_cast<std::uint16_t>(16 + token));
        for (std::size_t i = 0; i < 4 * others; ++i)
            tokens.push_back(static_cast<std::uint16_t>(16 + words.below(16)));
        tokens.push_back(0);
    }
    return tokens_of(std::move(tokens));
}

TEST(Embeddings, BringAQueryNearToItsPassage) {
    TrainConfig config = encoder_config(Task::kEmbed);
    config.model.passages = 2;
    config.model.context = 12;
    config.model.pooling = Pooling::kMean;
    config.model.temperature = 0.1;
    const blob::Dataset dataset = query_rows(3000, 1);
    const Training run = train(made(config), dataset, 300);
    EXPECT_GT(run.loss(0), 1.0F) << "16 queries, 32 passages: ln 32 = 3.5 is guessing";
    EXPECT_LT(run.last_loss(), 0.5F * run.loss(0));
    const auto result = evaluate(made(config), run.state, dataset, 160);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_GT(result->correct, 150U) << "of 160 queries; the passage is their own, not number 0";
    config.micro_batches = 2;
    config.model.pooling = Pooling::kFirst;
    expect_same_bits(config, dataset);
}

/// Rows of 3 passages of 4 tokens and the number of the one whose last token answers its first.
blob::Dataset passage_rows(std::size_t rows) {
    Words words;
    std::vector<std::uint16_t> tokens;
    for (std::size_t r = 0; r < rows; ++r) {
        const std::uint16_t relevant = words.below(3);
        for (std::uint16_t p = 0; p < 3; ++p) {
            const std::uint16_t key = words.below(4);
            const auto other = static_cast<std::uint16_t>((key + 1 + words.below(3)) % 4);
            tokens.insert(tokens.end(),
                          {key, static_cast<std::uint16_t>(8 + words.below(4)),
                           static_cast<std::uint16_t>(8 + words.below(4)),
                           static_cast<std::uint16_t>(4 + (p == relevant ? key : other))});
        }
        tokens.push_back(relevant);
    }
    return tokens_of(std::move(tokens));
}

TEST(Reranker, ScoresTheRelevantPassageHighest) {
    TrainConfig config = encoder_config(Task::kRerank);
    config.model.passages = 3;
    config.model.context = 12;
    config.model.layers = 2;
    const blob::Dataset dataset = passage_rows(4000);
    const Training run = train(made(config), dataset, 250);
    EXPECT_NEAR(run.loss(0), std::log(3.0F), 0.5F);
    EXPECT_LT(run.last_loss(), 0.2F);
    const auto result = evaluate(made(config), run.state, dataset, 160);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_GT(result->correct, 150U);
    expect_same_bits(config, dataset);
}

// Padding

constexpr std::int32_t kPadding = 63;

TrainConfig padded_config(Task task) {
    TrainConfig config = encoder_config(task);
    config.batch = 4;
    config.model.padding_token = kPadding;
    config.model.mask_token = 62;
    if (task == Task::kClassify) config.model.classes = 3;
    if (task == Task::kRerank) config.model.passages = 2;
    return config;
}

/// Values of a parameter, to be changed.
float* values_of(const Program& program, State& state, std::string_view name) {
    const auto params = program.slots_of(program::SlotKind::kParam);
    for (std::size_t i = 0; i < params.size(); ++i)
        if (program.slot(params[i]).name == name)
            return reinterpret_cast<float*>(state.tensors.at(i).bytes.data());
    ADD_FAILURE() << name;
    return nullptr;
}

TEST(Padding, IsReadByNobodyWhateverItHolds) {
    for (const Task task : {Task::kMasked, Task::kClassify}) {
        const TrainConfig config = padded_config(task);
        const Program train = made(config);
        const Program logits = program::logits_program(train).value();
        State base = base_of(train, initial_state(train, kSeed).value()).value();
        std::vector<std::int32_t> tokens(4UL * 9, kPadding);
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (i % 9 < 5) tokens[i] = static_cast<std::int32_t>(i % 7);
        const Bytes before = logits_of(logits, base, tokens);
        // What a real token would feel by a hair, were padding only far away.
        float* const table = values_of(logits, base, "token_embedding");
        for (std::size_t i = 0; i < 24; ++i)
            table[kPadding * 24UL + i] = static_cast<float>(i) * 1e6F;
        float* const positions = values_of(logits, base, "position_embedding");
        for (std::size_t i = 5UL * 24; i < 8UL * 24; ++i)
            positions[i] = -3e4F;
        const Bytes after = logits_of(logits, base, tokens);
        ASSERT_EQ(before.size(), after.size());
        const bool masked = task == Task::kMasked;
        const std::size_t row = before.size() / (masked ? 32 : 4);
        // Tied to the embedding, the score of padding itself is another one.
        const std::size_t compared = masked ? row - sizeof(float) : row;
        for (std::size_t at = 0; at < before.size() / row; ++at) {
            const bool same =
                std::memcmp(before.data() + at * row, after.data() + at * row, compared) == 0;
            EXPECT_TRUE(same || (masked && at % 8 >= 5)) << at;
        }
    }
}

TEST(Padding, GivesTheBitsOfAShorterWindow) {
    TrainConfig wide = padded_config(Task::kClassify);
    wide.model.pooling = Pooling::kMean;
    TrainConfig narrow = wide;
    narrow.model.context = 5;
    const Program wide_logits = program::logits_program(made(wide)).value();
    const Program narrow_logits = program::logits_program(made(narrow)).value();
    State state = base_of(made(wide), initial_state(made(wide), kSeed).value()).value();
    std::vector<std::int32_t> wide_rows(4UL * 9, kPadding), narrow_rows;
    for (std::size_t i = 0; i < wide_rows.size(); ++i)
        if (i % 9 < 5) wide_rows[i] = static_cast<std::int32_t>(i % 7);
    for (std::size_t i = 0; i < wide_rows.size(); ++i)
        if (i % 9 < 6) narrow_rows.push_back(wide_rows[i]);
    const Bytes with_padding = logits_of(wide_logits, state, wide_rows);
    const auto params = wide_logits.slots_of(program::SlotKind::kParam);
    for (std::size_t i = 0; i < params.size(); ++i)
        if (wide_logits.slot(params[i]).name == "position_embedding") {
            state.tensors[i].dims = {5, 24};
            state.tensors[i].bytes.resize(5UL * 24 * 4);
        }
    EXPECT_EQ(logits_of(narrow_logits, state, narrow_rows), with_padding);
}

TEST(Padding, OfAWholePassageIsNeverTheRelevantOne) {
    const TrainConfig config = padded_config(Task::kRerank);
    const Program logits = program::logits_program(made(config)).value();
    const State base = base_of(made(config), initial_state(made(config), kSeed).value()).value();
    std::vector<std::int32_t> tokens(4UL * 9, kPadding);
    for (std::size_t window = 0; window < 4; ++window)
        tokens[window * 9] = 1;  // the first passage has a token, the second none
    const Bytes bytes = logits_of(logits, base, tokens);
    std::vector<float> scores(8);
    std::memcpy(scores.data(), bytes.data(), 32);
    for (std::size_t window = 0; window < 4; ++window)
        EXPECT_GT(scores[2 * window], scores[2 * window + 1] + 1e6F);
}

TEST(Padding, HasNoLossAndTrainsToTheSameBitsEverywhere) {
    Words words;
    std::vector<std::uint16_t> rows;
    for (int i = 0; i < 600; ++i) {
        const int length = 2 + words.below(7);  // of 8
        for (int k = 0; k < 9; ++k)
            rows.push_back(k < length ? static_cast<std::uint16_t>(k % 2 == 0 ? 5 : 9)
                                      : static_cast<std::uint16_t>(kPadding));
    }
    const blob::Dataset dataset = tokens_of(std::move(rows));
    TrainConfig config = padded_config(Task::kMasked);
    config.batch = 16;
    const Training run = train(made(config), dataset, 150);
    EXPECT_NEAR(run.loss(0), std::log(64.0F), 1.0F) << "a mean over real tokens alone";
    EXPECT_LT(run.last_loss(), 0.2F) << "positions tell all real tokens";
    const auto result = evaluate(made(config), run.state, dataset, 64);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_FALSE(result->classifies);
    EXPECT_LT(result->mean_loss, 0.2F);
    config.micro_batches = 2;
    expect_same_bits(config, dataset);
    for (const auto architecture : {Architecture::kGpt, Architecture::kLlama}) {
        TrainConfig decoder = config;
        decoder.model.architecture = architecture;
        const Training told = train(made(decoder), dataset, 150);
        EXPECT_NEAR(told.loss(0), std::log(64.0F), 1.0F);
        EXPECT_LT(told.last_loss(), 0.2F) << "where a text ends is not learned, and not asked";
        expect_same_bits(decoder, dataset);
        EXPECT_TRUE(generate(made(decoder), told.state, std::vector<std::int32_t>{5},
                             {.tokens = 3, .seed = kSeed, .engine = {}})
                        .ok());
    }
}

}  // namespace
}  // namespace gym::engine
