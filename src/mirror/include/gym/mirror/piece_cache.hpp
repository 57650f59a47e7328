#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "gym/blob/piece_list.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/fetcher.hpp"

namespace gym::mirror {

/// A blob of which some pieces are on disk. Thread-safe.
class CachedBlob {
  public:
    virtual ~CachedBlob() = default;
    [[nodiscard]] virtual const std::shared_ptr<const blob::PieceList>& pieces() const = 0;
    /// Fills `out` with bytes of piece `index`, from `offset` in the piece on. The first read of a
    /// piece hashes it: what a crash tore and what rotted is absent.
    /// @return whether the piece is there. @errors kIo.
    virtual Result<bool> read(std::uint64_t index, std::uint64_t offset,
                              std::span<std::uint8_t> out) = 0;
    /// Keeps a piece that has its digest. @errors kOutOfRange: neither the bound of the cache nor
    /// the disk has room for it; kIo.
    virtual Status write(std::uint64_t index, ByteView bytes) = 0;
    /// Whether every piece is there, as far as can be told without reading them. @errors kIo.
    virtual Result<bool> is_complete() = 0;
};

/// A blob that is being sent here, in order; without finish() nothing is kept of it. Not
/// thread-safe.
class IncomingBlob {
  public:
    virtual ~IncomingBlob() = default;
    /// The next bytes. @errors kOutOfRange: more than were announced, or a full disk; kIo.
    virtual Status write(ByteView bytes) = 0;
    /// Gives it its name. @errors kMismatch: bytes are missing, or they have another root; kIo.
    virtual Status finish() = 0;
};

/// A blob whose pieces are fetched from elsewhere, in any order, each checked by whoever writes it;
/// without finish() nothing is kept of it. write() is thread-safe.
class IncomingPieces : public PieceSink {
  public:
    /// Gives it its name, once every piece of the list is written. @errors kIo.
    virtual Status finish(const blob::PieceList& list) = 0;
};

/// Pieces of blobs in a folder: FOLDER/ab/ROOT.pieces, the list, and FOLDER/ab/ROOT, with holes
/// where pieces are absent. At most `bytes_max`, as the file system counts them: the blobs that
/// were used least recently go first, those that are being read do not. A process that is killed
/// leaves nothing that the next one would take for what it is not. One process has the folder at a
/// time. Thread-safe.
class PieceCache {
  public:
    /// Creates the folder if needed. @errors kIo; kConflict while another process has it.
    [[nodiscard]] static Result<std::unique_ptr<PieceCache>> open(
        const std::filesystem::path& folder, std::uint64_t bytes_max);
    virtual ~PieceCache() = default;

    /// The blob, if its list is there; marks it as used. Null: it is not. @errors kIo.
    virtual Result<std::shared_ptr<CachedBlob>> find(const Digest& root) = 0;
    /// Adds a blob without pieces, or finds it. Of what cannot be stored the list is kept in memory
    /// for a minute, 64 of them at most, and its pieces are not kept. @errors kIo.
    virtual Result<std::shared_ptr<CachedBlob>> add(blob::PieceList list) = 0;

    /// Begins to take a blob of `size_bytes`, for which there is room from here on; it is not
    /// evicted for `kept`, also after a restart. @param bytes_max of all such blobs
    /// together. @errors kOutOfRange: there is no room; kIo.
    virtual Result<std::unique_ptr<IncomingBlob>> receive(const Digest& root,
                                                          std::uint64_t size_bytes,
                                                          std::chrono::seconds kept,
                                                          std::uint64_t bytes_max) = 0;
    /// The same for a blob whose pieces come in any order.
    virtual Result<std::unique_ptr<IncomingPieces>> receive_pieces(const Digest& root,
                                                                   std::uint64_t size_bytes,
                                                                   std::chrono::seconds kept,
                                                                   std::uint64_t bytes_max) = 0;

    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
    [[nodiscard]] virtual std::uint64_t blobs() const = 0;
    [[nodiscard]] virtual std::uint64_t evicted() const = 0;  ///< blobs, since it was opened
};

}  // namespace gym::mirror
