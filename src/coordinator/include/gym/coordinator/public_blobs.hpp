#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "gym/blob/blob_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/mirror/blob_handler.hpp"

namespace gym::coordinator {

/// The blobs of a network that are everybody's (registry::is_public_blob), from the store of the
/// coordinator: the origin of its mirrors. What is private, and what was never stored, is not found
/// here. References must outlive it. Thread-safe.
class PublicBlobs final : public mirror::BlobSource {
  public:
    /// How long an answer of the registry holds. A model that becomes private stays public for as
    /// long; mirrors have it anyway.
    static constexpr std::int64_t kAnswerMs = 5'000;
    static constexpr std::size_t kAnswersMax = 65'536;
    static constexpr std::uint64_t kListsBytesMax = std::uint64_t{64} << 20;

    PublicBlobs(db::Database& database, const blob::BlobStore& blobs, const Clock& clock)
        : database_(database), blobs_(blobs), clock_(clock) {}

    /// The list is computed from the whole blob the first time, and kept in memory.
    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                          const mirror::Asker& asker) override;
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const mirror::Asker& asker) override;

  private:
    Status check_public(const Digest& root);
    [[nodiscard]] std::shared_ptr<const blob::PieceList> known_list(const Digest& root);
    void remember(std::shared_ptr<const blob::PieceList> list);

    db::Database& database_;
    const blob::BlobStore& blobs_;
    const Clock& clock_;

    std::mutex mutex_;
    std::map<Digest, bool> answers_;
    std::deque<std::pair<UnixMs, Digest>> answers_by_age_;
    std::map<Digest, std::shared_ptr<const blob::PieceList>> lists_;
    std::deque<Digest> lists_by_age_;
    std::uint64_t lists_bytes_ = 0;
    std::mutex computing_;  ///< one list at a time: hashing takes a core
};

}  // namespace gym::coordinator
