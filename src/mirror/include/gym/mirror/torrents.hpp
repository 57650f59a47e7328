#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gym/blob/piece_list.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// What BitTorrent adds to mirrors, as interfaces: the torrent module implements them, so that
/// nothing else depends on it (docs/adr/0021-torrents.md).
namespace gym::mirror {

struct Asker;
class Fetcher;

/// What a mirror serves of torrents. Thread-safe.
class TorrentSite {
  public:
    virtual ~TorrentSite() = default;
    /// The file ROOT.torrent. @errors kNotFound, also for a blob of one piece, which has none;
    /// kUnavailable: it is being made, ask again; those of BlobSource::open().
    virtual Result<std::shared_ptr<const Bytes>> torrent(const Digest& root,
                                                         const Asker& asker) = 0;
    /// Answers a question to the tracker. @param query the part of the target behind '?'. @param
    /// address IP address of who asks. @return the body, a refusal included (BEP 3).
    virtual std::string announce(std::string_view query, const std::string& address) = 0;
};

/// Other nodes that have pieces of a blob, beside a download of it from mirrors. Thread-safe.
class Peers {
  public:
    virtual ~Peers() = default;
    /// A piece that a peer sent and that has its digest. Waits for one, at most `wait`.
    virtual std::optional<std::pair<std::uint64_t, Bytes>> next(std::chrono::milliseconds wait) = 0;
    /// Whether a peer that is connected has the piece.
    virtual bool have(std::uint64_t index) = 0;
    /// A piece came from elsewhere: the peers may have it.
    virtual void offer(std::uint64_t index, ByteView bytes) = 0;

    /// A piece that next() gave was news to the download.
    void note_taken(std::uint64_t bytes) { taken_bytes_ += bytes; }
    [[nodiscard]] std::uint64_t taken_bytes() const { return taken_bytes_; }

  private:
    std::atomic<std::uint64_t> taken_bytes_{0};
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
