#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gym/blob/piece_list.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/torrents.hpp"

/// Blobs by HTTP (docs/PROTOCOL.md, "Blobs by HTTP"): BASE/b/ROOT and BASE/b/ROOT.pieces, where
/// BASE is the address of any server of static files. Nothing that a source sends counts before it
/// has the digest that the root fixes.
namespace gym::mirror {

inline constexpr std::size_t kSourcesMax = 64;
inline constexpr std::size_t kSourceUrlBytesMax = 512;

struct FetchOptions {
    std::uint32_t connections_max = 6;  ///< of one download
    /// Of one download to one source; one to a source whose last answer was no right piece, so that
    /// a lie or a stall costs one piece.
    std::uint32_t source_connections_max = 3;
    std::uint32_t lists_asked_max = 4;  ///< sources that are asked for a list of pieces
    /// Sources that lack a blob before no other is asked: what is private is on none of them.
    std::uint32_t lists_absent_max = 2;
    std::uint32_t list_timeout_ms = 10'000;
    std::uint32_t piece_timeout_ms = 60'000;
    std::uint32_t silence_ms = 10'000;  ///< a source that sends nothing for so long is left
    /// A piece that takes longer than this, and than four times what its source and the next best
    /// usually take, is asked of that one, too; who is first counts.
    std::uint32_t patience_ms = 2'000;
    std::uint32_t ban_ms = 15'000;       ///< after a failure; doubled with each, up to the next
    std::uint32_t ban_ms_max = 600'000;  ///< at once for a piece with wrong bytes
    std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
    std::vector<std::pair<std::string, std::string>> headers = {};  ///< of every request
};

/// What is known of a source.
struct SourceReport {
    std::string url;
    std::uint64_t bytes = 0;  ///< of pieces that were right
    std::uint64_t failures = 0;
    std::uint64_t lies = 0;      ///< pieces or lists with wrong bytes
    double latency_ms = 0;       ///< 0: not measured
    double ms_per_mib = 0;       ///< 0: not measured
    std::string banned_because;  ///< empty while it is used
};

/// Takes the pieces of a download. Called from several threads, once for each piece.
class PieceSink {
  public:
    virtual ~PieceSink() = default;
    /// Whether the piece was there before. Asked once for each, by one thread.
    virtual bool has(std::uint64_t index) = 0;
    /// Keeps a piece, which has its digest. An error ends the download.
    virtual Status write(std::uint64_t index, ByteView bytes) = 0;
};

/// A torrent as a mirror sent it, unchecked.
struct TorrentFile {
    Bytes bytes;
    std::string mirror;  ///< its address, as it was given to Fetcher::create()
};

/// Fetches blobs from several sources, and remembers how each does: the near ones are preferred
/// until a far one should be four times as fast, of the near ones the fast. One that fails, stalls
/// or lies is left for a while. Thread-safe. Memory: a piece for each connection.
class Fetcher {
  public:
    /// @param urls http(s)://host[:port][/path] of each. @errors kInvalidArgument, with the place
    /// of the one that is none (it may hold a password, which no log should), or for more than
    /// kSourcesMax.
    [[nodiscard]] static Result<std::unique_ptr<Fetcher>> create(
        const std::vector<std::string>& urls, const FetchOptions& options = {});
    ~Fetcher();
    Fetcher(const Fetcher&) = delete;
    Fetcher& operator=(const Fetcher&) = delete;

    /// The pieces of a blob, from the nearest source that has it. The first call of ten minutes
    /// asks all sources at once, for nothing, to know their latencies. @errors kNotFound:
    /// lists_absent_max sources, or all that were asked, have none; kOutOfRange above
    /// blob_bytes_max; kUnavailable, naming what each did; kCancelled.
    [[nodiscard]] Result<blob::PieceList> pieces(const Digest& root, const std::stop_token& stop);

    using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t size_bytes)>;
    /// Every piece that `sink` does not have, in any order. Pieces that arrived stay in the sink
    /// when it fails. @param peers null: there are none. A piece that one of them has is left to
    /// them as long as they bring at least as much a second as the sources can; each piece that
    /// comes from a source is offered to them.
    /// @errors kUnavailable: no source is left, naming what each did; kNotFound: each lacks the
    /// blob; kCancelled; those of the sink.
    Status download(const blob::PieceList& list, PieceSink& sink, const std::stop_token& stop,
                    const Progress& progress = {}, Peers* peers = nullptr);

    /// The torrent of a blob, from the near sources, in an order that all who are as near have: so
    /// they meet at one tracker. @errors kNotFound: none of them has one; kUnavailable: one makes
    /// it; ask again; kCancelled; others of the last that failed.
    [[nodiscard]] Result<TorrentFile> torrent(const Digest& root, const std::stop_token& stop);

    /// One piece. @errors as download().
    [[nodiscard]] Result<Bytes> piece(const blob::PieceList& list, std::uint64_t index,
                                      const std::stop_token& stop);

    [[nodiscard]] std::vector<SourceReport> sources() const;

  private:
    struct Impl;
    explicit Fetcher(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::mirror
