#pragma once

// Kernels with one fault each, and some without.

#include <cstddef>
#include <cstdint>

#include "gym/kernels/cuda/device.hpp"

namespace gym::kernels::cuda {

enum class Fault {
    kNone,
    kReadBeyondEnd,
    kWriteBeforeBegin,
    kReadUninitialised,
    kReadFreedScratch,
    kMisaligned,
    kReadHostMemory,
    kWriteHostMemory,
    kWriteArguments,
    kReadUninitialisedShared,
    kBeyondShared,
    kSharedWithoutBarrier,
    kSharedOverwritten,
    kGlobalInOneBlock,
    kGlobalBetweenBlocks,
    kSumWithoutAtomics,
    kReadOfAtomics,
    kBarrierInOneBranch,
    kBarrierAfterReturn,
    kShuffleOfSomeLanes,
    kCopyWithoutWait,
    kCopyWithoutBarrier,
    kCopyMisaligned,
    kMatrixBeforeBarrier,
    kMatrixUninitialised,
    kMatrixMisaligned,
    kMatrixElsewhere,
    kMatrixOfSomeLanes,
    kGridTooHigh,
};

/// Runs a kernel of two blocks of 64 threads over memory of 128 floats that are all 1, into `out`
/// (128 floats).
/// @param host memory that no kernel may touch, 128 floats.
void run_with_fault(Device& device, Fault fault, const float* x, float* out, float* host);

/// out[i] = i for i < count, by one block of threads.
void count_by_one_block(Device& device, float* out, std::int64_t count);

/// Lane i of a warp names row 5 * i % 32 of 32 rows of 16 bytes for load_matrices(); its four words
/// become out[4 * i] to out[4 * i + 3].
void load_matrices_of(Device& device, const std::uint32_t* rows, std::uint32_t* out);

/// What no host code may do.
float read_on_the_host(const float* device_memory);

}  // namespace gym::kernels::cuda
