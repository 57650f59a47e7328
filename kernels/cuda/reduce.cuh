// Reductions over a warp and over a block of threads. Maxima and integer sums: associative, so no
// order matters.
#pragma once

#include "gym/kernels/f32.h"
#include "gym/kernels/rows.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

struct Maximum {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};

struct F32Maximum {
    __device__ float operator()(float a, float b) const { return f32::max(a, b); }
};

/// Wraps, as the definition says.
struct Sum {
    __device__ int64_t operator()(int64_t a, int64_t b) const {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }
    __device__ int32_t operator()(int32_t a, int32_t b) const { return a + b; }
};

/// Every lane gets the result.
template <typename T, typename Combine>
__device__ T warp_reduce(T value, Combine combine) {
    for (int mask = kWarpSize / 2; mask > 0; mask /= 2)
        value = combine(value, __shfl_xor_sync(kAllLanes, value, mask));
    return value;
}

/// Every thread of the block gets the result. @tparam kThreads a multiple of 32, at most 1,024.
template <int kThreads, typename T, typename Combine>
__device__ T block_reduce(T value, Combine combine) {
    constexpr int kWarps = kThreads / kWarpSize;
    __shared__ T partial[kWarps];
    value = warp_reduce(value, combine);
    if (lane_index() == 0) partial[warp_index()] = value;
    __syncthreads();
    T result = partial[0];
    for (int w = 1; w < kWarps; ++w)
        result = combine(result, partial[w]);
    __syncthreads();  // before the next reduction writes `partial`
    return result;
}

inline constexpr int kRowThreads = 256;

/// Exact sum of value(i), 0 <= i < count, by a block: every thread gets it. `value` is called twice
/// an element.
template <typename Value>
__device__ float block_exact_sum(int64_t count, const Value& value) {
    uint32_t amax = 0;
    for (int64_t i = threadIdx.x; i < count; i += kRowThreads)
        amax = Maximum()(amax, magnitude_bits(value(i)));
    const int32_t exponent = row_exponent_from_bits(block_reduce<kRowThreads>(amax, Maximum()));
    int64_t total = 0;
    for (int64_t i = threadIdx.x; i < count; i += kRowThreads)
        total += sum_term(value(i), exponent);
    return sum_finish(block_reduce<kRowThreads>(total, Sum()), exponent);
}

/// The same for terms that are at most 2^exponent: one pass.
template <typename Value>
__device__ float block_sum_with_exponent(int64_t count, int32_t exponent, const Value& value) {
    int64_t total = 0;
    uint32_t poisoned = 0;
    for (int64_t i = threadIdx.x; i < count; i += kRowThreads) {
        const float x = value(i);
        poisoned |= magnitude_bits(x) >= f32::kInfinityBits ? 1u : 0u;
        total += f32::to_i32(f32::scale2(x, 30 - exponent));
    }
    const uint32_t any = block_reduce<kRowThreads>(poisoned, Maximum());
    const int64_t sum = block_reduce<kRowThreads>(total, Sum());
    return sum_finish(sum, any != 0 ? kExponentPoisoned : exponent);
}

}  // namespace gym::kernels::cuda
