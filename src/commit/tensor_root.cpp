#include "gym/commit/tensor_root.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "gym/commit/sha256.hpp"

namespace gym::commit {
namespace {

constexpr std::uint8_t kTensorTag = 2;
// Below this many chunks per thread, starting a thread costs more than it hashes.
constexpr std::uint64_t kChunksPerThreadMin = 512;
constexpr unsigned kThreadsMax = 64;

std::uint64_t chunk_count(std::size_t size_bytes) {
    return (size_bytes + kChunkBytes - 1) / kChunkBytes;
}

ByteView chunk_at(ByteView bytes, std::uint64_t index) {
    const std::size_t first = index * kChunkBytes;
    return bytes.subspan(first, std::min(kChunkBytes, bytes.size() - first));
}

Digest sequential_root(ByteView bytes) {
    MerkleAccumulator tree;
    for (std::uint64_t i = 0, n = chunk_count(bytes.size()); i < n; ++i)
        tree.add(chunk_leaf(chunk_at(bytes, i)));
    return tree.root();
}

/// Roots of the consecutive parts of `part_chunks` chunks; the part size is a power of two, so that
/// every part but the last is a full subtree.
std::vector<Digest> leaves_in_parallel(ByteView bytes, unsigned threads) {
    const std::uint64_t count = chunk_count(bytes.size());
    std::vector<Digest> leaves(count);
    std::vector<std::thread> pool;
    const std::uint64_t share = (count + threads - 1) / threads;
    for (unsigned t = 0; t < threads; ++t) {
        pool.emplace_back([&, t] {
            const std::uint64_t end = std::min(count, (t + 1) * share);
            for (std::uint64_t i = t * share; i < end; ++i)
                leaves[i] = chunk_leaf(chunk_at(bytes, i));
        });
    }
    for (std::thread& thread : pool)
        thread.join();
    return leaves;
}

}  // namespace

Digest tensor_digest(DType dtype, std::span<const std::uint64_t> dims, const Digest& tree_root) {
    GYM_ASSERT(dims.size() <= kRankMax, "rank too large");
    thread_local Hasher hasher;
    hasher.update_u8(kTensorTag).update_u8(static_cast<std::uint8_t>(dtype));
    hasher.update_u8(static_cast<std::uint8_t>(dims.size()));
    for (const std::uint64_t dim : dims)
        hasher.update_u64(dim);
    return hasher.update(tree_root).finish();
}

Digest chunk_tree_root(ByteView bytes, unsigned threads) {
    const std::uint64_t useful = chunk_count(bytes.size()) / kChunksPerThreadMin;
    const auto used = static_cast<unsigned>(std::min<std::uint64_t>(
        {std::max(threads, 1u), kThreadsMax, std::max<std::uint64_t>(useful, 1)}));
    if (used == 1) return sequential_root(bytes);
    return merkle_root(leaves_in_parallel(bytes, used));
}

std::vector<Digest> chunk_leaves(ByteView bytes) {
    std::vector<Digest> out;
    out.reserve(chunk_count(bytes.size()));
    for (std::uint64_t i = 0, n = chunk_count(bytes.size()); i < n; ++i)
        out.push_back(chunk_leaf(chunk_at(bytes, i)));
    return out;
}

Digest tensor_root(DType dtype, std::span<const std::uint64_t> dims, ByteView bytes,
                   unsigned threads) {
    std::uint64_t expected = size_bytes(dtype);
    for (const std::uint64_t dim : dims)
        expected *= dim;
    GYM_ASSERT(expected == bytes.size(), "tensor bytes do not fit its dims");
    return tensor_digest(dtype, dims, chunk_tree_root(bytes, threads));
}

void ChunkTreeHasher::update(ByteView bytes) {
    size_bytes_ += bytes.size();
    if (!partial_.empty()) {
        const std::size_t taken = std::min(kChunkBytes - partial_.size(), bytes.size());
        partial_.insert(partial_.end(), bytes.begin(), bytes.begin() + static_cast<long>(taken));
        bytes = bytes.subspan(taken);
        if (partial_.size() < kChunkBytes) return;
        tree_.add(chunk_leaf(partial_));
        partial_.clear();
    }
    for (; bytes.size() >= kChunkBytes; bytes = bytes.subspan(kChunkBytes))
        tree_.add(chunk_leaf(bytes.first(kChunkBytes)));
    partial_.assign(bytes.begin(), bytes.end());
}

Digest ChunkTreeHasher::root() const {
    if (partial_.empty()) return tree_.root();
    MerkleAccumulator whole = tree_;
    whole.add(chunk_leaf(partial_));
    return whole.root();
}

}  // namespace gym::commit
