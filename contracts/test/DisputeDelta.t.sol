// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    DeltaProof,
    ElementProof,
    Finding,
    Frames,
    IDisputeErrors,
    OpFrame,
    Stage,
    TensorProof,
    TokenProof
} from "../src/dispute/DisputeTypes.sol";
import {Float32} from "../src/numerics/Float32.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {ElementRules} from "../src/dispute/ElementRules.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {Operands} from "../src/dispute/Operands.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";

/// A unit whose training is right and whose delta is not.
contract DisputeDeltaTest is DisputePlayer {
    using Frames for Cursor;

    uint256 private constant MOVES_MAX = 20;
    uint256 private constant WORDS = DisputeProgram.DELTA_BYTES / 4;

    function setUp() public {
        _deployGame();
    }

    function test_aWordOfAParameter() public {
        (Play memory p,) = _wrongDelta(4 * 100 + 3);
        _expectProven(p);
        // open, declareStates, pickDelta, openTensor, pick, postChunk, proveDelta
        assertEq(_game.gameOf(p.id).moves, 6, "moves");
    }

    function test_theMagic() public {
        (Play memory p,) = _wrongDelta(7);
        _expectProven(p);
    }

    function test_theCodec() public {
        (Play memory p,) = _wrongDelta(11);
        _expectProven(p);
    }

    function test_theNumberOfParameters() public {
        (Play memory p,) = _wrongDelta(12);
        _expectProven(p);
    }

    /// The last word of the last parameter, in the last chunk.
    function test_theLastWord() public {
        (Play memory p,) = _wrongDelta(DisputeProgram.DELTA_BYTES - 1);
        _expectProven(p);
    }

    /// A whole game; DisputeLeaves.t.sol has many of its last move.
    /// forge-config: default.fuzz.runs = 4
    /// forge-config: check.fuzz.runs = 200
    /// forge-config: soak.fuzz.runs = 600
    function test_anyByte(uint256 i) public {
        (Play memory p,) = _wrongDelta(bound(i, 0, DisputeProgram.DELTA_BYTES - 1));
        _expectProven(p);
    }

    function test_aSecondGameFollowsTheAnswersOfTheFirst() public {
        (Play memory p, StepRun[] memory run) = _wrongDelta(700);
        _play(p, run, run, MOVES_MAX);
        Play memory q = _begin(OTHER, SALT);
        q.delta = p.delta;
        _play(q, run, run, MOVES_MAX);
        // The asserter made no move in it.
        assertEq(_game.gameOf(q.id).asserterGas, 0, "answers are known");
        assertEq(_game.gameOf(q.id).moves, 3, "pickDelta, pick, proveDelta");
    }

    /// Right deltas cannot be proven wrong at any word; in DisputeLeaves.t.sol without the game.
    /// forge-config: default.fuzz.runs = 16
    /// forge-config: check.fuzz.runs = 250
    /// forge-config: soak.fuzz.runs = 1500
    function test_noWordOfARightDeltaIsAFault(uint64 word) public {
        word = uint64(bound(word, 0, WORDS - 1));
        (Play memory p, StepRun[] memory run) = _atChunk(word);
        DeltaProof memory proof = _wordProof(p, run, word);
        _call = abi.encodeCall(IDisputeMoves.proveDelta, (p.id, p.c, proof));
        _expect(abi.encodeWithSelector(IDisputeErrors.NoFault.selector));
    }

    /// Whatever bits two states hold, the word must be the engine's difference.
    function test_theDifferenceOfAnyBits(uint32 end, uint32 begin) public view {
        _expectDifference(end, begin, uint32(Float32.sub(end, begin)));
    }

    /// One NaN, and zeros with their signs.
    function test_theDifferenceOfSpecialNumbers() public view {
        _expectDifference(0x7F800000, 0x7F800000, 0x7FC00000);
        _expectDifference(0x3F800000, 0xFFC12345, 0x7FC00000);
        _expectDifference(0x7F800001, 0, 0x7FC00000);
        _expectDifference(0x3F800000, 0x3F800000, 0);
        _expectDifference(0x80000000, 0, 0x80000000);
        _expectDifference(0x80000000, 0x80000000, 0);
        _expectDifference(0x00000002, 0x00000001, 0x00000001);
        _expectDifference(0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000);
    }

    function test_aDeltaOfAnotherLengthCannotBeOpened() public {
        StepRun[] memory run = _right();
        Tensor memory delta = _delta(run);
        delta.data = abi.encodePacked(delta.data, uint32(0));
        delta.shape = DisputeTrees.shapeOf(5, delta.data.length);
        Play memory p = _postDelta(run, delta);
        _play(p, run, run, 2);
        assertEq(p.c.stage, Stage.TENSOR, "stage");
        _plan(p, run, run);
        bytes32 claimed = DisputeTrees.treeRoot(delta.data);
        bytes32 computed = DisputeTrees.tensorRoot(
            Tensor(DisputeTrees.shapeOf(5, DisputeProgram.DELTA_BYTES), delta.data)
        );
        assertTrue(claimed != 0 && computed != p.c.node, "another root");
        _expect(
            abi.encodeWithSelector(MerkleSha256.RootMismatch.selector, computed, _facts.deltaRoot)
        );
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(
            uint256(_game.gameOf(p.id).status),
            uint256(IDisputeGame.Status.FaultByClock),
            "the clock decides"
        );
    }

    function test_aProofOfTheDeltaNeedsItsFrame() public {
        (Play memory p, StepRun[] memory run) = _atChunk(7);
        DeltaProof memory right = _wordProof(p, run, 7);
        DeltaProof memory proof = _copy(right);
        proof.op.leaf = 0;
        _refused(p, proof, abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        proof = _copy(right);
        proof.facts.finalStateRoot = keccak256("another state");
        _refused(p, proof, abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        proof = _copy(right);
        proof.header[60] ^= 0x01;
        _refused(p, proof, abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        proof = _copy(right);
        proof.chunk[0] ^= 0x01;
        bytes32 leaf = sha256(abi.encodePacked(uint8(0), proof.chunk));
        _refused(
            p, proof, abi.encodeWithSelector(MerkleSha256.RootMismatch.selector, leaf, p.c.node)
        );
        proof = _copy(right);
        proof.word = 256;
        _refused(p, proof, abi.encodeWithSelector(Operands.ElementOutside.selector, 256));
        proof.word = type(uint64).max;
        _refused(
            p, proof, abi.encodeWithSelector(Operands.ElementOutside.selector, type(uint64).max)
        );
    }

    function test_aWordIsComputedFromItsOwnElements() public {
        (Play memory p, StepRun[] memory run) = _atChunk(7);
        DeltaProof memory right = _wordProof(p, run, 7);
        // Of another parameter, and of no parameter.
        for (uint256 slot = 1; slot < 3; ++slot) {
            DeltaProof memory other = _copy(right);
            other.slot = DisputeProgram.slotProof(slot);
            _refused(p, other, abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, slot));
        }
        // Another element of the same chunk is not brought: the word says which. Another state is no base.
        DeltaProof memory proof = _copy(right);
        proof.base = right.final_;
        _refusedAny(p, proof);
        proof = _copy(right);
        proof.final_.chunks[0].content[12] ^= 0x01;
        _refusedAny(p, proof);
        proof = _copy(right);
        proof.base.path = new bytes32[](0);
        _refused(p, proof, abi.encodeWithSelector(MerkleSha256.BadProofLength.selector, 0, 2));
        // Nothing but the header decides the head.
        proof = _copy(right);
        proof.word = 2;
        _refused(p, proof, abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 0));
        delete proof.slot;
        _refused(p, proof, abi.encodeWithSelector(Operands.WrongChunks.selector, 0, 3, 0));
    }

    /// Neither a primitive nor the dataset says what a delta is.
    function test_otherProofsDoNotTakeADelta() public {
        (Play memory p, StepRun[] memory run) = _atChunk(7);
        ElementProof memory element;
        (element.op, element.header) = (p.op, DisputeProgram.header());
        (element.chunk, element.operands) = (_wordProof(p, run, 7).chunk, new TensorProof[](0));
        _call = abi.encodeCall(IDisputeMoves.proveElement, (p.id, p.c, element));
        _expect(abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        TokenProof memory token;
        (token.op, token.header, token.facts) = (p.op, DisputeProgram.header(), _facts);
        token.chunk = element.chunk;
        _call = abi.encodeCall(IDisputeMoves.proveToken, (p.id, p.c, token));
        _expect(abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
    }

    /// A delta's proof takes no tensor of a step: neither a primitive's output nor token windows.
    function test_aProofOfTheDeltaTakesNothingElse() public {
        _otherFrame(Fault(Wrong.Primitive, 1, 0, 299));
        setUp();
        _otherFrame(Fault(Wrong.Batch, 1, 0, 6));
    }

    /// Even if the frame of a step were the hash of facts, it names a leaf.
    function test_aFrameThatNamesALeafIsNoDelta() public {
        (Play memory p, StepRun[] memory run) = _atChunk(7);
        DeltaProof memory proof = _wordProof(p, run, 7);
        proof.op.leaf = 0;
        Cursor memory c = p.c;
        c.frame = keccak256(abi.encode(proof.op));
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 0));
        _elements.proveDelta(p.id, c, proof);
        TokenProof memory token;
        OpFrame memory op = p.op;
        (op.step, op.leaf) = (keccak256(abi.encode(token.step)), type(uint32).max);
        token.op = op;
        c.frame = keccak256(abi.encode(op));
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, type(uint32).max));
        _elements.proveToken(p.id, c, token);
    }

    function test_theDeltaIsPickedWhereStepsAreAnswered() public {
        StepRun[] memory run = _right();
        Play memory p = _postDelta(run, _delta(run));
        _planDelta(p, run);
        _mover = p.challenger;
        _expect(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        _plan(p, run, run);
        _send(p);
        _plan(p, run, run);
        bytes memory call = _call;
        // Facts, states root and header are the cursor's.
        bytes memory header = DisputeProgram.header();
        header[63] ^= 0x04;
        bytes32 states = DisputeTrees.root(_states(run));
        _call = abi.encodeCall(IDisputeMoves.pickDelta, (p.id, p.c, _facts, states, header));
        _expect(abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        header[63] ^= 0x04;
        _call = abi.encodeCall(IDisputeMoves.pickDelta, (p.id, p.c, _facts, bytes32(0), header));
        _expect(abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        _facts.deltaRoot ^= bytes32(uint256(1));
        _call = abi.encodeCall(IDisputeMoves.pickDelta, (p.id, p.c, _facts, states, header));
        _expect(abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        _facts.deltaRoot ^= bytes32(uint256(1));
        _call = call;
        _send(p);
        assertEq(p.c.stage, Stage.TENSOR, "stage");
        assertEq(p.c.leaves, 2, "chunks");
        assertEq(p.c.node, _facts.deltaRoot, "root");
    }

    function _wrongDelta(uint256 i) private returns (Play memory p, StepRun[] memory run) {
        run = _right();
        Tensor memory delta = _delta(run);
        delta.data[i] ^= 0x10;
        p = _postDelta(run, delta);
    }

    function _postDelta(StepRun[] memory run, Tensor memory delta) private returns (Play memory p) {
        Posted memory posted = _honest(run);
        posted.deltaRoot = DisputeTrees.tensorRoot(delta);
        _post(posted);
        p = _begin(CHALLENGER, SALT);
        p.delta = delta;
    }

    /// A right delta, opened down to the chunk of a word.
    function _atChunk(uint64 word) private returns (Play memory p, StepRun[] memory run) {
        run = _right();
        p = _postDelta(run, _delta(run));
        _play(p, run, run, 3);
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(p.delta.data);
        (_mover, _ruler) = (p.challenger, address(_trees));
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, _pickOf(leaves, word / 256)));
        _send(p);
        _play(p, run, run, 1);
        assertEq(p.c.stage, Stage.CHUNKS, "stage");
        assertEq(p.c.height, 0, "height");
        _mover = p.challenger;
    }

    /// The first word of the last parameter, as a claim that is right and as one that is not.
    function _expectDifference(uint32 end, uint32 begin, uint32 expected) private view {
        Cursor memory c;
        DeltaProof memory proof;
        bytes32[] memory states;
        (proof.word, proof.header) = (304, DisputeProgram.header());
        proof.slot = DisputeProgram.slotProof(1);
        (proof.final_, states) = _lastParameter(end);
        proof.facts.finalStateRoot = DisputeTrees.root(states);
        (proof.base, states) = _lastParameter(begin);
        proof.facts.initialStateRoot = DisputeTrees.root(states);
        (proof.op.step, proof.op.program) =
        (keccak256(abi.encode(proof.facts)), DisputeProgram.traceRoot());
        proof.op.leaf = type(uint32).max;
        proof.op.shape = DisputeTrees.shapeOf(5, DisputeProgram.DELTA_BYTES);
        (c.stage, c.answered, c.index, c.leaves) = (Stage.CHUNKS, true, 1, 2);
        c.frame = keccak256(abi.encode(proof.op));
        proof.chunk = new bytes(DisputeProgram.DELTA_BYTES - 1024);
        _put(proof.chunk, 1216 - 1024, expected ^ 1);
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        Finding memory found = _elements.proveDelta(0, c, proof);
        assertEq(found.computed, bytes32(uint256(expected)), "computed");
        assertEq(found.claimed, bytes32(uint256(expected ^ 1)), "claimed");
        _put(proof.chunk, 1216 - 1024, expected);
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        try _elements.proveDelta(0, c, proof) {
            assertTrue(false, "no fault");
        } catch (bytes memory reason) {
            assertEq(bytes32(bytes4(reason)), bytes32(IDisputeErrors.NoFault.selector), "no fault");
        }
    }

    /// A state whose last parameter begins with these bits.
    function _lastParameter(uint32 bits)
        private
        pure
        returns (TensorProof memory proof, bytes32[] memory states)
    {
        Tensor memory t = Tensor(DisputeProgram.slotShapes()[1], new bytes(36));
        _put(t.data, 0, bits);
        proof = _tensorProof(t, 0, 1);
        states = new bytes32[](3);
        (states[0], states[1], states[2]) =
        (keccak256("slot 0"), DisputeTrees.tensorRoot(t), keccak256("slot 2"));
        proof.path = DisputeTrees.path(states, 1);
    }

    function _put(bytes memory data, uint256 offset, uint32 bits) private pure {
        for (uint256 k = 0; k < 4; ++k) {
            data[offset + k] = bytes1(uint8(bits >> (8 * k)));
        }
    }

    function _otherFrame(Fault memory fault) private {
        StepRun[] memory wrong = _runner.run(fault);
        _post(wrong);
        Play memory p = _begin(CHALLENGER, SALT);
        StepRun[] memory right = _right();
        while (p.c.stage != Stage.CHUNKS || p.c.height != 0 || !p.c.answered) {
            _plan(p, wrong, right);
            _send(p);
        }
        DeltaProof memory proof;
        (proof.op, proof.facts, proof.header) = (p.op, _facts, DisputeProgram.header());
        proof.chunk = DisputeTrees.chunk(_disputed(p, wrong[p.step.step]).data, p.c.index);
        _refused(p, proof, abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
    }

    function _copy(DeltaProof memory proof) private pure returns (DeltaProof memory) {
        return abi.decode(abi.encode(proof), (DeltaProof));
    }

    function _refused(Play memory p, DeltaProof memory proof, bytes memory reason) private {
        _mover = p.challenger;
        _call = abi.encodeCall(IDisputeMoves.proveDelta, (p.id, p.c, proof));
        _expect(reason);
    }

    function _refusedAny(Play memory p, DeltaProof memory proof) private {
        _call = abi.encodeCall(IDisputeMoves.proveDelta, (p.id, p.c, proof));
        vm.prank(p.challenger);
        (bool ok, bytes memory reason) = address(_game).call(_call);
        assertTrue(!ok, "refused");
        assertEq(
            bytes32(bytes4(reason)), bytes32(MerkleSha256.RootMismatch.selector), "another root"
        );
    }

    function _expect(bytes memory reason) private {
        vm.expectRevert(reason);
        this.sendPlanned();
    }

    function _expectProven(Play memory p) private {
        StepRun[] memory run = _right();
        _play(p, run, run, MOVES_MAX);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        assertTrue(keccak256(bytes(_name)) == keccak256("proveDelta"), _name);
    }
}
