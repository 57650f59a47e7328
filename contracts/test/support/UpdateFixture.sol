// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    OpFrame,
    OuterFacts,
    OuterFrame,
    RecordProof,
    Stage,
    TensorProof,
    UpdateProof
} from "../../src/dispute/DisputeTypes.sol";
import {OuterProofs} from "../../src/dispute/OuterProofs.sol";
import {OuterRules} from "../../src/dispute/OuterRules.sol";
import {DenseSample} from "./DenseSample.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";
import {TestBase} from "./TestBase.sol";
import {UpdateRun, UpdateSample} from "./UpdateSample.sol";

/// The arguments of pickRow() beside the game.
struct RowPick {
    Cursor c;
    OpFrame op;
    OuterFrame frame;
    OuterFacts facts;
    bytes header;
    uint64 row;
    RecordProof slot;
}

/// Cursors and moves of games about an aggregate with an update. `_theirs` is what the asserter committed to, `_right` what the step gives.
abstract contract UpdateFixture is TestBase {
    uint256 internal constant OUTER = 2;
    uint256 internal constant BASE = 1;
    uint256 internal constant UPDATE = 4;

    OuterRules internal _rules;
    OuterProofs internal _proofs;
    bytes private _run;

    function setUp() public virtual {
        (_rules, _proofs) = (new OuterRules(), new OuterProofs());
        _run = abi.encode(UpdateSample.run());
    }

    function _right() internal view returns (UpdateRun memory) {
        return abi.decode(_run, (UpdateRun));
    }

    function _facts(UpdateRun memory theirs) internal view returns (OuterFacts memory f) {
        UpdateRun memory right = _right();
        f.finalStateRoot = DisputeTrees.root(DisputeTrees.tensorRoots(theirs.baseAfter));
        f.momentumAfter = DisputeTrees.root(DisputeTrees.tensorRoots(theirs.outerAfter));
        f.baseRoot = DisputeTrees.root(DisputeTrees.tensorRoots(right.base));
        f.momentumRoot = DisputeTrees.root(DisputeTrees.tensorRoots(right.outer));
        (f.recordsRoot, f.traceRoot) = (keccak256("records"), UpdateSample.traceRoot());
    }

    function _frame(OuterFacts memory facts, uint256 tree)
        internal
        pure
        returns (OuterFrame memory f)
    {
        (f.facts, f.program) = (keccak256(abi.encode(facts)), UpdateSample.traceRoot());
        (f.deltas, f.stateRoot, f.tree) = (3, keccak256("state"), uint8(tree));
    }

    /// Of tensor `number` of the tree.
    function _opOf(OuterFrame memory frame, uint256 number)
        internal
        pure
        returns (OpFrame memory op)
    {
        (op.step, op.program) = (keccak256(abi.encode(frame)), UpdateSample.traceRoot());
        (op.leaf, op.primitive) = (type(uint32).max, uint32(number));
        if (number == UPDATE) {
            op.shape = DisputeTrees.shapeOf(5, DenseSample.BYTES);
            return op;
        }
        op.shape = DisputeTrees.shapeOf(1, UpdateSample.elements(number % 2));
        op.record = sha256(abi.encodePacked("gym.state_slot.v1", _slot(number % 2).data));
    }

    function _slot(uint256 i) internal pure returns (RecordProof memory) {
        return DenseSample.slotProof(UpdateSample.program(), i);
    }

    /// At a posted chunk.
    function _atChunk(Tensor memory t, OpFrame memory op, uint256 chunk)
        internal
        pure
        returns (Cursor memory c)
    {
        (c.stage, c.answered, c.index) = (Stage.CHUNKS, true, uint64(chunk));
        c.leaves = uint64((t.data.length + 1023) / 1024);
        (c.node, c.frame) = (DisputeTrees.chunkLeaves(t.data)[chunk], keccak256(abi.encode(op)));
    }

    /// At a row whose residuals are due.
    function _atRow(UpdateRun memory theirs, uint256 p, uint256 row)
        internal
        view
        returns (Cursor memory c, OpFrame memory op)
    {
        RowPick memory to = _rowPick(theirs, UpdateSample.beginOf(p, row) / 1024);
        (to.row, to.slot) = (uint64(row), _slot(p));
        (c, op) = (_picked(to), _opOf(to.frame, 2 + p));
    }

    /// At a posted chunk of the update.
    function _rowPick(UpdateRun memory theirs, uint256 chunk)
        internal
        view
        returns (RowPick memory to)
    {
        (to.facts, to.header) = (_facts(theirs), UpdateSample.header());
        to.frame = _frame(to.facts, OUTER);
        to.op = _opOf(to.frame, UPDATE);
        to.c = _atChunk(theirs.outerAfter[UPDATE], to.op, chunk);
    }

    function _picked(RowPick memory to) internal view returns (Cursor memory) {
        return _rules.pickRow(0, to.c, to.op, to.frame, to.facts, to.header, to.row, to.slot);
    }

    /// At a row whose residuals, `values`, are posted.
    function _atPostedRow(UpdateRun memory theirs, uint256 p, uint256 row)
        internal
        view
        returns (Cursor memory c, bytes memory values)
    {
        OpFrame memory op;
        (c, op) = _atRow(theirs, p, row);
        c = _rules.postRow(0, c, op, UpdateSample.proof(theirs.outerAfter, 2 + p, 256 * row));
        values = _valuesOf(theirs, p, row);
    }

    function _valuesOf(UpdateRun memory r, uint256 p, uint256 row)
        internal
        pure
        returns (bytes memory values)
    {
        (, uint256 first, uint256 count) = UpdateSample.rowOf(r, p, row);
        values = _part(r.outerAfter[2 + p].data, 4 * first, 4 * count);
    }

    function _part(bytes memory data, uint256 begin, uint256 length)
        internal
        pure
        returns (bytes memory part)
    {
        part = new bytes(length);
        for (uint256 i = 0; i < length; ++i) {
            part[i] = data[begin + i];
        }
    }

    function _chunkOfRow(UpdateRun memory r, uint256 p, uint256 row)
        internal
        pure
        returns (bytes memory)
    {
        return DisputeTrees.chunk(r.outerAfter[UPDATE].data, UpdateSample.beginOf(p, row) / 1024);
    }

    /// At the column of a residual's element, and what decides it.
    function _atColumn(UpdateRun memory theirs, uint256 p, uint256 i)
        internal
        view
        returns (Cursor memory c, UpdateProof memory proof)
    {
        proof = _proofOf(theirs, OUTER, 2 + p, i);
        bytes memory chunk = DisputeTrees.chunk(theirs.outerAfter[2 + p].data, 4 * i / 1024);
        c = _atChunk(theirs.outerAfter[2 + p], proof.op, 4 * i / 1024);
        c = _rules.pickElement(0, c, proof.op, proof.outer, uint64(i), chunk);
        proof.posted = _part(theirs.column[p], 12 * i, 12);
        c = _rules.postColumn(0, c, proof.posted);
        proof.operands = new TensorProof[](3);
        proof.operands[0] = UpdateSample.proof(theirs.outer, p, 4 * i);
        proof.operands[1] = UpdateSample.proof(theirs.outer, 2 + p, 4 * i);
        proof.operands[2] =
            UpdateSample.proof(theirs.outerAfter, UPDATE, UpdateSample.beginOf(p, i / 64));
    }

    /// At the posted chunk of the base that has an element.
    function _atBase(UpdateRun memory theirs, uint256 p, uint256 i)
        internal
        view
        returns (Cursor memory c, UpdateProof memory proof)
    {
        proof = _proofOf(theirs, BASE, p, i);
        c = _atChunk(theirs.baseAfter[p], proof.op, 4 * i / 1024);
        proof.posted = DisputeTrees.chunk(theirs.baseAfter[p].data, 4 * i / 1024);
        proof.operands = new TensorProof[](2);
        proof.operands[0] = UpdateSample.proof(theirs.base, p, 4 * i);
        proof.operands[1] =
            UpdateSample.proof(theirs.outerAfter, UPDATE, UpdateSample.beginOf(p, i / 64));
    }

    /// At the posted chunk of the update that has a byte.
    function _atByte(UpdateRun memory theirs, uint256 byte_)
        internal
        view
        returns (Cursor memory c, UpdateProof memory proof)
    {
        proof = _proofOf(theirs, OUTER, UPDATE, byte_);
        proof.record = "";
        c = _atChunk(theirs.outerAfter[UPDATE], proof.op, byte_ / 1024);
        proof.posted = DisputeTrees.chunk(theirs.outerAfter[UPDATE].data, byte_ / 1024);
    }

    function _proofOf(UpdateRun memory theirs, uint256 tree, uint256 number, uint256 i)
        private
        view
        returns (UpdateProof memory proof)
    {
        proof.facts = _facts(theirs);
        proof.outer = _frame(proof.facts, tree);
        proof.op = _opOf(proof.outer, number);
        (proof.header, proof.element) = (UpdateSample.header(), uint64(i));
        proof.record = _slot(number % 2).data;
    }
}
