// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    ColumnProof,
    Cursor,
    DeltaProof,
    ElementProof,
    IDisputeErrors,
    OpFrame,
    OuterFrame,
    OuterProof,
    Pick,
    RecordProof,
    SlotProof,
    Stage
} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// What is disputed of a result, and proofs that are none.
contract DisputeOuterProofsTest is OuterPlayer {
    bytes4 private constant WRONG_FRAME = IDisputeErrors.WrongFrame.selector;
    bytes4 private constant BAD_RECORD = IDisputeErrors.BadRecord.selector;
    bytes4 private constant MISMATCH = MerkleSha256.RootMismatch.selector;
    bytes4 private constant BAD_LENGTH = MerkleSha256.BadProofLength.selector;

    function setUp() public {
        _deployOuter();
    }

    function test_aTensorIsItsParameters() public {
        OuterPlay memory p = _to(Stage.OUTER_STATE);
        bytes32[] memory leaves = _treeOf(p, _wrong());
        bytes memory header = DisputeProgram.header();
        Pick memory to = _pickOf(leaves, 0);
        // The record of another parameter, and of what is none.
        _refusedTensor(p, header, to, DisputeProgram.slotProof(1), _with(BAD_RECORD, 1));
        _refusedTensor(p, header, to, DisputeProgram.slotProof(2), _with(BAD_RECORD, 2));
        RecordProof memory forged = DisputeProgram.slotProof(0);
        forged.data[2] ^= 0x01;
        _refusedTensor(p, header, to, forged, abi.encodePacked(MISMATCH));
        _refusedTensor(
            p, header, _pickOf(leaves, 1), DisputeProgram.slotProof(0), _with(BAD_RECORD, 0)
        );
        to.node = keccak256("another tensor");
        _refusedTensor(p, header, to, DisputeProgram.slotProof(0), abi.encodePacked(MISMATCH));
        to = _pickOf(leaves, 0);
        to.path = new bytes32[](0);
        _refusedTensor(p, header, to, DisputeProgram.slotProof(0), abi.encodePacked(BAD_LENGTH));
        header[70] ^= 0x01;
        to = _pickOf(leaves, 0);
        _refusedTensor(p, header, to, DisputeProgram.slotProof(0), abi.encodePacked(WRONG_FRAME));
        p.frame.tree = 2;
        header[70] ^= 0x01;
        _refusedTensor(p, header, to, DisputeProgram.slotProof(0), abi.encodePacked(WRONG_FRAME));
    }

    /// The record's state has tensors and no elements: they are the committed ones'.
    function test_theRecordsStateHasNoElements() public {
        OuterPlay memory p = _joint();
        bytes32[] memory state = _rightOuter().state;
        bytes memory header = DisputeProgram.header();
        RecordProof memory slot = DisputeProgram.slotProof(0);
        _refusedTensor(p, header, _pickOf(state, 0), slot, _with(BAD_RECORD, 3));
        OpFrame memory op;
        OuterFrame memory outer = _with(p.frame, 3);
        op.step = keccak256(abi.encode(outer));
        Cursor memory c;
        (c.stage, c.answered, c.frame) = (Stage.CHUNKS, true, keccak256(abi.encode(op)));
        vm.expectRevert(_with(BAD_RECORD, 3));
        _outer.pickElement(0, c, op, outer, 0, "");
    }

    /// A tree of four leaves is also gone down in two steps.
    function test_theRecordsStateIsPickedByLevels() public {
        OuterRun memory wrong = _rightOuter();
        wrong.state[2] = keccak256("another tensor");
        wrong.record = _outerRunner.recordOf(wrong);
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), 3);
        assertEq(p.c.height, 2, "height");
        Pick memory to;
        (to.index, to.node) = (1, DisputeTrees.nodes(wrong.state, 1)[1]);
        to.path = DisputeTrees.pathFrom(wrong.state, 1, 1, 2);
        (_mover, _ruler) = (CHALLENGER, address(_trees));
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, to));
        _sendOuter(p);
        _playOuter(p, wrong, _rightOuter(), 1);
        assertEq(p.c.height, 1, "height");
        Pick memory leaf = _pickOf(wrong.state, 2);
        bytes32[] memory path = new bytes32[](1);
        (path[0], leaf.path) = (leaf.path[0], path);
        _slotProof(p, leaf, _pickOf(DisputeTrees.tensorRoots(wrong.momentumAfter), 0));
        this.sendPlanned();
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
    }

    function test_aStateIsComparedWithItsSource() public {
        OuterPlay memory p = _joint();
        OuterRun memory right = _rightOuter();
        bytes32[] memory base = DisputeTrees.tensorRoots(right.baseAfter);
        bytes32[] memory momentum = DisputeTrees.tensorRoots(right.momentumAfter);
        Pick memory leaf = _pickOf(right.state, 3);
        _slotProof(p, leaf, _pickOf(momentum, 0));
        _refused(_with(BAD_RECORD, 0));
        _slotProof(p, leaf, _pickOf(base, 1));
        _refused(abi.encodePacked(MISMATCH));
        leaf.node = right.state[2];
        _slotProof(p, leaf, _pickOf(momentum, 1));
        _refused(abi.encodePacked(MISMATCH));
        leaf = _pickOf(right.state, 3);
        leaf.path = new bytes32[](1);
        _slotProof(p, leaf, _pickOf(momentum, 1));
        _refused(abi.encodePacked(BAD_LENGTH));
        leaf = _pickOf(right.state, 3);
        _outerFacts.momentumAfter ^= bytes32(uint256(1));
        _slotProof(p, leaf, _pickOf(momentum, 1));
        _refused(abi.encodePacked(WRONG_FRAME));
        _outerFacts.momentumAfter ^= bytes32(uint256(1));
        _slotProof(p, leaf, _pickOf(momentum, 1));
        _refused(abi.encodePacked(IDisputeErrors.NoFault.selector));
    }

    /// Only the tree of both has sources.
    function test_theBaseIsNotComparedWithItself() public {
        OuterPlay memory p = _to(Stage.OUTER_STATE);
        bytes32[] memory leaves = _treeOf(p, _wrong());
        _slotProof(p, _pickOf(leaves, 0), _pickOf(leaves, 0));
        _refused(_with(BAD_RECORD, 1));
    }

    function test_anElementIsOneOfThePostedChunk() public {
        OuterPlay memory p = _to(Stage.CHUNKS);
        bytes memory chunk = DisputeTrees.chunk(_wrong().baseAfter[0].data, 1);
        OpFrame memory op = p.op;
        _pickedElement(p, op, 255, chunk);
        _refused(_with(Operands.ElementOutside.selector, 255));
        _pickedElement(p, op, 300, chunk);
        _refused(_with(Operands.ElementOutside.selector, 300));
        _pickedElement(p, op, 270, abi.encodePacked(chunk, uint8(0)));
        _refused(_with(MerkleSha256.BadChunk.selector, chunk.length + 1));
        chunk[0] ^= 0x01;
        _pickedElement(p, op, 270, chunk);
        _refused(abi.encodePacked(MISMATCH));
        chunk[0] ^= 0x01;
        p.frame.tree = 2;
        _pickedElement(p, op, 270, chunk);
        _refused(abi.encodePacked(WRONG_FRAME));
        p.frame.tree = 1;
        op.primitive = 1;
        _pickedElement(p, op, 270, chunk);
        _refused(abi.encodePacked(WRONG_FRAME));
    }

    /// Chunks of an aggregate are no primitive's, no delta's, and the other way round.
    function test_proofsOfTrainingTakeNoAggregate() public {
        OuterPlay memory p = _to(Stage.CHUNKS);
        ElementProof memory element;
        (element.op, element.header) = (p.op, DisputeProgram.header());
        _call = abi.encodeCall(IDisputeMoves.proveElement, (p.id, p.c, element));
        _refused(abi.encodePacked(WRONG_FRAME));
        DeltaProof memory delta;
        (delta.op, delta.header) = (p.op, DisputeProgram.header());
        _call = abi.encodeCall(IDisputeMoves.proveDelta, (p.id, p.c, delta));
        _refused(abi.encodePacked(WRONG_FRAME));
        OuterProof memory proof = _result(p);
        _call = abi.encodeCall(IDisputeMoves.proveOuter, (p.id, p.c, proof));
        _refused(_with(IDisputeErrors.WrongStage.selector, Stage.CHUNKS));
    }

    function test_aColumnHasAValueOfEachDelta() public {
        OuterPlay memory p = _to(Stage.CHUNKS);
        _playOuter(p, _wrong(), _rightOuter(), 1);
        assertEq(p.c.stage, Stage.COLUMN, "stage");
        _mover = _asserter;
        bytes memory values = _columnOf(p, _wrong());
        _call = abi.encodeCall(IDisputeMoves.postColumn, (p.id, p.c, new bytes(8)));
        _refusedBy(_asserter, _with(IDisputeErrors.Malformed.selector, 8));
        _call = abi.encodeCall(
            IDisputeMoves.postColumn, (p.id, p.c, abi.encodePacked(values, uint32(0)))
        );
        _refusedBy(_asserter, _with(IDisputeErrors.Malformed.selector, 16));
        _call = abi.encodeCall(IDisputeMoves.postColumn, (p.id, p.c, values));
        _refusedBy(CHALLENGER, abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        _call = abi.encodeCall(IDisputeMoves.postColumn, (p.id, p.c, values));
        _mover = _asserter;
        this.sendPlanned();
        _refusedBy(_asserter, abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
    }

    function test_aValueIsTheDeltas() public {
        OuterPlay memory p = _atColumn();
        ColumnProof memory proof = _column(p);
        proof.slot = DisputeProgram.slotProof(1);
        _refusedColumn(p, proof, _with(BAD_RECORD, 1));
        proof = _column(p);
        proof.position = 3;
        _refusedColumn(p, proof, abi.encodeWithSelector(MerkleSha256.LeafOutside.selector, 3, 3));
        proof.position = 2;
        _refusedColumn(p, proof, abi.encodePacked(MISMATCH));
        proof = _column(p);
        proof.delta.chunks[0].content[20] ^= 0x01;
        _refusedColumn(p, proof, abi.encodePacked(MISMATCH));
        proof = _column(p);
        proof.delta.treeRoot ^= bytes32(uint256(1));
        _refusedColumn(p, proof, abi.encodePacked(MISMATCH));
        proof = _column(p);
        proof.delta.chunks = new Chunk[](0);
        _refusedColumn(p, proof, abi.encodePacked(Operands.WrongChunks.selector));
        proof = _column(p);
        proof.values[4] ^= 0x01;
        _refusedColumn(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _column(p);
        proof.outer.deltas = 4;
        _refusedColumn(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _column(p);
        proof.op.record = 0;
        _refusedColumn(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _column(p);
        _refusedColumn(p, proof, abi.encodePacked(IDisputeErrors.NoFault.selector));
    }

    function test_anElementIsMadeFromWhatWasBefore() public {
        OuterPlay memory p = _atColumn();
        OuterProof memory proof = _result(p);
        (proof.base, proof.momentum) = (proof.momentum, proof.base);
        _refusedOuter(p, proof, abi.encodePacked(MISMATCH));
        proof = _result(p);
        proof.momentum.chunks[0].content[0] ^= 0x01;
        _refusedOuter(p, proof, abi.encodePacked(MISMATCH));
        proof = _result(p);
        proof.base.path = new bytes32[](0);
        _refusedOuter(p, proof, abi.encodePacked(BAD_LENGTH));
        proof = _result(p);
        proof.base.chunks = new Chunk[](2);
        _refusedOuter(p, proof, abi.encodePacked(Operands.WrongChunks.selector));
        proof = _result(p);
        proof.facts.baseRoot ^= bytes32(uint256(1));
        _refusedOuter(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _result(p);
        proof.values[0] ^= 0x01;
        _refusedOuter(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _result(p);
        proof.outer.tree = 2;
        _refusedOuter(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _result(p);
        proof.outer.held ^= 1;
        _refusedOuter(p, proof, abi.encodePacked(WRONG_FRAME));
        proof = _result(p);
        proof.header[71] ^= 0x01;
        _refusedOuter(p, proof, abi.encodePacked(WRONG_FRAME));
        _call = abi.encodeCall(IDisputeMoves.proveOuter, (p.id, p.c, _result(p)));
        _mover = CHALLENGER;
        this.sendPlanned();
    }

    function test_aSignerIsTheShownCommitments() public {
        OuterRun memory right = _rightOuter();
        _postOuter(right);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 1);
        _planIncluded(p, right, 1);
        _sendOuter(p);
        _signer(p, _recordFor(5), _posted[5]);
        _refused(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        _playOuter(p, right, right, 1);
        _signer(p, _recordFor(5), _posted[9]);
        _refused(abi.encodePacked(WRONG_FRAME));
        bytes memory record = _recordFor(5);
        record[463] ^= 0x01;
        _signer(p, record, _posted[5]);
        _refused(abi.encodePacked(WRONG_FRAME));
        _outerFacts.epochLeaves += 1;
        _signer(p, _recordFor(5), _posted[5]);
        _refused(abi.encodePacked(WRONG_FRAME));
        _outerFacts.epochLeaves -= 1;
        _signer(p, _recordFor(5), _slotOf(2), _posted[5]);
        _refused(abi.encodePacked(MISMATCH));
        _signer(p, _recordFor(5), _slotOf(WORKERS), _posted[5]);
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 0));
        _signer(p, _recordFor(5), _posted[5]);
        _refused(abi.encodePacked(IDisputeErrors.NoFault.selector));
    }

    // --- helpers ---

    function _wrong() private view returns (OuterRun memory) {
        return _flipped(0, 0, 270);
    }

    /// An answered cursor of this stage, in a game about element 270 of the first parameter.
    function _to(uint8 stage) private returns (OuterPlay memory p) {
        _postOuter(_wrong());
        p = _beginOuter(CHALLENGER, SALT);
        while (p.c.stage != stage || !p.c.answered || (stage == Stage.CHUNKS && p.c.height != 0)) {
            _playOuter(p, _wrong(), _rightOuter(), 1);
        }
    }

    function _atColumn() private returns (OuterPlay memory) {
        return _to(Stage.COLUMN);
    }

    /// At the answered tree of both, of a right aggregate.
    function _joint() private returns (OuterPlay memory p) {
        OuterRun memory right = _rightOuter();
        _postOuter(right);
        p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 3);
        assertEq(p.frame.tree, 3, "tree");
    }

    /// Copies: what a test changes in one is right in the next.
    function _column(OuterPlay memory p) private view returns (ColumnProof memory) {
        return abi.decode(abi.encode(_columnProof(p, _wrong(), 1)), (ColumnProof));
    }

    function _result(OuterPlay memory p) private view returns (OuterProof memory) {
        return abi.decode(abi.encode(_outerProof(p, _wrong())), (OuterProof));
    }

    function _with(bytes4 error_, uint256 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(error_, value);
    }

    /// @param reason The whole of it, or the selector.
    function _refused(bytes memory reason) private {
        _refusedBy(CHALLENGER, reason);
    }

    function _refusedBy(address mover, bytes memory reason) private {
        _mover = mover;
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        this.sendPlanned();
    }

    function _refusedTensor(
        OuterPlay memory p,
        bytes memory header,
        Pick memory to,
        RecordProof memory slot,
        bytes memory reason
    ) private {
        _call = abi.encodeCall(
            IDisputeMoves.pickOuterTensor, (p.id, p.c, p.frame, header, to, slot)
        );
        _refused(reason);
    }

    function _pickedElement(OuterPlay memory p, OpFrame memory op, uint64 i, bytes memory chunk)
        private
    {
        _call = abi.encodeCall(IDisputeMoves.pickElement, (p.id, p.c, op, p.frame, i, chunk));
    }

    function _slotProof(OuterPlay memory p, Pick memory leaf, Pick memory source) private {
        _mover = CHALLENGER;
        bytes memory header = DisputeProgram.header();
        _call = abi.encodeCall(
            IDisputeMoves.proveOuterSlot, (p.id, p.c, p.frame, _outerFacts, header, leaf, source)
        );
    }

    function _refusedColumn(OuterPlay memory p, ColumnProof memory proof, bytes memory reason)
        private
    {
        _call = abi.encodeCall(IDisputeMoves.proveColumn, (p.id, p.c, proof));
        _refused(reason);
    }

    function _refusedOuter(OuterPlay memory p, OuterProof memory proof, bytes memory reason)
        private
    {
        _call = abi.encodeCall(IDisputeMoves.proveOuter, (p.id, p.c, proof));
        _refused(reason);
    }

    /// With the terms of slot 5.
    function _signer(OuterPlay memory p, bytes memory record, bytes memory commitment) private {
        _signer(p, record, _slotOf(5), commitment);
    }

    function _signer(
        OuterPlay memory p,
        bytes memory record,
        SlotProof memory slot,
        bytes memory commitment
    ) private {
        _call = abi.encodeCall(
            IDisputeMoves.proveSigner, (p.id, p.c, _outerFacts, record, slot, commitment)
        );
    }
}
