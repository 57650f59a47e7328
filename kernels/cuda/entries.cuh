// Work on several tensors in one launch: an array among the launch's arguments, at most 4,096 bytes
// with them, says where each one begins. It is read in place, never copied.
#pragma once

#include "launch.cuh"

namespace gym::kernels::cuda {

/// Index of the last of `count` entries that begins at or before `i`; the first begins at 0.
template <typename Entry>
__device__ int entry_of(const Entry* entries, int count, int64_t i) {
    int low = 0, high = count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (entries[middle].begin <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

}  // namespace gym::kernels::cuda
