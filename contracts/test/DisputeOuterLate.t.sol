// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors, Frames, OuterFacts, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {
    DisputeOuterHeldProofsTest,
    DisputeOuterHeldRefusalsTest,
    DisputeOuterHeldTest
} from "./DisputeOuterHeld.t.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// Games about an aggregate of slot 2 of its round, and of slots 5 and 9 of the round before, both of which were late.
/// forge-config: default.fuzz.runs = 64
/// forge-config: check.fuzz.runs = 300
/// forge-config: soak.fuzz.runs = 900
contract DisputeOuterLateTest is DisputeOuterHeldTest {
    function _lateOfRight() internal pure override returns (uint32) {
        return 2;
    }
}

contract DisputeOuterLateProofsTest is DisputeOuterHeldProofsTest {
    function _lateOfRight() internal pure override returns (uint32) {
        return 2;
    }
}

contract DisputeOuterLateRefusalsTest is DisputeOuterHeldRefusalsTest {
    function _lateOfRight() internal pure override returns (uint32) {
        return 2;
    }
}

/// What only aggregates with late deltas can get wrong: slot 5 was in time, and slot 9 was late.
contract DisputeOuterLateFaultsTest is OuterPlayer {
    /// Reasons to refuse a commitment.
    uint256 private constant ROUND_OF = 2;
    uint256 private constant LATE = 3;
    /// What proveSigner finds.
    uint256 private constant NOT_TAKEN_LATE = 8;

    bool private _taken = true;
    bool private _hasBefore = true;

    function setUp() public {
        _deployOuter();
    }

    function _heldOfRight() internal pure override returns (uint32) {
        return 2;
    }

    function _lateOfRight() internal pure override returns (uint32) {
        return 1;
    }

    function _takesLate() internal view override returns (bool) {
        return _taken;
    }

    function _postRoundBefore() internal override {
        if (_hasBefore) super._postRoundBefore();
    }

    function test_aRightAggregateIsNotProvenWrong() public {
        _postOuter(_rightOuter());
        uint256 state = more.snapshotState();
        for (uint32 i = 0; i < 3; ++i) {
            OuterPlay memory p = _shown(i);
            assertEq(p.c.height, i, "round and epoch");
            _planOuter(p, _rightOuter(), _rightOuter());
            vm.expectRevert(IDisputeErrors.NoFault.selector);
            this.sendPlanned();
            more.revertToState(state);
        }
    }

    // --- a round that takes none late ---

    function test_aLateDeltaOfARoundThatTakesNone() public {
        _taken = false;
        _postOuter(_rightOuter());
        _expectFault(NOT_TAKEN_LATE);
    }

    /// Whatever else is wrong with the commitment.
    function test_aLateDeltaOfNobodyInARoundThatTakesNone() public {
        _taken = false;
        _signUnits();
        bytes memory signed = _posted[9];
        signed[225] = 0x05;
        _keep(9, 2, signed);
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        _expectFault(NOT_TAKEN_LATE);
    }

    function test_aHeldDeltaInTimeOfARoundThatTakesNone() public {
        _taken = false;
        _postOuter(_rightOuter());
        OuterPlay memory p = _shown(1);
        _planOuter(p, _rightOuter(), _rightOuter());
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        this.sendPlanned();
    }

    // --- where it is shown ---

    function test_onlyHeldDeltasAreLate() public {
        _postOuter(_rightOuter());
        OuterPlay memory p = _at(0);
        _expectRefused(p, 2, _leaves, true, abi.encodeWithSelector(_BAD_RECORD, LATE));
        _showAs(p, 2, _leaves, false);
    }

    function test_aLateCommitmentIsUnderTheRoundsOwnRoot() public {
        _postOuter(_rightOuter());
        OuterPlay memory p = _at(2);
        _expectRefused(p, 9, _leaves, false, abi.encodePacked(MerkleSha256.RootMismatch.selector));
        _expectRefused(
            p, 9, _leavesBefore, true, abi.encodePacked(MerkleSha256.RootMismatch.selector)
        );
        _showAs(p, 9, _leaves, true);
    }

    function test_aHeldCommitmentInTimeIsNotLate() public {
        _postOuter(_rightOuter());
        OuterPlay memory p = _at(1);
        _expectRefused(p, 5, _leaves, true, abi.encodePacked(MerkleSha256.RootMismatch.selector));
        _expectRefused(
            p, 5, _leavesBefore, true, abi.encodePacked(MerkleSha256.RootMismatch.selector)
        );
        _showAs(p, 5, _leavesBefore, false);
    }

    /// It names the round before, whose record says that it may be late.
    function test_aLateCommitmentIsOfTheRoundBefore() public {
        _signUnits();
        Posted memory unit = _unitOf(9, DisputeTrees.tensorRoot(_rightOuter().deltas[2]));
        _keep(9, 2, _signedBy(unit, _hashOf(_record), _workerKey(9)));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        OuterPlay memory p = _at(2);
        _expectRefused(p, 9, _leaves, true, abi.encodeWithSelector(_BAD_RECORD, ROUND_OF));
    }

    /// Under both roots: an auditor finds that, and no game does.
    function test_aCommitmentUnderBothRoots() public {
        _signUnits();
        _keepIn(_leavesBefore, 2, _posted[9]);
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        uint256 state = more.snapshotState();
        for (uint8 i = 0; i < 2; ++i) {
            OuterPlay memory p = _at(2);
            _showAs(p, 9, i == 0 ? _leavesBefore : _leaves, i == 1);
            assertTrue(_isOpen(p.id), "open");
            more.revertToState(state);
        }
    }

    /// No record says that it takes what the commitment, which names no record, claims to be.
    function test_withoutARoundBeforeNothingIsLate() public {
        _hasBefore = false;
        _signUnits();
        Posted memory unit = _unitOf(9, DisputeTrees.tensorRoot(_rightOuter().deltas[2]));
        _keep(9, 2, _signedBy(unit, 0, _workerKey(9)));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        (_outerFacts.previousRecord, _outerFacts.previousEpochRoot) = (0, 0);
        _outerFacts.previousEpochLeaves = 0;
        OuterPlay memory p = _at(2);
        _expectRefused(
            p, 9, _leaves, true, abi.encodeWithSelector(IDisputeErrors.ZeroDigest.selector)
        );
        _expectRefused(p, 9, _leaves, false, abi.encodePacked(MerkleSha256.ZeroRoot.selector));
    }

    // --- who signed it ---

    function test_aLateSignerIsJudgedByTheRoundBefore() public {
        _postOuter(_rightOuter());
        OuterPlay memory p = _shown(2);
        _mover = CHALLENGER;
        OuterFacts memory facts = _outerFacts;
        _call = abi.encodeCall(
            IDisputeMoves.proveSigner, (p.id, p.c, facts, _record, _slotOf(9), _posted[9])
        );
        vm.expectRevert(IDisputeErrors.WrongFrame.selector);
        this.sendPlanned();
    }

    function test_aLateDeltaOfAnotherSigner() public {
        _signUnits();
        Posted memory unit = _unitOf(9, DisputeTrees.tensorRoot(_rightOuter().deltas[2]));
        _keep(9, 2, _signedBy(unit, _hashOf(_recordBefore), _workerKey(8)));
        _postRoundAndEpoch();
        _sign(_aggregateOf(_rightOuter()));
        _expectFault(1);
    }

    // --- helpers ---

    bytes4 private constant _BAD_RECORD = IDisputeErrors.BadRecord.selector;

    /// The challenger asks for delta `i`.
    function _at(uint32 i) private returns (OuterPlay memory p) {
        OuterRun memory right = _rightOuter();
        p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 1);
        _planIncluded(p, right, i);
        _sendOuter(p);
        assertEq(p.c.stage, Stage.INCLUDED, "stage");
    }

    function _shown(uint32 i) private returns (OuterPlay memory p) {
        p = _at(i);
        _playOuter(p, _rightOuter(), _rightOuter(), 1);
        assertTrue(p.c.answered, "shown");
    }

    function _showAs(OuterPlay memory p, uint32 slot, bytes32[] memory leaves, bool late) private {
        bytes32[] memory path = DisputeTrees.path(leaves, _placeOf[slot]);
        bytes32[] memory included = _pathOf(_rightOuter(), p.c.index);
        this.showAs(p, _placeOf[slot], _posted[slot], path, included, late);
    }

    function _expectRefused(
        OuterPlay memory p,
        uint32 slot,
        bytes32[] memory leaves,
        bool late,
        bytes memory reason
    ) private {
        bytes32[] memory path = DisputeTrees.path(leaves, _placeOf[slot]);
        bytes32[] memory included = _pathOf(_rightOuter(), p.c.index);
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        this.showAs(p, _placeOf[slot], _posted[slot], path, included, late);
    }

    /// The challenger finds slot 9's commitment wrong by itself, and proves it.
    function _expectFault(uint256 element) private {
        OuterRun memory right = _rightOuter();
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 3);
        assertEq(p.c.height, Frames.LATE, "late");
        _planOuter(p, right, right);
        vm.expectEmit(address(_game));
        emit IDisputeGame.FaultFound(p.id, _unit, IDisputeMoves.proveSigner.selector, element, 0, 0);
        this.sendPlanned();
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
    }
}
