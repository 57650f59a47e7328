#include "gym/dispute/opening.hpp"

#include "gym/commit/tensor_root.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace gym::dispute {
namespace {

using program::ElementRange;

struct ChunkRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

ChunkRange chunks_of(const ElementRange& range, const Shape& shape) {
    const std::uint64_t size = commit::size_bytes(shape.dtype);
    return {range.first * size / commit::kChunkBytes, program::chunks_of(range, size)};
}

/// Operands in the order in which they must be read: indices before what they point into.
std::vector<std::size_t> reading_order(const ElementOp& op) {
    std::vector<std::size_t> order(op.record().inputs.size());
    for (std::size_t k = 0; k < order.size(); ++k)
        order[k] = k;
    if (op.gathers()) std::ranges::reverse(order);
    return order;
}

std::int32_t index_in(ByteView bytes) {
    std::int32_t index = 0;
    if (bytes.size() == sizeof index) std::memcpy(&index, bytes.data(), sizeof index);
    return index;
}

Result<ChunksOpening> open_chunks(const TracedTensor& tensor, const ElementRange& range) {
    ChunksOpening opening;
    const commit::MerkleTree tree(tensor.chunk_leaves);
    opening.tree_root = tree.root();
    const ChunkRange chunks = chunks_of(range, tensor.shape);
    for (std::uint64_t i = chunks.first; i < chunks.first + chunks.count; ++i) {
        const ByteView content = tensor.chunk(i);
        GYM_TRY(std::vector<Digest> path, tree.prove(i));
        opening.chunks.push_back({Bytes(content.begin(), content.end()), std::move(path)});
    }
    return opening;
}

Status check_tensor(const OperandLists& lists, const ChunksOpening& opening, const Shape& shape,
                    const Source& source) {
    const Digest root = tensor_digest(shape, opening.tree_root);
    const auto verify = [&](const TensorList& list) {
        return commit::merkle_verify(list.root, {source.index, list.count}, root, opening.path);
    };
    switch (source.kind) {
        case Source::Kind::kPrimitive:
            return verify(lists.primitives);
        case Source::Kind::kLeaf:
            return verify(lists.leaves);
        case Source::Kind::kState:
            return verify(lists.state);
        case Source::Kind::kConstant:
            break;
    }
    if (root == source.root && opening.path.empty()) return {};
    return fail(ErrorCode::kMismatch, "a constant does not have the root that its record names");
}

ByteSpan span_of(const Shape& shape, const ElementRange& range) {
    const std::uint64_t size = commit::size_bytes(shape.dtype);
    return {size_bytes(shape), range.first * size, range.count * size};
}

/// The bytes that the element reads of an operand. Where it reads nothing there is nothing to show.
Result<Bytes> check_operand(const OperandLists& lists, const Operand& operand,
                            const ChunksOpening& given, const ElementRange& range) {
    GYM_TRY(Bytes bytes, check_chunks(given, span_of(operand.shape, range)));
    if (range.count > 0) {
        GYM_CHECK(check_tensor(lists, given, operand.shape, operand.source));
    } else if (!given.path.empty() || !given.tree_root.is_zero()) {
        return fail(ErrorCode::kShapeMismatch,
                    "proof of an operand that the element does not read");
    }
    return bytes;
}

}  // namespace

Result<Bytes> check_chunks(const ChunksOpening& opening, const ByteSpan& span) {
    const std::uint64_t first = span.begin / commit::kChunkBytes;
    const std::uint64_t count =
        span.size == 0 ? 0 : (span.begin + span.size - 1) / commit::kChunkBytes - first + 1;
    if (opening.chunks.size() != count)
        return fail(ErrorCode::kShapeMismatch, std::to_string(opening.chunks.size()) +
                                                   " chunks where the element reads " +
                                                   std::to_string(count));
    const std::uint64_t all = (span.total + commit::kChunkBytes - 1) / commit::kChunkBytes;
    Bytes bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t index = first + i;
        const ChunksOpening::Chunk& chunk = opening.chunks[i];
        const std::uint64_t rest = span.total - index * commit::kChunkBytes;
        if (chunk.content.size() != std::min<std::uint64_t>(commit::kChunkBytes, rest))
            return fail(ErrorCode::kShapeMismatch, "a chunk of the wrong size");
        GYM_CHECK(commit::merkle_verify(opening.tree_root, {index, all},
                                        commit::chunk_leaf(chunk.content), chunk.path));
        bytes.insert(bytes.end(), chunk.content.begin(), chunk.content.end());
    }
    if (count == 0) return bytes;
    const auto begin =
        bytes.begin() + static_cast<std::ptrdiff_t>(span.begin - first * commit::kChunkBytes);
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(span.size));
}

Result<ChunksOpening> open_chunk(ByteView bytes, std::uint64_t offset, unsigned threads) {
    const std::uint64_t index = offset / commit::kChunkBytes;
    const std::uint64_t begin = index * commit::kChunkBytes;
    if (offset >= bytes.size()) return fail(ErrorCode::kOutOfRange, "the tensor has no such byte");
    const commit::MerkleTree tree(commit::chunk_leaves(bytes, threads));
    const ByteView content =
        bytes.subspan(begin, std::min<std::uint64_t>(commit::kChunkBytes, bytes.size() - begin));
    ChunksOpening opening;
    opening.tree_root = tree.root();
    GYM_TRY(std::vector<Digest> path, tree.prove(index));
    opening.chunks.push_back({Bytes(content.begin(), content.end()), std::move(path)});
    return opening;
}

Result<Bytes> compute_element(const ElementOp& op, const OperandLists& lists,
                              std::span<const ChunksOpening> operands, std::uint64_t element) {
    const std::vector<Operand>& inputs = op.record().inputs;
    if (element >= element_count(op.record().output))
        return fail(ErrorCode::kOutOfRange, "the primitive's output has no such element");
    if (operands.size() != inputs.size())
        return fail(ErrorCode::kShapeMismatch, "another number of operands");
    std::vector<Bytes> values(operands.size());
    std::int32_t where = 0;
    for (const std::size_t k : reading_order(op)) {
        GYM_TRY(values[k],
                check_operand(lists, inputs[k], operands[k], op.reach(k, element, where)));
        where = index_in(values[k]);
    }
    return op.evaluate(values, element);
}

Result<std::vector<ChunksOpening>> open_operands(const PrimitiveRecord& record,
                                                 const TensorTrace& tensor, std::uint64_t element,
                                                 const PathOf& path_of) {
    if (element >= element_count(record.output))
        return fail(ErrorCode::kOutOfRange, "the primitive's output has no such element");
    if (tensor.output.shape != record.output || tensor.operands.size() != record.inputs.size())
        return fail(ErrorCode::kShapeMismatch, "the tensors are not the primitive's");
    GYM_TRY(const ElementOp op, ElementOp::create(record));
    std::vector<ChunksOpening> operands(record.inputs.size());
    std::int32_t where = 0;
    for (const std::size_t k : reading_order(op)) {
        const TracedTensor& operand = tensor.operands[k];
        const ElementRange range = op.reach(k, element, where);
        if (range.count == 0) continue;
        GYM_TRY(operands[k], open_chunks(operand, range));
        const Source& source = record.inputs[k].source;
        if (source.kind != Source::Kind::kConstant) {
            GYM_TRY(operands[k].path, path_of(source));
        }
        const std::uint64_t size = commit::size_bytes(operand.shape.dtype);
        where = index_in(operand.bytes().subspan(range.first * size, range.count * size));
    }
    return operands;
}

}  // namespace gym::dispute
