#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/game/rules.hpp"

namespace gym::game::testing {

/// A tree of any size whose leaves are all the same, but for a few: of tensors that no memory has
/// room for.
struct SparseTree {
    std::uint64_t leaves = 0;
    Digest usual;
    std::map<std::uint64_t, Digest> others;

    [[nodiscard]] unsigned depth() const { return commit::tree_depth(leaves); }
    [[nodiscard]] Digest root() const { return node(depth(), 0); }
    /// Node `index` of those `height` levels above the leaves.
    [[nodiscard]] Digest node(unsigned height, std::uint64_t index) const {
        const std::uint64_t first = index << height, end = (index + 1) << height;
        if (first >= leaves) return same(commit::absent_leaf(), height);
        const auto other = others.lower_bound(first);
        if ((other == others.end() || other->first >= end) && end <= leaves)
            return same(usual, height);
        if (height == 0) return other->second;
        return commit::merkle_node(node(height - 1, 2 * index), node(height - 1, 2 * index + 1));
    }
    /// Siblings from node `index` of height `from` up to its ancestor of height `to`.
    [[nodiscard]] std::vector<Digest> path(std::uint64_t index, unsigned from, unsigned to) const {
        std::vector<Digest> siblings;
        for (; from < to; ++from, index >>= 1)
            siblings.push_back(node(from, index ^ 1));
        return siblings;
    }
    /// What an answer to a node above the leaves lists.
    [[nodiscard]] std::vector<Digest> children(unsigned height, std::uint64_t index) const {
        const unsigned down = answer_levels(height, kAnswerLevelsMax), to = height - down;
        const std::uint64_t all = (leaves + (std::uint64_t{1} << to) - 1) >> to;
        std::vector<Digest> list;
        for (std::uint64_t i = index << down; i < std::min(all, (index + 1) << down); ++i)
            list.push_back(node(to, i));
        return list;
    }

  private:
    static Digest same(Digest leaf, unsigned height) {
        for (; height > 0; --height)
            leaf = commit::merkle_node(leaf, leaf);
        return leaf;
    }
};

}  // namespace gym::game::testing
