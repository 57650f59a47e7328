#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/units.hpp"

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
    /// The first unit that was rejected although no game on chain had proved its fault: the reason.
    /// Nobody can take the stake of its worker any more.
    std::string missed_game;
    bool game_proved = false;         ///< a game proved a unit's fault
    std::uint32_t units_open = 0;     ///< not terminal, all rounds
    std::uint32_t units_unpaid = 0;   ///< ended without pay or fault (unpaid, void), all rounds
    std::uint32_t units_waiting = 0;  ///< drawn for re-execution and not compared yet, all rounds
    std::uint64_t waiting_s = 0;      ///< since the first of these was committed
};

/// Adds a job's train units to `out`.
/// @param newest its newest round, if it has one.
/// @param now_ms what `waiting_s` counts to.
void count_units(const std::vector<registry::Unit>& units, std::optional<std::uint64_t> newest,
                 UnixMs now_ms, JobProgress& out);
[[nodiscard]] Result<JobProgress> read_progress(db::Database& database, const Digest& job_id,
                                                UnixMs now_ms);

/// "round 3/8 [#######.............] verifying: 3/3 committed, 1/3 checked, loss 2.713", with
/// the units that ended unpaid, if any did.
[[nodiscard]] std::string progress_line(const JobProgress& progress);

/// "round 3/8 [#########...............] validation loss 2.713", of the newest aggregated round;
/// there must be one. With the units that ended unpaid, if any did.
[[nodiscard]] std::string round_line(const JobProgress& progress);

/// That the fault of every unit that was found wrong was, or still can be, proven on chain.
/// @errors kTimeout saying what happened, why, and what helps.
Status check_disputes(const JobProgress& progress);
/// The same of a job that has ended and had a cheat: that its fault was proven.
Status check_cheat_proven(const JobProgress& progress);

/// From then on a unit that waits for its verifier is worth a word.
inline constexpr std::uint64_t kBehindS = 60;
/// "verification is behind: 3 units wait for it, the first for 75 s"; empty below kBehindS.
[[nodiscard]] std::string behind_line(const JobProgress& progress);

/// Prints a line whenever a round ends, a fault shows up or units end unpaid, and one every
/// kBehindS while verification is behind; on a terminal progress_line() below them, in place.
class ProgressPrinter {
  public:
    ProgressPrinter();
    void show(const JobProgress& progress);
    void finish();
    /// The lines that are due now. For show().
    [[nodiscard]] std::vector<std::string> news(const JobProgress& progress);

  private:
    bool terminal_;
    std::size_t losses_shown_ = 0;
    std::size_t faults_shown_ = 0;
    std::uint32_t unpaid_shown_ = 0;
    std::uint64_t behind_next_s_ = kBehindS;
};

}  // namespace gym::devnet
