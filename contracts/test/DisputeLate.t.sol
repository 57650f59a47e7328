// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDisputeErrors} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {OpeningRules} from "../src/dispute/OpeningRules.sol";
import {WithheldRules} from "../src/dispute/WithheldRules.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {Fault, StepRun, Wrong} from "./support/DisputeRunner.sol";

/// Games about late commitments, which are under the root of the next round's epoch.
contract DisputeLateTest is DisputePlayer {
    function setUp() public {
        _deployGame();
        (_late, _format) = (true, 4);
    }

    function openAs(address who) external {
        _openNow(who, SALT);
    }

    function test_aLateUnitIsDecidedLikeOthers() public {
        StepRun[] memory wrong = _runner.run(Fault(Wrong.Primitive, 1, 3, 0));
        _post(wrong);
        Play memory p = _begin(CHALLENGER, SALT);
        _play(p, wrong, _right(), 100);
        assertEq(
            uint256(_game.gameOf(p.id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
        assertEq(_game.unitOf(_unit).finder, CHALLENGER, "finder");
    }

    /// Its name is that of a unit in time: nothing of it says in which epoch it is.
    function test_itIsTheSameUnitInBothEpochs() public {
        _post(_right());
        bytes32 late = _unit;
        _late = false;
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.openAs(CHALLENGER);
        _late = true;
        this.openAs(CHALLENGER);
        assertEq(_unit, late, "unit");
        assertEq(_game.unitOf(_unit).asserter, _asserter, "asserter");
    }

    function test_theWindowIsTheNextEpochs() public {
        _late = false;
        Posted memory p = _honest(_right());
        _post(p);
        _wait(0, WINDOW_BLOCKS);
        (_late, _epoch) = (true, _epoch + 1);
        _postNext();
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        uint256 state = more.snapshotState();
        this.openAs(CHALLENGER);
        more.revertToState(state);
        _wait(0, 1);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openAs(CHALLENGER);
    }

    /// The same leaves under the next round's root.
    function _postNext() private {
        (bytes32 root,,) = _log.epochOf(_epoch - 1);
        _log.postRound(JOB, _runner.ROUND() + 1, keccak256("next"));
        _log.postEpoch(_epoch, JOB, _runner.ROUND() + 1, root, 3);
    }

    function test_onlyWhereTheRecordSaysSo() public {
        _format = 3;
        _post(_right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectRevert(WithheldRules.TakesNoLate.selector);
        this.openAs(CHALLENGER);
    }

    function testFuzz_noOtherFormatIsARecord(uint16 format) public {
        _format = format;
        _late = false;
        _post(_right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        if (format < 3 || format > 6) {
            vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 464));
        }
        this.openAs(CHALLENGER);
    }

    function test_notBeforeTheNextEpoch() public {
        _late = false;
        _post(_right());
        _late = true;
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectRevert(WithheldRules.NotPosted.selector);
        this.openAs(CHALLENGER);
        _log.postRound(JOB, _runner.ROUND() + 1, keccak256("next"));
        vm.expectRevert(WithheldRules.NotPosted.selector);
        this.openAs(CHALLENGER);
    }

    /// No slot but a worker's has a late unit.
    function test_noAggregateIsLate() public {
        uint32[3] memory slots = [uint32(65_536), type(uint32).max - 1, type(uint32).max];
        uint256 state = more.snapshotState();
        for (uint256 i = 0; i < slots.length; ++i) {
            Posted memory p = _honest(_right());
            p.slot = slots[i];
            _post(p);
            _announce(CHALLENGER, SALT);
            _wait(0, ANNOUNCE_BLOCKS);
            vm.expectRevert(
                abi.encodeWithSelector(WithheldRules.NotAWorkersUnit.selector, slots[i])
            );
            this.openAs(CHALLENGER);
            more.revertToState(state);
        }
    }

    function test_aForgedFieldIsAFault() public {
        Posted memory p = _honest(_right());
        p.steps += 1;
        _post(p);
        bytes32 id = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectEmit(address(_game));
        emit IDisputeGame.FaultFound(id, _unit, IDisputeGame.openLate.selector, 3, 0, 0);
        this.openAs(CHALLENGER);
    }

    /// One commitment in time and a late one: the window is that of the later epoch, and open as long as there is none.
    function test_twoCommitmentsToOneUnit() public {
        _late = false;
        Posted memory p = _honest(_right());
        _post(p);
        bytes32 first = _unit;
        p.deltaRoot = keccak256("another delta");
        bytes32 hash = sha256(abi.encodePacked("gym.round.v1", _record));
        bytes32 second = keccak256(abi.encode(_digest(p, hash), _asserter));
        bytes memory other = _signed(p, hash);
        bytes32 digest = _digest(_honest(_right()), hash);
        _unit = _digest(p, hash) < digest ? second : first;
        uint256 state = more.snapshotState();
        _wait(0, 3 * WINDOW_BLOCKS);
        _expectConflict(other);
        more.revertToState(state);
        _wait(0, WINDOW_BLOCKS);
        _epoch += 1;
        _postNext();
        _wait(0, WINDOW_BLOCKS - ANNOUNCE_BLOCKS);
        state = more.snapshotState();
        _expectConflict(other);
        more.revertToState(state);
        _wait(0, 1);
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openConflict(other);
    }

    function openConflict(bytes calldata other) external {
        vm.prank(CHALLENGER);
        _game.openConflict{value: 1 ether}(_commitment, _record, other, SALT);
    }

    function _expectConflict(bytes memory other) private {
        bytes32 id = _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        this.openConflict(other);
        assertEq(
            uint256(_game.gameOf(id).status), uint256(IDisputeGame.Status.FaultProven), "status"
        );
    }
}
