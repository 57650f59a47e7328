// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "../onestep/IOneStep.sol";
import {Descriptors} from "../onestep/Descriptors.sol";
import {DeltaElements} from "./DeltaElements.sol";
import {
    Cursor,
    DeltaProof,
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
import {Element, Operands, Span} from "./Operands.sol";
import {Header, Shapes, Source, TraceRecords} from "./TraceRecords.sol";

/// @title The leaf of a dispute: one element of one primitive, one token of a window, or one word or byte of the delta
/// @notice The check of check_opening() in src/dispute/opening.cpp. As TreeRules: pure, with the arguments of IDisputeGame; all
/// revert with NoFault where the asserter's element is right.
contract ElementRules {
    using Frames for Cursor;
    using Frames for Facts;
    using Frames for OpFrame;
    using Frames for StepFrame;
    using Shapes for uint256;

    uint256 private constant GATHER_ROWS = 34;
    uint256 private constant PICK = 35;
    uint256 private constant NARROW_BYTES = 2;
    uint256 private constant U16 = 6;
    uint256 private constant U32 = 7;
    /// @dev The last tenth of the tokens, rounded down, validates.
    uint256 private constant VALIDATION_SHARE = 10;
    uint256 private constant WORD_BYTES = 4;

    IOneStep private immutable _ONE_STEP;

    /// @dev The roots that operands are proven against.
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
        _enter(c, proof.op, proof.step.hash());
        bytes32 digest = TraceRecords.primitiveDigest(proof.primitive);
        if (proof.op.record == 0 || digest != proof.op.record) {
            revert IDisputeErrors.BadRecord(proof.op.primitive);
        }
        uint256 size = Descriptors.sizeOf(proof.op.shape.dtype());
        uint256 claimed =
            Operands.claimed(c, Element(proof.op.shape, proof.element, size), proof.chunk);
        return _unequal(proof.element, claimed, _compute(proof));
    }

    /// @notice See IDisputeMoves.proveToken.
    function proveToken(bytes32, Cursor calldata c, TokenProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        _enter(c, proof.op, proof.step.hash());
        if (proof.op.count != 0 || proof.op.leaf == TraceRecords.NO_LEAF) {
            revert IDisputeErrors.BadRecord(proof.op.leaf);
        }
        if (proof.facts.hash() != proof.step.facts) revert IDisputeErrors.WrongFrame();
        uint256 size = Descriptors.sizeOf(proof.op.shape.dtype());
        uint256 claimed =
            Operands.claimed(c, Element(proof.op.shape, proof.element, size), proof.chunk);
        return _unequal(proof.element, claimed, _token(proof, _position(proof)));
    }

    /// @notice See IDisputeMoves.proveDelta.
    function proveDelta(bytes32, Cursor calldata c, DeltaProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        _enter(c, proof.op, proof.facts.hash());
        if (proof.op.leaf != TraceRecords.NO_LEAF) revert IDisputeErrors.BadRecord(proof.op.leaf);
        Header memory h = TraceRecords.header(proof.header, proof.op.program);
        uint256 size = DeltaElements.sizeOf(h);
        uint256 claimed =
            Operands.claimed(c, Element(proof.op.shape, proof.word, size), proof.chunk);
        return _unequal(proof.word, claimed, DeltaElements.computed(h, proof));
    }

    /// @param fixed_ Hash of what the cursor's frame must name.
    function _enter(Cursor calldata c, OpFrame calldata op, bytes32 fixed_) private pure {
        c.expect(Stage.CHUNKS, true);
        if (c.height != 0) revert IDisputeErrors.WrongStage(c.stage);
        c.check(op.hash());
        if (fixed_ != op.step) revert IDisputeErrors.WrongFrame();
    }

    function _compute(ElementProof calldata proof) private view returns (uint256) {
        (IOneStep.Descriptor memory d, Source[] memory sources) =
            TraceRecords.descriptor(proof.primitive);
        uint256 count = sources.length;
        if (proof.operands.length != count) {
            revert Operands.WrongChunks(0, proof.operands.length, count);
        }
        Place memory place = _placeOf(proof);
        bytes[] memory inputs = new bytes[](count);
        if (d.opcode == GATHER_ROWS || d.opcode == PICK) {
            // The index before what it points into.
            inputs[1] = _operand(place, d, sources[1], proof, Reach(1, 0, 0, 0));
            inputs[0] =
                _operand(place, d, sources[0], proof, Reach(0, 0, 0, Operands.word(inputs[1])));
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
            Operands.expectNone(given, to.operand);
            return "";
        }
        uint256 shape = _packed(d.inputs[to.operand]);
        _checkTensor(place, source, shape.digest(given.treeRoot), given.path);
        uint256 size = Descriptors.sizeOf(shape.dtype());
        Span memory span = Span(to.operand, shape.size(), to.first * size, to.count * size);
        return Operands.range(given, span);
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

    /// @dev Token number `token` of the dataset. Its root is that of its tokens as a tensor u16, or, with a path of one node, the
    /// tree of a head and of its tokens as a tensor u16 or u32: whichever leads to the root.
    function _token(TokenProof calldata proof, uint256 token) private view returns (uint256 id) {
        TensorProof calldata dataset = proof.dataset;
        bytes32 root = proof.facts.datasetRoot;
        uint256 head = dataset.path.length;
        if (head > 1) revert MerkleSha256.BadProofLength(head, 1);
        bytes32 tensor = _tokens(proof, U16);
        uint256 size = NARROW_BYTES;
        if (head == 1 && MerkleSha256.node(dataset.path[0], tensor) != root) {
            (tensor, size) = (_tokens(proof, U32), WORD_BYTES);
        }
        MerkleSha256.verify(root, head, head + 1, tensor, dataset.path);
        Span memory span = Span(0, uint256(proof.tokens) * size, token * size, size);
        bytes memory bits = Operands.range(dataset, span);
        for (uint256 i = size; i > 0; --i) {
            id = (id << 8) | uint8(bits[i - 1]);
        }
    }

    /// @dev The root of the dataset's tokens as a tensor.
    function _tokens(TokenProof calldata proof, uint256 dtype) private pure returns (bytes32) {
        bytes32 tree = proof.dataset.treeRoot;
        // forge-lint: disable-next-line(unsafe-typecast)
        return sha256(abi.encodePacked(uint8(2), uint8(dtype), uint8(1), proof.tokens, tree));
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
}
