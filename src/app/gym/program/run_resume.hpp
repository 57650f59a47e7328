#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/engine/unit.hpp"
#include "gym/worker/unit_checkpoint.hpp"

namespace gym::app {

/// Where a run that is interrupted or killed is kept: in a folder beside the file that it makes, so
/// that the same command finds it. Gone when that file is written. Runs that differ in anything
/// that changes a bit have files of their own there and leave each other alone.
class RunResume {
  public:
    /// Tells on stderr if an earlier run is gone on with.
    /// @param command what kind of run, and everything of it that `spec` does not say. @errors kIo.
    static Result<RunResume> open(std::string_view command, const engine::UnitSpec& spec,
                                  const std::string& output, unsigned threads);
    /// Where the earlier run stood; nullptr: at its beginning.
    [[nodiscard]] engine::UnitPosition* position() { return position_ ? &*position_ : nullptr; }
    /// Saves now and then, and at once when a stop is requested of `stop`.
    void save_until(const std::stop_token& stop);
    void after_step(const engine::Trainer& trainer, std::span<const engine::StepRecord> records);
    /// Begins where an earlier run stopped, and saves now and then and when `stop` is requested.
    void attach(engine::RunOptions& run, const std::stop_token& stop);
    /// The error of a run that did not come to its end, with what can be done about it.
    [[nodiscard]] Error explain(Error error) const;
    void finish();

  private:
    RunResume(std::filesystem::path folder, worker::CheckpointStore store,
              const worker::CheckpointKey& key);
    /// Only if it is empty.
    void remove_folder() const;

    std::filesystem::path folder_;
    worker::CheckpointStore store_;
    worker::CheckpointKey key_;
    std::optional<engine::UnitPosition> position_;
    std::optional<worker::CheckpointPlan> plan_;
};

}  // namespace gym::app
