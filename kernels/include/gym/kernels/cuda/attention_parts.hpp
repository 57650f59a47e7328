// How many windows of a batch attention takes at once on a device. Host code, also of builds
// without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gym/kernels/macros.hpp"

namespace gym::kernels::cuda {

/// Bytes of the two (T, T) matrices of all heads that are worked on together.
inline constexpr int64_t kScoresBytesMax = int64_t{1} << 30;
inline constexpr int64_t kItemsMax = 65535;  // of a grid's z

/// At least one, at most the batch: heads of one window are not divided.
inline int64_t windows_at_once(const AttentionShape& shape) {
    const int64_t window_bytes =
        2 * shape.heads * shape.context * shape.context * static_cast<int64_t>(sizeof(float));
    const int64_t fit = std::min(kScoresBytesMax / window_bytes, kItemsMax / shape.heads);
    return std::clamp<int64_t>(fit, 1, shape.batch);
}

}  // namespace gym::kernels::cuda
