#include "gym/kernels/cuda/hash.hpp"

#include "scratch.hpp"
#include "sha256.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int64_t kChunkBytes = 1024;
constexpr int kBlockWords = 16;
constexpr int kDigestWords = 8;
constexpr uint32_t kLeafPrefix = 0x00, kNodePrefix = 0x01;

/// Words of a digest, in the order of its bytes.
struct Digest {
    uint32_t word[kDigestWords];
};

__device__ inline uint32_t big_endian(uint32_t x) {
    return (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24);
}

/// Hashes prefix | words(0) | words(1) | ..: a message shifted by one byte against its words.
/// @param words a function from index to big-endian word.
template <int kWords, typename Words>
__device__ Sha256 hash_prefixed(uint32_t prefix, const Words& words) {
    constexpr uint64_t kBits = (1 + 4 * uint64_t{kWords}) * 8;
    // The message, 0x80, zeros, the length in 8 bytes.
    constexpr int kBlocks = (1 + 4 * kWords + 1 + 8 + 63) / 64;
    Sha256 state;
    uint32_t carried = prefix << 24;
    for (int block = 0; block < kBlocks; ++block) {
        uint32_t w[kBlockWords];
        GYM_UNROLL
        for (int i = 0; i < kBlockWords; ++i) {
            const int index = block * kBlockWords + i;
            uint32_t next = 0;
            if (index < kWords) next = words(index);
            if (index == kWords) next = 0x80000000u;
            w[i] = carried | (next >> 8);
            carried = next << 24;
        }
        if (block == kBlocks - 1) {
            w[14] = static_cast<uint32_t>(kBits >> 32);
            w[15] = static_cast<uint32_t>(kBits);
        }
        sha256_block(state, w);
    }
    return state;
}

__device__ inline Digest digest_of(const Sha256& state) {
    Digest digest;
    for (int i = 0; i < kDigestWords; ++i)
        digest.word[i] = big_endian(state.word[i]);
    return digest;
}

struct LeafElement {
    const uint32_t* data;
    int64_t bytes;
    Digest* leaves;

    __device__ void operator()(int64_t chunk) const {
        const int64_t first = chunk * kChunkBytes;
        const uint32_t* from = data + first / 4;
        const int64_t left = bytes - first;
        const Sha256 state = hash_prefixed<kChunkBytes / 4>(kLeafPrefix, [&](int i) {
            const int64_t at = 4 * static_cast<int64_t>(i);
            if (at + 4 <= left) return big_endian(from[i]);
            uint32_t word = 0;  // the last bytes of the tensor, then zeros
            for (int64_t b = 0; b < 4 && at + b < left; ++b) {
                const uint32_t byte = reinterpret_cast<const uint8_t*>(from)[at + b];
                word |= byte << (24 - 8 * static_cast<int>(b));
            }
            return word;
        });
        leaves[chunk] = digest_of(state);
    }
};

/// node(absent, absent), level by level: the device hashes it like any other.
struct AbsentElement {
    const Digest* below;
    Digest* above;

    __device__ void operator()(int64_t) const {
        const Digest both = *below;
        *above = digest_of(hash_prefixed<2 * kDigestWords>(
            kNodePrefix, [&](int w) { return big_endian(both.word[w % kDigestWords]); }));
    }
};

struct NodeElement {
    const Digest* below;
    int64_t count;
    const Digest* absent;  // root of an absent subtree of that height
    Digest* above;

    __device__ void operator()(int64_t i) const {
        const Digest left = below[2 * i];
        const Digest right = 2 * i + 1 < count ? below[2 * i + 1] : *absent;
        above[i] = digest_of(hash_prefixed<2 * kDigestWords>(kNodePrefix, [&](int w) {
            return big_endian(w < kDigestWords ? left.word[w % kDigestWords]
                                               : right.word[w % kDigestWords]);
        }));
    }
};

}  // namespace

void chunk_tree_root(Device& device, const void* data, int64_t bytes, const HashBytes& absent,
                     void* out) {
    constexpr int64_t kLevelsMax = 48;
    int64_t count = (bytes + kChunkBytes - 1) / kChunkBytes;
    // Two levels at a time: one is read, the other written. Then the absent subtrees, by height.
    const int64_t half = (count + 1) / 2;
    auto* level = device.scratch_of<Digest>(kScratchMacro0, count + half + kLevelsMax);
    if (!device.ok()) return;
    Digest* other = level + count;
    Digest* absent_roots = other + half;
    device.upload(absent_roots, absent.data(), absent.size());
    for_each(device, count, LeafElement{static_cast<const uint32_t*>(data), bytes, level});
    for (int64_t height = 0; count > 1; ++height) {
        const int64_t nodes = (count + 1) / 2;
        for_each(device, nodes, NodeElement{level, count, absent_roots + height, other});
        for_each(device, 1, AbsentElement{absent_roots + height, absent_roots + height + 1});
        Digest* const above = other;
        other = level;
        level = above;
        count = nodes;
    }
    device.copy(out, level, sizeof(Digest));
}

}  // namespace gym::kernels::cuda
