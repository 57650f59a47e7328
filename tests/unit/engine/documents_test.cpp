// Documents that share a window and do not read each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gym/engine/evaluate.hpp"
#include "gym/engine/generate.hpp"
#include "short_training.hpp"

namespace gym::engine {
namespace {

using namespace testing;
using program::Architecture;
using program::Program;
using program::TrainConfig;

constexpr std::int32_t kSeparator = 63;
constexpr std::size_t kContext = 16;

TrainConfig documents_config(Architecture architecture) {
    TrainConfig config;
    config.batch = 2;
    config.model = {.vocabulary = 64, .context = kContext, .layers = 2, .heads = 2, .width = 24};
    config.model.init_std = 0.1;
    config.model.architecture = architecture;
    config.model.kv_heads = 1;
    config.model.document_separator = kSeparator;
    config.optimizer.learning_rate = 5e-3;
    config.optimizer.total_steps = 600;
    return config;
}

/// Documents of 7, 1, 5 and 4 tokens, with their separators, in both windows.
std::vector<std::int32_t> four_documents() {
    Words words;
    std::vector<std::int32_t> tokens(2 * (kContext + 1));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::size_t at = i % (kContext + 1);
        const bool ends = at == 6 || at == 7 || at == 12;
        tokens[i] = ends ? kSeparator : words.below(60);
    }
    return tokens;
}

std::size_t document_of(std::size_t at) {
    return at <= 6 ? 0 : at == 7 ? 1 : at <= 12 ? 2 : 3;
}

/// Rows of the logits that differ, of both windows.
std::vector<bool> changed_rows(const Bytes& a, const Bytes& b) {
    constexpr std::size_t kRow = 64 * sizeof(float);
    EXPECT_EQ(a.size(), 2 * kContext * kRow);
    EXPECT_EQ(a.size(), b.size());
    std::vector<bool> changed(2 * kContext);
    for (std::size_t row = 0; row < changed.size(); ++row)
        changed[row] = std::memcmp(a.data() + row * kRow, b.data() + row * kRow, kRow) != 0;
    return changed;
}

TEST(Documents, AreReadByTheirOwnTokensAlone) {
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        const Program train = made(documents_config(architecture));
        const Program logits = program::logits_program(train).value();
        const State base = initial_base(train, kSeed);
        const std::vector<std::int32_t> tokens = four_documents();
        const Bytes before = batch_logits(logits, base, tokens);
        for (std::size_t at = 0; at < kContext; ++at) {
            if (tokens[at] == kSeparator) continue;
            auto changed = tokens;
            changed[at] = 61;
            const auto rows = changed_rows(before, batch_logits(logits, base, changed));
            for (std::size_t row = 0; row < rows.size(); ++row) {
                const bool reads =
                    row < kContext && row >= at && document_of(row) == document_of(at);
                EXPECT_EQ(rows[row], reads) << "token " << at << ", row " << row;
            }
        }
    }
}

TEST(Documents, AreReadAcrossWithoutASeparator) {
    TrainConfig config = documents_config(Architecture::kGpt);
    config.model.document_separator.reset();
    const Program train = made(config);
    const Program logits = program::logits_program(train).value();
    const State base = initial_base(train, kSeed);
    auto tokens = four_documents();
    const Bytes before = batch_logits(logits, base, tokens);
    tokens[0] = 61;
    const auto rows = changed_rows(before, batch_logits(logits, base, tokens));
    for (std::size_t row = 0; row < kContext; ++row)
        EXPECT_TRUE(rows[row]) << row;
}

TEST(Documents, ThatASeparatorJoinsOrPartsAreOthers) {
    const Program train = made(documents_config(Architecture::kLlama));
    const Program logits = program::logits_program(train).value();
    const State base = initial_base(train, kSeed);
    auto tokens = four_documents();
    const Bytes before = batch_logits(logits, base, tokens);
    tokens[6] = 5;  // the first document ends with the separator at 7
    const auto rows = changed_rows(before, batch_logits(logits, base, tokens));
    for (std::size_t row = 0; row < 2 * kContext; ++row)
        EXPECT_EQ(rows[row], row == 6 || row == 7) << row;
}

/// An exported model has no separator: it reads a document as this one does.
TEST(Documents, ThatFillAWindowHaveTheScoresOfTheModelWithoutASeparator) {
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        TrainConfig config = documents_config(architecture);
        auto tokens = four_documents();
        std::ranges::replace(tokens, kSeparator, 5);
        const State base = initial_base(made(config), kSeed);
        const auto scores = [&] {
            const Bytes bytes =
                batch_logits(program::logits_program(made(config)).value(), base, tokens);
            std::vector<float> values(bytes.size() / sizeof(float));
            std::memcpy(values.data(), bytes.data(), bytes.size());
            return values;
        };
        const std::vector<float> apart = scores();
        config.model.document_separator.reset();
        const std::vector<float> plain = scores();
        double difference = 0, size = 0;
        for (std::size_t i = 0; i < plain.size(); ++i) {
            difference += std::pow(apart.at(i) - plain[i], 2);
            size += std::pow(plain[i], 2);
        }
        EXPECT_LT(std::sqrt(difference / size), 1e-3);
        EXPECT_GT(difference, 0) << "values are rounded in another way (docs/MACROS.md)";
    }
}

