#pragma once

#include <vector>

#include "gym/commit/dtype.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/dispute/opening.hpp"

/// One element of one primitive opened whole: records, operands and the asserter's output, up to
/// the roots of their trees. ProveElement shows the same to the contracts, level by level.
namespace gym::dispute::testing {

struct Opening {
    RecordProof leaf;       ///< a trace leaf of the macro op
    RecordProof primitive;  ///< one of its primitives
    std::uint64_t element = 0;
    std::vector<ChunksOpening> operands;
    ChunksOpening output;  ///< the chunk in which the asserter has the element
};

/// The roots that are agreed on (all but what the primitive and those after it wrote) or posted by
/// the asserter (the macro op's primitives).
struct OpeningRoots {
    Digest macro;   ///< Merkle root over the outputs of the macro op's primitives
    Digest leaves;  ///< over the step's trace leaves
    Digest state;   ///< over the state before the step
};

/// The trees that paths are taken from.
struct OpeningTrees {
    commit::MerkleTree macro;
    commit::MerkleTree leaves;
    commit::MerkleTree state;
    [[nodiscard]] OpeningRoots roots() const { return {macro.root(), leaves.root(), state.root()}; }
};

inline Result<std::vector<Digest>> path_in(const OpeningTrees& trees, const Source& source) {
    switch (source.kind) {
        case Source::Kind::kPrimitive:
            return trees.macro.prove(source.index);
        case Source::Kind::kLeaf:
            return trees.leaves.prove(source.index);
        case Source::Kind::kState:
            return trees.state.prove(source.index);
        case Source::Kind::kConstant:
            break;
    }
    return std::vector<Digest>{};
}

/// Opens element `element` of a primitive.
/// @param leaf any trace leaf that the macro op writes.
/// @errors kOutOfRange if there is no such element or record; kShapeMismatch if `tensor` is not of
/// this leaf's macro op.
inline Result<Opening> open_element(const TraceTrees& records, const OpeningTrees& trees,
                                    const TraceProgram& trace, std::uint32_t leaf,
                                    const TensorTrace& tensor, std::uint64_t element) {
    Opening opening;
    GYM_TRY(opening.leaf, records.leaf(leaf));
    const LeafRecord& macro = trace.leaves[leaf];
    if (tensor.primitive >= macro.count)
        return fail(ErrorCode::kShapeMismatch, "the primitive is not of the leaf's macro op");
    const std::uint32_t index = macro.first + tensor.primitive;
    GYM_TRY(opening.primitive, records.primitive(index));
    const PrimitiveRecord& record = trace.primitives[index];
    opening.element = element;
    GYM_TRY(opening.operands, open_operands(record, tensor, element, [&](const Source& source) {
                return path_in(trees, source);
            }));
    const std::uint64_t size = commit::size_bytes(tensor.output.shape.dtype);
    GYM_TRY(opening.output, open_chunk(tensor.output.bytes(), element * size, 1));
    GYM_TRY(opening.output.path, trees.macro.prove(tensor.primitive));
    return opening;
}

struct ElementValues {
    Bytes computed;  ///< by the primitive's definition
    Bytes claimed;   ///< in the asserter's output
};

/// The record of the primitive and its place in the macro op.
inline Result<PrimitiveRecord> check_records(const TraceHeader& header, const Opening& opening,
                                             LeafRecord& macro) {
    GYM_TRY(macro, check_leaf(header, opening.leaf));
    if (macro.kind != LeafRecord::Kind::kComputed)
        return fail(ErrorCode::kShapeMismatch, "an input has no primitives");
    const std::uint32_t index = opening.primitive.index;
    if (index < macro.first || index - macro.first >= macro.count)
        return fail(ErrorCode::kShapeMismatch, "the primitive is not of the leaf's macro op");
    return check_primitive(header, opening.primitive);
}

/// Decides an opening as the contract does. Pure.
/// @errors kMismatch: a record, chunk or path does not lead to its root. kMalformed: bytes that are
/// no record, a path of the wrong length. kShapeMismatch: not the chunks that the element reads.
/// kOutOfRange: no such element.
inline Result<ElementValues> check_opening(const TraceHeader& header, const OpeningRoots& roots,
                                           const Opening& opening) {
    LeafRecord macro;
    GYM_TRY(PrimitiveRecord record, check_records(header, opening, macro));
    GYM_TRY(const ElementOp op, ElementOp::create(std::move(record)));
    const OperandLists lists{{roots.macro, macro.count},
                             {roots.leaves, header.leaves},
                             {roots.state, header.state_slots}};
    ElementValues values;
    GYM_TRY(values.computed, compute_element(op, lists, opening.operands, opening.element));
    const Shape& shape = op.record().output;
    const std::uint64_t size = commit::size_bytes(shape.dtype);
    GYM_TRY(values.claimed,
            check_chunks(opening.output, {size_bytes(shape), opening.element * size, size}));
    GYM_CHECK(
        commit::merkle_verify(roots.macro, {opening.primitive.index - macro.first, macro.count},
                              tensor_digest(shape, opening.output.tree_root), opening.output.path));
    return values;
}

}  // namespace gym::dispute::testing
