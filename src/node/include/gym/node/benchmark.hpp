#pragma once

#include <cstdint>
#include <memory>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/program.hpp"

namespace gym::node {

/// The speed of the steps of a fixed exact program on this machine, and the root of the state after
/// its first steps, which is the same on every machine, and on every GPU.
struct Benchmark {
    std::uint64_t flops_per_second = 0;
    Digest state_root;
};
/// What is run: on a GPU a larger model, whose products take longer than their launches.
/// @param options device counts; it need not be there. @errors as engine::parse_device().
[[nodiscard]] Result<program::Program> benchmark_program(const engine::EngineOptions& options);

/// Steps of a training program, all with one engine, as those of a unit.
class BenchmarkRun {
  public:
    /// @errors as engine::Trainer::create().
    static Result<BenchmarkRun> create(const program::Program& train,
                                       const engine::EngineOptions& options);

    /// The first steps, in which scratch memory grows and CUDA graphs begin: those of a unit take
    /// as long as the ones after them. Call it once. @return the root of the state.
    Result<Digest> warm_up();
    /// One more. @return the seconds that it took. @errors as engine::Trainer::step().
    Result<double> step();

  private:
    BenchmarkRun(std::unique_ptr<const blob::Dataset> text, engine::Trainer trainer,
                 unsigned threads)
        : text_(std::move(text)), trainer_(std::move(trainer)), threads_(threads) {}

    std::unique_ptr<const blob::Dataset> text_;  ///< the trainer's: it does not move
    engine::Trainer trainer_;
    unsigned threads_;
};

/// Warms up and measures steps of benchmark_program() for about `duration_ms`, one at least.
/// @errors as BenchmarkRun's.
[[nodiscard]] Result<Benchmark> run_benchmark(const engine::EngineOptions& options,
                                              std::int64_t duration_ms);

}  // namespace gym::node
