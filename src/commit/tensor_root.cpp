#include "gym/commit/tensor_root.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "gym/commit/sha256.hpp"
#include "merkle_ascend.hpp"
#include "sha256_lanes.hpp"
#include "sha256_pair.hpp"

namespace gym::commit {
namespace {

constexpr std::uint8_t kTensorTag = 2;
// Below this many chunks per thread, starting a thread costs more than it hashes.
constexpr std::uint64_t kChunksPerThreadMin = 512;
constexpr unsigned kThreadsMax = 64;
// Chunks of a subtree that one thread hashes at a time.
constexpr unsigned kPartDepth = 9;
constexpr std::uint64_t kPartChunks = std::uint64_t{1} << kPartDepth;

std::uint64_t chunk_count(std::size_t size_bytes) {
    return (size_bytes + kChunkBytes - 1) / kChunkBytes;
}

ByteView chunk_at(ByteView bytes, std::uint64_t index) {
    const std::size_t first = index * kChunkBytes;
    return bytes.subspan(first, std::min(kChunkBytes, bytes.size() - first));
}

void hash_chunks(ByteView bytes, std::span<Digest> leaves) {
    const std::uint64_t whole = bytes.size() / kChunkBytes;
    std::uint64_t i = 0;
    if (has_sha256_lanes()) {
        for (; i + kSha256Lanes <= whole; i += kSha256Lanes)
            chunk_leaf_lanes(bytes.data() + i * kChunkBytes, &leaves[i]);
    }
    if (has_sha256_pairs()) {
        for (; i + 2 <= whole; i += 2) {
            const std::uint8_t* chunk = bytes.data() + i * kChunkBytes;
            chunk_leaf_pair(chunk, chunk + kChunkBytes, &leaves[i]);
        }
    }
    for (; i < leaves.size(); ++i)
        leaves[i] = chunk_leaf(chunk_at(bytes, i));
}

/// A tree cut into parts: subtrees of kPartDepth, or one of the tree's own depth if it is smaller.
class PartedTree {
  public:
    explicit PartedTree(ByteView bytes)
        : bytes_(bytes),
          chunks_(chunk_count(bytes.size())),
          depth_(tree_depth(chunks_)),
          roots_((chunks_ + kPartChunks - 1) / kPartChunks) {}

    [[nodiscard]] std::uint64_t parts() const { return roots_.size(); }
    [[nodiscard]] std::uint64_t chunks() const { return chunks_; }

    void hash_part(std::uint64_t part) {
        const std::uint64_t first = part * kPartChunks;
        const std::uint64_t count = std::min(kPartChunks, chunks_ - first);
        std::array<Digest, kPartChunks> leaves;
        const std::span<Digest> used(leaves.data(), count);
        hash_chunks(
            bytes_.subspan(first * kChunkBytes,
                           std::min(count * kChunkBytes, bytes_.size() - first * kChunkBytes)),
            used);
        roots_[part] = merkle_ascend(used, 0, std::min(kPartDepth, depth_));
    }
    /// @pre every part is hashed.
    [[nodiscard]] Digest root() {
        if (roots_.empty()) return absent_leaf();
        return merkle_ascend(roots_, std::min(kPartDepth, depth_), depth_);
    }

  private:
    ByteView bytes_;
    std::uint64_t chunks_;
    unsigned depth_;
    std::vector<Digest> roots_;
};

/// work(i) for every part i, over as many threads as are worth it.
template <class Work>
void each_part(std::size_t parts, std::uint64_t chunks, unsigned threads, Work work) {
    std::atomic<std::size_t> next = 0;
    const auto loop = [&] {
        for (std::size_t i = next++; i < parts; i = next++)
            work(i);
    };
    const auto used =
        std::min<std::uint64_t>({std::max(threads, 1u), kThreadsMax,
                                 std::max<std::uint64_t>(chunks / kChunksPerThreadMin, 1)});
    std::vector<std::thread> pool;
    for (std::uint64_t i = 1; i < used; ++i)
        pool.emplace_back(loop);
    loop();
    for (std::thread& thread : pool)
        thread.join();
}

/// All parts of all trees.
void hash_parts(std::span<PartedTree> trees, unsigned threads) {
    struct Part {
        PartedTree* tree;
        std::uint64_t index;
    };
    std::vector<Part> parts;
    std::uint64_t chunks = 0;
    for (PartedTree& tree : trees) {
        chunks += tree.chunks();
        for (std::uint64_t i = 0; i < tree.parts(); ++i)
            parts.push_back({&tree, i});
    }
    each_part(parts.size(), chunks, threads,
              [&](std::size_t i) { parts[i].tree->hash_part(parts[i].index); });
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
    PartedTree tree(bytes);
    hash_parts({&tree, 1}, threads);
    return tree.root();
}

std::vector<Digest> chunk_leaves(ByteView bytes, unsigned threads) {
    std::vector<Digest> out(chunk_count(bytes.size()));
    const std::size_t parts = (out.size() + kPartChunks - 1) / kPartChunks;
    each_part(parts, out.size(), threads, [&](std::size_t part) {
        const std::size_t first = part * kPartChunks;
        const std::size_t count = std::min<std::size_t>(kPartChunks, out.size() - first);
        const std::size_t begin = first * kChunkBytes;
        hash_chunks(bytes.subspan(begin, std::min(count * kChunkBytes, bytes.size() - begin)),
                    std::span(out).subspan(first, count));
    });
    return out;
}

Digest tensor_root(DType dtype, std::span<const std::uint64_t> dims, ByteView bytes,
                   unsigned threads) {
    const TensorView tensor{dtype, dims, bytes};
    return tensor_roots({&tensor, 1}, threads).front();
}

std::vector<Digest> tensor_roots(std::span<const TensorView> tensors, unsigned threads) {
    std::vector<PartedTree> trees;
    trees.reserve(tensors.size());
    for (const TensorView& tensor : tensors) {
        std::uint64_t expected = size_bytes(tensor.dtype);
        for (const std::uint64_t dim : tensor.dims)
            expected *= dim;
        GYM_ASSERT(expected == tensor.bytes.size(), "tensor bytes do not fit its dims");
        trees.emplace_back(tensor.bytes);
    }
    hash_parts(trees, threads);
    std::vector<Digest> roots;
    roots.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i)
        roots.push_back(tensor_digest(tensors[i].dtype, tensors[i].dims, trees[i].root()));
    return roots;
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
