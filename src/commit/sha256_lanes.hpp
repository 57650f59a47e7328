#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"

namespace gym::commit {

// Sixteen messages of one length at a time, one a lane of AVX-512. Bits equal chunk_leaf() and
// merkle_node().

inline constexpr std::size_t kSha256Lanes = 16;

/// Whether this CPU has the instructions that the functions below are made of.
[[nodiscard]] bool has_sha256_lanes();

/// Leaves of sixteen whole chunks of 1,024 bytes that lie one after another.
/// @pre has_sha256_lanes()
void chunk_leaf_lanes(const std::uint8_t* chunks, Digest leaves[kSha256Lanes]);

/// Parents of sixteen pairs of children; `parents` may be `children`. @pre has_sha256_lanes()
void merkle_node_lanes(const Digest children[2 * kSha256Lanes], Digest parents[kSha256Lanes]);

}  // namespace gym::commit
