// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {LittleEndian} from "../numerics/LittleEndian.sol";
import {OuterStep} from "../numerics/OuterStep.sol";
import {ColumnParts} from "./ColumnParts.sol";
import {DeltaRows} from "./DeltaRows.sol";
import {Descent} from "./Descent.sol";
import {
    ColumnProof,
    Cursor,
    Finding,
    Frames,
    IDisputeErrors,
    OpFrame,
    OuterFacts,
    OuterFrame,
    OuterProof,
    Pick,
    Stage,
    TensorProof
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Operands, Span} from "./Operands.sol";
import {OuterTensors} from "./OuterTensors.sol";
import {Header, Shapes, StateRecord, TraceRecords} from "./TraceRecords.sol";
import {UpdateProofs} from "./UpdateProofs.sol";

/// @title The leaves of a dispute about an aggregate: a value of a delta, an element of the result, or a tensor of the record's state
/// @notice As TreeRules: pure, with the arguments of IDisputeMoves. All revert with NoFault where both sides are equal.
contract OuterProofs is UpdateProofs {
    using Frames for Cursor;
    using Frames for OpFrame;
    using Frames for OuterFacts;
    using Frames for OuterFrame;
    using Shapes for uint256;

    uint256 private constant FLOAT_BYTES = 4;

    /// @notice See IDisputeMoves.proveColumn.
    function proveColumn(bytes32, Cursor calldata c, ColumnProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        _enterPosted(c, proof.op, proof.outer, proof.values);
        // What parts of a column add is no value of a delta.
        if (c.stage == Stage.COLUMN && OuterStep.parts(c.leaves) != 0) {
            revert IDisputeErrors.WrongStage(c.stage);
        }
        Header memory h = TraceRecords.header(proof.header, proof.op.program);
        StateRecord memory slot = TraceRecords.state(h, proof.slot);
        if (TraceRecords.stateDigest(proof.slot.data) != proof.op.record) {
            revert IDisputeErrors.BadRecord(proof.slot.index);
        }
        bytes32 digest = TraceRecords.deltaShape(h).digest(proof.delta.treeRoot);
        MerkleSha256.verify(
            proof.outer.deltasRoot, proof.position, proof.outer.deltas, digest, proof.delta.path
        );
        uint256 first = ColumnParts.firstOf(c);
        bool inside =
            proof.position >= first && FLOAT_BYTES * (proof.position - first) < proof.values.length;
        if (!inside) revert Operands.ElementOutside(proof.position);
        uint256 computed = h.deltaCodec == TraceRecords.DENSE
            ? DeltaRows.element(h.deltaBytes, slot.deltaOffset, c.index, proof.delta)
            : _word(h, slot.deltaOffset, c.index, proof.delta);
        uint256 claimed = LittleEndian.element(proof.values, proof.position - first, FLOAT_BYTES);
        return _unequal(proof.position, bytes32(claimed), bytes32(computed));
    }

    /// @notice See IDisputeMoves.provePart.
    function provePart(
        bytes32,
        Cursor calldata c,
        OpFrame calldata op,
        OuterFrame calldata outer,
        bytes calldata values
    ) external pure returns (Finding memory) {
        if (c.stage != Stage.PART) {
            revert IDisputeErrors.WrongStage(c.stage);
        }
        _enterPosted(c, op, outer, values);
        return ColumnParts.fault(c, values, outer.held);
    }

    /// @notice See IDisputeMoves.proveOuter.
    function proveOuter(bytes32, Cursor calldata c, OuterProof calldata proof)
        external
        view
        returns (Finding memory)
    {
        c.expect(Stage.COLUMN, true);
        _enterPosted(c, proof.op, proof.outer, proof.values);
        if (proof.facts.hash() != proof.outer.facts) revert IDisputeErrors.WrongFrame();
        Header memory h = TraceRecords.header(proof.header, proof.op.program);
        bool isBase = proof.outer.tree == OuterTensors.BASE;
        // What an update moves or leaves is UpdateProofs'.
        bool legal = proof.op.primitive < h.parameters && (h.updateCodec == 0 || !isBase);
        if (!legal) revert IDisputeErrors.BadRecord(proof.op.primitive);
        Span memory span = Span(0, proof.op.shape.size(), FLOAT_BYTES * c.index, FLOAT_BYTES);
        uint256 base = _before(proof.facts.baseRoot, h.parameters, proof, span);
        span.operand = 1;
        uint256 momentum =
            _before(proof.facts.momentumRoot, OuterTensors.outerCount(h), proof, span);
        uint256 mean = OuterStep.mean(proof.values, proof.outer.deltas, proof.outer.held);
        uint256 computed = OuterStep.momentum(momentum, h.outerMomentum, mean);
        if (isBase) {
            computed = OuterStep.parameter(base, h.outerRate, h.outerMomentum, computed, mean);
        }
        return _unequal(c.index, c.node, bytes32(computed));
    }

    /// @notice See IDisputeMoves.proveOuterSlot.
    function proveOuterSlot(
        bytes32,
        Cursor calldata c,
        OuterFrame calldata frame,
        OuterFacts calldata facts,
        bytes calldata header,
        Pick calldata leaf,
        Pick calldata source
    ) external view returns (Finding memory) {
        c.expect(Stage.OUTER_STATE, true);
        c.check(frame.hash());
        if (frame.tree != OuterTensors.BOTH) revert IDisputeErrors.BadRecord(frame.tree);
        if (facts.hash() != frame.facts) revert IDisputeErrors.WrongFrame();
        Descent.leafBelow(c, c.node, leaf.index, leaf.node, leaf.path);
        Header memory h = TraceRecords.header(header, frame.program);
        bool first = leaf.index < h.parameters;
        uint256 index = first ? leaf.index : leaf.index - h.parameters;
        uint256 tensors = first ? h.parameters : OuterTensors.outerCount(h);
        if (source.index != index) revert IDisputeErrors.BadRecord(source.index);
        bytes32 root = first ? facts.finalStateRoot : facts.momentumAfter;
        MerkleSha256.verify(root, index, tensors, source.node, source.path);
        return _unequal(leaf.index, leaf.node, source.node);
    }

    /// @dev A posted column, or a part of one, whose frames are brought.
    function _enterPosted(
        Cursor calldata c,
        OpFrame calldata op,
        OuterFrame calldata outer,
        bytes calldata values
    ) private pure {
        bool posted = c.answered && (c.stage == Stage.COLUMN || c.stage == Stage.PART);
        if (!posted) revert IDisputeErrors.WrongStage(c.stage);
        c.check(op.hash());
        if (outer.hash() != op.step) revert IDisputeErrors.WrongFrame();
        ColumnParts.check(c, outer, values);
    }

    /// @dev Element `index` of the parameter at `begin`, in a delta of codec 0.
    function _word(Header memory h, uint256 begin, uint256 index, TensorProof calldata delta)
        private
        view
        returns (uint256)
    {
        Span memory span = Span(0, h.deltaBytes, begin + FLOAT_BYTES * index, FLOAT_BYTES);
        return Operands.word(Operands.range(delta, span));
    }

    /// @dev The element before the step, of the parameter (operand 0) or of its momentum (1).
    function _before(bytes32 root, uint256 tensors, OuterProof calldata proof, Span memory span)
        private
        view
        returns (uint256)
    {
        TensorProof calldata given = span.operand == 0 ? proof.base : proof.momentum;
        bytes32 digest = proof.op.shape.digest(given.treeRoot);
        MerkleSha256.verify(root, proof.op.primitive, tensors, digest, given.path);
        return Operands.word(Operands.range(given, span));
    }

    function _unequal(uint256 element, bytes32 claimed, bytes32 computed)
        private
        pure
        returns (Finding memory)
    {
        if (claimed == computed) revert IDisputeErrors.NoFault();
        return Finding(element, claimed, computed);
    }
}
