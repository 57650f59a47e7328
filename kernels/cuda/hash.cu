#include "gym/kernels/cuda/hash.hpp"
#include "gym/kernels/cuda/scratch.hpp"

#include <algorithm>

#include "entries.cuh"
#include "sha256.cuh"

namespace gym::kernels::cuda {

namespace {

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
    struct Tensor {
        int64_t begin;  ///< chunks of the tensors before it
        const uint32_t* data;
        int64_t bytes;
        Digest* leaves;
    };
    Tensor tensor[kHashTensorsAtOnce];
    int tensors;

    __device__ void operator()(int64_t i) const {
        const int own = entry_of(tensor, tensors, i);
        const int64_t chunk = i - tensor[own].begin, first = chunk * kHashChunkBytes;
        const uint32_t* from = tensor[own].data + first / 4;
        const int64_t left = tensor[own].bytes - first;
        const Sha256 state = hash_prefixed<kHashChunkBytes / 4>(kLeafPrefix, [&](int w) {
            const int64_t at = 4 * static_cast<int64_t>(w);
            if (at + 4 <= left) return big_endian(from[w]);
            uint32_t word = 0;  // the last bytes of the tensor, then zeros
            for (int64_t b = 0; b < 4 && at + b < left; ++b) {
                const uint32_t byte = reinterpret_cast<const uint8_t*>(from)[at + b];
                word |= byte << (24 - 8 * static_cast<int>(b));
            }
            return word;
        });
        tensor[own].leaves[chunk] = digest_of(state);
    }
};

/// A level of several trees; as the last element node(absent, absent), hashed like any other.
struct NodeElement {
    struct Tree {
        int64_t begin;  ///< nodes of the trees before it
        int64_t children;
        const Digest* below;
        Digest* above;
    };
    Tree tree[kHashTensorsAtOnce];
    int trees;
    int64_t nodes;
    Digest* absent;  ///< of the children's height; after it, that of the nodes'

    __device__ void operator()(int64_t i) const {
        const Digest* left = absent;
        const Digest* right = absent;
        Digest* out = absent + 1;
        if (i < nodes) {
            const int own = entry_of(tree, trees, i);
            const int64_t node = i - tree[own].begin;
            left = tree[own].below + 2 * node;
            if (2 * node + 1 < tree[own].children) right = left + 1;
            out = tree[own].above + node;
        }
        *out = digest_of(hash_prefixed<2 * kDigestWords>(kNodePrefix, [&](int w) {
            return big_endian(w < kDigestWords ? left->word[w % kDigestWords]
                                               : right->word[w % kDigestWords]);
        }));
    }
};

/// The roots of tensors whose trees fit into two levels of scratch.
struct Forest {
    Device& device;
    Digest *level, *other;  ///< one is read, the other written
    Digest* absent;
    Digest* roots;

    void hash(std::span<const Region> tensors) {
        LeafElement leaves{};
        NodeElement nodes{};
        int64_t chunks = 0;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            const int64_t own = hash_chunks(tensors[t].bytes);
            Digest* const to = own == 1 ? roots + t : level + chunks;
            leaves.tensor[leaves.tensors++] = {
                chunks, static_cast<const uint32_t*>(tensors[t].data), tensors[t].bytes, to};
            if (own > 1) nodes.tree[nodes.trees++] = {0, own, to, roots + t};
            chunks += own;
        }
        for_each(device, chunks, leaves);
        while (nodes.trees > 0)
            add_level(nodes);
    }

    /// `nodes` has the trees that are no root yet, with their roots' places as `above`.
    void add_level(NodeElement& nodes) {
        nodes.absent = absent++;
        nodes.nodes = 0;
        NodeElement rest{};
        for (int t = 0; t < nodes.trees; ++t) {
            NodeElement::Tree& tree = nodes.tree[t];
            const int64_t own = (tree.children + 1) / 2;
            tree.begin = nodes.nodes;
            if (own > 1) {
                Digest* const to = other + nodes.nodes;
                rest.tree[rest.trees++] = {0, own, to, tree.above};
                tree.above = to;
            }
            nodes.nodes += own;
        }
        for_each(device, nodes.nodes + 1, nodes);
        std::swap(level, other);
        nodes = rest;
    }
};

}  // namespace

void chunk_tree_roots(Device& device, std::span<const Region> tensors, const HashBytes& absent,
                      void* out) {
    if (tensors.empty()) return;
    const int64_t largest = std::ranges::max(tensors, {}, &Region::bytes).bytes;
    const int64_t chunks_max = hash_chunks(largest);
    auto* const level = reinterpret_cast<Digest*>(
        device.scratch(kScratchMacro0, static_cast<std::size_t>(hash_scratch_bytes(largest))));
    if (!device.ok()) return;
    Digest* const other = level + chunks_max;
    Digest* const absent_roots = other + hash_level_nodes(chunks_max);
    device.upload(absent_roots, absent.data(), absent.size());
    auto* roots = static_cast<Digest*>(out);
    while (!tensors.empty()) {
        std::size_t count = 0;
        for (int64_t chunks = 0; count < std::min<std::size_t>(tensors.size(), kHashTensorsAtOnce);
             ++count) {
            chunks += hash_chunks(tensors[count].bytes);
            if (chunks > chunks_max) break;
        }
        Forest{device, level, other, absent_roots, roots}.hash(tensors.first(count));
        tensors = tensors.subspan(count);
        roots += count;
    }
}

}  // namespace gym::kernels::cuda
