// How tensors are divided among the launches that hash them on a device. Host code.
#pragma once

#include <cstdint>

namespace gym::kernels::cuda {

inline constexpr int64_t kHashBytes = 32, kHashChunkBytes = 1024;
/// Tensors of a launch; their chunks are together at most those of the largest of all.
inline constexpr int kHashTensorsAtOnce = 64;
inline constexpr int64_t kHashLevelsMax = 48;

inline int64_t hash_chunks(int64_t bytes) {
    return (bytes + kHashChunkBytes - 1) / kHashChunkBytes;
}

/// Two levels of trees at a time, one read, the other written: of `chunks` leaves and of the nodes
/// above them, of which every tree may have one with a single child.
inline int64_t hash_level_nodes(int64_t chunks) {
    return (chunks + kHashTensorsAtOnce) / 2;
}

/// Digests of two levels and of absent subtrees of every height.
inline int64_t hash_scratch_bytes(int64_t largest_tensor_bytes) {
    const int64_t chunks = hash_chunks(largest_tensor_bytes);
    return (chunks + hash_level_nodes(chunks) + kHashLevelsMax + 1) * kHashBytes;
}

}  // namespace gym::kernels::cuda
