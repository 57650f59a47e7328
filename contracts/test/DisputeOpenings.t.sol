// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {DisputeGame} from "../src/DisputeGame.sol";
import {Stake} from "../src/Stake.sol";
import {IDisputeErrors, SlotProof} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {OpeningRules} from "../src/dispute/OpeningRules.sol";
import {WithheldRules} from "../src/dispute/WithheldRules.sol";
import {IDisputeGame} from "../src/interfaces/IDisputeGame.sol";
import {IStake} from "../src/interfaces/IStake.sol";
import {Posted} from "./support/DisputeFixture.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {StepRun} from "./support/DisputeRunner.sol";

/// Openings that are none, and those that a copy, a reorg or another chain would make something else.
contract DisputeOpeningsTest is DisputePlayer {
    function setUp() public {
        _deployGame();
    }

    function test_aCopiedOpeningIsNoOpening() public {
        _post(_right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        bytes32 other = _game.announcementOf(OTHER, _unit, SALT);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotAnnounced.selector, other));
        this.openAs(OTHER);
        this.openAs(CHALLENGER);
        bytes32 id = _game.announcementOf(CHALLENGER, _unit, SALT);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotAnnounced.selector, id));
        this.openAs(CHALLENGER);
        vm.prank(CHALLENGER);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.AlreadyAnnounced.selector, id));
        _game.announce(id);
    }

    function test_anOpeningHasItsTime() public {
        _post(_right());
        bytes32 id = _announce(CHALLENGER, SALT);
        vm.prank(CHALLENGER);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.AlreadyAnnounced.selector, id));
        _game.announce(id);
        _wait(0, ANNOUNCE_BLOCKS - 1);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openAs(CHALLENGER);
        _wait(0, 2 + OPEN_BLOCKS);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        this.openAs(CHALLENGER);
        // The window of the epoch's root.
        _wait(0, WINDOW_BLOCKS);
        _announce(CHALLENGER, keccak256("late"));
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectPartialRevert(IDisputeGame.WrongBlock.selector);
        _openNow(CHALLENGER, keccak256("late"));
    }

    function test_onlyPostedCommitmentsAreDisputed() public {
        _post(_right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        _index = 2;
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.openAs(CHALLENGER);
        _index = 3;
        vm.expectPartialRevert(MerkleSha256.LeafOutside.selector);
        this.openAs(CHALLENGER);
        _index = 1;
        _path.push(0);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        this.openAs(CHALLENGER);
        _path.pop();
        _record[100] ^= 0x01;
        vm.expectRevert(WithheldRules.NotPosted.selector);
        this.openAs(CHALLENGER);
        _record[100] ^= 0x01;
        _commitment.push(0x00);
        vm.expectPartialRevert(IDisputeErrors.Malformed.selector);
        this.openAs(CHALLENGER);
    }

    /// What the round fixes for the slot is in its record.
    function test_theSlotIsTheRecords() public {
        _post(_right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        SlotProof memory right = _slot;
        _slot.terms[0] ^= 0x01; // another worker
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.openAs(CHALLENGER);
        _slot = right;
        _slot.terms[27] ^= 0x01; // other steps
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        this.openAs(CHALLENGER);
        _slot = right;
        _slot.terms.push(0x00);
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 29));
        this.openAs(CHALLENGER);
        _slot = right;
        _slot.path.pop();
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        this.openAs(CHALLENGER);
        delete _slot; // there is such a slot
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 0));
        this.openAs(CHALLENGER);
        _slot = right;
        this.openAs(CHALLENGER);
    }

    /// A slot that the round does not have has no terms.
    function test_noSlotHasNoTerms() public {
        Posted memory p = _honest(_right());
        p.slot = 10;
        _post(p);
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        _slot.terms = new bytes(28);
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 28));
        this.openAs(CHALLENGER);
        delete _slot;
        _slot.path.push(0);
        vm.expectRevert(abi.encodeWithSelector(IDisputeErrors.Malformed.selector, 1));
        this.openAs(CHALLENGER);
        delete _slot;
        this.openAs(CHALLENGER);
    }

    /// A commitment that contradicts its round loses at once.
    function test_aForgedFieldIsAFault() public {
        uint256 state = more.snapshotState();
        for (uint256 field = 0; field < 8; ++field) {
            Posted memory p = _honest(_right());
            if (field == 0) p.kind = 3;
            if (field == 1) p.slot = 9;
            if (field == 2) p.codec = 1;
            if (field == 3) p.steps += 1;
            if (field == 4) p.tokens += 1;
            if (field == 5) p.flops *= 2;
            if (field == 6) p.worker = OTHER;
            if (field == 7) p.slot = 10; // the round has no such slot
            _expectFaulty(p);
            more.revertToState(state);
        }
    }

    function test_aZeroRootIsAFault() public {
        uint256 state = more.snapshotState();
        for (uint256 field = 0; field < 3; ++field) {
            Posted memory p = _honest(_right());
            if (field == 0) p.recordsRoot = 0;
            if (field == 1) p.finalStateRoot = 0;
            if (field == 2) p.deltaRoot = 0;
            _expectFaulty(p);
            more.revertToState(state);
        }
    }

    /// Only slots below 65,536, and the aggregate's.
    function test_aUnitOfNoWorkerIsNotDecidedHere() public {
        uint256 state = more.snapshotState();
        uint32[2] memory slots = [uint32(65_536), type(uint32).max - 1];
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

    // --- reorgs, chains, contracts ---

    /// Claims refer to content: after a reorg that moves epoch, index and everybody's order it is the same game.
    function test_aReorgedOpeningIsTheSameGame() public {
        uint256 state = more.snapshotState();
        _post(_right());
        Play memory p = _begin(CHALLENGER, SALT);
        _plan(p, _right(), _right());
        (bytes32 unit, bytes memory call, uint32 index) = (_unit, _call, _index);
        more.revertToState(state);
        _epoch = 8;
        _wait(5, 3);
        _post(_right());
        assertTrue(_index != index, "another place");
        _announce(OTHER, SALT);
        bytes32 id = _open(CHALLENGER, SALT);
        assertEq(_unit, unit, "unit");
        assertEq(id, p.id, "game");
        // The asserter's answer was made before the reorg.
        (_call, _mover) = (call, _asserter);
        this.sendPlanned();
    }

    /// A reorg that puts other content in the same place leaves nothing that the old claims could be about.
    function test_aReorgedCommitmentIsAnotherUnit() public {
        uint256 state = more.snapshotState();
        _post(_right());
        Play memory p = _begin(CHALLENGER, SALT);
        _plan(p, _right(), _right());
        (bytes32 unit, bytes memory call) = (_unit, _call);
        more.revertToState(state);
        Posted memory other = _honest(_right());
        other.deltaRoot = keccak256("another delta");
        _post(other);
        assertTrue(_unit != unit, "another unit");
        vm.prank(CHALLENGER);
        _game.announce(p.id);
        _wait(0, ANNOUNCE_BLOCKS);
        vm.expectRevert(
            abi.encodeWithSelector(
                IDisputeGame.NotAnnounced.selector, _game.announcementOf(CHALLENGER, _unit, SALT)
            )
        );
        this.openAs(CHALLENGER);
        _open(CHALLENGER, keccak256("anew"));
        (_call, _mover) = (call, _asserter);
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        this.sendPlanned();
    }

    /// What was signed for one chain is nobody's commitment on another.
    function test_aReplayOnAnotherChainIsAnotherUnit() public {
        _post(_right());
        _announce(CHALLENGER, SALT);
        _wait(0, ANNOUNCE_BLOCKS);
        more.chainId(4242);
        vm.expectPartialRevert(IDisputeGame.NotAnnounced.selector);
        this.openAs(CHALLENGER);
        // Announced there, it is about a stranger.
        Posted memory p = _honest(_right());
        bytes32 digest = _digest(p, sha256(abi.encodePacked("gym.round.v1", _record)));
        bytes memory signature = new bytes(65);
        for (uint256 i = 0; i < 65; ++i) {
            signature[i] = _commitment[161 + i];
        }
        (bytes32 r, bytes32 s) = abi.decode(signature, (bytes32, bytes32));
        address stranger = ecrecover(digest, uint8(signature[64]), r, s);
        assertTrue(stranger != _asserter, "another signer");
        _unit = keccak256(abi.encode(digest, stranger));
        _open(CHALLENGER, SALT);
        assertEq(_game.unitOf(_unit).asserter, stranger, "asserter");
        (uint256 active,, uint256 locks) = _stake.stakeOf(_asserter);
        assertEq(active, STAKE, "stake");
        assertEq(locks, 0, "locks");
    }

    function test_aReplayInAnotherContractIsNoMove() public {
        _post(_right());
        address place = more.computeCreateAddress(address(this), more.getNonce(address(this)) + 1);
        Stake stake_ = new Stake(IERC20(address(_token)), place, 1 days, 500_000, 100_000);
        DisputeGame other = new DisputeGame(_terms(), IStake(address(stake_)), _rules());
        Play memory p = _begin(CHALLENGER, SALT);
        _plan(p, _right(), _right());
        _game = other;
        vm.expectRevert(abi.encodeWithSelector(IDisputeGame.NotYourTurn.selector, p.id));
        this.sendPlanned();
        vm.expectRevert(
            abi.encodeWithSelector(
                IDisputeGame.NotAnnounced.selector, other.announcementOf(CHALLENGER, _unit, SALT)
            )
        );
        this.openAs(CHALLENGER);
        assertTrue(other.announcementOf(CHALLENGER, _unit, SALT) != p.id, "ids");
    }

    function openAs(address who) external {
        _openNow(who, SALT);
    }

    function _expectFaulty(Posted memory p) private {
        _post(p);
        if (p.worker != _asserter) {
            bytes32 hash = sha256(abi.encodePacked("gym.round.v1", _record));
            _unit = keccak256(abi.encode(_digest(p, hash), vm.addr(KEY + 1)));
        }
        bytes32 id = _open(CHALLENGER, SALT);
        IDisputeGame.Game memory g = _game.gameOf(id);
        assertEq(uint256(g.status), uint256(IDisputeGame.Status.FaultProven), "status");
        assertEq(_game.unitOf(_unit).finder, CHALLENGER, "finder");
    }
}
