#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::devnet {

/// Where a job stands.
struct JobProgress {
    registry::JobStatus status = registry::JobStatus::kSubmitted;
    std::string status_reason;
    std::uint64_t rounds = 0;       ///< planned
    std::uint64_t rounds_done = 0;  ///< aggregated
    std::string round_state;        ///< of the newest round; empty before the first
    std::uint32_t units = 0;        ///< of the newest round
    std::uint32_t units_committed = 0;
    std::uint32_t units_checked = 0;        ///< verified, rejected or beyond
    std::vector<double> validation_losses;  ///< one per aggregated round
    std::vector<std::string> faults;        ///< sentences of rejected units, oldest first
    std::uint32_t units_open = 0;           ///< not terminal, all rounds
};

[[nodiscard]] Result<JobProgress> read_progress(db::Database& database, const Digest& job_id);

/// "round 3/8 [#######.............] verifying: 3/3 committed, 1/3 checked, loss 2.713"
[[nodiscard]] std::string progress_line(const JobProgress& progress);

/// "round 3/8 [#########...............] validation loss 2.713", of the newest aggregated round;
/// there must be one.
[[nodiscard]] std::string round_line(const JobProgress& progress);

/// Prints the line in place on a terminal; elsewhere a line whenever a round ends or a fault shows
/// up.
class ProgressPrinter {
  public:
    ProgressPrinter();
    void show(const JobProgress& progress);
    void finish();

  private:
    bool terminal_;
    std::size_t losses_shown_ = 0;
    std::size_t faults_shown_ = 0;
};

}  // namespace gym::devnet
