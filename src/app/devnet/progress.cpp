#include "gym/devnet/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "gym/common/plural.hpp"
#include "gym/registry/rounds.hpp"
#include "waiting.hpp"

namespace gym::devnet {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::uint32_t kUnitsMax = 10'000;

bool is_checked(protocol::UnitState state) {
    using enum protocol::UnitState;
    return state == kVerified || state == kUnsampled || state == kUpheld ||
           protocol::is_terminal(state);
}

bool is_fault(protocol::UnitState state) {
    return state == protocol::UnitState::kRejected || state == protocol::UnitState::kSlashed;
}

bool is_unpaid(protocol::UnitState state) {
    return state == protocol::UnitState::kUnpaid || state == protocol::UnitState::kVoid;
}

bool waits_for_verifier(protocol::UnitState state) {
    using enum protocol::UnitState;
    return state == kSampled || state == kReported || state == kRevealed;
}

void count_waiting(const registry::Unit& unit, UnixMs now_ms, JobProgress& out) {
    ++out.units_waiting;
    const UnixMs since_ms = unit.committed_at_ms.value_or(now_ms);
    if (now_ms > since_ms)
        out.waiting_s =
            std::max(out.waiting_s, static_cast<std::uint64_t>(now_ms - since_ms) / 1000);
}

void note_fault(const registry::Unit& unit, JobProgress& out) {
    out.faults.push_back(unit.reason);
    if (unit.status.state == protocol::UnitState::kSlashed)
        out.game_proved = true;
    else if (out.missed_game.empty())
        out.missed_game = unit.reason;
}

constexpr const char* kWhatHelps =
    "stop other programs on this machine and try again, or give disputes more time "
    "(--dispute-window 300)";

Result<JobProgress> read(db::Transaction& tx, const Digest& job_id, UnixMs now_ms) {
    GYM_TRY(const registry::Job job, registry::get_job(tx, job_id));
    JobProgress out{.status = job.status,
                    .status_reason = job.status_reason,
                    .rounds = job.terms.rounds,
                    .rounds_done = job.rounds_done};
    GYM_TRY(const auto rounds, registry::list_rounds(tx, job_id));
    std::optional<std::uint64_t> newest;
    for (const registry::Round& round : rounds) {
        newest = round.round;
        out.round_state = registry::to_string(round.state);
        if (round.validation_loss) out.validation_losses.push_back(*round.validation_loss);
    }
    GYM_TRY(const auto units,
            registry::list_units(
                tx, {.job_id = job_id, .kind = protocol::UnitKind::kTrain, .limit = kUnitsMax}));
    count_units(units, newest, now_ms, out);
    return out;
}

std::string bar(std::uint64_t done, std::uint64_t all) {
    const std::size_t full = all == 0 ? 0 : std::min(done, all) * kBarWidth / all;
    return std::string(full, '#') + std::string(kBarWidth - full, '.');
}

std::string unpaid_part(const JobProgress& progress) {
    return progress.units_unpaid == 0 ? ""
                                      : fmt::format(", unpaid units: {}", progress.units_unpaid);
}

}  // namespace

void count_units(const std::vector<registry::Unit>& units, std::optional<std::uint64_t> newest,
                 UnixMs now_ms, JobProgress& out) {
    for (const registry::Unit& unit : units) {
        out.units_open += !protocol::is_terminal(unit.status.state);
        out.units_unpaid += is_unpaid(unit.status.state);
        if (waits_for_verifier(unit.status.state)) count_waiting(unit, now_ms, out);
        if (unit.key.round != newest) continue;
        ++out.units;
        out.units_committed += unit.committed_at_ms.has_value();
        out.units_checked += is_checked(unit.status.state);
    }
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
        if (is_fault(unit->status.state)) note_fault(*unit, out);
}

Result<JobProgress> read_progress(db::Database& database, const Digest& job_id, UnixMs now_ms) {
    return database.transact([&](db::Transaction& tx) { return read(tx, job_id, now_ms); },
                             {.isolation = db::Isolation::kRepeatableRead, .read_only = true});
}

