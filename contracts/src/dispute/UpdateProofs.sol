// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DenseRow} from "../numerics/DenseRow.sol";
import {Float32} from "../numerics/Float32.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {OuterStep} from "../numerics/OuterStep.sol";
import {ColumnParts} from "./ColumnParts.sol";
import {DeltaElements} from "./DeltaElements.sol";
import {DeltaRows} from "./DeltaRows.sol";
import {
    Cursor,
    Finding,
    Frames,
    IDisputeErrors,
    OpFrame,
    OuterFacts,
    OuterFrame,
    Stage,
    TensorProof,
    UpdateProof
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Element, Operands, Span} from "./Operands.sol";
import {OuterTensors} from "./OuterTensors.sol";
import {Header, Shapes, StateRecord, TraceRecords} from "./TraceRecords.sol";

/// @title The leaves of a dispute about an update
/// @notice docs/adr/0014-update-rows.md: a row is what its elements and residuals together make; a residual is what the row leaves of the step;
/// an element of the base is the one before and the row's. Where all three hold everywhere, all is right. As TreeRules: pure, with the arguments of
/// IDisputeMoves; all revert with NoFault where both sides are equal.
abstract contract UpdateProofs {
    using Frames for Cursor;
    using Frames for OpFrame;
    using Frames for OuterFacts;
    using Frames for OuterFrame;
    using Shapes for uint256;

    uint256 private constant FLOAT_BYTES = 4;
    uint256 private constant BYTE = 1;

    /// @notice See IDisputeMoves.proveRow.
    function proveRow(
        bytes32,
        Cursor calldata c,
        uint8 place,
        bytes calldata chunk,
        bytes calldata residuals
    ) external view returns (Finding memory) {
        c.expect(Stage.ROW, true);
        if (keccak256(residuals) != c.twin) revert IDisputeErrors.WrongFrame();
        bytes32 leaf = MerkleSha256.chunkLeaf(chunk);
        if (leaf != c.node) revert MerkleSha256.RootMismatch(leaf, c.node);
        uint256 begin = DenseRow.BYTES * uint256(c.height);
        bool inside = place < DenseRow.BYTES && begin + DenseRow.BYTES <= chunk.length;
        if (!inside) revert Operands.ElementOutside(place);
        bytes memory row = chunk[begin:begin + DenseRow.BYTES];
        uint256 computed = DenseRow.encoded(_sums(row, residuals), place);
        return _compared(place, bytes32(uint256(uint8(row[place]))), bytes32(computed));
    }

    /// @notice See IDisputeMoves.proveUpdate.
    function proveUpdate(bytes32, Cursor calldata c, UpdateProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        c.check(proof.op.hash());
        bool known = proof.outer.hash() == proof.op.step && proof.facts.hash() == proof.outer.facts;
        if (!known) revert IDisputeErrors.WrongFrame();
        Header memory h = TraceRecords.header(proof.header, proof.op.program);
        if (c.stage == Stage.COLUMN) return _residual(c, h, proof);
        c.expect(Stage.CHUNKS, true);
        if (c.height != 0) revert IDisputeErrors.WrongStage(c.stage);
        bool base = h.updateCodec != 0 && proof.outer.tree == OuterTensors.BASE;
        uint256 size = base ? FLOAT_BYTES : BYTE;
        Element memory e = Element(proof.op.shape, proof.element, size);
        uint256 claimed = Operands.claimed(c, e, proof.posted);
        uint256 computed = base ? _base(h, proof) : _byte(h, proof);
        return _compared(proof.element, bytes32(claimed), bytes32(computed));
    }

    /// @dev What the element of the update leaves of the step.
    function _residual(Cursor calldata c, Header memory h, UpdateProof calldata proof)
        private
        view
        returns (Finding memory)
    {
        c.expect(Stage.COLUMN, true);
        ColumnParts.check(c, proof.outer, proof.posted);
        uint256 number = proof.op.primitive;
        bool legal =
            OuterTensors.isResidual(h, proof.outer.tree, number) && proof.element == c.index;
        if (!legal) revert IDisputeErrors.BadRecord(number);
        _expect(proof, 3);
        bytes32 state = proof.facts.momentumRoot;
        uint256 momentum = _before(state, h, proof, 0, number - h.parameters);
        uint256 residual = _before(state, h, proof, 1, number);
        uint256 mean = OuterStep.mean(proof.posted, proof.outer.deltas, proof.outer.held);
        momentum = OuterStep.momentum(momentum, h.outerMomentum, mean);
        uint256 step = OuterStep.parameter(residual, h.outerRate, h.outerMomentum, momentum, mean);
        uint256 computed = Float32.sub(step, _decoded(h, proof, proof.operands[2]));
        return _compared(c.index, c.node, bytes32(computed));
    }

    /// @dev The element of the next base.
    function _base(Header memory h, UpdateProof calldata proof) private view returns (uint256) {
        _expect(proof, 2);
        TensorProof calldata given = proof.operands[0];
        MerkleSha256.verify(
            proof.facts.baseRoot,
            proof.op.primitive,
            h.parameters,
            proof.op.shape.digest(given.treeRoot),
            given.path
        );
        uint256 base = Operands.word(Operands.range(given, _span(proof, 0)));
        return Float32.add(base, _decoded(h, proof, proof.operands[1]));
    }

    /// @dev A byte of the update that no parameter's row has.
    function _byte(Header memory h, UpdateProof calldata proof) private pure returns (uint256) {
        _expect(proof, 0);
        bool legal = OuterTensors.isUpdate(h, proof.outer.tree, proof.op.primitive)
            && proof.record.length == 0;
        if (!legal) revert IDisputeErrors.BadRecord(proof.op.primitive);
        if (proof.element < TraceRecords.deltaHeadBytes(h)) {
            return DeltaElements.head(h, proof.element);
        }
        if (!DeltaRows.isPadding(proof.element)) revert Operands.ElementOutside(proof.element);
        return 0;
    }

    /// @dev The update's element: out of its row, whatever bytes that has.
    function _decoded(Header memory h, UpdateProof calldata proof, TensorProof calldata update)
        private
        view
        returns (uint256)
    {
        if (TraceRecords.stateDigest(proof.record) != proof.op.record) {
            revert IDisputeErrors.BadRecord(proof.op.primitive);
        }
        StateRecord memory slot = TraceRecords.stateRecord(h, proof.record);
        OuterTensors.verify(
            proof.facts.momentumAfter, h, 2 * h.parameters, TraceRecords.deltaShape(h), update
        );
        return DeltaRows.element(h.deltaBytes, slot.deltaOffset, proof.element, update);
    }

    /// @dev Element of tensor `number` of the outer state before.
    function _before(
        bytes32 state,
        Header memory h,
        UpdateProof calldata proof,
        uint256 operand,
        uint256 number
    ) private view returns (uint256) {
        TensorProof calldata given = proof.operands[operand];
        OuterTensors.verify(state, h, number, proof.op.shape, given);
        return Operands.word(Operands.range(given, _span(proof, operand)));
    }

    /// @dev Where an operand of the tensor's own shape has the element.
    function _span(UpdateProof calldata proof, uint256 operand) private pure returns (Span memory) {
        uint256 begin = FLOAT_BYTES * uint256(proof.element);
        return Span(operand, proof.op.shape.size(), begin, FLOAT_BYTES);
    }

    function _expect(UpdateProof calldata proof, uint256 operands) private pure {
        uint256 brought = proof.operands.length;
        if (brought != operands) revert Operands.WrongChunks(0, brought, operands);
    }

    /// @dev What each element of the row and its residual make; behind the parameter's last one 0.
    function _sums(bytes memory row, bytes calldata residuals)
        private
        pure
        returns (uint256[] memory x)
    {
        x = new uint256[](DenseRow.ELEMENTS);
        uint256 count = residuals.length / FLOAT_BYTES;
        for (uint256 i = 0; i < count; ++i) {
            uint256 residual = LittleEndian.element(residuals, i, FLOAT_BYTES);
            x[i] = Float32.add(DenseRow.element(row, i), residual);
        }
    }

    function _compared(uint256 element, bytes32 claimed, bytes32 computed)
        private
        pure
        returns (Finding memory)
    {
        if (claimed == computed) revert IDisputeErrors.NoFault();
        return Finding(element, claimed, computed);
    }
}
