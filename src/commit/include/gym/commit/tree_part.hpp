#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

// Trees whose leaves several parties have (docs/adr/0024-aggregation-by-ranges.md): each hashes its
// own, and the parts' few nodes are enough for the root.
namespace gym::commit {

/// Neighbouring leaves of a tree, by the roots of the fewest full subtrees that they are made of,
/// from left to right. `first` and `count` say which these are, so that a part of `count` leaves
/// has one form alone. Of no leaves: no nodes.
struct TreePart {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::vector<Digest> nodes;  ///< at most 2 * kTreeDepthMax

    friend bool operator==(const TreePart&, const TreePart&) = default;
};

/// @param leaves number first, first + 1, ... of a tree. @pre first + leaves.size() is at most
/// 2^kTreeDepthMax.
[[nodiscard]] TreePart tree_part(std::span<const Digest> leaves, std::uint64_t first);

/// The root of the tree of `leaf_count` leaves that the parts, in order, are all of: the
/// merkle_root() of their leaves. Trusts the nodes, and nothing else in a part.
/// @errors kMismatch: the parts do not follow each other from leaf 0 to the last one; kMalformed: a
/// part has more or fewer nodes than its leaves have subtrees.
[[nodiscard]] Result<Digest> root_of_parts(std::span<const TreePart> parts,
                                           std::uint64_t leaf_count);

}  // namespace gym::commit
