#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"

namespace gym::commit {

// Two messages of one length at a time. One SHA-256 waits for its own last round most of the time;
// a second one beside it fills the gaps. Bits equal chunk_leaf() and merkle_node().

/// Whether this CPU has the instructions that the functions below are made of.
[[nodiscard]] bool has_sha256_pairs();

/// Leaves of two whole chunks of 1,024 bytes. @pre has_sha256_pairs()
void chunk_leaf_pair(const std::uint8_t* first, const std::uint8_t* second, Digest leaves[2]);

/// Parents of children[0], children[1] and of children[2], children[3]; `parents` may be
/// `children`. @pre has_sha256_pairs()
void merkle_node_pair(const Digest children[4], Digest parents[2]);

}  // namespace gym::commit
