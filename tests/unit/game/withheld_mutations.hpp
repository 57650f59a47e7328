#pragma once

#include <algorithm>

#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/game/moves.hpp"

/// Answers about withheld data that are wrong in form alone: with the root that they lead to.
namespace gym::game::testing {

inline Digest led_to(std::uint64_t index, Digest node, const std::vector<Digest>& path) {
    for (const Digest& sibling : path) {
        node = (index & 1) != 0 ? commit::merkle_node(sibling, node)
                                : commit::merkle_node(node, sibling);
        index >>= 1;
    }
    return node;
}

/// The tree root of the tensor that is shown, whatever is wrong with it.
inline Digest tree_root_shown(const move::ShowWithheld& m) {
    if (m.content.empty()) return m.path.empty() ? Digest() : m.path.front();
    const std::size_t size = std::min<std::size_t>(m.content.size(), commit::kChunkBytes);
    return led_to(m.request.chunk, commit::chunk_leaf(ByteView(m.content).first(size)), m.path);
}

/// Makes the root of the request that of the answer.
inline void lead_to_root(move::ShowWithheld& m) {
    commit::Hasher hasher;
    if (m.request.what == Wanted::kCommitment) {
        const Digest leaf = hasher.update(as_bytes("gym.commitment.v1")).update(m.content).finish();
        const bool next = !m.head.empty() && m.head.front() != 0;
        std::uint64_t index = 0;
        for (std::size_t i = 1; i < m.head.size(); ++i)
            index = index << 8 | m.head[i];
        (next ? m.request.next_root : m.request.root) = led_to(index, leaf, m.path);
        return;
    }
    Digest leaf = commit::absent_leaf();
    if (!m.head.empty())
        leaf = hasher.update_u8(2).update(m.head).update(tree_root_shown(m)).finish();
    else if (m.request.what == Wanted::kDataset && m.content.size() <= commit::kChunkBytes)
        leaf = commit::chunk_leaf(m.content);
    m.request.root = led_to(m.request.tensor, leaf, m.above);
}

}  // namespace gym::game::testing
