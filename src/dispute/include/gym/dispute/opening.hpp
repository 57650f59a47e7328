#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/dispute/element.hpp"
#include "gym/dispute/macro_trace.hpp"
#include "gym/dispute/trace_program.hpp"

/// The leaf move of a dispute: one element of one primitive, with everything that a contract needs
/// to compute it and to see that it was computed from the right numbers.
namespace gym::dispute {

/// Some consecutive chunks of a tensor and their way up to the tensor's root.
struct ChunksOpening {
    struct Chunk {
        Bytes content;  ///< without padding: 1,024 bytes but for a tensor's last chunk
        std::vector<Digest> path;
        friend bool operator==(const Chunk&, const Chunk&) = default;
    };
    std::vector<Chunk> chunks;  ///< at most kReachChunksMax; none where no element is read
    Digest tree_root;           ///< with the shape, the tensor's root
    std::vector<Digest> path;   ///< from there to the root of its tree; constants: none
    friend bool operator==(const ChunksOpening&, const ChunksOpening&) = default;
};

/// Bytes of a tensor of `total`.
struct ByteSpan {
    std::uint64_t total = 0;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
};
/// The bytes of a span, once its chunks are shown to be those under opening.tree_root.
/// @pre begin + size <= total. @errors kShapeMismatch: other chunks than those that the span
/// touches; of merkle_verify().
[[nodiscard]] Result<Bytes> check_chunks(const ChunksOpening& opening, const ByteSpan& span);

/// The chunk of a tensor's bytes that has byte `offset`, with its path to the tensor's tree root.
/// @errors kOutOfRange: there is no such byte.
[[nodiscard]] Result<ChunksOpening> open_chunk(ByteView bytes, std::uint64_t offset,
                                               unsigned threads);

/// A list of tensors that operands are proven against.
struct TensorList {
    Digest root;
    std::uint64_t count = 0;
};
struct OperandLists {
    TensorList primitives;  ///< outputs of the macro op's primitives
    TensorList leaves;      ///< trace leaves of the step
    TensorList state;       ///< before the step
};
/// The bytes of an element, computed from operands that are proven to be those of its record.
/// @errors kMismatch: a chunk or path does not lead to its root. kMalformed: a path of the wrong
/// length. kShapeMismatch: not the chunks that the element reads. kOutOfRange: no such element.
[[nodiscard]] Result<Bytes> compute_element(const ElementOp& op, const OperandLists& lists,
                                            std::span<const ChunksOpening> operands,
                                            std::uint64_t element);

/// Up from a tensor's root to the root of the list that has it; constants are not included.
using PathOf = std::function<Result<std::vector<Digest>>(const Source& source)>;

/// The chunks that element `element` of a primitive reads of each operand.
/// @errors kOutOfRange if there is no such element; kShapeMismatch if `tensor` is another
/// primitive's; those of `path_of`.
[[nodiscard]] Result<std::vector<ChunksOpening>> open_operands(const PrimitiveRecord& record,
                                                               const TensorTrace& tensor,
                                                               std::uint64_t element,
                                                               const PathOf& path_of);

}  // namespace gym::dispute
