// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DeltaGroups, OuterStep} from "../numerics/OuterStep.sol";
import {Descriptors} from "../onestep/Descriptors.sol";
import {BigEndian} from "./BigEndian.sol";
import {ColumnParts} from "./ColumnParts.sol";
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
import {SlotSets} from "./SlotSets.sol";
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
    /// @dev Of a withdrawn delta: its age, then its slot.
    uint256 private constant ENTRY_BYTES = 4;
    /// @dev Reasons to refuse a step record or a commitment.
    uint256 private constant NOT_STEP_0 = 0;
    uint256 private constant NUMBERS = 1;
    uint256 private constant SKIPPED = 2;
    uint256 private constant ROOTS = 3;
    uint256 private constant KIND = 0;
    uint256 private constant SLOT = 1;
    uint256 private constant ROUND = 2;
    uint256 private constant LATE = 3;

    /// @notice See IDisputeMoves.declareOuter.
    function declareOuter(
        bytes32,
        Cursor calldata c,
        OuterFacts calldata facts,
        bytes calldata record,
        bytes32 root,
        bytes32[] calldata children,
        bytes calldata slots,
        uint32 held
    ) external view returns (Cursor memory next) {
        c.expect(Stage.UNIT, false);
        OuterFrame memory f;
        f.facts = facts.hash();
        c.check(f.facts);
        (f.deltas, f.held, f.slots) = (_checkSlots(slots, held), held, keccak256(slots));
        (f.deltasRoot, f.program) = (root, facts.traceRoot);
        f.stateRoot = _checkRecord(facts.recordsRoot, record, f);
        next = Descent.root(Stage.OUTER, root, f.deltas, f.hash());
        Descent.answer(next, root, children, Descent.LEVELS_MAX);
        next.answered = true;
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
        uint32 position
    ) external pure returns (Cursor memory next) {
        c.expect(Stage.OUTER, true);
        c.check(frame.hash());
        if (keccak256(slots) != frame.slots) revert IDisputeErrors.WrongFrame();
        if (position >= frame.deltas) revert MerkleSha256.LeafOutside(position, frame.deltas);
        (next.stage, next.index, next.leaves) = (Stage.INCLUDED, position, frame.deltas);
        (next.node, next.frame) = (frame.deltasRoot, frame.facts);
        (DeltaGroups memory g,) = OuterStep.groups(frame.deltas, frame.held);
        if (position >= g.added) {
            uint256 entry = slots.length - ENTRY_BYTES * (frame.deltas - position);
            next.twin = bytes32(BigEndian.number(slots, entry, ENTRY_BYTES));
            next.height = position < g.single ? Frames.WITHDRAWN : Frames.WITHDRAWN_HELD;
            return next;
        }
        uint256 half = (slots.length - ENTRY_BYTES * (frame.deltas - g.added)) / 2;
        if (position < g.timely) {
            next.twin = bytes32(SlotSets.slotAt(slots[:half], position));
            return next;
        }
        next.twin = bytes32(SlotSets.slotAt(slots[half:2 * half], position - g.timely));
        next.height = Frames.HELD;
    }

    /// @notice See IDisputeMoves.showIncluded.
    function showIncluded(
        bytes32,
        Cursor calldata c,
        OuterFacts calldata facts,
        uint32 index,
        bytes calldata commitment,
        bytes32[] calldata path,
        bytes32[] calldata included,
        bool late
    ) external view returns (Cursor memory next) {
        c.expect(Stage.INCLUDED, false);
        if (c.height >= Frames.WITHDRAWN) revert IDisputeErrors.WrongStage(c.stage);
        c.check(facts.hash());
        _checkIncluded(c, facts, commitment, included);
        next = c;
        (next.answered, next.node) = (true, Commitments.leaf(commitment));
        if (late) next.height = _lateHeight(c, facts);
        (bytes32 root, uint32 leaves) = next.height == Frames.HELD
            ? (facts.previousEpochRoot, facts.previousEpochLeaves)
            : (facts.epochRoot, facts.epochLeaves);
        MerkleSha256.verify(root, index, leaves, next.node, path);
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
        if (c.answered) revert IDisputeErrors.WrongStage(c.stage);
        if (values.length != ColumnParts.answerBytes(c)) {
            revert IDisputeErrors.Malformed(values.length);
        }
        next = c;
        (next.answered, next.twin) = (true, keccak256(values));
    }

    /// @notice See IDisputeMoves.pickPart.
    function pickPart(bytes32, Cursor calldata c, bytes calldata added, uint8 part)
        external
        pure
        returns (Cursor memory next)
    {
        c.expect(Stage.COLUMN, true);
        bool posted = keccak256(added) == c.twin && added.length == ColumnParts.answerBytes(c);
        if (!posted) revert IDisputeErrors.WrongFrame();
        uint256 parts = OuterStep.parts(c.leaves);
        if (part >= parts) revert MerkleSha256.LeafOutside(part, parts);
        (next.stage, next.height, next.index, next.leaves) = (Stage.PART, part, c.index, c.leaves);
        (next.node, next.frame) = (ColumnParts.claimOf(added, part), c.frame);
    }

    /// @dev A commitment of the slot's worker in the delta's round, to the delta in the cursor's place.
    function _checkIncluded(
        Cursor calldata c,
        OuterFacts calldata facts,
        bytes calldata commitment,
        bytes32[] calldata included
    ) private view {
        Commitment memory shown = Commitments.read(commitment);
        if (shown.kind != Commitments.TRAIN) revert IDisputeErrors.BadRecord(KIND);
        if (shown.slot != uint256(c.twin)) revert IDisputeErrors.BadRecord(SLOT);
        bytes32 round = c.height == Frames.HELD ? facts.previousRecord : facts.roundRecord;
        if (shown.roundRecord != round) revert IDisputeErrors.BadRecord(ROUND);
        MerkleSha256.verify(c.node, c.index, c.leaves, shown.deltaRoot, included);
    }

    /// @dev Held deltas alone are late, and a round before that is not posted has none: no record would say that it takes them.
    function _lateHeight(Cursor calldata c, OuterFacts calldata facts)
        private
        pure
        returns (uint8)
    {
        if (c.height != Frames.HELD) revert IDisputeErrors.BadRecord(LATE);
        Frames.nonZero(facts.previousRecord);
        return Frames.LATE;
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

    /// @dev The only record of an aggregate: a step that has an outcome and no numbers, made from the frame's deltas. Their number is hashed
    /// with their tree: else a list with inner nodes or absent leaves, which no one can open, would have the same root. So is how many are held,
    /// as it decides what each counts. @return Its state root.
    function _checkRecord(bytes32 link, bytes calldata data, OuterFrame memory f)
        private
        pure
        returns (bytes32)
    {
        StepRecord memory r = StepRecords.open(data, 0, link);
        if (r.step != 0) revert IDisputeErrors.BadRecord(NOT_STEP_0);
        if (r.lossBits | r.gradNormBits != 0) revert IDisputeErrors.BadRecord(NUMBERS);
        if (r.skipped) revert IDisputeErrors.BadRecord(SKIPPED);
        if (r.hasGradientRoot || !r.hasStateRoot) revert IDisputeErrors.BadRecord(ROOTS);
        Frames.nonZero(r.stateRoot);
        bytes32 computed =
            sha256(abi.encodePacked("gym.included.v2", f.deltas, f.held, f.deltasRoot));
        if (computed != r.batchRoot) revert MerkleSha256.RootMismatch(computed, r.batchRoot);
        return r.stateRoot;
    }

    /// @dev A set of the round's own slots, one of the held ones, as long, and an entry for each withdrawn delta. @return count Of the deltas.
    function _checkSlots(bytes calldata slots, uint256 packed) private pure returns (uint32 count) {
        uint256 withdrawn = (packed >> 16) & 0xFF;
        uint256 entries = ENTRY_BYTES * withdrawn;
        bool even = slots.length >= entries && (slots.length - entries) % 2 == 0
            && slots.length - entries <= 2 * SlotSets.BYTES_MAX;
        if (!even) revert IDisputeErrors.Malformed(slots.length);
        uint256 half = (slots.length - entries) / 2;
        uint256 timely = SlotSets.count(slots[:half]);
        uint256 held = SlotSets.count(slots[half:2 * half]);
        (DeltaGroups memory g, bool legal) = OuterStep.groups(timely + held + withdrawn, packed);
        if (!legal || g.timely != timely) revert IDisputeErrors.Malformed(packed);
        // At most DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        count = uint32(timely + held + withdrawn);
        uint256 single = 2 * half + ENTRY_BYTES * (g.single - g.added);
        _checkAscending(slots[2 * half:single], 2 * half);
        _checkAscending(slots[single:], single);
    }

    /// @dev Entries of one group of withdrawn deltas, of age 1 at least. @param offset Of them among all.
    function _checkAscending(bytes calldata entries, uint256 offset) private pure {
        uint256 least = 1 << 16;
        for (uint256 i = 0; i < entries.length; i += ENTRY_BYTES) {
            uint256 entry = BigEndian.number(entries, i, ENTRY_BYTES);
            if (entry < least) revert IDisputeErrors.Malformed(offset + i);
            least = entry + 1;
        }
    }
}
