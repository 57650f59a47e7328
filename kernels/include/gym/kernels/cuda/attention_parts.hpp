// How many windows of a batch attention takes at once on a device. Host code, also of builds
// without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gym/kernels/macros.hpp"

namespace gym::kernels::cuda {

/// Of the windows that are worked on together.
struct AttentionLimits {
    int64_t scores_bytes = int64_t{1} << 30;  ///< of the two (T, T) matrices of all their heads
    int64_t heads = 65535;                    ///< of all of them: a grid's z
};

/// At least one, at most the batch: heads of one window are not divided.
inline int64_t windows_at_once(const AttentionShape& shape, const AttentionLimits& limits = {}) {
    const int64_t window_bytes =
        2 * shape.heads * shape.context * shape.context * static_cast<int64_t>(sizeof(float));
    const int64_t fit = std::min(limits.scores_bytes / window_bytes, limits.heads / shape.heads);
    return std::clamp<int64_t>(fit, 1, shape.batch);
}

}  // namespace gym::kernels::cuda
