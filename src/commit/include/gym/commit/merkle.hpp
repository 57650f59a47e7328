#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Merkle trees of docs/PROTOCOL.md ("Roots"). A tree of n leaves is padded with absent leaves to
/// the next power of two; the root of no leaves is the absent leaf. Position and number of leaves
/// are public and decide the shape, so an inner node can never pass for a leaf.
namespace gym::commit {

inline constexpr std::size_t kChunkBytes = 1024;
inline constexpr unsigned kTreeDepthMax = 48;  ///< 2^48 leaves: 256 PiB of chunks

/// H(0x00 | chunk | zero padding to 1,024 bytes). `chunk` has at most 1,024 bytes.
[[nodiscard]] Digest chunk_leaf(ByteView chunk);
/// H(0x01 | left | right).
[[nodiscard]] Digest merkle_node(const Digest& left, const Digest& right);
/// The leaf that stands where a tree has none: H(0x03 | "gym absent leaf").
[[nodiscard]] const Digest& absent_leaf();

/// The depth of a tree with `leaf_count` leaves: ceil(log2(leaf_count)), 0 for none and one.
[[nodiscard]] unsigned tree_depth(std::uint64_t leaf_count);

/// The root over `leaves` as they are (already domain-separated digests).
[[nodiscard]] Digest merkle_root(std::span<const Digest> leaves);

/// The node `levels` above `nodes`, which are `depth` above the leaves; absent ones to the right of
/// them are filled in. @pre 1 <= nodes.size() <= 2^levels, depth + levels <= kTreeDepthMax.
[[nodiscard]] Digest merkle_fold(std::vector<Digest> nodes, unsigned depth, unsigned levels);

struct LeafPosition {
    std::uint64_t index = 0;
    std::uint64_t count =
        0;  ///< leaves of the tree, known to the verifier, not taken from the prover
};

/// The siblings from leaf `index` up to the root, bottom first.
/// @errors kOutOfRange if there is no such leaf.
[[nodiscard]] Result<std::vector<Digest>> merkle_prove(std::span<const Digest> leaves,
                                                       std::uint64_t index);

/// @errors kMalformed for a zero root, a position outside the tree, or a number of siblings that is
/// not the tree's depth (over-long, short or empty proofs); kMismatch if the path does not lead to
/// `root`.
Status merkle_verify(const Digest& root, LeafPosition position, const Digest& leaf,
                     std::span<const Digest> siblings);

/// All levels of a tree, for many proofs over the same leaves. Immutable, thread-safe.
class MerkleTree {
  public:
    explicit MerkleTree(std::vector<Digest> leaves);
    [[nodiscard]] const Digest& root() const { return levels_.back().front(); }
    [[nodiscard]] std::uint64_t leaf_count() const { return leaf_count_; }
    /// Node `index` among those `height` levels above the leaves, absent ones included.
    [[nodiscard]] Digest node(unsigned height, std::uint64_t index) const;
    /// @errors kOutOfRange if there is no such leaf.
    [[nodiscard]] Result<std::vector<Digest>> prove(std::uint64_t index) const;

  private:
    std::uint64_t leaf_count_;
    std::vector<std::vector<Digest>>
        levels_;  // [0] = leaves; absent parts of a level are not stored
};

/// The root over leaves that arrive one by one, in O(log n) memory.
class MerkleAccumulator {
  public:
    void add(const Digest& leaf);
    [[nodiscard]] std::uint64_t leaf_count() const { return leaf_count_; }
    [[nodiscard]] Digest root() const;

  private:
    std::uint64_t leaf_count_ = 0;
    std::vector<Digest>
        stack_;  // roots of full subtrees, largest first, one per set bit of leaf_count_
};

}  // namespace gym::commit
