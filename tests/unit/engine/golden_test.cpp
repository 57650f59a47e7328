// One root for every instruction set and number of threads, and the same root as when the vectors
// were made: a silent change of what any op means fails here. After a deliberate change of
// semantics (a new numerics version) run with GYM_UPDATE_VECTORS=1.
#include <gtest/gtest.h>

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

constexpr std::uint32_t kSteps = 200;

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

struct Outcome {
    Digest program_root, records_root, state_root;
    float first_loss = 0, last_loss = 0;
};

Outcome train(kernels::Isa isa, unsigned threads) {
    const auto program = program::train_program(nano_config()).value();
    const auto dataset = testing::counting_dataset(100000);
    const Digest seed = testing::seed_of("golden");
    EngineOptions options;
    options.isa = kernels::isa_name(isa);
    options.threads = threads;
    auto trainer = Trainer::create(program, initial_state(program, seed).value(), dataset,
                                   {{seed, 1, 2}, kSteps, 50}, options);
    EXPECT_TRUE(trainer.ok());
    std::vector<StepRecord> records;
    for (std::uint32_t i = 0; i < kSteps; ++i)
        records.push_back(trainer->step().value());
    return {program::program_root(program), records_root(records), state_root(*trainer->state().value()),
            std::bit_cast<float>(records.front().loss_bits),
            std::bit_cast<float>(records.back().loss_bits)};
}

class Training : public ::testing::TestWithParam<std::tuple<int, unsigned>> {};

TEST_P(Training, EndsAtTheGoldenRoot) {
    const auto [level, threads] = GetParam();
    const auto isa = static_cast<kernels::Isa>(level);
    if (isa > kernels::detect_isa()) GTEST_SKIP() << "this CPU has no " << kernels::isa_name(isa);
    const Outcome outcome = train(isa, threads);
    // scripts/determinism.sh compares these lines over compilers and optimisation levels.
    std::cout << "root " << outcome.state_root.hex() << " records " << outcome.records_root.hex()
              << " " << kernels::isa_name(isa) << " threads " << threads << std::endl;
    EXPECT_LT(outcome.last_loss, outcome.first_loss - 2.0F);
    if (std::getenv("GYM_UPDATE_VECTORS") != nullptr) {
        std::ofstream(vectors_path()) << "nano.program_root " << outcome.program_root.hex()
                                      << "\nnano.records_root " << outcome.records_root.hex()
                                      << "\nnano.state_root " << outcome.state_root.hex() << "\n";
    }
    auto vectors = read_vectors();
    EXPECT_EQ(outcome.program_root.hex(), vectors["nano.program_root"]);
    EXPECT_EQ(outcome.records_root.hex(), vectors["nano.records_root"]);
    EXPECT_EQ(outcome.state_root.hex(), vectors["nano.state_root"]);
}

INSTANTIATE_TEST_SUITE_P(AllLevels, Training,
                         ::testing::Combine(::testing::Range(0, kernels::kIsaCount),
                                            ::testing::Values(1U, 2U)),
                         [](const auto& test) {
                             const auto isa = static_cast<kernels::Isa>(std::get<0>(test.param));
                             return std::string(kernels::isa_name(isa)) + "_threads_" +
                                    std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace gym::engine
