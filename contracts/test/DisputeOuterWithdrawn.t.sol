// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {OpeningRules} from "../src/dispute/OpeningRules.sol";
import {WithheldRules} from "../src/dispute/WithheldRules.sol";
import {Frames, IDisputeErrors, SlotProof, Stage} from "../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../src/dispute/IDisputeMoves.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";

/// An aggregate of slots 2 and 5 of its round, from which the delta of slot 9 is subtracted: that went in with the aggregate before, and its
/// commitment, which has too many tokens, was proven wrong since then.
contract DisputeOuterWithdrawnTest is OuterPlayer {
    uint256 internal constant MOVES_MAX = 20;
    uint32 internal constant AGE = 1 << 16;
    bytes32 internal constant UNIT = keccak256("the unit's id in records");
    bytes32 private constant PROVER_SALT = keccak256("prover");

    /// What the asserter shows.
    struct Shown {
        bytes commitment;
        bytes32 unit;
        bytes own;
        bytes listing;
        uint32 index;
        bytes32[] path;
        bool late;
    }

    bytes internal _faulty;
    bytes private _recordOfFaulty;
    /// The round before the one before.
    bytes32[] private _leavesOfOlder;
    bytes32 private _faultyUnit;
    bytes32 private _list;
    bool internal _isProven = true;
    uint16 internal _formatOfOwn = 5;
    /// In the record's list, it was held when it went in.
    bool internal _listedAsHeld;

    function setUp() public virtual {
        _deployOuter();
        uint32[] memory slots = new uint32[](3);
        (slots[0], slots[1], slots[2]) = (2, 5, AGE | 9);
        _rightRun = abi.encode(_outerRunner.run(slots, _groups(), 1));
    }

    /// Whether the delta was held when it went in: then it is of the round before.
    function _wasHeld() internal pure virtual returns (bool) {
        return false;
    }

    /// Of the right run.
    function _groups() internal pure returns (uint32) {
        return _wasHeld() ? (1 << 16) | (1 << 24) : 1 << 16;
    }

    // --- whole games ---

    function test_aRightAggregateIsNotProvenWrong() public {
        OuterPlay memory p = _at(2);
        assertEq(p.c.height, _wasHeld() ? Frames.WITHDRAWN_HELD : Frames.WITHDRAWN, "group");
        assertEq(uint256(p.c.twin), AGE | 9, "age and slot");
        _planOuter(p, _rightOuter(), _rightOuter());
        this.sendPlanned();
        (p.c.answered, p.c.node) = (true, 0);
        assertEq(_game.gameOf(p.id).position, keccak256(abi.encode(p.c)), "shown");
        bytes memory signed = _faulty;
        SlotProof memory slot = _slotOf(9);
        _mover = CHALLENGER;
        _call = abi.encodeCall(
            IDisputeMoves.proveSigner, (p.id, p.c, _outerFacts, _recordOfFaulty, slot, signed)
        );
        vm.expectRevert(IDisputeErrors.WrongFrame.selector);
        this.sendPlanned();
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.Upheld), "status");
    }

    function test_aWithdrawnDeltaThatIsAdded() public {
        _expectProof(_lie(0));
    }

    function test_aWithdrawnDeltaThatCountsOtherwise() public {
        _expectProof(_lie(_groups() ^ (1 << 24)));
    }

    function test_aWithdrawnDeltaThatIsLeftOut() public {
        OuterRun memory wrong = _rightOuter();
        uint32[] memory slots = new uint32[](2);
        (slots[0], slots[1]) = (2, 5);
        OuterRun memory without = _outerRunner.run(slots, 0, 1);
        (wrong.baseAfter, wrong.momentumAfter) = (without.baseAfter, without.momentumAfter);
        wrong.state = without.state;
        wrong.record = _outerRunner.recordOf(wrong);
        _expectProof(wrong);
    }

    // --- what is shown ---

    function test_anUnprovenDeltaStays() public {
        _isProven = false;
        OuterPlay memory p = _at(2);
        _refusedShow(
            p, _shown(), abi.encodeWithSelector(IDisputeGame.NotFaulty.selector, _faultyUnit)
        );
        _losesOnTheClock(p);
    }

    function test_aRoundThatSubtractsNothing() public {
        _formatOfOwn = 3;
        _refusedShow(_at(2), _shown(), abi.encodeWithSelector(OpeningRules.SubtractsNone.selector));
    }

    function test_aDeltaThatWentInOtherwise() public {
        _listedAsHeld = true;
        _refusedShow(_at(2), _shown(), abi.encodePacked(MerkleSha256.RootMismatch.selector));
    }

    function test_theEvidenceIsWhole() public {
        OuterPlay memory p = _at(2);
        bytes4 mismatch = MerkleSha256.RootMismatch.selector;
        Shown memory s = _shown();
        s.unit = keccak256("another unit");
        _refusedShow(p, s, abi.encodePacked(mismatch));
        s = _shown();
        s.commitment = _posted[5];
        _refusedShow(p, s, abi.encodeWithSelector(WithheldRules.NotPosted.selector));
        s = _shown();
        s.own = _recordBefore;
        _refusedShow(p, s, abi.encodeWithSelector(IDisputeErrors.WrongFrame.selector));
        s = _shown();
        s.listing = _recordBefore;
        _refusedShow(p, s, abi.encodeWithSelector(OpeningRules.NotTheNextRecord.selector));
        s = _shown();
        s.listing[463] ^= 0x01;
        _refusedShow(p, s, abi.encodeWithSelector(WithheldRules.NotPosted.selector));
        s = _shown();
        s.listing = bytes.concat(s.listing, hex"00");
        _refusedShow(p, s, abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 1187));
        s = _shown();
        s.index = 1;
        _refusedShow(p, s, abi.encodeWithSelector(MerkleSha256.LeafOutside.selector, 1, 1));
        s = _shown();
        s.late = true;
        _refusedShow(
            p, s, abi.encodeWithSelector(IDisputeErrors.WrongStage.selector, Stage.INCLUDED)
        );
        _showIt(p, _shown());
    }

    /// What is shown for others does not do, nor the other way round.
    function test_eachGroupHasItsOwnRules() public {
        OuterPlay memory p = _at(0);
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 1186));
        this.showIt(p, _shown());
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.WrongStage.selector, Stage.INCLUDED));
        _opening.showIncluded(
            p.id, p.c, _outerFacts, 0, "", new bytes32[](0), new bytes32[](0), false
        );
        p.c.height = Frames.WITHDRAWN;
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.WrongStage.selector, Stage.INCLUDED));
        _outer.showIncluded(
            p.id, p.c, _outerFacts, 0, "", new bytes32[](0), new bytes32[](0), false
        );
    }

    /// A unit of the same slot and delta, of another round, that is faulty: it is not the one that went in.
    function test_theCommitmentIsOfTheRoundThatItWentInto() public {
        OuterPlay memory p = _at(2);
        Shown memory s = _shown();
        Posted memory unit = _faultyPosted();
        s.commitment = _signedBy(unit, _hashOf(_record), _workerKey(9));
        _refusedShow(p, s, abi.encodeWithSelector(WithheldRules.NotPosted.selector));
    }

    // --- what is declared ---

    function test_agesAndSlotsAscend() public {
        _postOuter(_rightOuter());
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        // 2 and 5, no held ones, then an age and a slot.
        _refusedSlots(p, hex"240000000009", 2);
        _refusedSlots(p, hex"00010009", _groups());
        _refusedSlots(p, hex"2400000109", 5);
        _refusedSlots(p, hex"240001", 3);
    }

    // --- helpers ---

    /// Numbers that were made with other groups, declared as the right ones.
    function _lie(uint32 groups) private view returns (OuterRun memory wrong) {
        wrong = _outerRunner.run(_rightOuter().slots, groups, 1);
        wrong.held = _groups();
        wrong.record = _outerRunner.recordOf(wrong);
    }

    function _faultyPosted() internal view returns (Posted memory unit) {
        unit = _unitOf(9, DisputeTrees.tensorRoot(_rightOuter().deltas[2]));
        unit.tokens += 1;
    }

    function _leafOf(bytes32 root) private view returns (bytes32) {
        return sha256(
            abi.encodePacked(
                "gym.included_delta.v1", uint32(9), UNIT, root, _listedAsHeld != _wasHeld()
            )
        );
    }

    /// Both rounds, with the aggregate's commitment; slot 9's unit of the round before is faulty.
    function _postWithdrawn(OuterRun memory run) internal {
        _signUnits();
        Posted memory unit = _faultyPosted();
        _recordOfFaulty = _wasHeld()
            ? _outerRecord(3, ROUND - 2, keccak256("older"), _rightOuter())
            : _recordBefore;
        bytes32 hash = _hashOf(_recordOfFaulty);
        _faulty = _signedBy(unit, hash, _workerKey(9));
        _faultyUnit = keccak256(abi.encode(_digest(unit, hash), unit.worker));
        bytes32[] storage leaves = _leavesOfFaulty();
        uint32 place = uint32(leaves.length);
        _keepIn(leaves, place, _faulty);
        if (_wasHeld()) {
            _log.postRound(JOB, ROUND - 2, hash);
            _log.postEpoch(_epoch + 2000, JOB, ROUND - 2, DisputeTrees.root(leaves), 1);
        }
        // The record of this round lists what went in with the round before.
        bytes memory head = _record;
        (head[0], head[1]) = (0, bytes1(uint8(_formatOfOwn)));
        bytes32 list = _leafOf(unit.deltaRoot);
        assembly {
            mstore(add(head, 464), list)
        }
        head[431] = 0x01;
        _record = head;
        // The round's own commitments name the record as it is now.
        OuterRun memory right = _rightOuter();
        for (uint32 i = 0; i < 2; ++i) {
            uint32 slot = right.slots[i];
            Posted memory own = _unitOf(slot, DisputeTrees.tensorRoot(right.deltas[i]));
            _keep(slot, i, _signedBy(own, _hashOf(_record), _workerKey(slot)));
        }
        _postRoundAndEpoch();
        if (_isProven) _prove(place);
        _sign(_aggregateOf(run));
    }

    function _leavesOfFaulty() private view returns (bytes32[] storage) {
        return _wasHeld() ? _leavesOfOlder : _leavesBefore;
    }

    /// A conflict between record and commitment is proven by the opening.
    function _prove(uint32 place) private {
        bytes memory record = _record;
        (_unit, _commitment) = (_faultyUnit, _faulty);
        _record = _recordOfFaulty;
        _slot = _slotOf(9);
        (_index, _path) = (place, DisputeTrees.path(_leavesOfFaulty(), place));
        bytes32 id = _open(OTHER, PROVER_SALT);
        assertEq(
            uint256(_game.gameOf(id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        _record = record;
    }

    function _at(uint32 i) internal returns (OuterPlay memory p) {
        OuterRun memory right = _rightOuter();
        _postWithdrawn(right);
        p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, right, right, 1);
        _planIncluded(p, right, i);
        _sendOuter(p);
        assertEq(p.c.stage, Stage.INCLUDED, "stage");
    }

    function _shown() internal view returns (Shown memory s) {
        (s.commitment, s.unit, s.own, s.listing) = (_faulty, UNIT, _record, _record);
    }

    function _planShowWithdrawn(OuterPlay memory p, OuterRun memory a) internal override {
        Shown memory s = _shown();
        (_mover, _ruler) = (_asserter, address(_opening));
        _call = _showCall(p, s, _pathOf(a, p.c.index));
    }

    function _isShownWithdrawn(OuterRun memory a, uint256 i) internal view override returns (bool) {
        return
            DisputeTrees.tensorRoot(a.deltas[i]) == DisputeTrees.tensorRoot(_rightOuter().deltas[i]);
    }

    function _showCall(OuterPlay memory p, Shown memory s, bytes32[] memory included)
        private
        view
        returns (bytes memory)
    {
        bytes memory evidence = bytes.concat(s.commitment, s.unit, s.own, s.listing);
        return abi.encodeCall(
            IDisputeMoves.showIncluded,
            (p.id, p.c, _outerFacts, s.index, evidence, s.path, included, s.late)
        );
    }

    /// @dev External, so that a test can expect it to revert.
    function showIt(OuterPlay memory p, Shown memory s) external {
        _call = _showCall(p, s, _pathOf(_rightOuter(), p.c.index));
        sendPlannedAs(_asserter);
    }

    function _showIt(OuterPlay memory p, Shown memory s) private {
        this.showIt(p, s);
        assertEq(
            uint256(_game.gameOf(p.id).status),
            uint256(IDisputeGame.Status.ChallengerMoves),
            "status"
        );
    }

    function _refusedShow(OuterPlay memory p, Shown memory s, bytes memory reason) private {
        if (reason.length == 4) vm.expectPartialRevert(bytes4(reason));
        else vm.expectRevert(reason);
        this.showIt(p, s);
    }

    function _refusedSlots(OuterPlay memory p, bytes memory slots, uint256 offset) private {
        OuterRun memory right = _rightOuter();
        bytes32[] memory deltas = DisputeTrees.tensorRoots(right.deltas);
        (_mover, _call) = (_asserter, _declaration(p, right.record, deltas, slots, right.held));
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, offset));
        this.sendPlanned();
    }

    function _expectProof(OuterRun memory wrong) private {
        _postWithdrawn(wrong);
        OuterPlay memory p = _beginOuter(CHALLENGER, SALT);
        _playOuter(p, wrong, _rightOuter(), MOVES_MAX);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        assertTrue(keccak256(bytes(_name)) == keccak256("proveOuter"), _name);
    }

    function _losesOnTheClock(OuterPlay memory p) private {
        _wait(CLOCK + 1, 1);
        _game.timeout(p.id);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultByClock), "clock"
        );
    }
}

/// The delta of slot 9 was held when it went in: it is of the round before.
contract DisputeOuterWithdrawnHeldTest is DisputeOuterWithdrawnTest {
    function _wasHeld() internal pure override returns (bool) {
        return true;
    }
}
