// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";

/// Whole games about aggregates: wherever one is wrong, anybody proves it; one that is right is never lost.
contract DisputeOuterTest is OuterPlayer {
    uint256 private constant MOVES_MAX = 20;

    function setUp() public {
        _deployOuter();
    }

    // --- the result ---

    function test_anElementOfTheBase() public {
        _expectFault(_flipped(0, 0, 270), "proveOuter", 10);
    }

    /// In a tensor of one chunk.
    function test_theLastElementOfTheMomentum() public {
        _expectFault(_flipped(1, 1, 8), "proveOuter", 8);
    }

    function test_aStateThatIsNotTheCommittedBase() public {
        OuterRun memory wrong = _rightOuter();
        wrong.state[1] = keccak256("another tensor");
        wrong.record = _outerRunner.recordOf(wrong);
        _expectFault(wrong, "proveOuterSlot", 4);
    }

    function test_aStateThatIsNotTheCommittedMomentum() public {
        OuterRun memory wrong = _rightOuter();
        wrong.state[3] = keccak256("another tensor");
        wrong.record = _outerRunner.recordOf(wrong);
        _expectFault(wrong, "proveOuterSlot", 4);
    }

    /// The result is right for other values than the deltas have.
    function test_aColumnThatIsNotTheDeltas() public {
        OuterRun memory wrong = _flipped(0, 1, 4);
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        while (p.c.stage != Stage.COLUMN) {
            _playOuter(p, wrong, _rightOuter(), 1);
        }
        p.values = _columnOf(p, wrong);
        p.values[4 * 2 + 1] ^= 0x40;
        _playOuter(p, wrong, _rightOuter(), MOVES_MAX);
        _expectOver(p, "proveColumn");
    }

    /// One delta is its own mean.
    function test_anAggregateOfOneDelta() public {
        uint32[] memory slots = new uint32[](1);
        slots[0] = 5;
        _rightRun = abi.encode(_outerRunner.run(slots, 0, 2));
        OuterRun memory wrong = _flipped(0, 1, 0);
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), MOVES_MAX);
        _expectOver(p, "proveOuter");
    }

    /// A whole game; DisputeOuterLeaves.t.sol has many of its last moves.
    /// forge-config: default.fuzz.runs = 8
    /// forge-config: check.fuzz.runs = 200
    /// forge-config: soak.fuzz.runs = 600
    function test_anyElementOfTheResult(uint256 which, uint256 element) public {
        element = bound(element, 0, 308);
        (uint256 k, uint256 i) = element < 300 ? (0, element) : (1, element - 300);
        _expectFault(_flipped(which % 2, k, i), "proveOuter", 0);
    }

    // --- what is included ---

    /// Deltas that nobody has committed to: the commitment cannot be shown.
    function test_aDeltaOfNobodyIsNotShown() public {
        uint32[] memory slots = new uint32[](3);
        (slots[0], slots[1], slots[2]) = (2, 5, 9);
        OuterRun memory wrong = _outerRunner.run(slots, _heldOfRight(), 3);
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), 2);
        _expectNotShown(p, wrong, MerkleSha256.RootMismatch.selector);
        _losesOnTheClock(p);
    }

    /// The delta is a worker's, but not of the slot that is named: each counts once.
    function test_aDeltaUnderAnotherSlotIsNotShown() public {
        OuterRun memory wrong = _rightOuter();
        wrong.slots[2] = 11;
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), 2);
        _expectNotShown(
            p,
            wrong,
            _heldOfRight() == 0
                ? MerkleSha256.RootMismatch.selector
                : IDisputeErrors.BadRecord.selector
        );
        // The commitment that has the delta is of another slot.
        (_placeOf[11], _posted[11]) = (_placeOf[9], _posted[9]);
        _expectNotShown(p, wrong, IDisputeErrors.BadRecord.selector);
        _losesOnTheClock(p);
    }

    function test_aCommitmentOfAnotherSigner() public {
        _expectBadUnit(_unitOf(5, _deltaRoot(1)), 0x9999, 1);
    }

    function test_aCommitmentOfNobody() public {
        _signUnits();
        bytes memory signed = _posted[5];
        signed[225] = 0x05;
        _expectSigner(signed, 7);
    }

    /// Every field that the round fixes, as at open().
    function test_aCommitmentThatContradictsItsRound() public {
        uint256 state = more.snapshotState();
        for (uint256 field = 2; field < 7; ++field) {
            Posted memory unit = _unitOf(5, _deltaRoot(1));
            if (field == 2) unit.codec = 1;
            if (field == 3) unit.steps += 1;
            if (field == 4) unit.tokens += 1;
            if (field == 5) unit.flops += 1;
            if (field == 6) unit.recordsRoot = 0;
            _expectBadUnit(unit, _workerKey(5), field);
            more.revertToState(state);
        }
    }

    // --- who is right ---

    /// A whole game; DisputeOuterLeaves.t.sol has many of its last moves.
    /// forge-config: default.fuzz.runs = 8
    /// forge-config: check.fuzz.runs = 200
    /// forge-config: soak.fuzz.runs = 600
    function test_aRightAggregateIsNeverLost(uint256 which, uint256 element) public {
        element = bound(element, 0, 308);
        (uint256 k, uint256 i) = element < 300 ? (0, element) : (1, element - 300);
        OuterRun memory right = _rightOuter();
        OuterRun memory other = _flipped(which % 2, k, i);
        _postOuter(right);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        while (p.c.stage != Stage.COLUMN || !p.c.answered) {
            _playOuter(p, right, other, 1);
        }
        _planOuter(p, right, other);
        assertTrue(keccak256(bytes(_name)) == keccak256("proveOuter"), _name);
        _expectNoFault();
        for (uint32 d = 0; d < 3; ++d) {
            _call =
                abi.encodeCall(IDisputeMoves.proveColumn, (p.id, p.c, _columnProof(p, right, d)));
            _expectNoFault();
        }
        _upheld(p);
    }

    function test_everyTensorOfARightState() public {
        OuterPlay memory p = _atRight(3);
        for (uint256 i = 0; i < 4; ++i) {
            _planSlotOf(p, _rightOuter(), i);
            _expectNoFault();
        }
        _upheld(p);
    }

    function test_everyDeltaOfARightAggregate() public {
        uint256 state = more.snapshotState();
        for (uint256 i = 0; i < 3; ++i) {
            OuterRun memory right = _rightOuter();
            _postOuter(right);
            OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
            _playOuter(p, right, right, 1);
            _planIncluded(p, right, i);
            _sendOuter(p);
            _playOuter(p, right, right, 1);
            _planOuter(p, right, right);
            _expectNoFault();
            _upheld(p);
            more.revertToState(state);
        }
    }

    function test_aSecondGameFollowsTheAnswersOfTheFirst() public {
        OuterRun memory wrong = _flipped(0, 0, 270);
        _postOuter(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), MOVES_MAX);
        OuterPlay memory q = _beginOuter(OTHER, SALT);
        (q.frame, q.op, q.values) = (_with(p.frame, 0), p.op, p.values);
        _playOuter(q, wrong, _rightOuter(), MOVES_MAX);
        assertEq(_game.gameOf(q.id).asserterGas, 0, "answers are known");
        _expectOver(q, "proveOuter");
    }

    // --- helpers ---

    function _expectFault(OuterRun memory wrong, string memory last, uint256 moves) private {
        _postOuter(wrong);
        uint256 before = _token.balanceOf(CHALLENGER);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), MOVES_MAX);
        if (moves != 0) assertEq(_game.gameOf(p.id).moves, moves, "moves");
        _expectOver(p, last);
        _wait(SETTLING + 1, 1);
        _game.settle(_unit);
        assertEq(_token.balanceOf(CHALLENGER), before + STAKE * 4 / 10, "reward");
        (uint256 active, uint256 thawing, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active + thawing + locks, 0, "stake");
    }

    function _expectOver(OuterPlay memory p, string memory last) private view {
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        assertTrue(keccak256(bytes(_name)) == keccak256(bytes(last)), _name);
    }

    /// The asserter has no commitment that fits. @param reason Why the one of the slot does not.
    function _expectNotShown(OuterPlay memory p, OuterRun memory wrong, bytes4 reason) private {
        _planOuter(p, wrong, _rightOuter());
        assertTrue(keccak256(bytes(_name)) == keccak256("showIncluded"), _name);
        vm.expectPartialRevert(reason);
        this.sendPlanned();
    }

    function _losesOnTheClock(OuterPlay memory p) private {
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultByClock), "clock"
        );
    }

    /// The unit of slot 5 is one that no aggregate should include.
    function _expectBadUnit(Posted memory unit, uint256 key, uint256 field) private {
        _signUnits();
        _expectSigner(_signedBy(unit, _hashFor(5), key), field);
    }

    function _expectSigner(bytes memory signed, uint256 field) private {
        OuterRun memory right = _rightOuter();
        _keep(5, 1, signed);
        _postRoundAndEpoch();
        _sign(_aggregateOf(right));
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 3);
        assertEq(p.c.stage, Stage.INCLUDED, "stage");
        _planOuter(p, right, right);
        vm.expectEmit(address(_game));
        emit IDisputeGame.FaultFound(p.id, _unit, IDisputeMoves.proveSigner.selector, field, 0, 0);
        this.sendPlanned();
        _expectOver(p, "proveSigner");
    }

    function _deltaRoot(uint256 i) private view returns (bytes32) {
        return DisputeTrees.tensorRoot(_rightOuter().deltas[i]);
    }

    function _atRight(uint8 tree) private returns (OuterPlay memory p) {
        OuterRun memory right = _rightOuter();
        _postOuter(right);
        p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 1);
        _planTree(p, tree);
        _sendOuter(p);
        _playOuter(p, right, right, 1);
    }

    function _expectNoFault() private {
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        this.sendPlanned();
    }

    /// The challenger has no move that wins.
    function _upheld(OuterPlay memory p) private {
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.Upheld), "upheld");
    }
}