std::string progress_line(const JobProgress& progress) {
    std::string line =
        fmt::format("round {}/{} [{}]", std::min(progress.rounds_done + 1, progress.rounds),
                    progress.rounds, bar(progress.rounds_done, progress.rounds));
    if (!progress.round_state.empty())
        line += fmt::format(" {}: {}/{} committed, {}/{} checked", progress.round_state,
                            progress.units_committed, progress.units, progress.units_checked,
                            progress.units);
    if (!progress.validation_losses.empty())
        line += fmt::format(", loss {:.3f}", progress.validation_losses.back());
    return line + unpaid_part(progress);
}

std::string round_line(const JobProgress& progress) {
    // Where rounds overlap, one without workers follows the last.
    const std::uint64_t done = progress.validation_losses.size();
    return fmt::format("round {}/{} [{}] validation loss {:.3f}", done,
                       std::max(done, progress.rounds), bar(done, progress.rounds),
                       progress.validation_losses.back()) +
           unpaid_part(progress);
}

Status check_disputes(const JobProgress& progress) {
    if (progress.missed_game.empty()) return {};
    return fail(
        ErrorCode::kTimeout,
        "a wrong unit was found too late to take its worker's stake: " + progress.missed_game +
            ". This machine was too slow for it (" + load_text() + "): " + kWhatHelps);
}

Status check_cheat_proven(const JobProgress& progress) {
    GYM_CHECK(check_disputes(progress));
    if (progress.game_proved) return {};
    return fail(ErrorCode::kTimeout,
                fmt::format("the job has ended, and no game on chain proved the cheat's fault: its "
                            "wrong unit was not run again in time, or a game about it was lost by "
                            "the clock ({} ended without pay). This machine was too slow for it "
                            "({}): {}",
                            counted(progress.units_unpaid, "unit"), load_text(), kWhatHelps));
}

std::string behind_line(const JobProgress& progress) {
    if (progress.units_waiting == 0 || progress.waiting_s < kBehindS) return "";
    return fmt::format(
        "verification is behind: {} {} for it, the first for {} s", progress.units_waiting,
        progress.units_waiting == 1 ? "unit waits" : "units wait", progress.waiting_s);
}

ProgressPrinter::ProgressPrinter() : terminal_(::isatty(STDERR_FILENO) == 1) {}

std::vector<std::string> ProgressPrinter::news(const JobProgress& progress) {
    std::vector<std::string> out;
    for (; faults_shown_ < progress.faults.size(); ++faults_shown_)
        out.push_back("fault found: " + progress.faults[faults_shown_]);
    if (losses_shown_ != progress.validation_losses.size()) {
        losses_shown_ = progress.validation_losses.size();
        out.push_back(round_line(progress));
    }
    if (unpaid_shown_ != progress.units_unpaid)
        out.push_back(fmt::format("units that ended unpaid so far: {}", progress.units_unpaid));
    unpaid_shown_ = progress.units_unpaid;
    const std::string behind = behind_line(progress);
    if (behind.empty()) {
        behind_next_s_ = kBehindS;
    } else if (progress.waiting_s >= behind_next_s_) {
        behind_next_s_ = progress.waiting_s + kBehindS;
        out.push_back(behind);
    }
    return out;
}

void ProgressPrinter::show(const JobProgress& progress) {
    const char* const clear = terminal_ ? "\r\033[K" : "";
    for (const std::string& line : news(progress))
        (void)std::fprintf(stderr, "%s%s\n", clear, line.c_str());
    if (terminal_) (void)std::fprintf(stderr, "%s%s", clear, progress_line(progress).c_str());
    (void)std::fflush(stderr);
}

void ProgressPrinter::finish() {
    if (terminal_) (void)std::fprintf(stderr, "\n");
}

}  // namespace gym::devnet
