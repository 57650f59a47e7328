// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "../onestep/IOneStep.sol";
import {Descriptors} from "../onestep/Descriptors.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {
    Chunk,
    Cursor,
    ElementProof,
    Facts,
    Finding,
    Frames,
    IDisputeErrors,
    OpFrame,
    Stage,
    StepFrame,
    TensorProof,
    TokenProof
} from "./DisputeTypes.sol";
import {JobRandom} from "./JobRandom.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Header, Shapes, Source, TraceRecords} from "./TraceRecords.sol";

/// @title The leaf of a dispute: one element of one primitive, or one token of a window
/// @notice What src/dispute/opening.cpp's check_opening() does. As TreeRules: pure, with the arguments of IDisputeGame; both
/// revert with NoFault where the asserter's element is right.
contract ElementRules {
    using Frames for Cursor;
    using Frames for Facts;
    using Frames for OpFrame;
    using Frames for StepFrame;
    using Shapes for uint256;

    /// @notice Chunks that an element reads of one operand at most.
    uint256 public constant CHUNKS_MAX = 17;
    uint256 private constant GATHER_ROWS = 34;
    uint256 private constant PICK = 35;
    uint256 private constant TOKEN_BYTES = 2;
    uint256 private constant U16 = 6;
    /// @dev The last tenth of the tokens, rounded down, validates.
    uint256 private constant VALIDATION_SHARE = 10;

    IOneStep private immutable _ONE_STEP;

    /// @notice An operand's chunks are not those that the element reads.
    error WrongChunks(uint256 operand, uint256 count, uint256 expected);
    /// @notice The tensor, or its chunk that is disputed, has no such element.
    error ElementOutside(uint256 element);

    /// @dev What operands are proven against.
    struct Place {
        bytes32 trace;
        uint256 leaves;
        bytes32 state;
        uint256 slots;
        bytes32 primitives;
        uint256 count;
    }

    /// @dev The elements that are read of an operand; by an index if the primitive gathers.
    struct Reach {
        uint256 operand;
        uint64 first;
        uint64 count;
        uint32 index;
    }

    /// @dev Bytes of an operand of `total` bytes.
    struct Span {
        uint256 operand;
        uint256 total;
        uint256 begin;
        uint256 length;
    }

    /// @notice Fixes the evaluator. @param oneStep OneStep.
    constructor(IOneStep oneStep) {
        _ONE_STEP = oneStep;
    }

    /// @notice The evaluator.
    function evaluator() external view returns (address) {
        return address(_ONE_STEP);
    }

    /// @notice See IDisputeMoves.proveElement.
    function proveElement(bytes32, Cursor calldata c, ElementProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        _enter(c, proof.op, proof.step);
        bytes32 digest = TraceRecords.primitiveDigest(proof.primitive);
        if (proof.op.record == 0 || digest != proof.op.record) {
            revert IDisputeErrors.BadRecord(proof.op.primitive);
        }
        uint256 claimed = _claimed(c, proof.op, proof.element, proof.chunk);
        return _unequal(proof.element, claimed, _compute(proof));
    }

    /// @notice See IDisputeMoves.proveToken.
    function proveToken(bytes32, Cursor calldata c, TokenProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        _enter(c, proof.op, proof.step);
        if (proof.op.count != 0) revert IDisputeErrors.BadRecord(proof.op.leaf);
        if (proof.facts.hash() != proof.step.facts) revert IDisputeErrors.WrongFrame();
        uint256 claimed = _claimed(c, proof.op, proof.element, proof.chunk);
        return _unequal(proof.element, claimed, _token(proof, _position(proof)));
    }

    function _enter(Cursor calldata c, OpFrame calldata op, StepFrame calldata step) private pure {
        c.expect(Stage.CHUNKS, true);
        if (c.height != 0) revert IDisputeErrors.WrongStage(c.stage);
        c.check(op.hash());
        if (step.hash() != op.step) revert IDisputeErrors.WrongFrame();
    }

    /// @dev The asserter's element, in the chunk that it posted.
    function _claimed(Cursor calldata c, OpFrame calldata op, uint256 element, bytes calldata chunk)
        private
        view
        returns (uint256)
    {
        uint256 size = Descriptors.sizeOf(op.shape.dtype());
        uint256 offset = element * size;
        if (offset / MerkleSha256.CHUNK_BYTES != c.index || offset >= op.shape.size()) {
            revert ElementOutside(element);
        }
        if (chunk.length != op.shape.chunkBytes(c.index)) {
            revert MerkleSha256.BadChunk(chunk.length);
        }
        bytes32 leaf = MerkleSha256.chunkLeaf(chunk);
        if (leaf != c.node) revert MerkleSha256.RootMismatch(leaf, c.node);
        return LittleEndian.element(chunk, offset % MerkleSha256.CHUNK_BYTES / size, size);
    }

    function _compute(ElementProof calldata proof) private view returns (uint256) {
        (IOneStep.Descriptor memory d, Source[] memory sources) =
            TraceRecords.descriptor(proof.primitive);
        uint256 count = sources.length;
        if (proof.operands.length != count) {
            revert WrongChunks(0, proof.operands.length, count);
        }
        Place memory place = _placeOf(proof);
        bytes[] memory inputs = new bytes[](count);
        if (d.opcode == GATHER_ROWS || d.opcode == PICK) {
            // The index before what it points into.
            inputs[1] = _operand(place, d, sources[1], proof, Reach(1, 0, 0, 0));
            inputs[0] = _operand(place, d, sources[0], proof, Reach(0, 0, 0, _word(inputs[1])));
        } else {
            for (uint256 k = 0; k < count; ++k) {
                inputs[k] = _operand(place, d, sources[k], proof, Reach(k, 0, 0, 0));
            }
        }
        return _ONE_STEP.evaluate(d, inputs, proof.element);
    }

    function _placeOf(ElementProof calldata proof) private pure returns (Place memory) {
        Header memory h = TraceRecords.header(proof.header, proof.op.program);
        return Place({
            trace: proof.step.trace,
            leaves: h.leaves,
            state: proof.step.stateBefore,
            slots: h.stateSlots,
            primitives: proof.op.macroRoot,
            count: proof.op.count
        });
    }

    /// @dev The bytes that the element reads of operand `to.operand`, proven.
    function _operand(
        Place memory place,
        IOneStep.Descriptor memory d,
        Source memory source,
        ElementProof calldata proof,
        Reach memory to
    ) private view returns (bytes memory) {
        (to.first, to.count) = _ONE_STEP.reach(d, to.operand, proof.element, to.index);
        TensorProof calldata given = proof.operands[to.operand];
        if (to.count == 0) {
            uint256 proofs = given.chunks.length + given.path.length;
            if (proofs != 0 || given.treeRoot != 0) revert WrongChunks(to.operand, proofs, 0);
            return "";
        }
        uint256 shape = _packed(d.inputs[to.operand]);
        _checkTensor(place, source, shape.digest(given.treeRoot), given.path);
        uint256 size = Descriptors.sizeOf(shape.dtype());
        Span memory span = Span(to.operand, shape.size(), to.first * size, to.count * size);
        return _range(given, span);
    }

    function _checkTensor(
        Place memory place,
        Source memory source,
        bytes32 root,
        bytes32[] calldata path
    ) private view {
        if (source.kind == TraceRecords.CONSTANT) {
            if (path.length != 0) revert MerkleSha256.BadProofLength(path.length, 0);
            if (root != source.root) revert MerkleSha256.RootMismatch(root, source.root);
            return;
        }
        (bytes32 list, uint256 count) = (place.primitives, place.count);
        if (source.kind == TraceRecords.FROM_LEAF) (list, count) = (place.trace, place.leaves);
        if (source.kind == TraceRecords.FROM_STATE) (list, count) = (place.state, place.slots);
        MerkleSha256.verify(list, source.index, count, root, path);
    }

    /// @dev The bytes of a span, from chunks that lead to proof.treeRoot.
    function _range(TensorProof calldata proof, Span memory span)
        private
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
    function _copy(
        bytes calldata content,
        uint256 skip,
        bytes memory out,
        uint256 written
    ) private pure returns (uint256 take) {
        take = content.length - skip;
        if (take > out.length - written) take = out.length - written;
        assembly ("memory-safe") {
            calldatacopy(add(add(out, 32), written), add(content.offset, skip), take)
        }
    }

    /// @dev The content of a chunk, once it is shown to be chunk `index` of a tensor of `total` bytes.
    function _chunk(
        Chunk calldata chunk,
        bytes32 treeRoot,
        uint256 index,
        uint256 total
    ) private view returns (bytes calldata content) {
        content = chunk.content;
        uint256 expected = total - index * MerkleSha256.CHUNK_BYTES;
        if (expected > MerkleSha256.CHUNK_BYTES) expected = MerkleSha256.CHUNK_BYTES;
        if (content.length != expected) revert MerkleSha256.BadChunk(content.length);
        bytes32 leaf = MerkleSha256.chunkLeaf(content);
        uint256 all = (total + MerkleSha256.CHUNK_BYTES - 1) / MerkleSha256.CHUNK_BYTES;
        MerkleSha256.verify(treeRoot, index, all, leaf, chunk.path);
    }

    /// @dev Where in the dataset the token of an element of the windows lies: src/engine/batch.cpp. Training windows begin at
    /// multiples of the stride from the first token on.
    function _position(TokenProof calldata proof) private pure returns (uint256) {
        Header memory h = TraceRecords.header(proof.header, proof.op.program);
        uint256 length = h.windowTokens + 1;
        uint256 training = uint256(proof.tokens) - proof.tokens / VALIDATION_SHARE;
        if (training < length || h.stride == 0) revert IDisputeErrors.BadRecord(proof.tokens);
        uint256 starts = (training - length) / h.stride + 1;
        uint256 window = proof.element / length;
        uint256 start = JobRandom.windowStart(proof.facts, proof.step.step, window, starts);
        return start * h.stride + proof.element % length;
    }

    /// @dev Token number `token` of the dataset, whose root is over u16 [tokens].
    function _token(TokenProof calldata proof, uint256 token) private view returns (uint256) {
        TensorProof calldata dataset = proof.dataset;
        bytes32 computed = sha256(
            abi.encodePacked(uint8(2), uint8(U16), uint8(1), proof.tokens, dataset.treeRoot)
        );
        bytes32 root = proof.facts.datasetRoot;
        if (computed != root) revert MerkleSha256.RootMismatch(computed, root);
        if (dataset.path.length != 0) revert MerkleSha256.BadProofLength(dataset.path.length, 0);
        uint256 total = uint256(proof.tokens) * TOKEN_BYTES;
        bytes memory two = _range(dataset, Span(0, total, token * TOKEN_BYTES, TOKEN_BYTES));
        return uint256(uint8(two[0])) | (uint256(uint8(two[1])) << 8);
    }

    function _unequal(uint256 element, uint256 claimed, uint256 computed)
        private
        pure
        returns (Finding memory)
    {
        if (claimed == computed) revert IDisputeErrors.NoFault();
        return Finding(element, bytes32(claimed), bytes32(computed));
    }

    function _packed(IOneStep.Shape memory s) private pure returns (uint256 packed) {
        packed = (uint256(s.dtype) << 168) | (uint256(s.rank) << 160);
        for (uint256 i = 0; i < 5; ++i) {
            packed |= uint256(s.dims[i]) << (32 * (4 - i));
        }
    }

    /// @dev The i32 that four little-endian bytes are, as bits.
    function _word(bytes memory data) private pure returns (uint32 x) {
        for (uint256 i = 4; i > 0; --i) {
            x = (x << 8) | uint8(data[i - 1]);
        }
    }
}
