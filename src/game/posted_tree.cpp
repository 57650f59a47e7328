#include "posted_tree.hpp"

#include <algorithm>

#include "gym/game/rules.hpp"

namespace gym::game {
namespace {

unsigned levels_of(Stage stage) {
    return stage == Stage::kSteps ? kTwinLevelsMax : kAnswerLevelsMax;
}

/// The nodes that an answer lists; nullptr: the move is not an answer.
const std::vector<Digest>* children_in(const Move& move, Twin twin) {
    return std::visit(
        [&](const auto& one) -> const std::vector<Digest>* {
            if constexpr (requires {
                              one.records;
                              one.states;
                          })
                return twin == Twin::kStates ? &one.states : &one.records;
            else if constexpr (requires { one.children; })
                return &one.children;
            else
                return nullptr;
        },
        move);
}

}  // namespace

ChildRange children_of(NodePlace node, std::uint64_t leaves, unsigned levels_max) {
    const unsigned down = answer_levels(node.height, levels_max);
    ChildRange range{node.height - down, node.index << down, 0};
    if (down == 0) return range;
    const std::uint64_t all = (leaves + (std::uint64_t{1} << range.height) - 1) >> range.height;
    range.count = std::min(all - range.first, std::uint64_t{1} << down);
    return range;
}

std::vector<Digest> answer_to(const commit::MerkleTree& own, NodePlace node, unsigned levels_max) {
    const ChildRange range = children_of(node, own.leaf_count(), levels_max);
    std::vector<Digest> children(range.count);
    for (std::uint64_t i = 0; i < range.count; ++i)
        children[i] = own.node(range.height, range.first + i);
    return children;
}

PostedTree::PostedTree(const GameTranscript& transcript, Stage stage, std::vector<Digest> own,
                       Twin twin)
    : own_(std::move(own)),
      depth_(commit::tree_depth(own_.leaf_count())),
      levels_max_(levels_of(stage)) {
    for (const PlayedMove& played : transcript.moves())
        if (played.next.stage == stage) note(played, twin);
}

void PostedTree::note(const PlayedMove& played, Twin twin) {
    const Cursor& next = played.next;
    const Digest& node = twin == Twin::kStates ? next.twin : next.node;
    const std::vector<Digest>* children = children_in(played.move, twin);
    if (children != nullptr && next.answered && !children->empty())
        post(next, node, *children);
    else
        posted_[{next.height, next.index}] = node;
}

/// Notes the children and all that is between them and their node.
void PostedTree::post(const Cursor& answered, const Digest& node,
                      std::span<const Digest> children) {
    const ChildRange range =
        children_of({answered.height, answered.index}, answered.leaves, levels_max_);
    std::vector<Digest> level(children.begin(), children.end());
    std::uint64_t first = range.first;
    for (unsigned height = range.height; height < answered.height; ++height, first /= 2) {
        for (std::size_t i = 0; i < level.size(); ++i)
            posted_[{height, first + i}] = level[i];
        // Behind the last child there are no leaves: nodes that own() has, too.
        if (level.size() % 2 != 0) level.push_back(own_.node(height, first + level.size()));
        for (std::size_t i = 0; i < level.size() / 2; ++i)
            level[i] = commit::merkle_node(level[2 * i], level[2 * i + 1]);
        level.resize(level.size() / 2);
    }
    posted_[{answered.height, answered.index}] = node;
}

Digest PostedTree::node(NodePlace place) const {
    const auto found = posted_.find(place);
    return found == posted_.end() ? own_.node(place.height, place.index) : found->second;
}

std::vector<Digest> PostedTree::path(NodePlace from, unsigned height) const {
    std::vector<Digest> siblings;
    for (; from.height < height; ++from.height, from.index /= 2)
        siblings.push_back(node({from.height, from.index ^ 1}));
    return siblings;
}

bool PostedTree::differs(NodePlace place) const {
    return node(place) != own_.node(place.height, place.index);
}

std::optional<NodePlace> PostedTree::first_difference(const Cursor& at) const {
    const NodePlace here{at.height, at.index};
    const ChildRange range = children_of(here, at.leaves, levels_max_);
    if (range.count == 0) return differs(here) ? std::optional(here) : std::nullopt;
    for (std::uint64_t i = 0; i < range.count; ++i) {
        const NodePlace child{range.height, range.first + i};
        if (differs(child)) return child;
    }
    return std::nullopt;
}

std::optional<NodePlace> PostedTree::difference_above(const Cursor& at, std::uint64_t leaf) const {
    if (leaf >> at.height != at.index) return std::nullopt;
    const unsigned height = children_of({at.height, at.index}, at.leaves, levels_max_).height;
    const NodePlace place{height, leaf >> height};
    return differs(place) ? std::optional(place) : std::nullopt;
}

Pick pick_below(const PostedTree& tree, NodePlace node, const Cursor& at) {
    return {node.index, tree.node(node), tree.path(node, at.height), {}, {}};
}

Pick pick_from_root(const PostedTree& tree, std::uint64_t leaf) {
    return {leaf, tree.node({0, leaf}), tree.path({0, leaf}), {}, {}};
}

}  // namespace gym::game
