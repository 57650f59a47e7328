#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/fetcher.hpp"

namespace gym::mirror {

struct PullOptions {
    std::filesystem::path folder;
    std::uint64_t bytes_max = std::uint64_t{100} << 30;  ///< of the folder
    std::vector<std::string> origins;
    /// The network's other mirrors, which are asked before the origins, and the own address among
    /// theirs. Every mirror has the same addresses, or an origin sends a blob more than once.
    std::vector<std::string> peers;
    std::string self;
    FetchOptions fetch;
    /// Questions to the origins about roots that are not in the folder: of all peers, and of one.
    double lookups_per_s = 50;
    double lookups_per_s_of_peer = 10;
    std::int64_t absent_ms = 5'000;        ///< for so long no origin is asked again about a root
    std::uint64_t origin_bytes_per_s = 0;  ///< 0: no bound
    std::uint64_t uploads_bytes_max = 0;   ///< of the folder, for uploads that are kept
    std::chrono::seconds uploads_kept = std::chrono::hours(24);
};

struct PullCounters {
    std::uint64_t pieces_hit = 0;      ///< read from the folder
    std::uint64_t pieces_fetched = 0;  ///< from an origin or another mirror
    std::uint64_t origin_bytes = 0;    ///< of these, from origins
    std::uint64_t peer_bytes = 0;      ///< of pieces that other mirrors sent, copies included
    std::uint64_t lookups = 0;         ///< roots that an origin was asked about
    std::uint64_t refused = 0;         ///< for asking too often
    std::uint64_t not_kept = 0;        ///< pieces that were served without a place on the disk
};

/// The blobs of origins, fetched piece by piece when somebody asks, checked, kept in a folder.
/// Only roots that an origin has cost more than an entry in a bounded list. Thread-safe.
class PullThrough : public BlobSource, public UploadTarget {
  public:
    /// @param stop ends fetches under way. @errors kInvalidArgument for an origin or none, and for
    /// peers without the own address; those of
    /// PieceCache::open().
    [[nodiscard]] static Result<std::unique_ptr<PullThrough>> open(const PullOptions& options,
                                                                   std::stop_token stop);
    [[nodiscard]] virtual PullCounters counters() const = 0;
    [[nodiscard]] virtual std::vector<SourceReport> origins() const = 0;
    [[nodiscard]] virtual std::uint64_t bytes_kept() const = 0;
    /// For BlobHandler.
    [[nodiscard]] std::string metrics() const;

  protected:
    [[nodiscard]] virtual std::uint64_t blobs_kept() const = 0;
    [[nodiscard]] virtual std::uint64_t blobs_evicted() const = 0;
};

}  // namespace gym::mirror
