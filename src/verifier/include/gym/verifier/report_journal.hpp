#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/report.hpp"

namespace gym::verifier {

/// A report between its two halves.
struct PendingReport {
    protocol::Report report;
    Digest beacon;
    Bytes records;  ///< canonical, recomputed

    friend bool operator==(const PendingReport&, const PendingReport&) = default;
};

[[nodiscard]] Bytes encode(const PendingReport& pending);
/// @errors kMalformed.
[[nodiscard]] Result<PendingReport> decode_pending_report(ByteView bytes);

/// Reports on disk before their first half is sent: after a crash the second half must open the
/// first, salt included. One file for a draw of a unit. Not thread-safe.
class ReportJournal {
  public:
    /// @errors kIo.
    static Result<ReportJournal> open(const std::filesystem::path& directory);
    /// @errors kIo, kMalformed naming a damaged file.
    [[nodiscard]] Result<std::optional<PendingReport>> find(const Digest& unit,
                                                            std::uint32_t draw) const;
    /// @errors kIo.
    Status save(const PendingReport& pending);
    Status remove(const Digest& unit, std::uint32_t draw);

  private:
    explicit ReportJournal(std::filesystem::path directory) : directory_(std::move(directory)) {}
    [[nodiscard]] std::filesystem::path path_of(const Digest& unit, std::uint32_t draw) const;
    std::filesystem::path directory_;
};

}  // namespace gym::verifier
