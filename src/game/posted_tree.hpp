#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/game/transcript.hpp"

namespace gym::game {

/// A node of a tree: levels above the leaves, and number among the nodes of that height.
struct NodePlace {
    unsigned height = 0;
    std::uint64_t index = 0;
    friend auto operator<=>(const NodePlace&, const NodePlace&) = default;
};

/// The children that an answer to a node must list: those with leaves, some levels below.
struct ChildRange {
    unsigned height = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;  ///< 0: the node is a leaf
};
[[nodiscard]] ChildRange children_of(NodePlace node, std::uint64_t leaves, unsigned levels_max);

/// The answer to a node of one's own tree.
[[nodiscard]] std::vector<Digest> answer_to(const commit::MerkleTree& own, NodePlace node,
                                            unsigned levels_max);

/// Which of the two trees that go down in step at stage `steps`; of the other stages the first.
enum class Twin { kRecords, kStates };

/// A tree of the asserter's as the challenger knows it: its own leaves, and over them the nodes
/// that were posted. Left of the first difference both are the same, and right of it the siblings
/// on the way up were posted: so the path of a leaf up to the first difference is the asserter's.
class PostedTree {
  public:
    /// @param own as many leaves as the asserter's tree has.
    PostedTree(const GameTranscript& transcript, Stage stage, std::vector<Digest> own,
               Twin twin = Twin::kRecords);

    [[nodiscard]] const commit::MerkleTree& own() const { return own_; }
    /// The asserter's, where it is known; else what it must be if all below it is agreed on.
    [[nodiscard]] Digest node(NodePlace place) const;
    /// Siblings from a node up to its ancestor of this height.
    [[nodiscard]] std::vector<Digest> path(NodePlace from, unsigned height) const;
    /// Up to the root.
    [[nodiscard]] std::vector<Digest> path(NodePlace from) const { return path(from, depth_); }
    [[nodiscard]] bool differs(NodePlace place) const;
    /// The first node listed below the transcript's cursor, or that leaf itself, that is not one's
    /// own.
    [[nodiscard]] std::optional<NodePlace> first_difference(const Cursor& at) const;
    /// The node listed below the cursor that has the leaf below it, or that is it, if it is not
    /// one's own.
    [[nodiscard]] std::optional<NodePlace> difference_above(const Cursor& at,
                                                            std::uint64_t leaf) const;

  private:
    void note(const PlayedMove& played, Twin twin);
    void post(const Cursor& answered, const Digest& node, std::span<const Digest> children);

    commit::MerkleTree own_;
    unsigned depth_;
    unsigned levels_max_;
    std::map<NodePlace, Digest> posted_;
};

/// As of pick(): a node of the tree below the cursor, or with its path up to the root.
[[nodiscard]] Pick pick_below(const PostedTree& tree, NodePlace node, const Cursor& at);
[[nodiscard]] Pick pick_from_root(const PostedTree& tree, std::uint64_t leaf);

}  // namespace gym::game
