#pragma once

// A model and a text that are quick to train on, the same on every machine.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_program.hpp"

namespace gym::engine::testing {

inline program::TrainConfig small_config() {
    program::TrainConfig config;
    config.model.context = 16;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.width = 24;
    config.model.init_std = 0.05;
    config.optimizer.learning_rate = 3e-3;
    config.batch = 2;
    return config;
}

/// The same size with every op of a Llama.
inline program::TrainConfig small_llama_config() {
    program::TrainConfig config = small_config();
    config.model.architecture = program::Architecture::kLlama;
    config.model.context = 12;
    config.model.heads = 6;
    config.model.kv_heads = 2;
    config.model.hidden_width = 40;
    return config;
}

/// The Llama with everything that training can do.
inline program::TrainConfig full_training_config() {
    program::TrainConfig config = small_llama_config();
    config.batch = 4;
    config.micro_batches = 2;
    config.model.dropout = 0.2;
    config.optimizer.guard = {.enabled = true, .loss_factor = 3};
    return config;
}

inline program::Program small_program(const program::TrainConfig& config = small_config()) {
    auto program = program::train_program(config);
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
    return std::move(program).value();
}

/// 0, 1, 2, ... in English words: text with structure at several scales.
inline std::string counting_text(std::size_t size_bytes) {
    constexpr std::array<std::string_view, 20> kSmall{
        "zero",     "one",     "two",     "three",     "four",     "five",    "six",
        "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
        "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    constexpr std::array<std::string_view, 10> kTens{
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
    const auto below_hundred = [&](std::size_t n) {
        if (n < kSmall.size()) return std::string(kSmall[n]);
        return std::string(kTens[n / 10]) + (n % 10 == 0 ? "" : "-" + std::string(kSmall[n % 10]));
    };
    std::string text;
    for (std::size_t n = 0; text.size() < size_bytes; ++n) {
        if (n >= 1000) text += below_hundred(n / 1000 % 100) + " thousand ";
        if (n % 1000 >= 100) text += std::string(kSmall[n % 1000 / 100]) + " hundred ";
        text += below_hundred(n % 100) + (n % 10 == 9 ? ".\n" : ", ");
    }
    text.resize(size_bytes);
    return text;
}

inline blob::Dataset counting_dataset(std::size_t size_bytes = 60000) {
    const std::string text = counting_text(size_bytes);
    auto dataset = blob::Dataset::build_from_text(as_bytes(text));
    EXPECT_TRUE(dataset.ok());
    return std::move(dataset).value();
}

inline Digest seed_of(std::string_view text) {
    return commit::sha256(as_bytes(text));
}

/// The same text in tokens of another vocabulary, spread over all of it.
inline blob::Dataset counting_dataset_as(const blob::Tokenization& tokenization,
                                         std::size_t size_bytes) {
    constexpr std::uint32_t kLetters = 'z' + 1;
    const std::uint32_t apart =
        tokenization.vocabulary <= 256 ? 1 : tokenization.vocabulary / kLetters;
    std::vector<std::uint32_t> tokens;
    for (const char byte : counting_text(size_bytes))
        tokens.push_back(static_cast<unsigned char>(byte) * apart);
    auto dataset = blob::Dataset::from_tokens(tokens, tokenization);
    EXPECT_TRUE(dataset.ok());
    return std::move(dataset).value();
}

inline State initial_base(const program::Program& program, const Digest& seed) {
    auto state = initial_state(program, seed);
    EXPECT_TRUE(state.ok());
    auto base = base_of(program, *state);
    EXPECT_TRUE(base.ok());
    return std::move(base).value();
}

/// A unit over the small model.
struct SmallUnit {
    program::Program program = small_program();
    blob::Dataset dataset = counting_dataset();
    Digest seed = seed_of("small unit");
    State base = initial_base(program, seed);
    UnitSpec spec{.job_seed = seed,
                  .round = 3,
                  .slot = 1,
                  .steps = 6,
                  .checkpoint_every = 3,
                  .program_root = program::program_root(program),
                  .dataset_root = dataset.root(),
                  .base_state_root = state_root(base)};

    [[nodiscard]] Result<UnitResult> run(const RunOptions& options = {}) const {
        return run_unit({program, base, dataset, spec}, options);
    }
};

}  // namespace gym::engine::testing
