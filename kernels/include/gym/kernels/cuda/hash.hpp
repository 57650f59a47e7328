// Roots of tensors that lie on a device (docs/PROTOCOL.md, "Roots"): the SHA-256 trees over chunks
// of 1 KiB, one thread a chunk, one thread a node.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/cuda/hash_parts.hpp"

namespace gym::kernels::cuda {

using HashBytes = std::array<uint8_t, kHashBytes>;

/// out (tensors.size() * 32 bytes on the device): of each tensor the root over the chunks of its
/// bytes, at least one, padded with `absent` leaves to a power of two. Every `data` is 4-byte
/// aligned. A launch hashes a level of many tensors; scratch is hash_scratch_bytes() of the
/// largest.
void chunk_tree_roots(Device& device, std::span<const Region> tensors, const HashBytes& absent,
                      void* out);

}  // namespace gym::kernels::cuda
