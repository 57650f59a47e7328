#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/commit/dtype.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"

namespace gym::commit {

inline constexpr std::size_t kRankMax = 8;

/// H(0x02 | dtype u8 | rank u8 | dims, each u64 | tree root), integers big-endian.
/// `dims.size() <= kRankMax` is an invariant of the caller.
[[nodiscard]] Digest tensor_digest(DType dtype, std::span<const std::uint64_t> dims,
                                   const Digest& tree_root);

/// The root over the 1,024-byte chunks of `bytes` (the last one zero padded).
/// @determinism the same for every `threads`.
[[nodiscard]] Digest chunk_tree_root(ByteView bytes, unsigned threads = 1);
/// The chunk leaves themselves, for proofs of single chunks.
[[nodiscard]] std::vector<Digest> chunk_leaves(ByteView bytes, unsigned threads = 1);

/// The root of a tensor, little-endian row-major. `bytes.size()` must be the product of `dims`
/// times the element size (an invariant of the caller: check peer data first).
[[nodiscard]] Digest tensor_root(DType dtype, std::span<const std::uint64_t> dims, ByteView bytes,
                                 unsigned threads = 1);

/// A tensor's parts, borrowed.
struct TensorView {
    DType dtype;
    std::span<const std::uint64_t> dims;
    ByteView bytes;
};
/// tensor_root() of each; the threads share the work of all.
[[nodiscard]] std::vector<Digest> tensor_roots(std::span<const TensorView> tensors,
                                               unsigned threads = 1);

/// Hashes bytes that arrive in pieces of any size into the same root as chunk_tree_root().
class ChunkTreeHasher {
  public:
    void update(ByteView bytes);
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    /// The root of everything so far; more may follow.
    [[nodiscard]] Digest root() const;

  private:
    std::uint64_t size_bytes_ = 0;
    Bytes partial_;
    MerkleAccumulator tree_;
};

}  // namespace gym::commit
