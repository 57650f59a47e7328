#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// The torrent of a blob: version 2 (BEP 52), one file, which is named by the blob's root, in
/// pieces of 1 MiB, as blob::PieceList has them. The info dictionary follows from the blob's bytes
/// alone, so that every mirror makes the same torrent:
///
///   {"file tree": {ROOT: {"": {"length", "pieces root"}}}, "meta version": 2, "name": ROOT,
///    "piece length": 1048576, "private": 1}
///
/// Beside it stand the piece layer and, for programs other than Gym's nodes, the mirror that the
/// file came from as "announce" and "url-list". A piece's hash is the root over the SHA-256 of its
/// blocks of 16 KiB, which says nothing of the blob's own root: a reader checks each piece against
/// that.
namespace gym::torrent {

/// A blob of one piece has no torrent: a mirror sends it as fast as it would name peers.
[[nodiscard]] constexpr bool is_shared(std::uint64_t size_bytes) {
    return size_bytes > (std::uint64_t{1} << 20);
}

/// Immutable.
class Metainfo {
  public:
    /// Reads the blob once, a piece at a time. @pre is_shared(blob.size()). @errors the reader's.
    [[nodiscard]] static Result<Metainfo> of(const Digest& root, const blob::BlobReader& blob);
    /// A file from whomever. "announce" and "url-list" may be there and are not believed.
    /// @param size_bytes of the blob, as its list of pieces has it. @errors kMalformed for bytes
    /// that are no such file, with the place; kMismatch for the torrent of another blob or size, or
    /// one whose piece layer does not have its root.
    [[nodiscard]] static Result<Metainfo> decode(const Digest& root, std::uint64_t size_bytes,
                                                 ByteView bytes);

    /// The file. @param mirror address of a mirror, for "announce" and "url-list"; empty: neither.
    [[nodiscard]] Bytes encode(const std::string& mirror = {}) const;
    /// SHA-256 of the info dictionary; peers and trackers use the first 20 bytes.
    [[nodiscard]] Digest info_hash() const;
    [[nodiscard]] const Digest& root() const { return root_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  private:
    Metainfo(const Digest& root, std::uint64_t size_bytes, std::vector<Digest> pieces);
    [[nodiscard]] std::string info() const;

    Digest root_;
    std::uint64_t size_bytes_;
    std::vector<Digest> pieces_;
    Digest pieces_root_;
};

}  // namespace gym::torrent
