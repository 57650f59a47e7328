// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors, OuterFacts, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {DisputeOuterTest} from "./DisputeOuter.t.sol";
import {DisputeOuterLeavesTest} from "./DisputeOuterLeaves.t.sol";
import {DisputeOuterProofsTest} from "./DisputeOuterProofs.t.sol";
import {Declared, DisputeOuterRefusalsTest} from "./DisputeOuterRefusals.t.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {SlotLists} from "./support/SlotLists.sol";

/// Games about an aggregate of slot 2 of its round, and of slots 5 and 9 of the round before.
/// forge-config: default.fuzz.runs = 64
/// forge-config: check.fuzz.runs = 300
/// forge-config: soak.fuzz.runs = 900
contract DisputeOuterHeldTest is DisputeOuterTest {
    function _heldOfRight() internal pure override returns (uint32) {
        return 2;
    }
}

/// All are held: then they count alike.
/// forge-config: default.fuzz.runs = 64
/// forge-config: check.fuzz.runs = 300
/// forge-config: soak.fuzz.runs = 900
contract DisputeOuterAllHeldTest is DisputeOuterTest {
    function _heldOfRight() internal pure override returns (uint32) {
        return 3;
    }
}

/// forge-config: default.fuzz.runs = 64
/// forge-config: check.fuzz.runs = 300
/// forge-config: soak.fuzz.runs = 900
contract DisputeOuterHeldLeavesTest is DisputeOuterLeavesTest {
    function _heldOfRight() internal pure override returns (uint32) {
        return 1;
    }
}

contract DisputeOuterHeldProofsTest is DisputeOuterProofsTest {
    function _heldOfRight() internal pure override returns (uint32) {
        return 2;
    }
}

contract DisputeOuterHeldRefusalsTest is DisputeOuterRefusalsTest {
    function _heldOfRight() internal pure override returns (uint32) {
        return 2;
    }

    function test_noMoreAreHeldThanThereAre() public {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        d.held = 4;
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 4));
        d.held = type(uint16).max;
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, type(uint16).max));
        // Its upper half says that 255 are withdrawn, and the list has no room for their ages.
        d.held = type(uint32).max;
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, d.slots.length));
    }

    /// How many are held is in the record.
    function test_theRecordSaysHowManyAreHeld() public {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        bytes32[] memory deltas = DisputeTrees.tensorRoots(_rightOuter().deltas);
        bytes32 right = _outerRunner.batchRoot(deltas, 2);
        for (d.held = 0; d.held < 4; ++d.held) {
            if (d.held == 2) continue;
            d.slots = SlotLists.declared(_rightOuter().slots, d.held);
            bytes32 other = _outerRunner.batchRoot(deltas, d.held);
            _refusedDeclaration(p, d, abi.encodeWithSelector(MISMATCH, other, right));
        }
        d = _declared();
        _sendDeclaration(p, d);
    }

    /// One set behind the other: 2, then 5 and 9.
    function test_eachDeltaHasASlot() public override {
        OuterPlay memory p = _at(0);
        Declared memory d = _declared();
        // 2 and 5, then 9: another number of them is held.
        d.slots = _sets(hex"2400", hex"0040");
        _refusedDeclaration(p, d, abi.encodeWithSelector(MALFORMED, 2));
        // The held ones alone: as many as there are, but the record counts three deltas.
        d.slots = _sets(hex"0000", hex"0440");
        _refusedDeclaration(p, d, abi.encodePacked(MISMATCH));
        // 7, then 0 and 7; 9, then 5 and 9.
        uint256 state = more.snapshotState();
        d.slots = _sets(hex"01", hex"81");
        _sendDeclaration(p, d);
        more.revertToState(state);
        d.slots = _sets(hex"0040", hex"0440");
        _sendDeclaration(p, d);
    }
}

