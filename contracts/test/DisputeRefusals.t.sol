// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ElementRules} from "../src/dispute/ElementRules.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {
    Chunk,
    Cursor,
    ElementProof,
    Facts,
    IDisputeErrors,
    OpFrame,
    Pick,
    StepPick,
    TensorProof
} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// What an asserter declares first.
struct Declaration {
    bytes32 root;
    bytes32[] records;
    bytes32[] states;
}

/// Moves that are no moves.
contract DisputeRefusalsTest is DisputePlayer {
    function setUp() public {
        _deployGame();
        // In the second chunk of a tensor of two.
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 2, 270)));
    }

    // --- turns ---

    function test_nobodyMovesOutOfTurn() public {
        Play memory p = _at(0);
        bytes memory notYours = abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id);
        for (uint256 moves = 0; _isOpen(p.id) && moves < 20; ++moves) {
            _plan(p, _runs.get("wrong"), _right());
            address mover = _mover;
            vm.expectRevert(notYours);
            this.sendPlannedAs(mover == _asserter ? CHALLENGER : _asserter);
            vm.expectRevert(notYours);
            this.sendPlannedAs(OTHER);
            _send(p);
            // The same again: the turn has gone, or the game has moved on.
            vm.expectPartialRevert(
                _game.gameOf(p.id).status == IDisputeGame.Status.ChallengerMoves
                    && mover == CHALLENGER
                    ? IDisputeGame.WrongCursor.selector
                    : IDisputeGame.NotYourTurn.selector
            );
            this.sendPlannedAs(mover);
        }
    }

    function test_aMoveMeansNothingInAnotherGame() public {
        Play memory p = _at(2);
        bytes32 other = _open(OTHER, SALT);
        _plan(p, _runs.get("wrong"), _right());
        // Same cursor, but it is the other challenger's game.
        bytes memory copied = _call;
        assembly {
            mstore(add(copied, 36), other)
        }
        _call = copied;
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, other));
        this.sendPlanned();
        _send(_resumed(p));
    }

    function test_aCursorOfElsewhereIsRefused() public {
        Play memory p = _at(1);
        p.c.leaves += 1;
        _plan(p, _runs.get("wrong"), _right());
        vm.expectPartialRevert(IDisputeGame.WrongCursor.selector);
        this.sendPlanned();
    }

    // --- answers ---

    function test_anAnswerListsExactlyTheChildren() public {
        Play memory p = _at(0);
        Declaration memory d;
        (d.records, d.states) = (_links(_runs.get("wrong")), _states(_runs.get("wrong")));
        d.root = DisputeTrees.root(d.states);
        bytes32[] memory records = d.records;
        d.records = new bytes32[](records.length + 1);
        _expectDeclaration(p, d, MerkleSha256.BadProofLength.selector);
        d.records = new bytes32[](0);
        _expectDeclaration(p, d, MerkleSha256.BadProofLength.selector);
        bytes32 root = d.root;
        (d.records, d.root) = (records, 0);
        _expectDeclaration(p, d, IDisputeErrors.ZeroDigest.selector);
        bytes32 last = d.states[2];
        (d.root, d.states[2]) = (root, 0);
        _expectDeclaration(p, d, IDisputeErrors.ZeroDigest.selector);
        d.states[2] = last ^ bytes32(uint256(1));
        _expectDeclaration(p, d, MerkleSha256.RootMismatch.selector);
    }

    function test_theLastStateIsTheCommittedOne() public {
        Posted memory forged = _honest(_right());
        forged.finalStateRoot = keccak256("another state");
        _post(forged);
        Play memory p = _begin(CHALLENGER, SALT);
        _plan(p, _right(), _right());
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.sendPlanned();
    }

    function test_aChunkIsPostedWithoutPadding() public {
        Play memory p = _at(8);
        _plan(p, _runs.get("wrong"), _right());
        OpFrame memory frame = p.op;
        bytes memory content =
            DisputeTrees.chunk(_disputed(p, _runs.get("wrong")[1]).data, p.c.index);
        assertEq(content.length, 1200 - 1024, "the last chunk");
        _expectChunk(p, frame, abi.encodePacked(content, uint8(0)), MerkleSha256.BadChunk.selector);
        _expectChunk(p, frame, abi.encodePacked(content, uint8(1)), MerkleSha256.BadChunk.selector);
        _expectChunk(p, frame, "", MerkleSha256.BadChunk.selector);
        content[0] ^= 0x01;
        _expectChunk(p, frame, content, MerkleSha256.RootMismatch.selector);
        content[0] ^= 0x01;
        // Other dims: the frame is the one that the record gave.
        frame.shape ^= 1 << 96;
        _expectChunk(p, frame, content, IDisputeErrors.WrongFrame.selector);
    }

    // --- picks and proofs ---

    function test_aPickHasAPathOfTheRightLength() public {
        Play memory p = _at(7);
        _plan(p, _runs.get("wrong"), _right());
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(_disputed(p, _runs.get("wrong")[1]).data);
        Pick memory to = _pickOf(leaves, 1);
        bytes32[] memory path = to.path;
        to.path = new bytes32[](0);
        _expectPick(p, to, MerkleSha256.BadProofLength.selector);
        to.path = new bytes32[](path.length + 1);
        to.path[0] = path[0];
        _expectPick(p, to, MerkleSha256.BadProofLength.selector);
        to.path = path;
        to.twin = to.node;
        _expectPick(p, to, MerkleSha256.BadProofLength.selector);
        to.twin = 0;
        to.index ^= 1;
        _expectPick(p, to, MerkleSha256.RootMismatch.selector);
        to.index ^= 1;
        to.node = 0;
        _expectPick(p, to, IDisputeErrors.ZeroDigest.selector);
    }

    function test_aStepStartsFromWhatWasAgreed() public {
        Play memory p = _at(1);
        _plan(p, _runs.get("wrong"), _right());
        Facts memory facts = _facts;
        StepPick memory to = _stepPick(p, _runs.get("wrong"), 1);
        to.before.node ^= bytes32(uint256(1));
        _expectStep(p, facts, to, MerkleSha256.RootMismatch.selector);
        to.before.node ^= bytes32(uint256(1));
        to.before.index = 1;
        _expectStep(p, facts, to, IDisputeErrors.BadRecord.selector);
        to.before.index = 0;
        facts.checkpointEvery += 1;
        _expectStep(p, facts, to, IDisputeErrors.WrongFrame.selector);
    }

    function test_anElementIsProvenFromWhatItReads() public {
        Play memory p = _at(9);
        _plan(p, _runs.get("wrong"), _right());
        ElementProof memory proof = _elementProof(p, _runs.get("wrong")[1], 270);
        proof.primitive[12] ^= 0x01; // an attribute of the descriptor
        _expectProof(p, proof, IDisputeErrors.BadRecord.selector);
        proof.primitive[12] ^= 0x01;
        proof.header[8] ^= 0x01;
        _expectProof(p, proof, IDisputeErrors.WrongFrame.selector);
        proof.header[8] ^= 0x01;
        proof.step.trace ^= bytes32(uint256(1));
        _expectProof(p, proof, IDisputeErrors.WrongFrame.selector);
        proof.step.trace ^= bytes32(uint256(1));
        // Right elements of the same chunk are no fault; those of others are not in it.
        proof = _elementProof(p, _runs.get("wrong")[1], 271);
        _expectProof(p, proof, IDisputeErrors.NoFault.selector);
        proof = _elementProof(p, _runs.get("wrong")[1], 255);
        _expectProof(p, proof, Operands.ElementOutside.selector);
        proof.element = 300;
        _expectProof(p, proof, Operands.ElementOutside.selector);
        proof = _elementProof(p, _runs.get("wrong")[1], 270);
        proof.chunk[0] ^= 0x01;
        _expectProof(p, proof, MerkleSha256.RootMismatch.selector);
        proof.chunk[0] ^= 0x01;
        _expectOperands(p, proof);
    }

    function _expectOperands(Play memory p, ElementProof memory proof) private {
        TensorProof memory operand = proof.operands[0];
        Chunk[] memory chunks = operand.chunks;
        operand.chunks = new Chunk[](2);
        (operand.chunks[0], operand.chunks[1]) = (chunks[0], chunks[0]);
        _expectProof(p, proof, Operands.WrongChunks.selector);
        operand.chunks = new Chunk[](0);
        _expectProof(p, proof, Operands.WrongChunks.selector);
        operand.chunks = chunks;
        chunks[0].content[3] ^= 0x01;
        _expectProof(p, proof, MerkleSha256.RootMismatch.selector);
        chunks[0].content[3] ^= 0x01;
        chunks[0].content = abi.encodePacked(chunks[0].content, new bytes(8));
        _expectProof(p, proof, MerkleSha256.BadChunk.selector);
        proof.operands = new TensorProof[](1);
        _expectProof(p, proof, Operands.WrongChunks.selector);
    }

    // --- sending ---

    /// A game after `moves` moves of both.
    function _at(uint256 moves) private returns (Play memory p) {
        _post(_runs.get("wrong"));
        p = _begin(CHALLENGER, SALT);
        _play(p, _runs.get("wrong"), _right(), moves);
    }

    /// Plans the move of a game anew.
    function _resumed(Play memory p) private returns (Play memory) {
        _plan(p, _runs.get("wrong"), _right());
        return p;
    }

    function _expect(address mover, bytes memory call, bytes4 error_) private {
        _call = call;
        vm.expectPartialRevert(error_);
        this.sendPlannedAs(mover);
    }

    function _expectDeclaration(Play memory p, Declaration memory d, bytes4 error_) private {
        bytes memory call = abi.encodeCall(
            IDisputeMoves.declareStates, (p.id, p.c, _facts, d.root, d.records, d.states)
        );
        _expect(_asserter, call, error_);
    }

    function _expectChunk(Play memory p, OpFrame memory frame, bytes memory content, bytes4 error_)
        private
    {
        bytes memory call = abi.encodeCall(IDisputeMoves.postChunk, (p.id, p.c, frame, content));
        _expect(_asserter, call, error_);
    }

    function _expectPick(Play memory p, Pick memory to, bytes4 error_) private {
        _expect(CHALLENGER, abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, to)), error_);
    }

    function _expectStep(Play memory p, Facts memory facts, StepPick memory to, bytes4 error_)
        private
    {
        bytes memory call = abi.encodeCall(IDisputeMoves.pickStep, (p.id, p.c, facts, to));
        _expect(CHALLENGER, call, error_);
    }

    function _expectProof(Play memory p, ElementProof memory proof, bytes4 error_) private {
        bytes memory call = abi.encodeCall(IDisputeMoves.proveElement, (p.id, p.c, proof));
        _expect(CHALLENGER, call, error_);
    }
}
