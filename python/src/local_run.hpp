#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/program.hpp"

namespace gym::python {

struct LocalRunSpec {
    Digest seed;
    std::uint32_t steps = 0;  ///< of the whole run, counted from step 0
    std::uint32_t checkpoint_every = 0;
    std::uint64_t first_step = 0;  ///< steps behind `start`
};

/// A training run in this process: the steps of `gym program run`, one at a time. Keeps the
/// records, so that an interrupt between a step and what Python does with it loses nothing.
/// Thread-safe: a call waits for the step in progress.
class LocalRun {
  public:
    /// @param start the training state before step `spec.first_step`. @errors engine::Trainer's.
    static Result<std::unique_ptr<LocalRun>> create(const program::Program& program,
                                                    engine::State start,
                                                    std::shared_ptr<const blob::Dataset> dataset,
                                                    const LocalRunSpec& spec,
                                                    const engine::EngineOptions& options);

    /// @errors kOutOfRange after the last step.
    Result<engine::StepRecord> step();
    /// The record of the `index`-th step of this run, from 0. @errors kOutOfRange: not taken yet.
    [[nodiscard]] Result<engine::StepRecord> record(std::size_t index) const;
    [[nodiscard]] std::uint64_t steps_done() const;
    [[nodiscard]] std::uint64_t steps() const { return spec_.steps; }
    [[nodiscard]] std::uint64_t first_step() const { return spec_.first_step; }
    [[nodiscard]] std::uint64_t tokens_per_step() const;
    /// A copy of the training state after the steps so far.
    [[nodiscard]] Result<engine::State> state() const;

  private:
    LocalRun(std::shared_ptr<const blob::Dataset> dataset, const LocalRunSpec& spec,
             engine::Trainer trainer)
        : dataset_(std::move(dataset)), spec_(spec), trainer_(std::move(trainer)) {}

    std::shared_ptr<const blob::Dataset> dataset_;  ///< the trainer borrows it
    LocalRunSpec spec_;
    mutable std::mutex mutex_;  ///< of what follows
    engine::Trainer trainer_;
    std::vector<engine::StepRecord> records_;
};

}  // namespace gym::python