/// More than a block of a product and of a running sum.
TEST(Documents, AreReadByTheirOwnTokensAloneInLongWindows) {
    constexpr std::size_t kLong = 1500, kRow = 64 * sizeof(float);
    TrainConfig config = documents_config(Architecture::kLlama);
    config.batch = 1;
    config.model.context = kLong;
    config.model.layers = 1;
    const Program train = made(config);
    const Program logits = program::logits_program(train).value();
    const State base = initial_base(train, kSeed);
    Words words;
    std::vector<std::int32_t> tokens(kLong + 1);
    for (std::int32_t& token : tokens)
        token = words.below(60);
    constexpr std::array<std::size_t, 3> kEnds{300, 1030, 1031};
    for (const std::size_t end : kEnds)
        tokens[end] = kSeparator;
    const auto document = [&](std::size_t at) {
        return std::ranges::count_if(kEnds, [&](std::size_t end) { return end < at; });
    };
    const Bytes before = batch_logits(logits, base, tokens);
    for (const std::size_t at : {0UL, 301UL, 1029UL, 1200UL}) {
        auto changed = tokens;
        changed[at] = 61;
        const Bytes after = batch_logits(logits, base, changed);
        for (std::size_t row = 0; row < kLong; ++row) {
            const bool same =
                std::memcmp(before.data() + row * kRow, after.data() + row * kRow, kRow) == 0;
            const bool reads = row >= at && document(row) == document(at);
            // In a long document a token may change nothing that is not rounded away.
            EXPECT_TRUE(same || reads) << "token " << at << ", row " << row;
            EXPECT_FALSE(same && row == at) << row;
        }
    }
}

/// Documents of a mark and a token that stays the same for twenty of them: who sees the document
/// before knows it.
blob::Dataset repeated_documents() {
    Words words;
    std::vector<std::uint16_t> tokens;
    for (int i = 0; i < 300; ++i) {
        const std::uint16_t token = words.below(20);
        for (int k = 0; k < 20; ++k)
            tokens.insert(tokens.end(), {60, token, kSeparator});
    }
    return tokens_of(std::move(tokens));
}

TEST(Documents, TeachNothingAboutEachOther) {
    const blob::Dataset dataset = repeated_documents();
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        TrainConfig config = documents_config(architecture);
        config.batch = 16;
        const float apart = train(made(config), dataset, 250).last_loss();
        EXPECT_NEAR(apart, std::log(20.0F) / 3, 0.15F) << "one token of three can only be guessed";
        config.model.document_separator.reset();
        EXPECT_LT(train(made(config), dataset, 250).last_loss(), 0.6F);
    }
}

TEST(Documents, TrainToTheSameBitsEverywhere) {
    const blob::Dataset dataset = repeated_documents();
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        TrainConfig config = documents_config(architecture);
        expect_same_bits(config, dataset);
        config.micro_batches = 2;
        config.model.dropout = 0.1;
        config.model.padding_token = 62;
        config.optimizer.guard = {.enabled = true, .loss_factor = 3};
        expect_same_bits(config, dataset);
    }
}

TEST(Documents, AreEvaluatedApartToo) {
    const blob::Dataset dataset = repeated_documents();
    TrainConfig config = documents_config(Architecture::kGpt);
    config.batch = 16;
    const Training run = train(made(config), dataset, 250);
    const auto result = evaluate(made(config), run.state, dataset, 64);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_NEAR(result->mean_loss, std::log(20.0F) / 3, 0.15F);
}

TEST(Documents, OfAPromptAreContinuedOneByOne) {
    const Program train = made(documents_config(Architecture::kGpt));
    const State base = initial_base(train, kSeed);
    const auto continued = [&](const std::vector<std::int32_t>& prompt) {
        return generate(train, base, prompt,
                        {.tokens = 5,
                         .seed = kSeed,
                         .engine = {},
                         .permits = [](std::int32_t token) { return token != kSeparator; }})
            .value();
    };
    EXPECT_EQ(continued({1, 2, kSeparator, 3, 4}), continued({9, 50, kSeparator, 3, 4}));
    EXPECT_NE(continued({1, 2, 7, 3, 4}), continued({9, 50, 7, 3, 4}));
}

}  // namespace
}  // namespace gym::engine
