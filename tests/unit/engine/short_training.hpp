#pragma once

// Training that is over in a second, and what comes of it.

#include <bit>
#include <vector>

#include "gym/engine/engine.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/expand.hpp"
#include "small_model.hpp"

namespace gym::engine::testing {

inline const Digest kSeed = seed_of("encoders");

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

inline program::Program made(const program::TrainConfig& config) {
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

inline Training train(const program::Program& program, const blob::Dataset& dataset,
                      std::uint32_t steps, const EngineOptions& options = {}) {
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

inline void expect_same_bits(const program::TrainConfig& config, const blob::Dataset& dataset) {
    const program::Program program = made(config);
    const auto records = train(program, dataset, 3).records;
    EXPECT_EQ(records, train(program, dataset, 3, {.threads = 2, .isa = "scalar"}).records);
    EXPECT_EQ(records, train(program::expand(program).value(), dataset, 3).records);
}

inline blob::Dataset tokens_of(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary = 64) {
    return blob::Dataset::from_tokens(std::move(tokens), vocabulary).value();
}

/// Logits of an evaluation over `tokens`, whole windows.
inline Bytes batch_logits(const program::Program& logits, State base,
                          const std::vector<std::int32_t>& tokens) {
    Engine engine = Engine::create(logits).value();
    const NamedTensorView input{
        program::kBatchInput,
        {reinterpret_cast<const std::uint8_t*>(tokens.data()), tokens.size() * 4}};
    EXPECT_TRUE(engine.run(base, {&input, 1}).ok());
    const ByteView bytes = engine.output(program::kLogitsOutput).value();
    return {bytes.begin(), bytes.end()};
}

}  // namespace gym::engine::testing
