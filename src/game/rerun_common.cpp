#include "rerun_common.hpp"

#include <algorithm>

#include "gym/commit/tensor_root.hpp"

namespace gym::game {

Result<dispute::TracedTensor> traced(const dispute::Shape& shape, ByteView bytes,
                                     const RerunWorkOptions& options) {
    GYM_TRY(dispute::TensorMemory memory, dispute::TensorMemory::copy(bytes, options.spill));
    auto shared = std::make_shared<const dispute::TensorMemory>(std::move(memory));
    std::vector<Digest> leaves = commit::chunk_leaves(shared->bytes(), options.engine.threads);
    return dispute::TracedTensor{shape, std::move(shared), std::move(leaves)};
}

Result<dispute::ChunksOpening> open_chunk(ByteView bytes, std::uint64_t offset, unsigned threads) {
    const std::uint64_t index = offset / commit::kChunkBytes;
    const std::uint64_t begin = index * commit::kChunkBytes;
    if (offset >= bytes.size()) return fail(ErrorCode::kOutOfRange, "the tensor has no such byte");
    const commit::MerkleTree tree(commit::chunk_leaves(bytes, threads));
    const ByteView content =
        bytes.subspan(begin, std::min<std::uint64_t>(commit::kChunkBytes, bytes.size() - begin));
    dispute::ChunksOpening opening;
    opening.tree_root = tree.root();
    GYM_TRY(std::vector<Digest> path, tree.prove(index));
    opening.chunks.push_back({Bytes(content.begin(), content.end()), std::move(path)});
    return opening;
}

}  // namespace gym::game
