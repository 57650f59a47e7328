// One root for every instruction set and number of threads, and the same root as when the vectors
// were made: a silent change of what any op means fails here. After a deliberate change of
// semantics (a new numerics version) run with GYM_UPDATE_VECTORS=1.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "gym/engine/train.hpp"
#include "gym/kernels/dispatch.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

/// examples/gpt-nano.yaml, written out: the example may be changed, the vectors not.
program::TrainConfig nano_config() {
    program::TrainConfig config;
    config.model.context = 64;
    config.model.layers = 2;
    config.model.heads = 3;
    config.model.width = 48;
    config.model.init_std = 0.05;
    config.optimizer.learning_rate = 4e-3;
    config.optimizer.learning_rate_min = 4e-4;
    config.optimizer.warmup_steps = 20;
    config.optimizer.total_steps = 500;
    config.batch = 4;
    return config;
}

/// examples/llama-nano.yaml, smaller.
program::TrainConfig llama_config() {
    program::TrainConfig config = nano_config();
    config.model.architecture = program::Architecture::llama;
    config.model.context = 32;
    config.model.heads = 4;
    config.model.kv_heads = 2;
    config.model.hidden_width = 100;
    return config;
}

/// Micro-batches, dropout, guard, a linear schedule, every group decayed.
program::TrainConfig full_config() {
    program::TrainConfig config = llama_config();
    config.micro_batches = 2;
    config.model.dropout = 0.1;
    config.optimizer.schedule = program::Schedule::linear;
    config.optimizer.decay_embeddings = true;
    config.optimizer.decay_norms = true;
    config.optimizer.guard = {.enabled = true, .loss_factor = 1.2, .loss_decay = 0.8};
    return config;
}

struct Model {
    const char* name;
    program::TrainConfig (*config)();
    std::uint32_t steps;
    float loss_falls_by;
};
constexpr std::array kModels{Model{"nano", nano_config, 200, 2.0F},
                             Model{"llama", llama_config, 60, 1.5F},
                             Model{"full", full_config, 30, 0.5F}};

std::string vectors_path() {
    const char* folder = std::getenv("GYM_SOURCE_DIR");
    return std::string(folder != nullptr ? folder : ".") + "/tests/vectors/training_roots.txt";
}

/// Lines "name value".
std::map<std::string, std::string> read_vectors() {
    std::map<std::string, std::string> vectors;
    std::ifstream file(vectors_path());
    std::string name, value;
    while (file >> name >> value)
        vectors[name] = value;
    return vectors;
}

void write_vectors(const std::map<std::string, std::string>& vectors) {
    std::ofstream file(vectors_path());
    for (const auto& [name, value] : vectors)
        file << name << " " << value << "\n";
}

struct Outcome {
    Digest program_root, records_root, state_root;
    float first_loss = 0, last_loss = 0;
};

Outcome train(const Model& model, kernels::Isa isa, unsigned threads) {
    const auto program = program::train_program(model.config()).value();
    const auto dataset = testing::counting_dataset(100000);
    const Digest seed = testing::seed_of("golden");
    EngineOptions options;
    options.isa = kernels::isa_name(isa);
    options.threads = threads;
    auto trainer = Trainer::create(program, initial_state(program, seed).value(), dataset,
                                   {{seed, 1, 2}, model.steps, 50}, options);
    EXPECT_TRUE(trainer.ok());
    std::vector<StepRecord> records;
    for (std::uint32_t i = 0; i < model.steps; ++i)
        records.push_back(trainer->step().value());
    return {program::program_root(program), records_root(records),
            state_root(*trainer->state().value()), std::bit_cast<float>(records.front().loss_bits),
            std::bit_cast<float>(records.back().loss_bits)};
}

class Training : public ::testing::TestWithParam<std::tuple<int, unsigned, Model>> {};

TEST_P(Training, EndsAtTheGoldenRoot) {
    const auto [level, threads, model] = GetParam();
    const auto isa = static_cast<kernels::Isa>(level);
    if (isa > kernels::detect_isa()) GTEST_SKIP() << "this CPU has no " << kernels::isa_name(isa);
    const Outcome outcome = train(model, isa, threads);
    // scripts/determinism.sh compares these lines over compilers and optimisation levels.
    std::cout << "root " << outcome.state_root.hex() << " records " << outcome.records_root.hex()
              << " " << kernels::isa_name(isa) << " threads " << threads << " of " << model.name
              << std::endl;
    EXPECT_LT(outcome.last_loss, outcome.first_loss - model.loss_falls_by);
    const std::string name = model.name;
    auto vectors = read_vectors();
    if (std::getenv("GYM_UPDATE_VECTORS") != nullptr) {
        vectors[name + ".program_root"] = outcome.program_root.hex();
        vectors[name + ".records_root"] = outcome.records_root.hex();
        vectors[name + ".state_root"] = outcome.state_root.hex();
        write_vectors(vectors);
    }
    EXPECT_EQ(outcome.program_root.hex(), vectors[name + ".program_root"]);
    EXPECT_EQ(outcome.records_root.hex(), vectors[name + ".records_root"]);
    EXPECT_EQ(outcome.state_root.hex(), vectors[name + ".state_root"]);
}

INSTANTIATE_TEST_SUITE_P(AllLevels, Training,
                         ::testing::Combine(::testing::Range(0, kernels::kIsaCount),
                                            ::testing::Values(1U, 2U),
                                            ::testing::ValuesIn(kModels)),
                         [](const auto& test) {
                             const auto isa = static_cast<kernels::Isa>(std::get<0>(test.param));
                             return std::string(kernels::isa_name(isa)) + "_threads_" +
                                    std::to_string(std::get<1>(test.param)) + "_" +
                                    std::get<2>(test.param).name;
                         });

}  // namespace
}  // namespace gym::engine
