#include "gym/node/benchmark.hpp"

#include <chrono>

#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"

namespace gym::node {
namespace {

constexpr std::uint32_t kStepsPerRun = 2;
constexpr int kRunsMax = 1'000;

Result<program::Program> benchmark_program() {
    program::TrainConfig config;
    config.model.context = 128;
    config.model.layers = 2;
    config.model.heads = 4;
    config.model.width = 128;
    config.batch = 4;
    return program::train_program(config);
}

/// Pseudo-random text: the same bytes on every machine.
Result<blob::Dataset> benchmark_text() {
    Bytes text;
    for (Digest block = commit::sha256(as_bytes("gym benchmark")); text.size() < (1U << 16);
         block = commit::sha256(block.view()))
        text.insert(text.end(), block.data.begin(), block.data.end());
    return blob::Dataset::build_from_text(text);
}

}  // namespace

Result<Benchmark> run_benchmark(const engine::EngineOptions& options, std::int64_t duration_ms) {
    using Clock = std::chrono::steady_clock;
    GYM_TRY(const program::Program train, benchmark_program());
    GYM_TRY(const blob::Dataset dataset, benchmark_text());
    engine::UnitSpec spec;
    spec.job_seed = commit::sha256(as_bytes("gym benchmark seed"));
    spec.steps = kStepsPerRun;
    spec.checkpoint_every = kStepsPerRun;
    spec.program_root = program::program_root(train);
    spec.dataset_root = dataset.root();
    GYM_TRY(const engine::State initial, engine::initial_state(train, spec.job_seed));
    GYM_TRY(const engine::State base, engine::base_of(train, initial));
    spec.base_state_root = engine::state_root(base);
    engine::RunOptions run;
    run.engine = options;

    Benchmark out;
    std::uint64_t steps = 0;
    double seconds = 0;
    for (int i = 0; i < kRunsMax && (i < 2 || seconds * 1000 < static_cast<double>(duration_ms));
         ++i) {
        const auto start = Clock::now();
        GYM_TRY(const engine::UnitResult result,
                engine::run_unit({train, base, dataset, spec}, run));
        out.final_state_root = result.final_state_root;
        if (i == 0) continue;  // warms caches and threads
        seconds += std::chrono::duration<double>(Clock::now() - start).count();
        steps += kStepsPerRun;
    }
    const double flops = static_cast<double>(program::flops_per_step(train) * steps);
    out.flops_per_second = static_cast<std::uint64_t>(flops / seconds);
    return out;
}

}  // namespace gym::node
