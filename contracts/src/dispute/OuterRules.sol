// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {OuterStep} from "../numerics/OuterStep.sol";
import {Descriptors} from "../onestep/Descriptors.sol";
import {BigEndian} from "./BigEndian.sol";
import {Commitment, Commitments} from "./Commitments.sol";
import {Descent} from "./Descent.sol";
import {
    Cursor,
    Frames,
    IDisputeErrors,
    OpFrame,
    OuterFacts,
    OuterFrame,
    Pick,
    RecordProof,
    Stage
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Element, Operands} from "./Operands.sol";
import {OuterTensors} from "./OuterTensors.sol";
import {StepRecord, StepRecords} from "./StepRecords.sol";
import {Header, Shapes, StateRecord, TraceRecords} from "./TraceRecords.sol";
import {UpdateRules} from "./UpdateRules.sol";

/// @title Moves of a game about an aggregate, from the unit down to the deltas' values
/// @notice As TreeRules: pure, with the arguments of IDisputeMoves.
contract OuterRules is UpdateRules {
    using Frames for Cursor;
    using Frames for OpFrame;
    using Frames for OuterFacts;
    using Frames for OuterFrame;
    using Shapes for uint256;

    uint256 private constant FLOAT_BYTES = 4;
    uint256 private constant SLOT_BYTES = 4;
    /// @dev Reasons to refuse a step record or a commitment.
    uint256 private constant NOT_STEP_0 = 0;
    uint256 private constant NUMBERS = 1;
    uint256 private constant SKIPPED = 2;
    uint256 private constant ROOTS = 3;
    uint256 private constant KIND = 0;
    uint256 private constant SLOT = 1;
    uint256 private constant DELTA = 2;
    uint256 private constant ROUND = 3;

    /// @notice See IDisputeMoves.declareOuter.
    function declareOuter(
        bytes32,
        Cursor calldata c,
        OuterFacts calldata facts,
        bytes calldata record,
        bytes32[] calldata deltas,
        bytes calldata slots,
        uint32 held
    ) external view returns (Cursor memory next) {
        c.expect(Stage.UNIT, false);
        OuterFrame memory f;
        f.facts = facts.hash();
        c.check(f.facts);
        StepRecord memory r = _record(facts.recordsRoot, record);
        f.deltasRoot = _deltasRoot(deltas, held, r.batchRoot);
        _checkSlots(slots, deltas.length, held);
        (f.program, f.stateRoot) = (facts.traceRoot, r.stateRoot);
        // At most DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        (f.deltas, f.held, f.slots) = (uint32(deltas.length), held, keccak256(slots));
        (next.stage, next.answered, next.leaves) = (Stage.OUTER, true, f.deltas);
        (next.node, next.frame) = (f.deltasRoot, f.hash());
    }

    /// @notice See IDisputeMoves.pickOuter.
    function pickOuter(
        bytes32,
        Cursor calldata c,
        OuterFrame calldata frame,
        OuterFacts calldata facts,
        bytes calldata header,
        uint8 tree
    ) external pure returns (Cursor memory) {
        c.expect(Stage.OUTER, true);
        c.check(frame.hash());
        if (facts.hash() != frame.facts) revert IDisputeErrors.WrongFrame();
        bool legal = tree >= OuterTensors.BASE && tree <= OuterTensors.BOTH;
        if (!legal) revert IDisputeErrors.BadRecord(tree);
        Header memory h = TraceRecords.header(header, frame.program);
        OuterFrame memory picked = frame;
        picked.tree = tree;
        bytes32 node = tree == OuterTensors.BASE ? facts.finalStateRoot : facts.momentumAfter;
        if (tree == OuterTensors.BOTH) node = frame.stateRoot;
        uint256 leaves = OuterTensors.count(h, tree);
        return Descent.root(Stage.OUTER_STATE, node, leaves, picked.hash());
    }

    /// @notice See IDisputeMoves.pickIncluded.
    function pickIncluded(
        bytes32,
        Cursor calldata c,
        OuterFrame calldata frame,
        bytes calldata slots,
        uint32 position,
        bytes32 delta,
        bytes32[] calldata path
    ) external view returns (Cursor memory next) {
        c.expect(Stage.OUTER, true);
        c.check(frame.hash());
        if (keccak256(slots) != frame.slots) revert IDisputeErrors.WrongFrame();
        MerkleSha256.verify(frame.deltasRoot, position, frame.deltas, delta, path);
        next.stage = Stage.INCLUDED;
        next.index = uint64(BigEndian.number(slots, SLOT_BYTES * uint256(position), SLOT_BYTES));
        if (position >= frame.deltas - frame.held) next.leaves = Frames.HELD;
        (next.node, next.frame) = (delta, frame.facts);
    }

    /// @notice See IDisputeMoves.showIncluded.
    function showIncluded(
        bytes32,
        Cursor calldata c,
        OuterFacts calldata facts,
        uint32 index,
        bytes calldata commitment,
        bytes32[] calldata path
    ) external view returns (Cursor memory next) {
        c.expect(Stage.INCLUDED, false);
        c.check(facts.hash());
        Commitment memory shown = Commitments.read(commitment);
        if (shown.kind != Commitments.TRAIN) revert IDisputeErrors.BadRecord(KIND);
        if (shown.slot != c.index) revert IDisputeErrors.BadRecord(SLOT);
        if (shown.deltaRoot != c.node) revert IDisputeErrors.BadRecord(DELTA);
        bool held = c.leaves == Frames.HELD;
        bytes32 round = held ? facts.previousRecord : facts.roundRecord;
        if (shown.roundRecord != round) revert IDisputeErrors.BadRecord(ROUND);
        bytes32 leaf = Commitments.leaf(commitment);
        (bytes32 root, uint32 leaves) = held
            ? (facts.previousEpochRoot, facts.previousEpochLeaves)
            : (facts.epochRoot, facts.epochLeaves);
        MerkleSha256.verify(root, index, leaves, leaf, path);
        next = c;
        (next.answered, next.node) = (true, leaf);
    }

    /// @notice See IDisputeMoves.pickOuterTensor.
    function pickOuterTensor(
        bytes32,
        Cursor calldata c,
        OuterFrame calldata frame,
        bytes calldata header,
        Pick calldata to,
        RecordProof calldata slot
    ) external view returns (Cursor memory next) {
        c.expect(Stage.OUTER_STATE, true);
        c.check(frame.hash());
        _checkElements(frame);
        Descent.leafBelow(c, c.node, to.index, to.node, to.path);
        Header memory h = TraceRecords.header(header, frame.program);
        OpFrame memory op;
        (op.step, op.program, op.leaf) = (c.frame, frame.program, TraceRecords.NO_LEAF);
        // The number of a tensor, of which there are at most 2^17.
        // forge-lint: disable-next-line(unsafe-typecast)
        op.primitive = uint32(to.index);
        (op.shape, op.record) = _shapeOf(h, frame.tree, to.index, slot);
        next.stage = Stage.TENSOR;
        next.leaves = uint64(op.shape.chunks());
        (next.node, next.frame) = (to.node, op.hash());
    }

    /// @notice See IDisputeMoves.pickElement.
    function pickElement(
        bytes32,
        Cursor calldata c,
        OpFrame calldata op,
        OuterFrame calldata outer,
        uint64 element,
        bytes calldata chunk
    ) external view returns (Cursor memory next) {
        c.check(op.hash());
        if (outer.hash() != op.step) revert IDisputeErrors.WrongFrame();
        _checkElements(outer);
        uint256 bits =
            c.stage == Stage.ROW ? _inRow(c, element, chunk) : _inChunk(c, op, element, chunk);
        (next.stage, next.index, next.leaves) = (Stage.COLUMN, element, outer.deltas);
        (next.node, next.frame) = (bytes32(bits), c.frame);
    }

    /// @notice See IDisputeMoves.postColumn.
    function postColumn(bytes32, Cursor calldata c, bytes calldata values)
        external
        pure
        returns (Cursor memory next)
    {
        c.expect(Stage.COLUMN, false);
        if (values.length != FLOAT_BYTES * c.leaves) {
            revert IDisputeErrors.Malformed(values.length);
        }
        next = c;
        (next.answered, next.twin) = (true, keccak256(values));
    }

    /// @dev The bits of an element in the chunk that was posted. The update has bytes, which no column makes.
    function _inChunk(Cursor calldata c, OpFrame calldata op, uint256 element, bytes calldata chunk)
        private
        view
        returns (uint256)
    {
        c.expect(Stage.CHUNKS, true);
        if (c.height != 0) revert IDisputeErrors.WrongStage(c.stage);
        if (op.shape.dtype() != Descriptors.F32) revert IDisputeErrors.BadRecord(op.primitive);
        return Operands.claimed(c, Element(op.shape, element, FLOAT_BYTES), chunk);
    }

    /// @dev The shape of a tensor, and the digest of its parameter's record; the update has none.
    function _shapeOf(Header memory h, uint256 tree, uint256 number, RecordProof calldata slot)
        private
        view
        returns (uint256 shape, bytes32 digest)
    {
        if (OuterTensors.isUpdate(h, tree, number)) {
            uint256 brought = slot.index + slot.data.length + slot.path.length;
            if (brought != 0) revert IDisputeErrors.BadRecord(slot.index);
            return (TraceRecords.deltaShape(h), 0);
        }
        StateRecord memory record = TraceRecords.state(h, slot);
        uint256 parameter = OuterTensors.parameterOf(h, tree, number);
        if (record.deltaOffset == 0 || record.parameter != parameter) {
            revert IDisputeErrors.BadRecord(slot.index);
        }
        return (record.shape, TraceRecords.stateDigest(slot.data));
    }

    /// @dev Only the next base and the next momentum have elements that are computed; the record's state has their tensors.
    function _checkElements(OuterFrame calldata frame) private pure {
        if (frame.tree != OuterTensors.BASE && frame.tree != OuterTensors.OUTER) {
            revert IDisputeErrors.BadRecord(frame.tree);
        }
    }

    /// @dev The only record of an aggregate: a step that has an outcome and no numbers.
    function _record(bytes32 link, bytes calldata data) private pure returns (StepRecord memory r) {
        r = StepRecords.open(data, 0, link);
        if (r.step != 0) revert IDisputeErrors.BadRecord(NOT_STEP_0);
        if (r.lossBits | r.gradNormBits != 0) revert IDisputeErrors.BadRecord(NUMBERS);
        if (r.skipped) revert IDisputeErrors.BadRecord(SKIPPED);
        if (r.hasGradientRoot || !r.hasStateRoot) revert IDisputeErrors.BadRecord(ROOTS);
        Frames.nonZero(r.stateRoot);
    }

    /// @dev The deltas are those of the record. Their number is hashed with their tree: else a list with inner nodes or absent leaves, which
    /// no one can open, would have the same root. So is how many are held, as it decides what each counts. @return root Of their tree.
    function _deltasRoot(bytes32[] calldata deltas, uint32 held, bytes32 batchRoot)
        private
        view
        returns (bytes32 root)
    {
        uint256 count = deltas.length;
        if (count == 0 || count > OuterStep.DELTAS_MAX) revert IDisputeErrors.Malformed(count);
        if (held > count) revert IDisputeErrors.Malformed(held);
        for (uint256 i = 0; i < count; ++i) {
            Frames.nonZero(deltas[i]);
        }
        root = MerkleSha256.fold(deltas, MerkleSha256.depthOf(count), 0);
        // At most DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes32 computed = sha256(abi.encodePacked("gym.included.v2", uint32(count), held, root));
        if (computed != batchRoot) revert MerkleSha256.RootMismatch(computed, batchRoot);
    }

    /// @dev Workers' slots, none twice in one round.
    function _checkSlots(bytes calldata slots, uint256 count, uint256 held) private pure {
        if (slots.length != SLOT_BYTES * count) revert IDisputeErrors.Malformed(slots.length);
        uint256 first = SLOT_BYTES * (count - held);
        _checkAscending(slots, 0, first);
        _checkAscending(slots, first, slots.length);
    }

    /// @dev Slots of one round, from one offset up to another.
    function _checkAscending(bytes calldata slots, uint256 offset, uint256 end) private pure {
        uint256 least = 0;
        for (; offset < end; offset += SLOT_BYTES) {
            uint256 slot = BigEndian.number(slots, offset, SLOT_BYTES);
            bool legal = slot >= least && slot < Commitments.WORKERS_SLOTS;
            if (!legal) revert IDisputeErrors.Malformed(offset);
            least = slot + 1;
        }
    }
}
