// How kernels are written and started here: a kernel is a struct of its arguments whose operator()
// is what one thread does. The same sources compile as plain C++ under the emulation of
// tests/support, with the help of what this header hides: launches, asynchronous copies,
// tensor-core products.
#pragma once

#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/host_device.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define GYM_UNROLL _Pragma("unroll")
#define GYM_KEEP_LOOP _Pragma("unroll 1")
#else
#include "cuda_emulation.hpp"
#define GYM_UNROLL
#define GYM_KEEP_LOOP
#endif

namespace gym::kernels::cuda {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

struct Grid {
    int64_t x = 1;
    int64_t y = 1;
    int64_t z = 1;
};

#if defined(__CUDACC__)
template <int kThreads, typename Kernel>
__global__ void __launch_bounds__(kThreads) run_kernel(const Kernel kernel) {
    kernel();
}
#endif

inline constexpr int64_t kGridXMax = 0x7FFFFFFF, kGridYMax = 65535;  // z as y

/// Makes the bytes of equal arguments equal, so that repeated work is recognised (graphs.hpp).
/// Large kernels have to begin as zeros (`Kernel kernel{}`): g++ 12 clears the wrong bytes of a
/// struct that has an array of structs.
template <typename Kernel>
void clear_padding(Kernel& kernel) {
#if defined(__GNUC__) && !defined(__clang__)
    constexpr std::size_t kBytesMax = 256;
    if constexpr (sizeof(Kernel) <= kBytesMax) __builtin_clear_padding(&kernel);
#endif
}

/// Starts `kernel` on a grid of blocks of kThreads threads. A grid beyond the limits is an error of
/// the device.
template <int kThreads, typename Kernel>
void launch(Device& device, Grid grid, const Kernel& kernel) {
    if (!device.ok() || grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    Kernel arguments = kernel;
    clear_padding(arguments);
#if defined(__CUDACC__)
    if (grid.x > kGridXMax || grid.y > kGridYMax || grid.z > kGridYMax)
        return device.note(static_cast<int>(cudaErrorInvalidConfiguration));
    const auto x = static_cast<unsigned>(grid.x), y = static_cast<unsigned>(grid.y),
               z = static_cast<unsigned>(grid.z);
    device.start({reinterpret_cast<const void*>(&run_kernel<kThreads, Kernel>), x, y, z, kThreads},
                 &arguments, sizeof arguments);
#else
    emulation::launch({grid.x, grid.y, grid.z, kThreads}, arguments);
#endif
}

inline constexpr int kElementThreads = 256;

template <typename Element>
struct ForEach {
    Element element;
    int64_t count;

    __device__ void operator()() const {
        const int64_t step = static_cast<int64_t>(gridDim.x) * kElementThreads;
        for (int64_t i = static_cast<int64_t>(blockIdx.x) * kElementThreads + threadIdx.x;
             i < count; i += step) {
            element(i);
        }
    }
};

/// element(i) for 0 <= i < count, in any order.
template <typename Element>
void for_each(Device& device, int64_t count, const Element& element) {
    constexpr int64_t kBlocksMax = int64_t{1} << 16;
    const int64_t blocks = (count + kElementThreads - 1) / kElementThreads;
    launch<kElementThreads>(device, {blocks < kBlocksMax ? blocks : kBlocksMax},
                            ForEach<Element>{element, count});
}

__device__ inline int lane_index() {
    return static_cast<int>(threadIdx.x) % kWarpSize;
}
__device__ inline int warp_index() {
    return static_cast<int>(threadIdx.x) / kWarpSize;
}

/// *from, as the cache of all multiprocessors has it: not as the one of this multiprocessor does.
__device__ inline int32_t load_past_l1(const int32_t* from) {
#if defined(__CUDA_ARCH__)
    int32_t value;
    asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
#else
    return *from;
#endif
}

/// The same value, hidden from the compiler: what depends on it is computed where it is needed, and
/// takes no registers in a loop before.
__device__ inline int computed_here(int value) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(value));
#endif
    return value;
}

/// An address in shared memory, which a device counts in 32 bits.
#if defined(__CUDA_ARCH__)
using SharedAddress = uint32_t;
__device__ inline SharedAddress shared_address(void* shared) {
    return static_cast<SharedAddress>(__cvta_generic_to_shared(shared));
}
#else
using SharedAddress = uint8_t*;
__device__ inline SharedAddress shared_address(void* shared) {
    return static_cast<SharedAddress>(shared);
}
#endif

/// Shared memory <- global memory, 16 bytes, both 16-byte aligned; zeros if not `valid`. Done after
/// wait_for_copies().
__device__ inline void copy_16_bytes(SharedAddress shared, const void* global, bool valid) {
#if defined(__CUDA_ARCH__)
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(global),
                 "r"(bytes));
#elif !defined(__CUDACC__)
    emulation::copy_16_bytes(shared, global, valid);
#endif
}

/// Ends a group of copies.
__device__ inline void commit_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;\n");
#elif !defined(__CUDACC__)
    emulation::commit_copies();
#endif
}

/// Waits until at most kLeft groups of this thread's copies are under way.
template <int kLeft>
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft));
#elif !defined(__CUDACC__)
    emulation::wait_for_copies(kLeft);
#endif
}

/// Four matrices of 8 rows of 16 bytes: word j becomes bytes 4 * (lane % 4) to + 3 of row lane / 4
/// of matrix j. Every lane of the warp must call it.
/// @param row where row lane % 8 of matrix lane / 8 begins, 16-byte aligned.
__device__ inline void load_matrices(uint32_t (&words)[4], SharedAddress row) {
#if defined(__CUDA_ARCH__)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row)
                 : "memory");
#elif !defined(__CUDACC__)
    emulation::load_matrices(words, row);
#endif
}

/// c (16, 8) += a (16, 32) * b (8, 32)^T on bytes, those of a signed, those of b not; i32 that
/// wraps. Fragments as in the PTX manual, mma.m16n8k32: every lane of the warp must call it.
__device__ inline void multiply_bytes(int32_t (&c)[4], const uint32_t (&a)[4],
                                      const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif !defined(__CUDACC__)
    emulation::mma_m16n8k32_s8_u8(c, a, b);
#endif
}

}  // namespace gym::kernels::cuda
