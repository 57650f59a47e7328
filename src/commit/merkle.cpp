#include "gym/commit/merkle.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "gym/commit/sha256.hpp"
#include "merkle_ascend.hpp"
#include "sha256_lanes.hpp"
#include "sha256_pair.hpp"

namespace gym::commit {
namespace {

constexpr std::uint8_t kChunkTag = 0;
constexpr std::uint8_t kNodeTag = 1;
constexpr std::uint8_t kAbsentTag = 3;
constexpr std::array<std::uint8_t, kChunkBytes> kZeros{};

Hasher& thread_hasher() {
    thread_local Hasher hasher;
    return hasher;
}

/// The root of a full subtree of absent leaves, by depth.
const Digest& absent_subtree(unsigned depth) {
    static const auto roots = [] {
        std::array<Digest, kTreeDepthMax + 1> out;
        out[0] = thread_hasher().update_u8(kAbsentTag).update(as_bytes("gym absent leaf")).finish();
        for (unsigned i = 1; i <= kTreeDepthMax; ++i)
            out[i] = merkle_node(out[i - 1], out[i - 1]);
        return out;
    }();
    GYM_ASSERT(depth <= kTreeDepthMax, "tree too deep");
    return roots[depth];
}

/// The level above `level`, whose nodes are roots of subtrees of depth `depth`. `out` has room for
/// half of them, rounded up, and may be where `level` begins.
void make_parents(std::span<const Digest> level, unsigned depth, Digest* out) {
    std::size_t i = 0;
    if (has_sha256_lanes()) {
        for (; i + 2 * kSha256Lanes <= level.size(); i += 2 * kSha256Lanes)
            merkle_node_lanes(&level[i], out + i / 2);
    }
    if (has_sha256_pairs()) {
        for (; i + 4 <= level.size(); i += 4)
            merkle_node_pair(&level[i], out + i / 2);
    }
    for (; i < level.size(); i += 2) {
        const Digest& right = i + 1 < level.size() ? level[i + 1] : absent_subtree(depth);
        out[i / 2] = merkle_node(level[i], right);
    }
}

std::vector<Digest> parents_of(std::span<const Digest> level, unsigned depth) {
    std::vector<Digest> out((level.size() + 1) / 2);
    make_parents(level, depth, out.data());
    return out;
}

}  // namespace

Digest chunk_leaf(ByteView chunk) {
    GYM_ASSERT(chunk.size() <= kChunkBytes, "chunk too long");
    Hasher& hasher = thread_hasher().update_u8(kChunkTag).update(chunk);
    if (chunk.size() < kChunkBytes) hasher.update(ByteView(kZeros).subspan(chunk.size()));
    return hasher.finish();
}

Digest merkle_node(const Digest& left, const Digest& right) {
    // One update of 65 bytes: three calls cost a third more.
    std::array<std::uint8_t, 1 + 2 * Digest::kSize> input;
    input[0] = kNodeTag;
    std::memcpy(&input[1], left.data.data(), Digest::kSize);
    std::memcpy(&input[1 + Digest::kSize], right.data.data(), Digest::kSize);
    return thread_hasher().update(input).finish();
}

const Digest& absent_leaf() {
    return absent_subtree(0);
}

unsigned tree_depth(std::uint64_t leaf_count) {
    return leaf_count <= 1 ? 0 : static_cast<unsigned>(std::bit_width(leaf_count - 1));
}

Digest merkle_root(std::span<const Digest> leaves) {
    if (leaves.empty()) return absent_leaf();
    std::vector<Digest> level(leaves.begin(), leaves.end());
    return merkle_ascend(level, 0, tree_depth(leaves.size()));
}

Digest merkle_ascend(std::span<Digest> level, unsigned depth_begin, unsigned depth_end) {
    GYM_ASSERT(!level.empty(), "a level has a node");
    for (unsigned depth = depth_begin; depth < depth_end; ++depth) {
        make_parents(level, depth, level.data());
        level = level.first((level.size() + 1) / 2);
    }
    GYM_ASSERT(level.size() == 1, "more nodes than the depth has room for");
    return level.front();
}

Digest merkle_fold(std::vector<Digest> nodes, unsigned depth, unsigned levels) {
    return merkle_ascend(nodes, depth, depth + levels);
}

Result<std::vector<Digest>> merkle_prove(std::span<const Digest> leaves, std::uint64_t index) {
    return MerkleTree({leaves.begin(), leaves.end()}).prove(index);
}

Status merkle_verify(const Digest& root, LeafPosition position, const Digest& leaf,
                     std::span<const Digest> siblings) {
    if (root.is_zero()) return fail(ErrorCode::kMalformed, "the root is zero");
    const unsigned depth = tree_depth(position.count);
    if (position.index >= position.count || depth > kTreeDepthMax)
        return fail(ErrorCode::kMalformed, "leaf " + std::to_string(position.index) +
                                               " is outside a tree of " +
                                               std::to_string(position.count) + " leaves");
    if (siblings.size() != depth)
        return fail(ErrorCode::kMalformed, "the proof has " + std::to_string(siblings.size()) +
                                               " siblings, the tree's depth is " +
                                               std::to_string(depth));
    Digest node = leaf;
    for (unsigned level = 0; level < depth; ++level) {
        const bool is_right = (position.index >> level & 1) != 0;
        node = is_right ? merkle_node(siblings[level], node) : merkle_node(node, siblings[level]);
    }
    if (node != root)
        return fail(ErrorCode::kMismatch,
                    "the proof leads to " + node.hex() + ", not to " + root.hex());
    return {};
}

MerkleTree::MerkleTree(std::vector<Digest> leaves) : leaf_count_(leaves.size()) {
    if (leaves.empty()) leaves.push_back(absent_leaf());
    levels_.push_back(std::move(leaves));
    for (unsigned depth = 0; levels_.back().size() > 1; ++depth)
        levels_.push_back(parents_of(levels_.back(), depth));
}

Digest MerkleTree::node(unsigned height, std::uint64_t index) const {
    GYM_ASSERT(height < levels_.size(), "a level of the tree");
    const auto& level = levels_[height];
    return index < level.size() ? level[index] : absent_subtree(height);
}

Result<std::vector<Digest>> MerkleTree::prove(std::uint64_t index) const {
    if (index >= leaf_count_)
        return fail(ErrorCode::kOutOfRange,
                    "no leaf " + std::to_string(index) + " among " + std::to_string(leaf_count_));
    std::vector<Digest> siblings;
    for (unsigned depth = 0; depth + 1 < levels_.size(); ++depth, index >>= 1) {
        siblings.push_back(node(depth, index ^ 1));
    }
    return siblings;
}

void MerkleAccumulator::add(const Digest& leaf) {
    Digest node = leaf;
    // A one bit of the count is a full subtree that waits for a right sibling of its own size.
    for (std::uint64_t count = leaf_count_; (count & 1) != 0; count >>= 1) {
        node = merkle_node(stack_.back(), node);
        stack_.pop_back();
    }
    stack_.push_back(node);
    ++leaf_count_;
}

Digest MerkleAccumulator::root() const {
    if (leaf_count_ == 0) return absent_leaf();
    // The smallest full subtree is a left child; going up, a one bit of the count is a left sibling
    // that waits, a zero bit means that nothing is to the right.
    auto depth = static_cast<unsigned>(std::countr_zero(leaf_count_));
    std::uint64_t waiting = leaf_count_ ^ std::uint64_t{1} << depth;
    auto left = stack_.rbegin();
    Digest node = *left++;
    for (const unsigned depth_end = tree_depth(leaf_count_); depth < depth_end; ++depth) {
        const bool is_right = (waiting >> depth & 1) != 0;
        node = is_right ? merkle_node(*left++, node) : merkle_node(node, absent_subtree(depth));
    }
    return node;
}

}  // namespace gym::commit
