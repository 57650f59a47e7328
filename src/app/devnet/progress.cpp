#include "gym/devnet/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

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

void count_units(const std::vector<registry::Unit>& units, std::optional<std::uint64_t> newest,
                 JobProgress& out) {
    for (const registry::Unit& unit : units) {
        out.units_open += !protocol::is_terminal(unit.status.state);
        if (unit.key.round != newest) continue;
        ++out.units;
        out.units_committed += unit.committed_at_ms.has_value();
        out.units_checked += is_checked(unit.status.state);
    }
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
        if (is_fault(unit->status.state)) out.faults.push_back(unit->reason);
}

Result<JobProgress> read(db::Transaction& tx, const Digest& job_id) {
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
    count_units(units, newest, out);
    return out;
}

std::string bar(std::uint64_t done, std::uint64_t all) {
    const std::size_t full = all == 0 ? 0 : std::min(done, all) * kBarWidth / all;
    return std::string(full, '#') + std::string(kBarWidth - full, '.');
}

}  // namespace

Result<JobProgress> read_progress(db::Database& database, const Digest& job_id) {
    return database.transact([&](db::Transaction& tx) { return read(tx, job_id); },
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
    return line;
}

std::string round_line(const JobProgress& progress) {
    return fmt::format("round {}/{} [{}] validation loss {:.3f}", progress.validation_losses.size(),
                       progress.rounds, bar(progress.validation_losses.size(), progress.rounds),
                       progress.validation_losses.back());
}

ProgressPrinter::ProgressPrinter() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressPrinter::show(const JobProgress& progress) {
    const char* const clear = terminal_ ? "\r\033[K" : "";
    for (; faults_shown_ < progress.faults.size(); ++faults_shown_)
        (void)std::fprintf(stderr, "%sfault found: %s\n", clear,
                           progress.faults[faults_shown_].c_str());
    if (!terminal_ && losses_shown_ == progress.validation_losses.size()) return;
    losses_shown_ = progress.validation_losses.size();
    (void)std::fprintf(stderr, "%s%s%s", clear,
                       (terminal_ ? progress_line(progress) : round_line(progress)).c_str(),
                       terminal_ ? "" : "\n");
    (void)std::fflush(stderr);
}

void ProgressPrinter::finish() {
    if (terminal_) (void)std::fprintf(stderr, "\n");
}

}  // namespace gym::devnet
