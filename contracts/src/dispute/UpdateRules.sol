// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DenseRow} from "../numerics/DenseRow.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {DeltaRows} from "./DeltaRows.sol";
import {
    Cursor,
    Frames,
    IDisputeErrors,
    OpFrame,
    OuterFacts,
    OuterFrame,
    RecordProof,
    Stage,
    TensorProof
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Operands, Span} from "./Operands.sol";
import {OuterTensors} from "./OuterTensors.sol";
import {Header, Shapes, StateRecord, TraceRecords} from "./TraceRecords.sol";

/// @title Moves of a game about an update, from a posted chunk of it to the residuals of one row
/// @notice As TreeRules: pure, with the arguments of IDisputeMoves.
abstract contract UpdateRules {
    using Frames for Cursor;
    using Frames for OpFrame;
    using Frames for OuterFacts;
    using Frames for OuterFrame;
    using Shapes for uint256;

    uint256 private constant FLOAT_BYTES = 4;
    uint256 private constant ROW_BYTES = DenseRow.ELEMENTS * FLOAT_BYTES;

    /// @notice See IDisputeMoves.pickRow.
    function pickRow(
        bytes32,
        Cursor calldata c,
        OpFrame calldata op,
        OuterFrame calldata outer,
        OuterFacts calldata facts,
        bytes calldata header,
        uint64 row,
        RecordProof calldata slot
    ) external view returns (Cursor memory next) {
        c.expect(Stage.CHUNKS, true);
        if (c.height != 0) revert IDisputeErrors.WrongStage(c.stage);
        c.check(op.hash());
        bool known = outer.hash() == op.step && facts.hash() == outer.facts;
        if (!known) revert IDisputeErrors.WrongFrame();
        Header memory h = TraceRecords.header(header, op.program);
        if (!OuterTensors.isUpdate(h, outer.tree, op.primitive)) {
            revert IDisputeErrors.BadRecord(op.primitive);
        }
        StateRecord memory record = TraceRecords.state(h, slot);
        if (record.deltaOffset == 0) revert IDisputeErrors.BadRecord(slot.index);
        (next.index, next.height) = (row, _placeOf(c, record, row));
        OpFrame memory residual = op;
        // Below twice the number of parameters, which is a uint32 below 2^16.
        // forge-lint: disable-next-line(unsafe-typecast)
        residual.primitive = uint32(h.parameters + record.parameter);
        (residual.record, residual.shape) = (TraceRecords.stateDigest(slot.data), record.shape);
        (next.stage, next.leaves) = (Stage.ROW, uint64(OuterTensors.outerCount(h)));
        (next.node, next.twin, next.frame) = (c.node, facts.momentumAfter, residual.hash());
    }

    /// @notice See IDisputeMoves.postRow.
    function postRow(bytes32, Cursor calldata c, OpFrame calldata op, TensorProof calldata residual)
        external
        view
        returns (Cursor memory next)
    {
        c.expect(Stage.ROW, false);
        c.check(op.hash());
        MerkleSha256.verify(
            c.twin, op.primitive, c.leaves, op.shape.digest(residual.treeRoot), residual.path
        );
        uint256 total = op.shape.size();
        uint256 begin = c.index * ROW_BYTES;
        if (begin >= total) revert Operands.ElementOutside(c.index);
        uint256 length = total - begin < ROW_BYTES ? total - begin : ROW_BYTES;
        next = c;
        next.answered = true;
        next.twin = keccak256(Operands.range(residual, Span(0, total, begin, length)));
    }

    /// @dev The bits of an element among the residuals that were posted.
    function _inRow(Cursor calldata c, uint256 element, bytes calldata values)
        internal
        pure
        returns (uint256)
    {
        c.expect(Stage.ROW, true);
        if (keccak256(values) != c.twin) revert IDisputeErrors.WrongFrame();
        uint256 i = element % DenseRow.ELEMENTS;
        bool inside =
            element / DenseRow.ELEMENTS == c.index && FLOAT_BYTES * (i + 1) <= values.length;
        if (!inside) revert Operands.ElementOutside(element);
        return LittleEndian.element(values, i, FLOAT_BYTES);
    }

    /// @dev Which row of the cursor's chunk is number `row` of the parameter.
    function _placeOf(Cursor calldata c, StateRecord memory record, uint256 row)
        private
        pure
        returns (uint8)
    {
        if (row >= DeltaRows.count(record.shape.count())) revert Operands.ElementOutside(row);
        (uint256 chunk, uint256 place) =
            DeltaRows.placeOf(DeltaRows.rowOf(record.deltaOffset) + row);
        if (chunk != c.index) revert Operands.ElementOutside(row);
        // Below 31.
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint8(place);
    }
}
