#pragma once

#include <chrono>
#include <string>

#include "gym/common/result.hpp"
#include "gym/common/save_pace.hpp"
#include "gym/engine/saved_run.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/program.hpp"

namespace gym::app {

/// How much of a run a kill may cost.
inline constexpr std::chrono::seconds kSaveEvery{30};

/// The file of a local training run: its progress while it runs, its result at the end. Saved every
/// half minute, so that a kill costs no more. Not thread-safe.
class RunFile {
  public:
    /// @param path empty: nothing is kept.
    RunFile(std::string path, unsigned threads);

    [[nodiscard]] bool exists() const;
    /// The run in the file. @errors kConflict for a file that holds no run, saying what to do;
    /// those of decode_saved_run() and read_file().
    [[nodiscard]] Result<engine::SavedRun> load() const;
    /// Whether the disk has room for a run of `program` with `steps` records. @errors kIo.
    [[nodiscard]] Status check_space(const program::Program& program, std::uint64_t steps) const;
    /// Saves if it is time to. A disk that refuses costs a warning, not the run.
    void after_step(const engine::Trainer& trainer, const engine::SavedRun& run);
    /// @param state after the last record of `run`; run.state is not read.
    [[nodiscard]] Status save(const engine::SavedRun& run, const engine::State& state) const;

  private:
    std::string path_;
    unsigned threads_;
    SavePace pace_;
    bool refused_ = false;
};

}  // namespace gym::app
