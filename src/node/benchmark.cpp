#include "gym/node/benchmark.hpp"

#include <chrono>

#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"

namespace gym::node {
namespace {

constexpr std::uint32_t kStepsPerRun = 2;
constexpr int kRunsMax = 1'000;

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

Result<Benchmark> run_benchmark(const engine::EngineOptions& options, std::int64_t duration_ms) {
    using Clock = std::chrono::steady_clock;
    GYM_TRY(const program::Program train, benchmark_program(options));
    GYM_TRY(const blob::Dataset dataset, benchmark_text());
    engine::TrainSpec spec;
    spec.key.job_seed = commit::sha256(as_bytes("gym benchmark seed"));
    spec.steps = kStepsPerRun;
    GYM_TRY(const engine::State initial, engine::initial_state(train, spec.key.job_seed));

    Benchmark out;
    std::uint64_t steps = 0;
    double seconds = 0;
    for (int i = 0; i < kRunsMax && (i < 2 || seconds * 1000 < static_cast<double>(duration_ms));
         ++i) {
        GYM_TRY(engine::Trainer trainer,
                engine::Trainer::create(train, initial, dataset, spec, options));
        const auto start = Clock::now();
        for (std::uint32_t step = 0; step < kStepsPerRun; ++step) {
            GYM_TRY(const engine::StepRecord record, trainer.step());
            if (record.state_root) out.final_state_root = *record.state_root;
        }
        if (i == 0) continue;  // warms caches and threads
        seconds += std::chrono::duration<double>(Clock::now() - start).count();
        steps += kStepsPerRun;
    }
    const double flops = static_cast<double>(program::flops_per_step(train) * steps);
    out.flops_per_second = static_cast<std::uint64_t>(flops / seconds);
    return out;
}

}  // namespace gym::node
