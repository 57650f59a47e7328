#include "gym/commit/tree_part.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace gym::commit {
namespace {

/// Leaves of the largest full subtree that begins with leaf `first` and has at most `count`.
/// @pre count > 0.
std::uint64_t subtree_at(std::uint64_t first, std::uint64_t count) {
    const std::uint64_t fits = std::bit_floor(count);
    return first == 0 ? fits : std::min(fits, first & (~first + 1));
}

unsigned height_of(std::uint64_t leaves) {
    return static_cast<unsigned>(std::countr_zero(leaves));
}

/// A tree of full subtrees that are added from the left on.
class SubtreeAccumulator {
  public:
    /// @pre leaf_count() is a multiple of the node's leaves.
    void add(Digest node, unsigned height) {
        // A one bit of the count is a full subtree that waits for a right sibling of its own size.
        std::uint64_t count = leaf_count_ >> height;
        for (; (count & 1) != 0; count >>= 1) {
            node = merkle_node(waiting_.back(), node);
            waiting_.pop_back();
        }
        waiting_.push_back(node);
        leaf_count_ += std::uint64_t{1} << height;
    }
    [[nodiscard]] std::uint64_t leaf_count() const { return leaf_count_; }
    [[nodiscard]] Digest root() const {
        if (waiting_.empty()) return absent_leaf();
        // From the smallest, which has nothing on its right, to the largest.
        auto height = static_cast<unsigned>(std::countr_zero(leaf_count_));
        Digest node = waiting_.back();
        std::uint64_t left = leaf_count_ ^ std::uint64_t{1} << height;
        for (std::size_t i = waiting_.size() - 1; i-- > 0;) {
            const auto next = static_cast<unsigned>(std::countr_zero(left));
            node = merkle_node(waiting_[i], merkle_fold({node}, height, next - height));
            height = next + 1;
            left ^= std::uint64_t{1} << next;
        }
        return merkle_fold({node}, height, tree_depth(leaf_count_) - height);
    }

  private:
    std::uint64_t leaf_count_ = 0;
    std::vector<Digest> waiting_;  ///< largest first, one for each set bit of leaf_count_
};

Error not_next(const TreePart& part, std::uint64_t next) {
    return fail(ErrorCode::kMismatch, "a part of a tree begins with leaf " +
                                          std::to_string(part.first) +
                                          ", the one before it ends at " + std::to_string(next));
}

}  // namespace

TreePart tree_part(std::span<const Digest> leaves, std::uint64_t first) {
    TreePart out{first, leaves.size(), {}};
    while (!leaves.empty()) {
        const std::uint64_t taken = subtree_at(first, leaves.size());
        const std::span<const Digest> subtree = leaves.first(taken);
        out.nodes.push_back(merkle_fold({subtree.begin(), subtree.end()}, 0, height_of(taken)));
        leaves = leaves.subspan(taken);
        first += taken;
    }
    return out;
}

Result<Digest> root_of_parts(std::span<const TreePart> parts, std::uint64_t leaf_count) {
    SubtreeAccumulator tree;
    for (const TreePart& part : parts) {
        if (part.first != tree.leaf_count()) return not_next(part, tree.leaf_count());
        if (part.count > leaf_count - part.first)
            return fail(ErrorCode::kMismatch, "a part of a tree of " + std::to_string(leaf_count) +
                                                  " leaves goes beyond its end");
        std::uint64_t left = part.count;
        for (const Digest& node : part.nodes) {
            if (left == 0)
                return fail(ErrorCode::kMalformed, "a part of a tree has too many nodes");
            const std::uint64_t leaves = subtree_at(tree.leaf_count(), left);
            tree.add(node, height_of(leaves));
            left -= leaves;
        }
        if (left > 0) return fail(ErrorCode::kMalformed, "a part of a tree has too few nodes");
    }
    if (tree.leaf_count() == leaf_count) return tree.root();
    return fail(ErrorCode::kMismatch, "the parts of a tree of " + std::to_string(leaf_count) +
                                          " leaves end at " + std::to_string(tree.leaf_count()));
}

}  // namespace gym::commit
