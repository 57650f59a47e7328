#pragma once

#include <chrono>
#include <cstdint>

#include "gym/engine/record.hpp"
#include "gym/engine/saved_run.hpp"
#include "program/training_progress.hpp"

namespace gym::app {

struct CliContext;

/// Prints a run's records, its validation losses and a progress bar.
class RunLog {
  public:
    /// @param every prints the record of each step whose number is a multiple; 0: one a second if
    /// standard output is a terminal, else all.
    RunLog(const CliContext& context, std::uint32_t every);

    /// @param last always prints the record.
    void step(const engine::StepRecord& record, const engine::UnitProgress& progress, bool last);
    void validation(const engine::ValidationLoss& loss);

  private:
    [[nodiscard]] bool wants(std::uint64_t step, bool last);
    using Clock = std::chrono::steady_clock;
    const CliContext& context_;
    std::uint32_t every_;
    bool terminal_;
    Clock::time_point last_line_{};
    TrainingProgress progress_{"training"};
};

}  // namespace gym::app
