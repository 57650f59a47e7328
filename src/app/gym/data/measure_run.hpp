#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "gym/measure/measurement.hpp"
#include "program/training_progress.hpp"

namespace gym::app {

/// How a command measures: with a bar on standard error, ended by SIGINT or SIGTERM. One at a time;
/// options() belongs to it.
class MeasureRun {
  public:
    explicit MeasureRun(const engine::EngineOptions& engine);
    [[nodiscard]] const measure::MeasureOptions& options() const { return options_; }
    MeasureRun(const MeasureRun&) = delete;
    MeasureRun& operator=(const MeasureRun&) = delete;

  private:
    void show(std::string_view what, const engine::UnitProgress& at);
    InterruptGuard interrupt_;
    std::stop_source stop_;
    std::string label_;
    std::unique_ptr<TrainingProgress> bar_;
    measure::MeasureOptions options_;
};

}  // namespace gym::app
