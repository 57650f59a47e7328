// CUDA's execution model on a CPU: launches, places of threads, barriers, exchanges in a warp,
// asynchronous copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace gym::emulation {

struct Index3 {
    unsigned x = 0, y = 0, z = 0;
};

/// What a kernel reads of its place; of the fiber that runs now.
struct Place {
    Index3 thread, block, grid;
};
extern Place place;

/// A kernel and its arguments, which a launch copies.
struct KernelCall {
    const void* arguments;
    std::size_t bytes;
    void (*run)(const void* arguments);
    const char* name;  ///< mangled: of its type
};

struct LaunchSize {
    std::int64_t x, y, z;
    int threads;  // a multiple of 32
};

/// Runs all threads of all blocks. Findings (findings.hpp) say what a device could do otherwise.
void launch(const LaunchSize& size, const KernelCall& call);

/// What runs in the place of a kernel from now on: its PTX (ptx_run.hpp).
using Translation = KernelCall (*)(const KernelCall&);
void set_translation(Translation translation);

template <typename Kernel>
void launch(const LaunchSize& size, const Kernel& kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies the bytes of a kernel");
    launch(size, KernelCall{&kernel, sizeof kernel,
                            [](const void* k) { (*static_cast<const Kernel*>(k))(); },
                            typeid(Kernel).name()});
}

inline constexpr unsigned kWarp = 32;
// Limits of a launch, of any device.
inline constexpr std::int64_t kGridXMax = 2'147'483'647,
                              kGridYMax = 65'535;  // z as y
inline constexpr int kBlockThreadsMax = 1024;
inline constexpr std::size_t kArgumentBytesMax = 4096;

/// Whether a device takes a grid and blocks of this size.
bool is_launchable(const LaunchSize& size);

/// A mangled name as the source has it.
std::string demangled(const char* name);

// `site` tells places of the program apart; null: that of the call.
void block_barrier(const void* site);
/// value of lane ^ lane_mask; size <= 8.
void shuffle_xor(unsigned members, void* value, unsigned size, unsigned lane_mask,
                 const void* site);
/// mma.sync.m16n8k32 on bytes, those of a signed, those of b not: accumulator += a * b^T, fragments
/// as the PTX manual lays them out.
void mma_m16n8k32_s8_u8(std::int32_t (&accumulator)[4], const std::uint32_t (&a)[4],
                        const std::uint32_t (&b)[2], const void* site = nullptr);
/// ldmatrix.m8n8.x4 of 16-bit elements: word j of this lane is word lane % 4 of the row that lane
/// 8 * j + lane / 4 names. @param row 16 bytes of shared memory, aligned to 16.
void load_matrices(std::uint32_t (&words)[4], const void* row, const void* site = nullptr);
/// 16 bytes, zeros if not `valid`. They arrive when wait_for_copies() says so, and no sooner.
void copy_16_bytes(void* shared, const void* global, bool valid, const void* site = nullptr);
void commit_copies();
void wait_for_copies(unsigned left);
/// The thread that runs now has done what ends a device's context. Does not return.
void abandon_launch();
void check_atomic(const void* address, std::size_t size, const void* site);

}  // namespace gym::emulation
