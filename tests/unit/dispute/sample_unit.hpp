#pragma once

#include "gym/dispute/step_trace.hpp"
#include "sample_programs.hpp"

namespace gym::dispute::testing {

/// A short unit over a sample program and a text.
struct SampleUnit {
    explicit SampleUnit(const Sample& sample) : program(program_of(sample)) {}
    /// Over a dataset of this tokenization.
    SampleUnit(const Sample& sample, const blob::Tokenization& tokenization)
        : program(program_of(sample)),
          dataset(engine::testing::counting_dataset_as(tokenization, 5000)) {}

    program::Program program;
    TraceProgram trace = trace_program(program).value();
    blob::Dataset dataset = text_for(trace.header.classes);
    Digest seed = engine::testing::seed_of("sample unit");
    engine::State base = engine::testing::initial_base(program, seed);
    engine::UnitSpec spec{.job_seed = seed,
                          .round = 2,
                          .slot = 3,
                          .steps = 4,
                          .checkpoint_every = 2,
                          .program_root = program::program_root(program),
                          .dataset_root = dataset.root(),
                          .base_state_root = engine::state_root(base)};

    /// Of rows with few classes every token is one of them.
    static blob::Dataset text_for(std::uint32_t classes) {
        constexpr std::uint32_t kLetters = 128;
        blob::Dataset text = engine::testing::counting_dataset(5000);
        if (classes == 0 || classes >= kLetters) return text;
        const auto all = text.tokens();
        std::vector<std::uint16_t> tokens(all.begin(), all.end());
        for (std::uint16_t& token : tokens)
            token = static_cast<std::uint16_t>(token % classes);
        return blob::Dataset::from_tokens(std::move(tokens), classes).value();
    }
    [[nodiscard]] engine::Unit unit() const { return {program, base, dataset, spec}; }
    [[nodiscard]] StepTrace step(std::uint64_t step, const engine::EngineOptions& options = {},
                                 const LeafSink& sink = {}) const {
        auto state = state_before(unit(), step);
        EXPECT_TRUE(state.ok()) << (state.ok() ? "" : state.error().message);
        auto traced = trace_step(unit(), trace, step, std::move(state).value(), options, sink);
        EXPECT_TRUE(traced.ok()) << (traced.ok() ? "" : traced.error().message);
        return std::move(traced).value();
    }
};

}  // namespace gym::dispute::testing
