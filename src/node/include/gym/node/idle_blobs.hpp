#pragma once

#include <chrono>

#include "gym/common/bytes.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/rpc/blob_cache.hpp"

namespace gym::node {

/// A node removes the blobs of a unit with the unit. Programs, datasets and parts of downloads stay
/// for units to come, and go when none has come for so long.
inline constexpr std::chrono::hours kIdleBlobs{24 * 7};
/// Between two looks.
inline constexpr std::chrono::hours kTidyEvery{6};

/// Removes from a node's folder what was idle for kIdleBlobs and is not needed. An error is a line
/// of the log: the next look tries again.
void remove_idle(rpc::BlobCache& cache, FunctionRef<bool(const Digest&)> needs);

}  // namespace gym::node
