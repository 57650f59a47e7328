// Roots of tensors that lie on a device (docs/PROTOCOL.md, "Roots"): the SHA-256 tree over chunks
// of 1 KiB, one thread a chunk, one thread a node.
#pragma once

#include <array>
#include <cstdint>

#include "gym/kernels/cuda/device.hpp"

namespace gym::kernels::cuda {

using HashBytes = std::array<uint8_t, 32>;

/// out (32 bytes on the device): the root over the chunks of `bytes` >= 1 bytes, padded with
/// `absent` leaves to a power of two. `data` is 4-byte aligned.
void chunk_tree_root(Device& device, const void* data, int64_t bytes, const HashBytes& absent,
                     void* out);

}  // namespace gym::kernels::cuda
