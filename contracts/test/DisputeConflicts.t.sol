// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {OpeningRules} from "../src/dispute/OpeningRules.sol";
import {WithheldRules} from "../src/dispute/WithheldRules.sol";
import {ICommitmentLog} from "../src/interfaces/ICommitmentLog.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// How games about aggregates are opened, and games that are won when they are opened.
contract DisputeConflictsTest is OuterPlayer {
    bytes internal _other;

    function setUp() public {
        _deployOuter();
    }

    // --- open() ---

    function test_anAggregateIsInNoEpoch() public {
        _postOuter(_rightOuter());
        _announced();
        _index = 1;
        _refusedOpening(abi.encodeWithSelector(MerkleSha256.BadProofLength.selector, 0, 0));
        _index = 0;
        _path.push(_leaves[1]);
        _refusedOpening(abi.encodeWithSelector(MerkleSha256.BadProofLength.selector, 1, 0));
        _path.pop();
        this.openNow();
        assertEq(_game.unitOf(_unit).asserter, _asserter, "asserter");
    }

    /// Its round must have an epoch: what it includes is shown from there.
    function test_anAggregateOfAnOpenRoundIsNotDisputedYet() public {
        _signUnits();
        _log.postRound(JOB, ROUND, _hashOf(_record));
        _sign(_aggregateOf(_rightOuter()));
        _announced();
        _refusedOpening(abi.encodeWithSelector(WithheldRules.NotPosted.selector));
        _log.postEpoch(_epoch, JOB, ROUND, DisputeTrees.root(_leaves), uint32(_leaves.length));
        this.openNow();
    }

    /// A coordinator that keeps its aggregate off the chain until the round's own window is over gains nothing.
    function test_anAggregateThatIsNotOnChainHasNoLastBlock() public {
        _postOuter(_rightOuter());
        _wait(0, 10 * WINDOW_BLOCKS);
        _announced();
        this.openNow();
        assertEq(_game.unitOf(_unit).asserter, _asserter, "asserter");
    }

    function test_theWindowOfAnAggregateBeginsWhenItIsOnChain() public {
        _postOuter(_rightOuter());
        _wait(0, 10 * WINDOW_BLOCKS);
        _postAggregate();
        uint256 state = more.snapshotState();
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        _announced();
        this.openNow();
        more.revertToState(state);
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS + 1);
        _announced();
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openNow();
    }

    /// Where rounds overlap the aggregate is first: games about it need the epoch.
    function test_theWindowOfAnAggregateBeginsNoEarlierThanItsEpoch() public {
        _signUnits();
        _postRoundBefore();
        _log.postRound(JOB, ROUND, _hashOf(_record));
        _sign(_aggregateOf(_rightOuter()));
        _postAggregate();
        _wait(0, 10 * WINDOW_BLOCKS);
        _log.postEpoch(_epoch, JOB, ROUND, DisputeTrees.root(_leaves), uint32(_leaves.length));
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        _announced();
        this.openNow();
    }

    /// The record that names the aggregate begins its window; it is read from there, whoever was shown it before.
    function test_theNextRecordBeginsTheWindowOfItsAggregate() public {
        _postOuter(_flipped(0, 0, 1));
        _wait(0, 10 * WINDOW_BLOCKS);
        _log.grantAtOnce(_asserter);
        OuterRun memory run = _flipped(0, 0, 1);
        bytes memory next = _nextRecord(JOB, ROUND + 1, _hashOf(_record), run);
        next[431] = 0x03;
        vm.expectEmit(address(_log));
        emit ICommitmentLog.AggregatePosted(JOB, ROUND, _asserter, _unit, _commitment);
        _log.postRound(next, _commitment);
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        _announced();
        this.openNow();
        assertEq(_game.unitOf(_unit).asserter, _asserter, "asserter");
    }

    /// A field that contradicts the round wins at once; FLOPs and the signer's role are not asked for.
    function test_aForgedFieldOfAnAggregate() public {
        uint256 state = more.snapshotState();
        for (uint256 i = 0; i < 8; ++i) {
            _signUnits();
            _postRoundAndEpoch();
            Posted memory p = _aggregateOf(_rightOuter());
            if (i == 0) p.kind = 1;
            if (i == 2) p.codec = 1;
            if (i == 3) p.steps = 2;
            if (i == 4) p.tokens = 1;
            if (i == 5) p.flops = 77;
            if (i == 1) p.recordsRoot = 0;
            if (i == 6) p.finalStateRoot = 0;
            if (i == 7) p.deltaRoot = 0;
            _sign(p);
            bytes32 id = _announced();
            if (i != 5) {
                vm.expectEmit(address(_game));
                uint256 field = i == 1 || i == 7 ? 6 : i;
                bytes4 move = IDisputeGame.open.selector;
                emit IDisputeGame.FaultFound(id, _unit, move, field, 0, 0);
            }
            this.openNow();
            assertTrue(_isOpen(id) == (i == 5), "fault");
            more.revertToState(state);
        }
    }

    // --- equivocation ---

    /// One unit, whichever commitment comes first, and whatever it is about.
    function test_twoCommitmentsForOneUnit() public {
        uint256 state = more.snapshotState();
        bytes32[2] memory units;
        for (uint256 order = 0; order < 2; ++order) {
            _twoAggregates();
            bytes memory first = _commitment;
            if (order == 1) {
                _commitment = _other;
                _other = first;
            }
            units[order] = _unit;
            bytes32 id = _announced();
            _expectFound(id, 8);
            this.conflictNow();
            _expectWon(id);
            more.revertToState(state);
        }
        assertEq(units[0], units[1], "unit");
    }

    function test_twoCommitmentsOfAWorker() public {
        _postOuter(_rightOuter());
        Posted memory p = _unitOf(5, keccak256("one delta"));
        Posted memory q = _unitOf(5, keccak256("another delta"));
        bytes32 hash = _hashOf(_record);
        (bytes32 a, bytes32 b) = (_digest(p, hash), _digest(q, hash));
        (_commitment, _other) =
        (_signedBy(p, hash, _workerKey(5)), _signedBy(q, hash, _workerKey(5)));
        address worker = vm.addr(_workerKey(5));
        _unit = keccak256(abi.encode(a < b ? a : b, worker));
        bytes32 id = _announced();
        _expectFound(id, 8);
        this.conflictNow();
        _expectWon(id);
        assertEq(_game.unitOf(_unit).asserter, worker, "asserter");
    }

    /// Before the round has an epoch, and long after.
    function test_aConflictNeedsNoEpoch() public {
        _signUnits();
        _log.postRound(JOB, ROUND, _hashOf(_record));
        _twoSigned();
        _wait(0, 10 * WINDOW_BLOCKS);
        bytes32 id = _announced();
        this.conflictNow();
        _expectWon(id);
    }

    /// One is kept back until the other one's round is long over: a node that was shown it compares it with the posted one.
    function test_theWindowOfAConflictIsTheAggregates() public {
        _twoAggregates();
        _wait(0, 10 * WINDOW_BLOCKS);
        _postAggregate();
        _expectWonInItsLastBlock();
        _wait(0, WINDOW_BLOCKS);
        _announced();
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.conflictNow();
    }

    function test_theSameCommitmentTwiceIsNoConflict() public {
        _postOuter(_rightOuter());
        _other = _commitment;
        _announced();
        _refused(abi.encodeWithSelector(IDisputeErrors.NoFault.selector));
        // What is signed is not all of it: neither are two signatures a conflict.
        Posted memory p = _aggregateOf(_rightOuter());
        _other = _signedBy(p, _hashOf(_record), KEY + 1);
        _refused(abi.encodeWithSelector(OpeningRules.NotTheSameUnit.selector));
    }

    function test_commitmentsOfTwoUnitsAreNoConflict() public {
        _twoAggregates();
        _announced();
        bytes memory right = _other;
        Posted memory p = _aggregateOf(_flipped(0, 0, 0));
        bytes memory notSame = abi.encodeWithSelector(OpeningRules.NotTheSameUnit.selector);
        // Another signer, slot, round and attempt.
        _other = _signedBy(p, _hashOf(_record), KEY + 1);
        _refused(notSame);
        p.slot -= 1;
        _other = _signedBy(p, _hashOf(_record), KEY);
        _refused(notSame);
        p.slot += 1;
        _other = _signedBy(p, keccak256("another round"), KEY);
        _refused(notSame);
        _other = _signedOf(p, _hashOf(_record), KEY, 1);
        _refused(notSame);
        // Nobody's signature.
        right[225] = 0x05;
        _other = right;
        _refused(notSame);
        right[225] = 0x1b;
        right[1] = 0x02;
        _other = right;
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 226));
    }

    // --- the next record ---

    function test_aNextRecordWithAnotherBase() public {
        _expectNext(_flipped(0, 0, 1));
    }

    function test_aNextRecordWithAnotherMomentum() public {
        _expectNext(_flipped(1, 1, 1));
    }

    /// A record that names another one before it would else be on no trial, whatever it begins with.
    function test_aNextRecordBehindAnotherRecord() public {
        _postOuter(_rightOuter());
        _other = _nextRecord(JOB, ROUND + 1, keccak256("garbage"), _rightOuter());
        _postNext(JOB, ROUND + 1);
        _expectLost();
    }

    /// The window is the next round's, once it has an epoch.
    function test_theWindowOfANextRecordIsItsRounds() public {
        _postOuter(_rightOuter());
        _other = _nextRecord(JOB, ROUND + 1, _hashOf(_record), _flipped(0, 0, 1));
        _postNext(JOB, ROUND + 1);
        _wait(0, 2 * WINDOW_BLOCKS);
        _log.postEpoch(_epoch + 1, JOB, ROUND + 1, keccak256("epoch"), 1);
        _expectWonInItsLastBlock();
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS + 1);
        _announced();
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.conflictNow();
    }

    function test_aNextRecordThatGoesOnIsNoConflict() public {
        _postOuter(_rightOuter());
        _other = _nextRecord(JOB, ROUND + 1, _hashOf(_record), _rightOuter());
        _postNext(JOB, ROUND + 1);
        _announced();
        _refused(abi.encodeWithSelector(IDisputeErrors.NoFault.selector));
    }

    function test_onlyTheNextRecordIsAConflict() public {
        _postOuter(_rightOuter());
        _announced();
        OuterRun memory wrong = _flipped(0, 0, 1);
        bytes32 hash = _hashOf(_record);
        bytes memory notNext = abi.encodeWithSelector(OpeningRules.NotTheNextRecord.selector);
        _other = _nextRecord(JOB, ROUND + 1, hash, wrong);
        _refused(abi.encodeWithSelector(WithheldRules.NotPosted.selector));
        // Another job's, and another round's.
        _other = _nextRecord(keccak256("another job"), ROUND + 1, hash, wrong);
        _postNext(keccak256("another job"), ROUND + 1);
        _refused(notNext);
        _other = _nextRecord(JOB, ROUND + 2, hash, wrong);
        _postNext(JOB, ROUND + 2);
        _refused(notNext);
        // Its own round's.
        _other = _record;
        _refused(notNext);
        _other[1] = 0x01;
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, _other.length));
    }

    /// Nobody but the aggregate says what the next round begins with.
    function test_aWorkersCommitmentDoesNotConflictWithTheNextRecord() public {
        _postOuter(_rightOuter());
        _other = _nextRecord(JOB, ROUND + 1, _hashOf(_record), _flipped(0, 0, 1));
        _postNext(JOB, ROUND + 1);
        _commitment = _posted[5];
        _announced();
        _refused(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 1));
        Posted memory p = _aggregateOf(_rightOuter());
        p.slot = 5;
        _commitment = _signedBy(p, _hashOf(_record), KEY);
        _refused(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 2));
        (p.slot, p.kind) = (AGGREGATE_SLOT, 3);
        _commitment = _signedBy(p, _hashOf(_record), KEY);
        _refused(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, 3));
    }

    function test_aConflictIsOfWhatIsPosted() public {
        _twoAggregates();
        _announced();
        bytes memory record = _record;
        _record[100] ^= 0x01;
        _refused(abi.encodeWithSelector(WithheldRules.NotPosted.selector));
        _record = _nextRecord(JOB, ROUND + 1, _hashOf(record), _rightOuter());
        _log.postRound(JOB, ROUND + 1, _hashOf(_record));
        _refused(abi.encodeWithSelector(WithheldRules.NotPosted.selector));
        _record = new bytes(463);
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 463));
        _record = record;
        _other = new bytes(225);
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 225));
        _other = new bytes(465);
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 465));
        _commitment.push(0x00);
        _refused(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 227));
    }

    /// As with any opening: announced, in time, with an escrow that comes back, and the stake is the finder's.
    function test_aConflictIsAnnouncedAndPaidFor() public {
        _twoAggregates();
        bytes32 id = _game.announcementOf(CHALLENGER, _unit, SALT);
        _refused(abi.encodeWithSelector(IDisputeGame.NotAnnounced.selector, id));
        _announce(CHALLENGER, SALT);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.conflictNow();
        _wait(0, ANNOUNCE_BLOCKS);
        this.escrowIsAskedFor();
        this.conflictNow();
        assertEq(_game.etherOf(CHALLENGER), 1 ether, "escrow");
        uint256 before = _token.balanceOf(CHALLENGER);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        assertEq(_token.balanceOf(CHALLENGER), before + STAKE * 4 / 10, "reward");
        _announce(OTHER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.AlreadySettled.selector, _unit));
        this.conflictBy(OTHER);
    }

    // --- helpers ---

    function openNow() external {
        _openNow(CHALLENGER, SALT);
    }

    function escrowIsAskedFor() external {
        more.fee(10 gwei);
        more.txGasPrice(50 gwei);
        uint256 needed = 2 * 10 gwei * uint256(ESCROW_GAS);
        vm.prank(CHALLENGER);
        vm.expectPartialRevert(IDisputeGame.EscrowTooSmall.selector);
        _game.openConflict{value: needed - 1}(_commitment, _record, _other, SALT);
    }

    function conflictNow() external {
        this.conflictBy(CHALLENGER);
    }

    function conflictBy(address who) external {
        vm.prank(who);
        _game.openConflict{value: 1 ether}(_commitment, _record, _other, SALT);
    }

    function _postAggregate() private {
        _log.grantAtOnce(_asserter);
        _log.postAggregate(JOB, ROUND, _commitment);
    }

    function _announced() private returns (bytes32 id) {
        id = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
    }

    function _refusedOpening(bytes memory reason) private {
        vm.expectRevert(reason);
        this.openNow();
    }

    function _refused(bytes memory reason) private {
        vm.expectRevert(reason);
        this.conflictNow();
    }

    function _twoAggregates() private {
        _signUnits();
        _postRoundAndEpoch();
        _twoSigned();
    }

    /// Two aggregates of one round, either of which could be right.
    function _twoSigned() private {
        _sign(_aggregateOf(_flipped(0, 0, 0)));
        bytes32 unit = _unit;
        _other = _commitment;
        _sign(_aggregateOf(_rightOuter()));
        bytes32 hash = _hashOf(_record);
        bytes32 digest = _digest(_aggregateOf(_flipped(0, 0, 0)), hash);
        if (digest < _digest(_aggregateOf(_rightOuter()), hash)) _unit = unit;
    }

    /// A record that goes on from the result of `r`.
    function _nextRecord(bytes32 job, uint64 round, bytes32 previous, OuterRun memory r)
        private
        pure
        returns (bytes memory record)
    {
        (r.base, r.momentum) = (r.baseAfter, r.momentumAfter);
        record = _outerRecord(3, round, previous, r);
        for (uint256 i = 0; i < 32; ++i) {
            record[2 + i] = job[i];
        }
    }

    function _postNext(bytes32 job, uint64 round) private {
        _log.postRound(job, round, _hashOf(_other));
    }

    /// The aggregate is right, and the next round begins with something else.
    function _expectNext(OuterRun memory wrong) private {
        _postOuter(_rightOuter());
        _other = _nextRecord(JOB, ROUND + 1, _hashOf(_record), wrong);
        _postNext(JOB, ROUND + 1);
        _expectLost();
    }

    function _expectLost() private {
        // The round's own window does not matter.
        _wait(0, WINDOW_BLOCKS + 1);
        bytes32 id = _announced();
        _expectFound(id, 7);
        this.conflictNow();
        _expectWon(id);
    }

    function _expectFound(bytes32 id, uint256 field) private {
        vm.expectEmit(address(_game));
        emit IDisputeGame.FaultFound(id, _unit, IDisputeGame.openConflict.selector, field, 0, 0);
    }

    /// As if only in the last block of the window that begins now: the state of before comes back.
    function _expectWonInItsLastBlock() private {
        uint256 state = more.snapshotState();
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        bytes32 id = _announced();
        this.conflictNow();
        _expectWon(id);
        more.revertToState(state);
    }

    function _expectWon(bytes32 id) private view {
        assertEq(
            uint256(_game.gameOf(id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        assertEq(_game.unitOf(_unit).finder, CHALLENGER, "finder");
    }
}
