#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/common/save_pace.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/saved_run.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/program.hpp"

namespace gym::python {

struct LocalRunSpec {
    Digest seed;
    std::uint32_t steps = 0;  ///< of the whole run, counted from step 0
    /// As `gym program run --state`: the run in it is continued, and saved now and then; empty: the
    /// run is kept in memory alone.
    std::string state_file;
    bool restart = false;  ///< overwrite what is in the file
};

/// A training run in this process: the steps of `gym program run`, one at a time. Keeps the
/// records, so that an interrupt between a step and what Python does with it loses nothing.
/// Thread-safe: a call waits for the step in progress.
class LocalRun {
  public:
    /// @param start the training state before the first step.
    /// @errors engine::Trainer's; kConflict for a state file that holds no run or another one;
    /// those of read_file() and engine::decode_saved_run(), naming the file.
    static Result<std::unique_ptr<LocalRun>> create(const program::Program& program,
                                                    engine::State start,
                                                    std::shared_ptr<const blob::Dataset> dataset,
                                                    const LocalRunSpec& spec,
                                                    const engine::EngineOptions& options);

    /// Saves the run if it is time to; a disk that refuses does not end the run.
    /// @errors kOutOfRange after the last step.
    Result<engine::StepRecord> step();
    /// Why the run cannot continue (engine::divergence()); absent: it can.
    [[nodiscard]] std::optional<std::string> divergence() const;
    /// Writes the state file, if there is one; not a state that diverged. @errors kIo.
    Status save();
    /// The record of the `index`-th step of this run, from 0. @errors kOutOfRange: not taken yet.
    [[nodiscard]] Result<engine::StepRecord> record(std::size_t index) const;
    [[nodiscard]] std::size_t records() const;
    [[nodiscard]] std::uint64_t steps_done() const;
    [[nodiscard]] std::uint64_t tokens_per_step() const { return trainer_.tokens_per_step(); }
    /// A copy of the training state after the steps so far.
    [[nodiscard]] Result<engine::State> state() const;

  private:
    LocalRun(std::shared_ptr<const blob::Dataset> dataset, std::string state_file, unsigned threads,
             engine::SavedRun run, engine::Trainer trainer);
    Status save_locked();

    std::shared_ptr<const blob::Dataset> dataset_;  ///< the trainer borrows it
    const std::string state_file_;
    const unsigned threads_;
    mutable std::mutex mutex_;  ///< of what follows
    engine::SavedRun run_;      ///< without its state, which the trainer has
    engine::Trainer trainer_;
    SavePace pace_;
};

}  // namespace gym::python
