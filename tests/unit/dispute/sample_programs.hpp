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

/// An encoder that reads both ways; two micro-batches, dropout and a guard.
inline program::TrainConfig encoder(program::Task task) {
    program::TrainConfig config = full();
    config.model.architecture = program::Architecture::kEncoder;
    config.model.heads = 2;
    config.model.task = task;
    return config;
}
inline program::TrainConfig masked() {
    return encoder(program::Task::kMasked);
}
inline program::TrainConfig embed() {
    program::TrainConfig config = encoder(program::Task::kEmbed);
    config.model.passages = 2;
    return config;
}
inline program::TrainConfig rerank() {
    program::TrainConfig config = encoder(program::Task::kRerank);
    config.model.passages = 3;
    config.model.pooling = program::Pooling::kMean;
    return config;
}
/// RMSNorm on the heads of queries and keys.
inline program::TrainConfig qk_norm() {
    program::TrainConfig config = llama();
    config.model.qk_norm = true;
    return config;
}

/// Documents that share a window apart from each other.
inline program::TrainConfig documents() {
    program::TrainConfig config = full();
    config.model.document_separator = 10;
    return config;
}

/// Deltas in rows of 4 bits; none of its tensors but one fills its last row.
inline program::TrainConfig dense() {
    program::TrainConfig config = mlp();
    config.compression = program::DeltaCodec::kDense;
    return config;
}

/// The same with an update in rows.
inline program::TrainConfig update() {
    program::TrainConfig config = dense();
    config.update = program::UpdateCodec::kDense;
    return config;
}

struct Sample {
    const char* name;
    program::TrainConfig (*config)();
};
inline constexpr std::array kSamples{Sample{"gpt", gpt},   Sample{"llama", llama},
                                     Sample{"full", full}, Sample{"classifier", classifier},
                                     Sample{"mlp", mlp},   Sample{"dense", dense}};

/// Those that came later, for the tests of traces; games are played on the ones above.
inline constexpr std::array kLaterSamples{
    Sample{"masked", masked},   Sample{"embed", embed},         Sample{"rerank", rerank},
    Sample{"qk_norm", qk_norm}, Sample{"documents", documents}, Sample{"update", update}};
/// Its units are those of "dense", its aggregates are of their own kind.
inline constexpr Sample kUpdateSample{"update", update};

/// What a row is one of: its classes, or the passages that it is compared with.
inline std::uint32_t classes_of(const program::TrainConfig& config) {
    const program::ModelConfig& model = config.model;
    if (model.architecture != program::Architecture::kEncoder) return model.classes;
    if (model.task == program::Task::kRerank) return model.passages;
    if (model.task != program::Task::kEmbed) return model.classes;
    return config.batch / config.micro_batches * model.passages;
}

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
