#pragma once

#include <cstdint>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// A blob in pieces that are checked one by one, in any order, from any server.
///
/// A blob's root is tensor_digest(u8, [size], T), where T is the Merkle tree over its 1,024-byte
/// chunks, padded with absent leaves to a power of two. A piece is 1 MiB, or what is left at the
/// end: 2^10 chunks, so a blob of several pieces is a tree whose nodes of height 10 are its pieces:
///   digest(i) = the node of height 10 over the chunks of piece i (the last one padded with absent
///               leaves), and T = merkle_fold(digests, 10, depth - 10);
///   of a blob of one piece: digest(0) = T, which may be lower than 10; of no bytes: none.
/// So the list of digests has the blob's root, and who has the list can check each piece alone.
///
/// The list as bytes (ROOT.pieces, docs/PROTOCOL.md): "GYMPIEC1" | size u64 | a digest for each
/// piece, integers big-endian: 16 bytes and 32 a MiB.
namespace gym::blob {

inline constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kPieceListHeadBytes = 16;

[[nodiscard]] constexpr std::uint64_t piece_count(std::uint64_t size_bytes) {
    return size_bytes / kPieceBytes + (size_bytes % kPieceBytes != 0 ? 1 : 0);
}
/// The encoded list's size for a blob of `size_bytes`.
[[nodiscard]] constexpr std::uint64_t piece_list_bytes(std::uint64_t size_bytes) {
    return kPieceListHeadBytes + piece_count(size_bytes) * Digest::kSize;
}

/// The pieces of a blob, which hash to its root: every way to make one checks or computes that.
/// Immutable.
class PieceList {
  public:
    /// Reads the blob once, a piece at a time. @errors those of the reader.
    [[nodiscard]] static Result<PieceList> of(const BlobReader& blob, unsigned threads = 1);
    [[nodiscard]] static PieceList of(ByteView blob, unsigned threads = 1);
    /// A list from whomever. @errors kMalformed for bytes that are no list, kMismatch for the list
    /// of another blob; both name the root.
    [[nodiscard]] static Result<PieceList> decode(const Digest& root, ByteView bytes);
    [[nodiscard]] Bytes encode() const;

    [[nodiscard]] const Digest& root() const { return root_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::uint64_t count() const { return digests_.size(); }
    [[nodiscard]] std::uint64_t offset(std::uint64_t index) const { return index * kPieceBytes; }
    /// @pre index < count().
    [[nodiscard]] std::uint64_t size_of(std::uint64_t index) const;
    /// Whether `bytes` are piece `index`. @pre index < count().
    [[nodiscard]] bool matches(std::uint64_t index, ByteView bytes, unsigned threads = 1) const;

  private:
    friend class PieceListBuilder;
    PieceList(std::uint64_t size_bytes, std::vector<Digest> digests);

    std::uint64_t size_bytes_;
    std::vector<Digest> digests_;
    Digest root_;
};

/// Makes the list of a blob whose pieces arrive in order. Not thread-safe.
class PieceListBuilder {
  public:
    explicit PieceListBuilder(std::uint64_t size_bytes) : size_bytes_(size_bytes) {}
    /// The next piece: kPieceBytes, of the last one what is left. @pre There is one left.
    void add(ByteView piece);
    /// @pre All pieces were added.
    [[nodiscard]] PieceList finish() &&;

  private:
    std::uint64_t size_bytes_;
    std::vector<Digest> digests_;
};

}  // namespace gym::blob
