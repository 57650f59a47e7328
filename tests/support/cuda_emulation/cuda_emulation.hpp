// CUDA's execution model on a CPU, for tests without a device: the sources of kernels/cuda are
// compiled as C++ with this header in the place of <cuda_runtime.h>. Blocks run one after another;
// the threads of a block are fibers that stop at every barrier, shuffle and warp-wide product, so
// that the kernels' own code, with its barriers and its data layout in fragments, is what the tests
// check.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
// Blocks never overlap in time, so one copy serves all.
#define __shared__ static

namespace gym::emulation {

struct Index3 {
    unsigned x = 0, y = 0, z = 0;
};

/// The fiber that runs now.
extern Index3 thread_index, block_index, grid_size;
extern unsigned block_size;

/// Runs `body` once a thread of every block.
void run(Index3 grid, unsigned threads, const std::function<void()>& body);

/// Waits for all threads of the block that still run.
void block_barrier();
/// Waits for all threads of the warp that still run.
void warp_barrier();

inline constexpr unsigned kWarp = 32;

/// 64 bytes a lane, by which the lanes of a warp see each other's operands.
struct LaneExchange {
    alignas(16) std::uint8_t bytes[64];
};
LaneExchange& lane_exchange(unsigned lane);

template <typename T>
T shuffle_xor(T value, unsigned mask) {
    const unsigned lane = thread_index.x % kWarp;
    std::memcpy(lane_exchange(lane).bytes, &value, sizeof value);
    warp_barrier();
    T other;
    std::memcpy(&other, lane_exchange(lane ^ mask).bytes, sizeof other);
    warp_barrier();
    return other;
}

/// mma.sync.m16n8k32 on signed bytes: accumulator += a * b^T, operands as the PTX manual lays out
/// fragments.
void mma_m16n8k32_s8(std::int32_t (&accumulator)[4], const std::uint32_t (&a)[4],
                     const std::uint32_t (&b)[2]);

}  // namespace gym::emulation

#define threadIdx (::gym::emulation::thread_index)
#define blockIdx (::gym::emulation::block_index)
#define gridDim (::gym::emulation::grid_size)

inline void __syncthreads() {
    ::gym::emulation::block_barrier();
}
inline void __syncwarp() {
    ::gym::emulation::warp_barrier();
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
    return ::gym::emulation::shuffle_xor(value, mask);
}

template <typename T>
T atomicAdd(T* address, T value) {
    const T old = *address;
    *address = old + value;
    return old;
}
template <typename T>
T atomicMax(T* address, T value) {
    const T old = *address;
    *address = old > value ? old : value;
    return old;
}
