// How macros share rows and elements out over threads.
#pragma once

#include "cpu/macro_rows.hpp"
#include "gym/kernels/thread_pool.hpp"

namespace gym::kernels {

/// Elements below which a thread is not worth waking.
inline constexpr int64_t kGrainElements = 4096;

inline int64_t row_grain(int64_t width) {
    return width >= kGrainElements ? 1 : (kGrainElements + width - 1) / width;
}

inline MacroRange range_of(LoopChunk chunk) {
    return {chunk.begin, chunk.end};
}

template <typename T>
T* shared_array(AlignedBuffer& buffer, int64_t count) {
    return reinterpret_cast<T*>(buffer.reserve(static_cast<size_t>(count) * sizeof(T)));
}

}  // namespace gym::kernels
