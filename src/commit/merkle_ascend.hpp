#pragma once

#include <span>

#include "gym/common/bytes.hpp"

namespace gym::commit {

/// The root of the subtree of depth `depth_end` over `level`, roots of subtrees of depth
/// `depth_begin`; absent ones to the right are filled in. `level` is used as scratch memory.
/// @pre 1 <= level.size() <= 2^(depth_end - depth_begin)
[[nodiscard]] Digest merkle_ascend(std::span<Digest> level, unsigned depth_begin,
                                   unsigned depth_end);

}  // namespace gym::commit
