#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/player/claim.hpp"
#include "gym/registry/retention.hpp"

namespace gym::coordinator {

struct PruneOptions {
    registry::Retention retention;
    /// A blob that no row promises stays for so long after it was last put or held: whoever stores
    /// a blob, or finds it stored, has this time for the row that names it.
    std::int64_t grace_ms = 3'600'000;
    /// Absent: the network plays no games.
    std::optional<Address> dispute_game;
};

/// The effects of one pass.
struct PrunePass {
    bool alone = false;           ///< false: another instance is at it, nothing was done
    std::uint64_t rounds = 0;     ///< of which it was decided what stays
    std::uint64_t looked_at = 0;  ///< blobs that were old enough
    std::uint64_t blobs = 0;      ///< that were erased
    std::uint64_t bytes = 0;
};

/// Bounds the blob store: decides what final rounds keep, and erases the blobs that no row
/// promises, whatever they once were (docs/adr/0016-retention.md). It works in the order database,
/// then files: a crash in between leaves files that the next pass erases. Any number of instances
/// may run: an advisory lock lets one work at a time. Thread-safe but for pass().
class Pruner {
  public:
    /// References must outlive the pruner. @param claims blobs that these need stay; may be null.
    Pruner(db::Database& database, blob::BlobStore& blobs, const player::ClaimStore* claims,
           const Clock& clock, PruneOptions options)
        : database_(database), blobs_(blobs), claims_(claims), clock_(clock), options_(options) {}

    /// Looks at kBlobsPerPassMax blobs, or a few more, and continues behind them the next time.
    /// @errors kUnavailable, kIo: what was done until then stays done.
    [[nodiscard]] Result<PrunePass> pass(const std::stop_token& stop = {});

    static constexpr std::uint32_t kRoundsPerPassMax = 1'024;
    static constexpr std::uint64_t kBlobsPerPassMax = 65'536;

    // Since the start, for the metrics.
    [[nodiscard]] std::uint64_t rounds_pruned() const noexcept { return rounds_pruned_; }
    [[nodiscard]] std::uint64_t blobs_pruned() const noexcept { return blobs_pruned_; }
    [[nodiscard]] std::uint64_t bytes_pruned() const noexcept { return bytes_pruned_; }

  private:
    Status pass_alone(const std::stop_token& stop, PrunePass& out);
    Status decide_rounds(PrunePass& out);
    /// Erases what of these is not needed.
    Status sweep(const std::vector<blob::StoredBlob>& idle, const std::stop_token& stop,
                 PrunePass& out);
    /// Those that may be erased; no worker may commit to one of them any more.
    Result<std::vector<blob::StoredBlob>> give_up(std::span<const blob::StoredBlob> idle);

    db::Database& database_;
    blob::BlobStore& blobs_;
    const player::ClaimStore* const claims_;
    const Clock& clock_;
    const PruneOptions options_;
    std::uint8_t next_ = 0;  ///< first byte of the roots that are next
    std::atomic<std::uint64_t> rounds_pruned_{0}, blobs_pruned_{0}, bytes_pruned_{0};
};

}  // namespace gym::coordinator
