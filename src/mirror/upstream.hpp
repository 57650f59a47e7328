#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/mirror/blob_handler.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/mirror/pull_through.hpp"
#include "recent_roots.hpp"

namespace gym::mirror {

/// Where a mirror gets what it does not have: from the one mirror that asks the origins for this
/// root, from any mirror that has the blob whole, from the origins. Thread-safe.
class Upstream {
  public:
    /// @errors kInvalidArgument.
    [[nodiscard]] static Result<std::unique_ptr<Upstream>> create(const PullOptions& options);

    /// @errors those of the origins.
    [[nodiscard]] Result<blob::PieceList> pieces(const Digest& root, Asker::Reach reach,
                                                 const std::stop_token& stop);
    struct Piece {
        Bytes bytes;
        bool from_peer = false;
    };
    /// @errors those of the origins.
    [[nodiscard]] Result<Piece> piece(const blob::PieceList& list, std::uint64_t index,
                                      Asker::Reach reach, const std::stop_token& stop);
    [[nodiscard]] std::vector<SourceReport> sources() const;

  private:
    Upstream() = default;
    /// The mirror that asks the origins for the root; null: this one.
    [[nodiscard]] Fetcher* home_of(const Digest& root) const;
    /// Null: no mirror had the blob whole a moment ago.
    [[nodiscard]] Fetcher* holders_of(const Digest& root);

    std::string self_;
    std::map<std::string, std::unique_ptr<Fetcher>> peers_;  ///< each alone; they may fetch
    std::unique_ptr<Fetcher> holders_;                       ///< all; they do not
    std::unique_ptr<Fetcher> origins_;
    RecentRoots not_held_{kNotHeldMs};
    static constexpr std::int64_t kNotHeldMs = 2'000;
};

}  // namespace gym::mirror
