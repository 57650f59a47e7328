#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/registry/delta_places.hpp"

namespace gym::coordinator {

/// Fetches the deltas that workers have put on mirrors, for the aggregate: each once, each piece
/// checked. What no mirror gives is wanted from its worker after kAttempts. References must outlive
/// it. Thread-safe.
class DeltaCollector {
  public:
    static constexpr std::uint32_t kAttempts = 3;

    DeltaCollector(db::Database& database, blob::BlobStore& blobs, const Clock& clock,
                   std::uint64_t blob_bytes_max)
        : database_(database), blobs_(blobs), clock_(clock), blob_bytes_max_(blob_bytes_max) {}

    /// The network's, which are asked for what those that a worker named do not give.
    void set_mirrors(std::vector<std::string> mirrors);
    /// Fetches what is due. @return how many deltas came. @errors those of the database.
    Result<std::uint32_t> collect(const std::stop_token& stop);
    /// From mirrors, checked or not.
    [[nodiscard]] std::uint64_t bytes_received() const { return bytes_received_; }

  private:
    Status fetch(const registry::DeltaPlace& place, const std::stop_token& stop);
    Result<blob::VerifiedBlob> download(const std::vector<std::string>& mirrors, const Digest& root,
                                        const std::stop_token& stop);
    /// One for each list of mirrors, so that what was measured of them is kept.
    Result<std::shared_ptr<mirror::Fetcher>> fetcher_of(const std::vector<std::string>& mirrors);

    db::Database& database_;
    blob::BlobStore& blobs_;
    const Clock& clock_;
    const std::uint64_t blob_bytes_max_;
    std::atomic<std::uint64_t> bytes_received_{0};

    static constexpr std::size_t kFetchersMax = 64;
    std::mutex mutex_;
    std::vector<std::string> mirrors_;
    std::map<std::vector<std::string>, std::shared_ptr<mirror::Fetcher>> fetchers_;
};

}  // namespace gym::coordinator
