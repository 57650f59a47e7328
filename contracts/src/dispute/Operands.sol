// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {LittleEndian} from "../numerics/LittleEndian.sol";
import {Chunk, Cursor, TensorProof} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Shapes} from "./TraceRecords.sol";

/// @notice Bytes of operand number `operand`, which has `total`.
struct Span {
    uint256 operand;
    uint256 total;
    uint256 begin;
    uint256 length;
}

/// @notice An element of a tensor. @param shape See Shapes. @param index Row-major. @param size Bytes.
struct Element {
    uint256 shape;
    uint256 index;
    uint256 size;
}

/// @title Parts of tensors in a proof
library Operands {
    using Shapes for uint256;

    /// @notice Chunks that an element reads of one operand at most.
    uint256 internal constant CHUNKS_MAX = 17;

    /// @notice An operand's chunks are not those that the element reads.
    error WrongChunks(uint256 operand, uint256 count, uint256 expected);

    /// @notice The tensor, or its chunk that is disputed, has no such element.
    error ElementOutside(uint256 element);

    /// @notice The asserter's element, in the chunk that it posted at the cursor.
    function claimed(Cursor calldata c, Element memory e, bytes calldata chunk)
        internal
        view
        returns (uint256)
    {
        uint256 offset = e.index * e.size;
        if (offset / MerkleSha256.CHUNK_BYTES != c.index || offset + e.size > e.shape.size()) {
            revert ElementOutside(e.index);
        }
        if (chunk.length != e.shape.chunkBytes(c.index)) {
            revert MerkleSha256.BadChunk(chunk.length);
        }
        bytes32 leaf = MerkleSha256.chunkLeaf(chunk);
        if (leaf != c.node) revert MerkleSha256.RootMismatch(leaf, c.node);
        return LittleEndian.element(chunk, offset % MerkleSha256.CHUNK_BYTES / e.size, e.size);
    }

    /// @notice The bits that four little-endian bytes are.
    function word(bytes memory data) internal pure returns (uint32 x) {
        for (uint256 i = 4; i > 0; --i) {
            x = (x << 8) | uint8(data[i - 1]);
        }
    }

    /// @notice Reverts unless nothing is brought.
    function expectNone(TensorProof calldata given, uint256 operand) internal pure {
        uint256 proofs = given.chunks.length + given.path.length;
        if (proofs != 0 || given.treeRoot != 0) revert WrongChunks(operand, proofs, 0);
    }

    /// @notice The bytes of a span, from chunks that lead to proof.treeRoot.
    function range(TensorProof calldata proof, Span memory span)
        internal
        view
        returns (bytes memory out)
    {
        uint256 first = span.begin / MerkleSha256.CHUNK_BYTES;
        uint256 count = (span.begin + span.length - 1) / MerkleSha256.CHUNK_BYTES - first + 1;
        if (proof.chunks.length != count || count > CHUNKS_MAX) {
            revert WrongChunks(span.operand, proof.chunks.length, count);
        }
        out = new bytes(span.length);
        uint256 written = 0;
        for (uint256 i = 0; i < count; ++i) {
            bytes calldata content = _chunk(proof.chunks[i], proof.treeRoot, first + i, span.total);
            uint256 skip = i == 0 ? span.begin % MerkleSha256.CHUNK_BYTES : 0;
            written += _copy(content, skip, out, written);
        }
    }

    /// @dev Appends what fits of `content` from `skip` on. @return take Bytes.
    function _copy(bytes calldata content, uint256 skip, bytes memory out, uint256 written)
        private
        pure
        returns (uint256 take)
    {
        take = content.length - skip;
        if (take > out.length - written) take = out.length - written;
        assembly ("memory-safe") {
            calldatacopy(add(add(out, 32), written), add(content.offset, skip), take)
        }
    }

    /// @dev The content of a chunk, once it is shown to be chunk `index` of a tensor of `total` bytes.
    function _chunk(Chunk calldata chunk, bytes32 treeRoot, uint256 index, uint256 total)
        private
        view
        returns (bytes calldata content)
    {
        content = chunk.content;
        uint256 expected = total - index * MerkleSha256.CHUNK_BYTES;
        if (expected > MerkleSha256.CHUNK_BYTES) expected = MerkleSha256.CHUNK_BYTES;
        if (content.length != expected) revert MerkleSha256.BadChunk(content.length);
        bytes32 leaf = MerkleSha256.chunkLeaf(content);
        uint256 all = (total + MerkleSha256.CHUNK_BYTES - 1) / MerkleSha256.CHUNK_BYTES;
        MerkleSha256.verify(treeRoot, index, all, leaf, chunk.path);
    }
}
