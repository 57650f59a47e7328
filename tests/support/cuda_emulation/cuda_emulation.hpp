// CUDA's execution model on a CPU, for tests without a device. The sources of kernels/cuda are
// compiled as C++ with this header in the place of <cuda_runtime.h> and with -fsanitize=thread,
// whose calls before every load and store (instrumentation.cpp) go to checked_memory.hpp. The
// threads of a block are fibers that stop at every barrier, shuffle and tensor-core product.
// Blocks, warps and lanes run in a random order that GYM_TEST_SEED determines.
#pragma once

#include <cstring>

#include "emulation.hpp"

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
// Blocks never overlap in time, so one copy serves all. The checks know its bounds from the
// program's table of symbols.
#define __shared__ static
/// For what the checks see as one operation, not as the loads and stores that it is made of.
#define GYM_UNCHECKED __attribute__((noinline, no_sanitize("thread")))

#define threadIdx (::gym::emulation::place.thread)
#define blockIdx (::gym::emulation::place.block)
#define gridDim (::gym::emulation::place.grid)

GYM_UNCHECKED inline void __syncthreads() {
    ::gym::emulation::block_barrier(__builtin_return_address(0));
}
template <typename T>
GYM_UNCHECKED T __shfl_xor_sync(unsigned members, T value, unsigned lane_mask) {
    ::gym::emulation::shuffle_xor(members, &value, sizeof value, lane_mask,
                                  __builtin_return_address(0));
    return value;
}
template <typename T>
GYM_UNCHECKED T atomicAdd(T* address, T value) {
    ::gym::emulation::check_atomic(address, sizeof *address, __builtin_return_address(0));
    const T old = *address;
    *address = old + value;
    return old;
}
template <typename T>
GYM_UNCHECKED T atomicMax(T* address, T value) {
    ::gym::emulation::check_atomic(address, sizeof *address, __builtin_return_address(0));
    const T old = *address;
    *address = old > value ? old : value;
    return old;
}
