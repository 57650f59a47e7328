// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Descent} from "./Descent.sol";
import {
    Cursor,
    Facts,
    Frames,
    IDisputeErrors,
    OpFrame,
    Pick,
    RecordProof,
    Stage,
    StepFrame
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {StepRecord, StepRecords} from "./StepRecords.sol";
import {Header, LeafRecord, Shapes, TraceRecords} from "./TraceRecords.sol";

/// @title Moves from a step to a chunk
/// @notice As TreeRules: pure, with the arguments of IDisputeGame.
contract StepRules {
    using Frames for Cursor;
    using Frames for Facts;
    using Frames for OpFrame;
    using Frames for StepFrame;
    using Shapes for uint256;

    /// @notice See IDisputeGame.openStep.
    function openStep(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        Facts calldata facts,
        bytes calldata header,
        bytes calldata record,
        bytes32 trace,
        bytes32[] calldata children
    ) external view returns (Cursor memory next) {
        c.expect(Stage.STEP, false);
        c.check(frame.hash());
        if (facts.hash() != frame.facts) revert IDisputeErrors.WrongFrame();
        _checkRecord(frame, facts, record);
        Header memory h = TraceRecords.header(header, frame.program);
        StepFrame memory opened = frame;
        opened.trace = trace;
        next = Descent.root(Stage.TRACE, trace, h.leaves, opened.hash());
        Descent.answer(next, trace, children, Descent.LEVELS_MAX);
        next.answered = true;
    }

    /// @notice See IDisputeGame.pickTree.
    function pickTree(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        bytes calldata header,
        bytes calldata record
    ) external pure returns (Cursor memory) {
        c.expect(Stage.TRACE, true);
        c.check(frame.hash());
        Header memory h = TraceRecords.header(header, frame.program);
        if (record.length == 0) {
            return Descent.root(Stage.STATE, frame.stateAfter, h.stateSlots, c.frame);
        }
        StepRecord memory r = StepRecords.open(record, frame.hashBefore, frame.hashAfter);
        return Descent.root(Stage.GRADIENTS, r.gradientRoot, h.gradients, c.frame);
    }

    /// @notice See IDisputeGame.pickLeaf.
    function pickLeaf(
        bytes32,
        Cursor calldata c,
        StepFrame calldata frame,
        bytes calldata header,
        Pick calldata to,
        RecordProof calldata record
    ) external view returns (Cursor memory next) {
        c.expect(Stage.TRACE, true);
        c.check(frame.hash());
        Descent.leafBelow(c, c.node, to.index, to.node, to.path);
        if (record.index != to.index) revert IDisputeErrors.BadRecord(record.index);
        Header memory h = TraceRecords.header(header, frame.program);
        LeafRecord memory leaf = TraceRecords.leaf(h, record);
        OpFrame memory op;
        (op.step, op.program, op.leaf) = (c.frame, frame.program, record.index);
        next.node = to.node;
        if (leaf.kind == TraceRecords.COMPUTED) {
            op.first = uint32(leaf.first);
            (op.count, op.writer) = (uint32(leaf.count), uint32(leaf.writer));
            next.stage = Stage.MACRO;
            if (leaf.count == 1) {
                // The list of one primitive is its output, which is the leaf.
                (next.stage, next.answered, next.leaves) = (Stage.PRIMITIVES, true, 1);
                op.macroRoot = to.node;
            }
        } else {
            // Other inputs are decided at once: FaultRules.proveInput.
            if (leaf.kind != TraceRecords.BATCH) revert IDisputeErrors.BadRecord(leaf.kind);
            op.shape = leaf.shape;
            next.stage = Stage.TENSOR;
            next.leaves = uint64(leaf.shape.chunks());
        }
        next.frame = op.hash();
    }

    /// @notice See IDisputeGame.openMacro.
    function openMacro(
        bytes32,
        Cursor calldata c,
        OpFrame calldata frame,
        bytes32 root,
        bytes32[] calldata writerPath,
        bytes32[] calldata children
    ) external view returns (Cursor memory next) {
        c.expect(Stage.MACRO, false);
        c.check(frame.hash());
        OpFrame memory opened = frame;
        opened.macroRoot = root;
        next = Descent.root(Stage.PRIMITIVES, root, frame.count, opened.hash());
        Descent.answer(next, root, children, Descent.LEVELS_MAX);
        next.answered = true;
        if (!Descent.listsLeaves(next, Descent.LEVELS_MAX)) {
            MerkleSha256.verify(root, frame.writer, frame.count, c.node, writerPath);
            return next;
        }
        if (writerPath.length != 0) revert MerkleSha256.BadProofLength(writerPath.length, 0);
        if (children[frame.writer] != c.node) {
            revert MerkleSha256.RootMismatch(children[frame.writer], c.node);
        }
    }

    /// @notice See IDisputeGame.pickPrimitive.
    function pickPrimitive(
        bytes32,
        Cursor calldata c,
        OpFrame calldata frame,
        bytes calldata header,
        Pick calldata to,
        RecordProof calldata record
    ) external view returns (Cursor memory next) {
        c.expect(Stage.PRIMITIVES, true);
        c.check(frame.hash());
        Descent.leafBelow(c, c.node, to.index, to.node, to.path);
        Header memory h = TraceRecords.header(header, frame.program);
        OpFrame memory op = frame;
        op.record = TraceRecords.primitive(h, record, frame.first + to.index);
        op.shape = TraceRecords.outputShape(record.data);
        op.primitive = uint32(to.index);
        next.stage = Stage.TENSOR;
        next.leaves = uint64(op.shape.chunks());
        (next.node, next.frame) = (to.node, op.hash());
    }

    /// @notice See IDisputeGame.openTensor.
    function openTensor(
        bytes32,
        Cursor calldata c,
        OpFrame calldata frame,
        bytes32 treeRoot,
        bytes32[] calldata children
    ) external view returns (Cursor memory next) {
        c.expect(Stage.TENSOR, false);
        c.check(frame.hash());
        // A tensor of one chunk is opened by the chunk itself.
        if (c.leaves < 2) revert IDisputeErrors.WrongStage(c.stage);
        _checkTensor(frame.shape, treeRoot, c.node);
        next = Descent.root(Stage.CHUNKS, treeRoot, c.leaves, c.frame);
        Descent.answer(next, treeRoot, children, Descent.LEVELS_MAX);
        next.answered = true;
    }

    /// @notice See IDisputeGame.postChunk.
    function postChunk(bytes32, Cursor calldata c, OpFrame calldata frame, bytes calldata content)
        external
        view
        returns (Cursor memory next)
    {
        c.check(frame.hash());
        uint256 expected = frame.shape.chunkBytes(c.index);
        if (content.length != expected) revert MerkleSha256.BadChunk(content.length);
        bytes32 leaf = MerkleSha256.chunkLeaf(content);
        next = c;
        next.answered = true;
        if (c.stage == Stage.TENSOR && c.leaves == 1) {
            _checkTensor(frame.shape, leaf, c.node);
            (next.stage, next.node) = (Stage.CHUNKS, leaf);
            return next;
        }
        if (c.stage != Stage.CHUNKS || c.height != 0) revert IDisputeErrors.WrongStage(c.stage);
        if (leaf != c.node) revert MerkleSha256.RootMismatch(leaf, c.node);
    }

    function _checkTensor(uint256 shape, bytes32 treeRoot, bytes32 root) private pure {
        Frames.nonZero(treeRoot);
        bytes32 computed = shape.digest(treeRoot);
        if (computed != root) revert MerkleSha256.RootMismatch(computed, root);
    }

    /// @dev Requirements on a record before anything is computed: on chain, of this step, with the roots of the round.
    function _checkRecord(StepFrame calldata frame, Facts calldata facts, bytes calldata record)
        private
        pure
    {
        StepRecord memory r = StepRecords.open(record, frame.hashBefore, frame.hashAfter);
        if (r.step != frame.step) revert IDisputeErrors.BadRecord(0);
        uint256 next = uint256(frame.step) + 1;
        bool checkpoint = next == facts.steps
            || (facts.checkpointEvery != 0 && next % facts.checkpointEvery == 0);
        if (r.hasStateRoot != checkpoint || r.hasGradientRoot != checkpoint) {
            revert IDisputeErrors.BadRecord(1);
        }
        if (checkpoint && r.stateRoot != frame.stateAfter) revert IDisputeErrors.BadRecord(2);
    }
}
