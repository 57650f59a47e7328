#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

#include "gym/common/result.hpp"
#include "gym/engine/unit.hpp"
#include "gym/worker/unit_checkpoint.hpp"

namespace gym::app {

/// Where a `gym unit run` that is interrupted is kept: beside the unit file, so that the same
/// command finds it. Gone when the unit is written.
class UnitResume {
  public:
    /// Tells on stderr if an earlier run is gone on with. @errors kIo.
    static Result<UnitResume> open(const engine::UnitSpec& spec, const std::string& unit_file,
                                   unsigned threads);
    /// Begins where an earlier run stopped, and saves now and then and when `stop` is requested.
    void attach(engine::RunOptions& run, const std::stop_token& stop);
    /// The error of a run that did not come to its end, with what can be done about it.
    [[nodiscard]] Error explain(Error error) const;
    void finish();

  private:
    UnitResume(std::filesystem::path folder, worker::CheckpointStore store,
               const worker::CheckpointKey& key, unsigned threads);
    /// Only if it is empty.
    void remove_folder() const;

    std::filesystem::path folder_;
    worker::CheckpointStore store_;
    worker::CheckpointKey key_;
    unsigned threads_;
    std::optional<engine::UnitPosition> position_;
    std::optional<worker::CheckpointPlan> plan_;
};

}  // namespace gym::app
