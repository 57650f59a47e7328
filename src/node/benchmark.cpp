#include "gym/node/benchmark.hpp"

#include <chrono>

#include "gym/commit/sha256.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"

namespace gym::node {
namespace {

/// On a device the first step lets scratch memory grow, the second has the addresses that remain,
/// and the third, equal to it, is captured as graphs.
constexpr std::uint32_t kWarmUpSteps = 3;
constexpr std::uint32_t kStepsMax = 2'000;

/// Pseudo-random text: the same bytes on every machine.
Result<blob::Dataset> benchmark_text() {
    Bytes text;
    for (Digest block = commit::sha256(as_bytes("gym benchmark")); text.size() < (1U << 16);
         block = commit::sha256(block.view()))
        text.insert(text.end(), block.data.begin(), block.data.end());
    return blob::Dataset::build_from_text(text);
}

}  // namespace

Result<program::Program> benchmark_program(const engine::EngineOptions& options) {
    GYM_TRY(const engine::DeviceChoice device, engine::parse_device(options.device));
    program::TrainConfig config;
    config.model.context = device.cuda ? 512 : 128;
    config.model.layers = 2;
    config.model.heads = device.cuda ? 16 : 4;
    config.model.width = device.cuda ? 1024 : 128;
    config.batch = device.cuda ? 8 : 4;
    return program::train_program(config);
}

Result<BenchmarkRun> BenchmarkRun::create(const program::Program& train,
                                          const engine::EngineOptions& options) {
    GYM_TRY(blob::Dataset text, benchmark_text());
    auto kept = std::make_unique<const blob::Dataset>(std::move(text));
    engine::TrainSpec spec;
    spec.key.job_seed = commit::sha256(as_bytes("gym benchmark seed"));
    // Without roots but for the last step, as most steps of a unit.
    spec.steps = kWarmUpSteps + kStepsMax;
    GYM_TRY(engine::State initial, engine::initial_state(train, spec.key.job_seed));
    GYM_TRY(engine::Trainer trainer,
            engine::Trainer::create(train, std::move(initial), *kept, spec, options));
    return BenchmarkRun(std::move(kept), std::move(trainer), options.threads);
}

Result<Digest> BenchmarkRun::warm_up() {
    for (std::uint32_t step = 0; step < kWarmUpSteps; ++step)
        GYM_CHECK(trainer_.step());
    GYM_TRY(const engine::State* const state, trainer_.state());
    return engine::state_root(*state, threads_);
}

Result<double> BenchmarkRun::step() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    GYM_CHECK(trainer_.step());
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<Benchmark> run_benchmark(const engine::EngineOptions& options, std::int64_t duration_ms) {
    GYM_TRY(const program::Program train, benchmark_program(options));
    GYM_TRY(BenchmarkRun run, BenchmarkRun::create(train, options));
    Benchmark out;
    GYM_TRY(out.state_root, run.warm_up());
    std::uint64_t steps = 0;
    double seconds = 0;
    do {
        GYM_TRY(const double taken, run.step());
        seconds += taken;
        ++steps;
    } while (steps < kStepsMax && seconds * 1000 < static_cast<double>(duration_ms));
    const double flops = static_cast<double>(program::flops_per_step(train) * steps);
    out.flops_per_second = static_cast<std::uint64_t>(flops / seconds);
    return out;
}

}  // namespace gym::node