/// What only aggregates with held deltas can get wrong.
contract DisputeOuterAgesTest is OuterPlayer {
    uint256 private constant MOVES_MAX = 20;
    /// A reason to refuse a commitment.
    uint256 private constant ROUND_OF = 2;
    bytes4 private constant WRONG_FRAME = IDisputeErrors.WrongFrame.selector;

    /// How the log has the round before.
    enum Before {
        There,
        Open,
        Another,
        None
    }

    Before private _before;

    function setUp() public {
        _deployOuter();
    }

    function _heldOfRight() internal pure override returns (uint32) {
        return 2;
    }

    function _postRoundBefore() internal override {
        if (_before == Before.There) return super._postRoundBefore();
        if (_before == Before.None) return;
        bytes32 hash = _hashOf(_recordBefore);
        if (_before == Before.Another) hash = keccak256("another record");
        _log.postRound(JOB, ROUND - 1, hash);
        if (_before == Before.Open) return;
        bytes32 root = DisputeTrees.root(_leavesBefore);
        _log.postEpoch(_epoch + 1000, JOB, ROUND - 1, root, uint32(_leavesBefore.length));
    }

    // --- lies ---

    function test_heldDeltasThatCountFully() public {
        OuterRun memory wrong = _outerRunner.run(_rightOuter().slots, 0, 1);
        wrong.held = 2;
        wrong.record = _outerRunner.recordOf(wrong);
        _expectProof(wrong, "proveOuter");
    }

    function test_deltasOfTheRoundThatCountHalf() public {
        OuterRun memory wrong = _outerRunner.run(_rightOuter().slots, 3, 1);
        wrong.held = 2;
        wrong.record = _outerRunner.recordOf(wrong);
        _expectProof(wrong, "proveOuter");
    }

    function test_aHeldDeltaThatNobodySigned() public {
        OuterRun memory wrong = _rightOuter();
        wrong.deltas[2] = _outerRunner.run(wrong.slots, 2, 3).deltas[2];
        wrong.record = _outerRunner.recordOf(wrong);
        _expectNotShown(wrong, 2, _mismatch());
    }

    /// It has a commitment, of the round before.
    function test_aHeldDeltaThatIsDeclaredAsTheRounds() public {
        _expectNotShown(_outerRunner.run(_rightOuter().slots, 1, 1), 1, _otherRound());
    }

    function test_aDeltaOfTheRoundThatIsDeclaredAsHeld() public {
        _expectNotShown(_outerRunner.run(_rightOuter().slots, 3, 1), 0, _otherRound());
    }

    /// A delta of the round, in the place of the first held one.
    function test_tooHighAHeldCount() public {
        OuterRun memory wrong = _rightOuter();
        wrong.held = 3;
        wrong.record = _outerRunner.recordOf(wrong);
        _expectNotShown(wrong, 0, _otherRound());
    }

    function test_tooLowAHeldCount() public {
        OuterRun memory wrong = _rightOuter();
        wrong.held = 1;
        wrong.record = _outerRunner.recordOf(wrong);
        _expectNotShown(wrong, 1, _otherRound());
    }

    /// What another worker has signed under the slot.
    function test_aHeldDeltaOfAnotherSigner() public {
        _signUnits();
        Posted memory unit = _unitOf(9, DisputeTrees.tensorRoot(_rightOuter().deltas[2]));
        _keep(9, 2, _signedBy(unit, _hashOf(_recordBefore), _workerKey(8)));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, _rightOuter(), _rightOuter(), MOVES_MAX);
        _expectOver(p, "proveSigner");
    }

    // --- both ages ---

    /// One worker's deltas of both rounds are two.
    function test_aSlotOfBothRounds() public {
        uint32[] memory slots = new uint32[](3);
        (slots[0], slots[1], slots[2]) = (2, 5, 5);
        _rightRun = abi.encode(_outerRunner.run(slots, 1, 4));
        OuterRun memory right = _rightOuter();
        _signUnits();
        Posted memory unit = _unitOf(5, DisputeTrees.tensorRoot(right.deltas[1]));
        bytes[2] memory signed = [_signedBy(unit, _hashOf(_record), _workerKey(5)), _posted[5]];
        _keepIn(_leaves, 1, signed[0]);
        _postRoundAndEpoch();
        _sign(_aggregateOf(right));
        uint256 state = more.snapshotState();
        for (uint32 i = 0; i < 2; ++i) {
            OuterPlay memory p = _atIncluded(right, 1 + i);
            assertEq(p.c.height, i, "age");
            (_posted[5], _placeOf[5]) = (signed[1 - i], 2 - i);
            _planOuter(p, right, right);
            vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, ROUND_OF));
            this.sendPlanned();
            (_posted[5], _placeOf[5]) = (signed[i], 1 + i);
            _playOuter(p, right, right, 1);
            _planOuter(p, right, right);
            vm.expectRevert(IDisputeErrors.NoFault.selector);
            this.sendPlanned();
            more.revertToState(state);
        }
    }

    /// A commitment counts under the epoch of its own round alone.
    function test_theEpochIsThatOfTheDeltasRound() public {
        _signUnits();
        _keepIn(_leaves, 1, _posted[5]);
        _keepIn(_leavesBefore, 0, _posted[2]);
        _leavesBefore[1] = keccak256("another commitment");
        _postRoundAndEpoch();
        OuterRun memory right = _rightOuter();
        _sign(_aggregateOf(right));
        uint256 state = more.snapshotState();
        OuterPlay memory p = _atIncluded(right, 1);
        bytes32[] memory path = DisputeTrees.path(_leaves, 1);
        bytes32[] memory included = _pathOf(right, 1);
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.show(p, 1, _posted[5], path, included);
        more.revertToState(state);
        p = _atIncluded(right, 0);
        (path, included) = (DisputeTrees.path(_leavesBefore, 0), _pathOf(right, 0));
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.show(p, 0, _posted[2], path, included);
        this.show(p, 0, _posted[2], DisputeTrees.path(_leaves, 0), included);
    }

    function test_aSignerIsJudgedByItsRound() public {
        _postOuter(_rightOuter());
        uint256 state = more.snapshotState();
        for (uint32 i = 0; i < 2; ++i) {
            OuterPlay memory p = _atIncluded(_rightOuter(), i);
            _playOuter(p, _rightOuter(), _rightOuter(), 1);
            uint32 slot = _rightOuter().slots[i];
            _planSignerBy(p, i == 0 ? _recordBefore : _record, slot);
            vm.expectRevert(WRONG_FRAME);
            this.sendPlanned();
            _planSignerBy(p, i == 0 ? _record : _recordBefore, slot);
            vm.expectRevert(IDisputeErrors.NoFault.selector);
            this.sendPlanned();
            more.revertToState(state);
        }
    }

    // --- the round before ---

    function test_aRoundBeforeWithoutAnEpoch() public {
        _expectNoRoundBefore(Before.Open);
    }

    function test_aRoundBeforeThatIsNotTheHeads() public {
        _expectNoRoundBefore(Before.Another);
    }

    function test_aRoundBeforeThatIsNotPosted() public {
        _expectNoRoundBefore(Before.None);
    }

    /// A held delta has nothing that can be shown for it.
    function _expectNoRoundBefore(Before how) private {
        _before = how;
        _postOuter(_rightOuter());
        (_outerFacts.previousRecord, _outerFacts.previousEpochRoot) = (0, 0);
        _outerFacts.previousEpochLeaves = 0;
        OuterPlay memory p = _atIncluded(_rightOuter(), 1);
        _planOuter(p, _rightOuter(), _rightOuter());
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, ROUND_OF));
        this.sendPlanned();
        // Nor if the commitment names no record.
        Posted memory unit = _unitOf(5, DisputeTrees.tensorRoot(_rightOuter().deltas[1]));
        bytes memory signed = _signedBy(unit, 0, _workerKey(5));
        bytes32[] memory included = _pathOf(_rightOuter(), 1);
        vm.expectRevert(MerkleSha256.ZeroRoot.selector);
        this.show(p, 0, signed, new bytes32[](0), included);
    }

    // --- helpers ---

    function _atIncluded(OuterRun memory run, uint256 i) private returns (OuterPlay memory p) {
        p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, run, run, 1);
        _planIncluded(p, run, i);
        _sendOuter(p);
        assertEq(p.c.stage, Stage.INCLUDED, "stage");
    }

    function _planSignerBy(OuterPlay memory p, bytes memory record, uint32 slot) private {
        _mover = CHALLENGER;
        OuterFacts memory facts = _outerFacts;
        _call = abi.encodeCall(
            IDisputeMoves.proveSigner, (p.id, p.c, facts, record, _slotOf(slot), _posted[slot])
        );
    }

    function _expectProof(OuterRun memory wrong, string memory last) private {
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), MOVES_MAX);
        _expectOver(p, last);
    }

    function _expectOver(OuterPlay memory p, string memory last) private view {
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        assertTrue(keccak256(bytes(_name)) == keccak256(bytes(last)), _name);
    }

    function _mismatch() private pure returns (bytes memory) {
        return abi.encodePacked(MerkleSha256.RootMismatch.selector);
    }

    function _otherRound() private pure returns (bytes memory) {
        return abi.encodeWithSelector(IDisputeErrors.BadRecord.selector, ROUND_OF);
    }

    /// The challenger asks for delta `i`, and the asserter has no commitment that fits. @param reason Why that of its slot does not, or the
    /// selector.
    function _expectNotShown(OuterRun memory wrong, uint256 i, bytes memory reason) private {
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), 2);
        assertEq(p.c.stage, Stage.INCLUDED, "stage");
        assertEq(p.c.index, i, "position");
        assertEq(uint256(p.c.twin), wrong.slots[i], "slot");
        _planOuter(p, wrong, _rightOuter());
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        this.sendPlanned();
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultByClock), "clock"
        );
    }
}
