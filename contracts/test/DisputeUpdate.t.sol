// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    IDisputeErrors,
    OpFrame,
    OuterFacts,
    OuterFrame,
    Pick,
    RecordProof,
    Stage,
    TensorProof
} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {DenseSample} from "./support/DenseSample.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {RowPick, UpdateFixture} from "./support/UpdateFixture.sol";
import {UpdateRun, UpdateSample} from "./support/UpdateSample.sol";

/// The way down to a row of an update, and to its residuals.
contract DisputeUpdateTest is UpdateFixture {
    bytes4 private constant WRONG_FRAME = IDisputeErrors.WrongFrame.selector;
    bytes4 private constant WRONG_STAGE = IDisputeErrors.WrongStage.selector;
    bytes4 private constant BAD_RECORD = IDisputeErrors.BadRecord.selector;
    bytes4 private constant MISMATCH = MerkleSha256.RootMismatch.selector;
    bytes4 private constant BAD_LENGTH = MerkleSha256.BadProofLength.selector;
    bytes4 private constant OUTSIDE = Operands.ElementOutside.selector;

    /// The last row of the first parameter that lies in the first chunk, its last row, and the second parameter's.
    uint256 private constant ROW = 29;
    uint256 private constant LAST = 30;

    function test_theOuterStateHasResidualsAndAnUpdate() public view {
        OuterFacts memory facts = _facts(_right());
        bytes memory header = UpdateSample.header();
        OuterFrame memory frame = _frame(facts, 0);
        Cursor memory c;
        (c.stage, c.answered, c.frame) = (Stage.OUTER, true, keccak256(abi.encode(frame)));
        uint256[3] memory leaves = [uint256(2), 5, 7];
        bytes32[3] memory nodes = [facts.finalStateRoot, facts.momentumAfter, frame.stateRoot];
        for (uint8 tree = 1; tree <= 3; ++tree) {
            Cursor memory next = _rules.pickOuter(0, c, frame, facts, header, tree);
            assertEq(next.leaves, leaves[tree - 1], "leaves");
            assertEq(next.node, nodes[tree - 1], "node");
            assertEq(next.frame, keccak256(abi.encode(_frame(facts, tree))), "frame");
        }
    }

    function test_aTensorIsAMomentumAResidualOrTheUpdate() public {
        UpdateRun memory right = _right();
        OuterFrame memory frame = _frame(_facts(right), OUTER);
        bytes32[] memory leaves = DisputeTrees.tensorRoots(right.outerAfter);
        Cursor memory c = _atLeaves(frame, leaves);
        for (uint256 i = 0; i < 5; ++i) {
            RecordProof memory slot;
            if (i < UPDATE) slot = _slot(i % 2);
            Cursor memory next = _rules.pickOuterTensor(
                0, c, frame, UpdateSample.header(), _pickOf(leaves, i), slot
            );
            assertEq(next.frame, keccak256(abi.encode(_opOf(frame, i))), "frame");
            assertEq(next.leaves, (right.outerAfter[i].data.length + 1023) / 1024, "chunks");
            assertEq(next.node, leaves[i], "node");
        }
        // Another parameter's record, and one where there is none.
        _refusedTensor(c, frame, _pickOf(leaves, 2), _slot(1), _with(BAD_RECORD, 1));
        _refusedTensor(c, frame, _pickOf(leaves, 3), _slot(0), _with(BAD_RECORD, 0));
        _refusedTensor(c, frame, _pickOf(leaves, 2), _slot(2), _with(BAD_RECORD, 2));
        _refusedTensor(c, frame, _pickOf(leaves, UPDATE), _slot(0), _with(BAD_RECORD, 0));
        RecordProof memory none;
        _refusedTensor(c, frame, _pickOf(leaves, 2), none, abi.encodePacked(BAD_LENGTH));
    }

    function test_aStateIsComparedWithTheOuterState() public {
        UpdateRun memory right = _right();
        OuterFacts memory facts = _facts(right);
        OuterFrame memory frame = _frame(facts, 3);
        bytes32[] memory outer = DisputeTrees.tensorRoots(right.outerAfter);
        bytes32[] memory state = new bytes32[](7);
        for (uint256 i = 0; i < 7; ++i) {
            state[i] = i < 2 ? DisputeTrees.tensorRoot(right.baseAfter[i]) : outer[i - 2];
        }
        state[6] = keccak256("another update");
        Cursor memory c = _atLeaves(frame, state);
        bytes memory header = UpdateSample.header();
        (Pick memory leaf, Pick memory source) = (_pickOf(state, 6), _pickOf(outer, 4));
        _proofs.proveOuterSlot(0, c, frame, facts, header, leaf, source);
        source = _pickOf(outer, 3);
        vm.expectRevert(_with(BAD_RECORD, 3));
        _proofs.proveOuterSlot(0, c, frame, facts, header, leaf, source);
        (leaf, source) = (_pickOf(state, 4), _pickOf(outer, 2));
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _proofs.proveOuterSlot(0, c, frame, facts, header, leaf, source);
    }

    /// The update has no elements of four bytes: an asserter could post no column of them.
    function test_noColumnMakesAnUpdate() public {
        UpdateRun memory right = _right();
        OuterFrame memory frame = _frame(_facts(right), OUTER);
        OpFrame memory op = _opOf(frame, UPDATE);
        Cursor memory c = _atChunk(right.outerAfter[UPDATE], op, 0);
        bytes memory chunk = _chunkOfRow(right, 0, 0);
        vm.expectRevert(_with(BAD_RECORD, UPDATE));
        _rules.pickElement(0, c, op, frame, 9, chunk);
    }

    function test_aRowIsPicked() public view {
        UpdateRun memory right = _right();
        uint256[3] memory parameters = [uint256(0), 0, 1];
        uint256[3] memory rows = [ROW, LAST, 0];
        uint8[3] memory places = [30, 0, 1];
        for (uint256 k = 0; k < 3; ++k) {
            (Cursor memory c, OpFrame memory op) = _atRow(right, parameters[k], rows[k]);
            assertEq(c.stage, Stage.ROW, "stage");
            assertTrue(!c.answered, "answered");
            assertEq(c.index, rows[k], "index");
            assertEq(c.height, places[k], "place");
            assertEq(c.leaves, 5, "leaves");
            assertEq(c.twin, _facts(right).momentumAfter, "twin");
            assertEq(c.frame, keccak256(abi.encode(op)), "frame");
        }
    }

    function test_aRowIsOneOfThePostedChunk() public {
        RowPick memory to = _rowPick(_right(), 0);
        // In the other chunk; of no parameter; behind the parameter's last one.
        _refusedRow(to, LAST, 0, _with(OUTSIDE, LAST));
        _refusedRow(to, 0, 2, _with(BAD_RECORD, 2));
        _refusedRow(to, 31, 0, _with(OUTSIDE, 31));
        _refusedRow(to, 1, 1, _with(OUTSIDE, 1));
        _refusedRow(to, type(uint64).max, 0, _with(OUTSIDE, type(uint64).max));
        // A record that is not the program's.
        (to.row, to.slot) = (uint64(ROW), _slot(0));
        to.slot.data[2] ^= 0x01;
        vm.expectPartialRevert(MISMATCH);
        _picked(to);
    }

    function test_aRowIsPickedInTheCursorsFrames() public {
        RowPick memory to = _rowPick(_right(), 0);
        to.facts.baseRoot ^= bytes32(uint256(1));
        _refusedRow(to, ROW, 0, abi.encodePacked(WRONG_FRAME));
        to.facts.baseRoot ^= bytes32(uint256(1));
        to.frame.tree = 1;
        _refusedRow(to, ROW, 0, abi.encodePacked(WRONG_FRAME));
        to.frame.tree = 2;
        to.op.primitive = 3;
        _refusedRow(to, ROW, 0, abi.encodePacked(WRONG_FRAME));
        to.op.primitive = 4;
        to.c.answered = false;
        _refusedRow(to, ROW, 0, _with(WRONG_STAGE, Stage.CHUNKS));
        (to.c.answered, to.c.height) = (true, 1);
        _refusedRow(to, ROW, 0, _with(WRONG_STAGE, Stage.CHUNKS));
        (to.c.height, to.c.stage) = (0, Stage.OUTER_STATE);
        _refusedRow(to, ROW, 0, _with(WRONG_STAGE, Stage.OUTER_STATE));
    }

    function test_noOtherTensorHasRows() public {
        UpdateRun memory right = _right();
        RowPick memory to = _rowPick(right, 0);
        for (uint256 number = 0; number < UPDATE; ++number) {
            to.op = _opOf(to.frame, number);
            to.c = _atChunk(right.outerAfter[number], to.op, 0);
            _refusedRow(to, ROW, 0, _with(BAD_RECORD, number));
        }
    }

    function test_residualsArePosted() public view {
        UpdateRun memory right = _right();
        uint256[3] memory parameters = [uint256(0), 0, 1];
        uint256[3] memory rows = [ROW, LAST, 0];
        uint256[3] memory lengths = [uint256(256), 20, 36];
        for (uint256 k = 0; k < 3; ++k) {
            (Cursor memory c,) = _atRow(right, parameters[k], rows[k]);
            (Cursor memory next, bytes memory values) = _atPostedRow(right, parameters[k], rows[k]);
            assertEq(values.length, lengths[k], "length");
            (c.answered, c.twin) = (true, keccak256(values));
            assertEq(keccak256(abi.encode(next)), keccak256(abi.encode(c)), "cursor");
        }
    }

    function test_residualsAreTheOuterStates() public {
        UpdateRun memory right = _right();
        (Cursor memory c, OpFrame memory op) = _atRow(right, 0, ROW);
        TensorProof memory proof = UpdateSample.proof(right.outerAfter, 2, 256 * ROW);
        proof.chunks[0].content[5] ^= 0x01;
        _refusedPost(c, op, proof, abi.encodePacked(MISMATCH));
        // Of another row's chunk, of the momentum, of the outer state before.
        proof = UpdateSample.proof(right.outerAfter, 2, 0);
        _refusedPost(c, op, proof, _with(MerkleSha256.BadChunk.selector, 1024));
        proof = UpdateSample.proof(right.outerAfter, 0, 256 * ROW);
        _refusedPost(c, op, proof, abi.encodePacked(MISMATCH));
        proof = UpdateSample.proof(right.outer, 2, 256 * ROW);
        _refusedPost(c, op, proof, abi.encodePacked(MISMATCH));
        proof = UpdateSample.proof(right.outerAfter, 2, 256 * ROW);
        proof.path = new bytes32[](2);
        _refusedPost(c, op, proof, abi.encodePacked(MerkleSha256.BadProofLength.selector));
        proof = UpdateSample.proof(right.outerAfter, 2, 256 * ROW);
        OpFrame memory other = op;
        other.primitive = 3;
        _refusedPost(c, other, proof, abi.encodePacked(WRONG_FRAME));
        other.primitive = 2;
        c.answered = true;
        _refusedPost(c, op, proof, _with(WRONG_STAGE, Stage.ROW));
        (c.answered, c.stage) = (false, Stage.CHUNKS);
        _refusedPost(c, op, proof, _with(WRONG_STAGE, Stage.CHUNKS));
    }

    /// A posted row leads to the same column as the residual's tensor does.
    function test_anElementOfAPostedRow() public {
        UpdateRun memory right = _right();
        (Cursor memory c, bytes memory values) = _atPostedRow(right, 0, LAST);
        OuterFrame memory frame = _frame(_facts(right), OUTER);
        OpFrame memory op = _opOf(frame, 2);
        Cursor memory next = _rules.pickElement(0, c, op, frame, 1924, values);
        Cursor memory chunk = _atChunk(right.outerAfter[2], op, 7);
        bytes memory content = DisputeTrees.chunk(right.outerAfter[2].data, 7);
        Cursor memory same = _rules.pickElement(0, chunk, op, frame, 1924, content);
        assertEq(keccak256(abi.encode(next)), keccak256(abi.encode(same)), "cursor");
        assertEq(next.leaves, 3, "deltas");
        vm.expectRevert(_with(OUTSIDE, 1925));
        _rules.pickElement(0, c, op, frame, 1925, values);
        vm.expectRevert(_with(OUTSIDE, 1919));
        _rules.pickElement(0, c, op, frame, 1919, values);
        values[3] ^= 0x01;
        vm.expectRevert(WRONG_FRAME);
        _rules.pickElement(0, c, op, frame, 1924, values);
        values[3] ^= 0x01;
        frame.held = 1;
        vm.expectRevert(WRONG_FRAME);
        _rules.pickElement(0, c, op, frame, 1924, values);
        frame.held = 0;
        c.answered = false;
        vm.expectRevert(_with(WRONG_STAGE, Stage.ROW));
        _rules.pickElement(0, c, op, frame, 1924, values);
    }

    /// Codec 2 of updates is none, and so is an update of deltas without rows.
    function test_headersNameKnownCodecs() public {
        bytes[4] memory codecs = [
            bytes(hex"00020001"), bytes(hex"00010000"), bytes(hex"00010002"), bytes(hex"01010001")
        ];
        for (uint256 i = 0; i < codecs.length; ++i) {
            bytes memory header = UpdateSample.header();
            for (uint256 b = 0; b < 4; ++b) {
                header[204 + b] = codecs[i][b];
            }
            OuterFacts memory facts = _facts(_right());
            OuterFrame memory frame = _frame(facts, 0);
            frame.program = sha256(abi.encodePacked("gym.trace_program.v1", header));
            Cursor memory c;
            (c.stage, c.answered, c.frame) = (Stage.OUTER, true, keccak256(abi.encode(frame)));
            vm.expectRevert(_with(IDisputeErrors.Malformed.selector, 204));
            _rules.pickOuter(0, c, frame, facts, header, 1);
        }
    }

    // --- helpers ---

    /// At the root of a tree, whose leaves are posted.
    function _atLeaves(OuterFrame memory frame, bytes32[] memory leaves)
        private
        pure
        returns (Cursor memory c)
    {
        (c.stage, c.answered, c.leaves) = (Stage.OUTER_STATE, true, uint64(leaves.length));
        (c.height, c.node) = (uint8(DisputeTrees.depthOf(leaves.length)), DisputeTrees.root(leaves));
        c.frame = keccak256(abi.encode(frame));
    }

    function _pickOf(bytes32[] memory leaves, uint256 i) private pure returns (Pick memory to) {
        (to.index, to.node, to.path) = (uint64(i), leaves[i], DisputeTrees.path(leaves, i));
    }

    function _with(bytes4 error_, uint256 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(error_, value);
    }

    function _expect(bytes memory reason) private {
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
    }

    function _refusedTensor(
        Cursor memory c,
        OuterFrame memory frame,
        Pick memory to,
        RecordProof memory slot,
        bytes memory reason
    ) private {
        bytes memory header = UpdateSample.header();
        _expect(reason);
        _rules.pickOuterTensor(0, c, frame, header, to, slot);
    }

    function _refusedRow(RowPick memory to, uint256 row, uint256 slot, bytes memory reason)
        private
    {
        (to.row, to.slot) = (uint64(row), _slot(slot));
        _expect(reason);
        _picked(to);
    }

    function _refusedPost(
        Cursor memory c,
        OpFrame memory op,
        TensorProof memory proof,
        bytes memory reason
    ) private {
        _expect(reason);
        _rules.postRow(0, c, op, proof);
    }
}
