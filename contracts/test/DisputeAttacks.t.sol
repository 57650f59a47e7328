// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeErrors, OpFrame, Pick, RecordProof, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";

/// Known ways to cheat in the game itself.
contract DisputeAttacksTest is DisputePlayer {
    uint256 private constant MOVES_MAX = 20;

    function setUp() public {
        _deployGame();
        _runs.keep("wrong", _runner.run(Fault(Wrong.Primitive, 1, 2, 270)));
    }

    // --- what is claimed ---

    /// The asserter can change no record of the program: neither the one that is picked nor what is proven from it.
    function test_aForgedDescriptorIsRefused() public {
        Play memory p = _at(3);
        assertEq(p.c.stage, Stage.TRACE, "stage");
        StepRun memory wrong = _runs.get("wrong")[1];
        Pick memory to = _pickOf(wrong.leafRoots, 4);
        RecordProof memory record = DisputeProgram.leafProof(4);
        record.data[record.data.length - 1] ^= 0x01;
        _expectLeaf(p, to, record, MerkleSha256.RootMismatch.selector);
        record.data[record.data.length - 1] ^= 0x01;
        bytes32[] memory path = record.path;
        record.path = new bytes32[](0);
        _expectLeaf(p, to, record, MerkleSha256.BadProofLength.selector);
        record.path = new bytes32[](path.length + 1);
        _expectLeaf(p, to, record, MerkleSha256.BadProofLength.selector);
        _expectLeaf(p, to, DisputeProgram.leafProof(5), IDisputeErrors.BadRecord.selector);
        _playOn(p, 2);
        assertEq(p.c.stage, Stage.PRIMITIVES, "stage");
        to = _pickOf(_outputs(p, wrong), 1);
        record = DisputeProgram.primitiveProof(2);
        record.data[13] ^= 0x01;
        _expectPrimitive(p, to, record, MerkleSha256.RootMismatch.selector);
        record = DisputeProgram.primitiveProof(1);
        _expectPrimitive(p, to, record, IDisputeErrors.BadRecord.selector);
    }

    /// The record's state root is another than the state that the asserter declares: it cannot open the step.
    function test_aTraceWhoseStateOutputsDoNotMatchItsRecord() public {
        StepRun[] memory forged = _right();
        bytes memory record = forged[1].record;
        record[record.length - 1] ^= 0x01;
        forged[1].link = sha256(abi.encodePacked(forged[0].link, record));
        forged[2].link = sha256(abi.encodePacked(forged[1].link, forged[2].record));
        _post(forged);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, forged, _right(), 2);
        assertEq(p.c.stage, Stage.STEP, "stage");
        _plan(p, forged, _right());
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 2));
        this.sendPlanned();
        _losesOnTheClock(p);
    }

    /// Bytes behind the last element would be a second preimage of a tensor: the chunk that has them cannot be posted.
    function test_garbageInTheLastChunksPadding() public {
        StepRun[] memory run = _right();
        Tensor memory delta = _delta(run);
        bytes memory last = DisputeTrees.chunk(delta.data, 1);
        bytes memory garbage = abi.encodePacked(last, hex"01");
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(delta.data);
        leaves[1] = sha256(abi.encodePacked(uint8(0), garbage, new bytes(1024 - garbage.length)));
        bytes32 root = DisputeTrees.root(leaves);
        Play memory p = _disputeDelta(
            sha256(
                abi.encodePacked(
                    uint8(2), uint8(5), uint8(1), uint64(DisputeProgram.DELTA_BYTES), root
                )
            )
        );
        (_mover, _ruler) = (_asserter, address(_steps));
        _call = abi.encodeCall(IDisputeMoves.openTensor, (p.id, p.c, p.op, root, leaves));
        _send(p);
        (_mover, _ruler) = (CHALLENGER, address(_trees));
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, _pickOf(leaves, 1)));
        _send(p);
        _expectChunk(p, garbage, MerkleSha256.BadChunk.selector);
        _expectChunk(
            p,
            abi.encodePacked(garbage, new bytes(1024 - garbage.length)),
            MerkleSha256.BadChunk.selector
        );
        _expectChunk(p, last, MerkleSha256.RootMismatch.selector);
        _losesOnTheClock(p);
    }

    /// The same bytes under other dims have another root, and the dims are the program's.
    function test_aTensorOpenedWithOtherDims() public {
        Tensor memory delta = _delta(_right());
        uint256 other = DisputeTrees.shapeOf(5, 2, DisputeProgram.DELTA_BYTES / 2);
        Play memory p = _disputeDelta(DisputeTrees.tensorRoot(Tensor(other, delta.data)));
        _plan(p, _right(), _right());
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.sendPlanned();
        p.op.shape = other;
        _plan(p, _right(), _right());
        vm.expectRevert(IDisputeErrors.WrongFrame.selector);
        this.sendPlanned();
        _losesOnTheClock(p);
    }

    // --- who is rewarded ---

    /// Whoever copies a move from the pool of pending transactions is not on turn, and in a game of its own has announced later.
    function test_aFrontRunMoveGainsNothing() public {
        _post(_runs.get("wrong"));
        bytes32 id = _announce(CHALLENGER, SALT);
        bytes32 copy = _announce(OTHER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        Play memory p = _joined(CHALLENGER, id);
        Play memory q = _joined(OTHER, copy);
        _playOn(p, 9);
        _playOn(q, 5);
        _plan(p, _runs.get("wrong"), _right());
        assertTrue(keccak256(bytes(_name)) == keccak256("proveElement"), _name);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, id));
        this.sendPlannedAs(OTHER);
        _playOn(q, MOVES_MAX);
        assertEq(_game.unitOf(_unit).finder, OTHER, "the copy is first");
        _playOn(p, MOVES_MAX);
        assertEq(_game.unitOf(_unit).finder, CHALLENGER, "and gains nothing");
        _settle();
        assertEq(_token.balanceOf(OTHER), 1e24, "the copy");
        assertEq(_token.balanceOf(CHALLENGER), 1e24 + STAKE * 4 / 10, "the finder");
    }

    /// Asserter and accomplice together have less at the end, whichever of their games they let win.
    function test_selfDisputeForProfit() public {
        uint256 state = more.snapshotState();
        for (uint256 i = 0; i < 2; ++i) {
            _post(_runs.get("wrong"));
            uint256 before = _token.balanceOf(_asserter) + _token.balanceOf(OTHER) + STAKE;
            Play memory p = _begin(OTHER, SALT);
            // Lost on purpose, or won.
            _playOn(p, i == 0 ? 1 : MOVES_MAX);
            if (i == 0) {
                _wait(CLOCK + 1, 1);
                _game.timeout(p.id);
                // Which shields nobody.
                _playOn(_begin(CHALLENGER, SALT), MOVES_MAX);
            }
            _settle();
            uint256 afterwards = _token.balanceOf(_asserter) + _token.balanceOf(OTHER);
            assertLe(afterwards, before - STAKE / 2, "half of the stake is gone");
            (uint256 active, uint256 thawing,) = _stake.stakeOf(_asserter);
            assertEq(active + thawing, 0, "and none is left");
            more.revertToState(state);
        }
    }

    /// Stake that thaws from the commitment on is still there when the last possible game is opened, and stays.
    function test_withdrawingStakeBeforeALateChallenge() public {
        _post(_runs.get("wrong"));
        vm.prank(_asserter);
        _stake.thaw(STAKE);
        _wait(12 * (WINDOW_BLOCKS - ANNOUNCE_BLOCKS), WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        bytes32 id = _announce(CHALLENGER, SALT);
        _wait(12 * ANNOUNCE_BLOCKS, ANNOUNCE_BLOCKS);
        Play memory p = _joined(CHALLENGER, id);
        vm.prank(_asserter);
        vm.expectPartialRevert(IStake.StakeLocked.selector);
        _stake.withdraw();
        _playOn(p, MOVES_MAX);
        _wait(2 days, 1);
        vm.prank(_asserter);
        vm.expectPartialRevert(IStake.StakeLocked.selector);
        _stake.withdraw();
        _game.settle(_unit);
        (uint256 active, uint256 thawing, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active + thawing + locks, 0, "all of it is taken");
        assertEq(_token.balanceOf(_asserter), 1e24, "nothing came back");
    }

    // --- gas ---

    /// With too little gas a proof reverts as a whole: it decides nothing, and can be sent again.
    function test_gasGriefingAtTheLeaf() public {
        Play memory p = _at(9);
        _plan(p, _runs.get("wrong"), _right());
        for (uint256 limit = 50_000; limit < 250_000; limit += 20_000) {
            (bool ok,) = address(this).call{gas: limit + 200_000}(
                abi.encodeCall(this.sendPlannedWithin, (limit))
            );
            assertTrue(!ok, "too little gas");
            assertTrue(_isOpen(p.id), "nothing is decided");
        }
        this.sendPlanned();
        assertEq(
            uint256(_game.gameOf(p.id).status),
            uint256(IDisputeGame.Status.FaultProven),
            "the proof stands"
        );
    }

    /// Nobody is called when a game ends: a challenger that takes no ether harms itself alone.
    function test_aChallengerThatTakesNoEtherBlocksNothing() public {
        address refuser = address(_runner);
        _fund(refuser);
        _post(_runs.get("wrong"));
        Play memory p = _begin(refuser, SALT);
        _playOn(p, MOVES_MAX);
        assertTrue(!_isOpen(p.id), "over");
        _settle();
        vm.prank(refuser);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NoEther.selector, refuser));
        _game.withdrawEther();
    }

    /// Bytes that nobody asked for are the asserter's own expense, and there is a limit to them.
    function test_gasGriefingByAnAnswersCalldata() public {
        _post(_runs.get("wrong"));
        Play memory p = _begin(CHALLENGER, SALT);
        _plan(p, _runs.get("wrong"), _right());
        bytes memory plain = _call;
        uint256 state = more.snapshotState();
        this.sendPlanned();
        uint256 paid = _game.gameOf(p.id).asserterGas;
        more.revertToState(state);
        bytes memory padding = new bytes(8192 - plain.length);
        for (uint256 i = 0; i < padding.length; ++i) {
            padding[i] = 0xff;
        }
        _call = abi.encodePacked(plain, padding);
        this.sendPlanned();
        uint256 extra = _game.gameOf(p.id).asserterGas - paid;
        // Which cost at least 16 gas each to send.
        assertLe(extra, 16 * padding.length, "padding is not paid for");
        more.revertToState(state);
        _call = abi.encodePacked(plain, padding, uint8(0));
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.TooMuchData.selector, 8193));
        this.sendPlanned();
    }

    // --- helpers ---

    function sendPlannedWithin(uint256 limit) external {
        vm.prank(_mover);
        (bool ok,) = address(_game).call{gas: limit}(_call);
        if (!ok) revert Untrue("refused");
    }

    function _at(uint256 moves) private returns (Play memory p) {
        _post(_runs.get("wrong"));
        p = _begin(CHALLENGER, SALT);
        _playOn(p, moves);
    }

    function _playOn(Play memory p, uint256 moves) private {
        _play(p, _runs.get("wrong"), _right(), moves);
    }

    function _joined(address who, bytes32 id) private returns (Play memory p) {
        _openNow(who, SALT);
        (p.id, p.challenger) = (id, who);
        _start(p);
    }

    /// A unit that is right but for its delta root, which is picked.
    function _disputeDelta(bytes32 root) private returns (Play memory p) {
        Posted memory posted = _honest(_right());
        posted.deltaRoot = root;
        _post(posted);
        p = _begin(CHALLENGER, SALT);
        p.delta = _delta(_right());
        _play(p, _right(), _right(), 2);
        assertEq(p.c.stage, Stage.TENSOR, "stage");
    }

    function _settle() private {
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
    }

    function _losesOnTheClock(Play memory p) private {
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(
            uint256(_game.gameOf(p.id).status),
            uint256(IDisputeGame.Status.FaultByClock),
            "the clock decides"
        );
    }

    function _expect(address mover, bytes4 error_) private {
        vm.expectPartialRevert(error_);
        this.sendPlannedAs(mover);
    }

    function _expectChunk(Play memory p, bytes memory content, bytes4 error_) private {
        _call = abi.encodeCall(IDisputeMoves.postChunk, (p.id, p.c, p.op, content));
        _expect(_asserter, error_);
    }

    function _expectLeaf(Play memory p, Pick memory to, RecordProof memory record, bytes4 error_)
        private
    {
        bytes memory header = DisputeProgram.header();
        _call = abi.encodeCall(IDisputeMoves.pickLeaf, (p.id, p.c, p.step, header, to, record));
        _expect(CHALLENGER, error_);
    }

    function _expectPrimitive(
        Play memory p,
        Pick memory to,
        RecordProof memory record,
        bytes4 error_
    ) private {
        OpFrame memory op = p.op;
        bytes memory header = DisputeProgram.header();
        _call = abi.encodeCall(IDisputeMoves.pickPrimitive, (p.id, p.c, op, header, to, record));
        _expect(CHALLENGER, error_);
    }
}
