#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gym/blob/piece_list.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// The interfaces of BitTorrent beside mirrors: the torrent module implements them, so that
/// nothing else depends on it (docs/adr/0021-torrents.md).
namespace gym::mirror {

struct Asker;
class Fetcher;

/// The torrents and the tracker of a mirror. Thread-safe.
class TorrentSite {
  public:
    virtual ~TorrentSite() = default;
    /// The file ROOT.torrent. @errors kNotFound, also for a blob of one piece, which has none;
    /// kUnavailable: it is being made, ask again; those of BlobSource::open().
    virtual Result<std::shared_ptr<const Bytes>> torrent(const Digest& root,
                                                         const Asker& asker) = 0;
    /// Answers a question to the tracker. @param query the part of the target behind '?'. @param
    /// address IP address of the asker. @return the body, a refusal included (BEP 3).
    virtual std::string announce(std::string_view query, const std::string& address) = 0;
};

/// Other nodes that have pieces of a blob, beside a download of it from mirrors. Thread-safe.
class Peers {
  public:
    virtual ~Peers() = default;
    struct Piece {
        std::uint64_t index = 0;
        Bytes bytes;
        bool by_peer = true;  ///< false: an earlier download left it
    };
    /// A piece that has its digest. Waits for one, at most `wait`.
    virtual std::optional<Piece> next(std::chrono::milliseconds wait) = 0;
    /// Whether a peer that is connected has the piece.
    virtual bool have(std::uint64_t index) = 0;
    /// A piece came from elsewhere: the peers may have it.
    virtual void offer(std::uint64_t index, ByteView bytes) = 0;

    /// A piece that next() gave was news to the download.
    void note_taken(const Piece& piece) {
        (piece.by_peer ? taken_bytes_ : found_bytes_) += piece.bytes.size();
    }
    [[nodiscard]] std::uint64_t taken_bytes() const { return taken_bytes_; }  ///< by peers
    [[nodiscard]] std::uint64_t found_bytes() const { return found_bytes_; }  ///< of others

  private:
    std::atomic<std::uint64_t> taken_bytes_{0}, found_bytes_{0};
};

/// The peers of a node. Thread-safe.
class Swarm {
  public:
    virtual ~Swarm() = default;
    /// Looks for peers that have the blob; returns at once. The blob is offered to others until the
    /// bounds of seeding, also after the answer is gone, if all of it came or was offered.
    /// @param list must outlive the answer. @return null: this blob is not shared.
    virtual std::unique_ptr<Peers> join(const blob::PieceList& list,
                                        std::shared_ptr<Fetcher> mirrors) = 0;
};

}  // namespace gym::mirror
