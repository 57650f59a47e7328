#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "gym/verifier/report_journal.hpp"

namespace gym::verifier {

/// Train units that were run and whose report came too late for its draw. A later draw of the same
/// verifier asks for the same numbers: on a machine that is too slow for one draw, running the unit
/// again would be too late again. Lost when the process ends.
class LateReports {
  public:
    static constexpr std::size_t kReportsMax = 16;  ///< the oldest goes first

    /// @param round hash of the record that the unit was run by.
    void keep(const Digest& round, PendingReport report) {
        if (reports_.size() == kReportsMax) reports_.pop_front();
        reports_.emplace_back(round, std::move(report));
    }
    /// The report on the unit in that round, with its old draw and salt.
    std::optional<PendingReport> take(const Digest& round, const Digest& unit,
                                      const Digest& beacon) {
        const auto found = std::ranges::find_if(reports_, [&](const auto& kept) {
            const auto& [of, report] = kept;
            return of == round && report.report.unit == unit && report.beacon == beacon;
        });
        if (found == reports_.end()) return std::nullopt;
        PendingReport out = std::move(found->second);
        reports_.erase(found);
        return out;
    }

  private:
    std::deque<std::pair<Digest, PendingReport>> reports_;
};

}  // namespace gym::verifier
