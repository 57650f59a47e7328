#pragma once

// Programs of every kind that jobs can have, small enough to run all their primitives.

#include <array>

#include "small_model.hpp"

namespace gym::dispute::testing {

inline program::TrainConfig gpt() {
    return engine::testing::small_config();
}
inline program::TrainConfig llama() {
    return engine::testing::small_llama_config();
}
/// Micro-batches, dropout, guard.
inline program::TrainConfig full() {
    return engine::testing::full_training_config();
}
/// Rows of text with a class each; two micro-batches, dropout and a guard.
inline program::TrainConfig classifier() {
    program::TrainConfig config = full();
    config.model.architecture = program::Architecture::kGpt;
    config.model.context = 11;
    config.model.heads = 2;
    config.model.classes = 200;
    return config;
}
inline program::TrainConfig mlp() {
    program::TrainConfig config;
    config.model.architecture = program::Architecture::kMlp;
    config.model.context = 9;
    config.model.layers = 2;
    config.model.width = 16;
    config.model.classes = 200;
    config.batch = 4;
    return config;
}

struct Sample {
    const char* name;
    program::TrainConfig (*config)();
};
inline constexpr std::array kSamples{Sample{"gpt", gpt}, Sample{"llama", llama},
                                     Sample{"full", full}, Sample{"classifier", classifier},
                                     Sample{"mlp", mlp}};

/// More tokens than 16 bits name. Not among kSamples: its tensors are large.
inline program::TrainConfig wide() {
    program::TrainConfig config = gpt();
    config.model.vocabulary = 70'000;
    config.model.context = 3;
    config.model.heads = 1;
    config.model.width = 4;
    config.batch = 1;
    return config;
}
inline constexpr Sample kWideSample{"wide", wide};

inline program::Program program_of(const Sample& sample) {
    auto program = program::train_program(sample.config());
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
    return std::move(program).value();
}

}  // namespace gym::dispute::testing
