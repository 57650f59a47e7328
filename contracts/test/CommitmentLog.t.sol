// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";

import {AdminTimelock} from "../src/AdminTimelock.sol";
import {CommitmentLog} from "../src/CommitmentLog.sol";
import {IDrandBeacon} from "../src/interfaces/IDrandBeacon.sol";
import {ICommitmentLog} from "../src/interfaces/ICommitmentLog.sol";
import {TestBase} from "./support/TestBase.sol";

contract CommitmentLogTest is TestBase {
    address private constant ADMIN_KEY = address(0xad);
    address private constant GUARDIAN = address(0x9a);
    address private constant COORDINATOR = address(0xc0);
    bytes32 private constant JOB = keccak256("job");

    CommitmentLog private _log;

    function setUp() public {
        _log = new CommitmentLog(
            new AdminTimelock(1 days, ADMIN_KEY, GUARDIAN),
            COORDINATOR,
            GUARDIAN,
            IDrandBeacon(address(0))
        );
    }

    function test_aRoundIsFixedOnce(bytes32 job, uint64 round, bytes32 hash, bytes32 other) public {
        vm.assume(hash != 0 && other != 0);
        vm.expectEmit(address(_log));
        emit ICommitmentLog.RoundPosted(job, round, hash);
        vm.prank(COORDINATOR);
        _log.postRound(job, round, hash);
        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.RoundExists.selector, job, round));
        vm.prank(COORDINATOR);
        _log.postRound(job, round, other);
        (bytes32 stored, uint64 epoch) = _log.roundOf(job, round);
        assertEq(stored, hash, "hash");
        assertEq(epoch, 0, "epoch of an open round");
    }

    function test_anEpochClosesARoundOnce() public {
        _postRound(0);
        _postRound(1);
        vm.roll(77);
        vm.expectEmit(address(_log));
        emit ICommitmentLog.EpochPosted(9, JOB, 0, bytes32(uint256(5)), 3);
        _postEpoch(9, 0, bytes32(uint256(5)));
        (bytes32 root, uint32 count, uint64 blockNumber) = _log.epochOf(9);
        assertEq(root, bytes32(uint256(5)), "root");
        assertEq(count, 3, "count");
        assertEq(blockNumber, 77, "block");
        (, uint64 epoch) = _log.roundOf(JOB, 0);
        assertEq(epoch, 9, "epoch");

        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.EpochExists.selector, uint64(9)));
        _postEpoch(9, 1, bytes32(uint256(6)));
        vm.expectRevert(
            abi.encodeWithSelector(ICommitmentLog.RoundClosed.selector, JOB, uint64(0), uint64(9))
        );
        _postEpoch(10, 0, bytes32(uint256(6)));
    }

    function test_zerosAndUnknownRoundsAreRejected() public {
        vm.expectRevert(ICommitmentLog.ZeroHash.selector);
        vm.prank(COORDINATOR);
        _log.postRound(JOB, 0, 0);
        _postRound(0);
        vm.expectRevert(ICommitmentLog.ZeroRoot.selector);
        _postEpoch(1, 0, 0);
        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.EpochExists.selector, uint64(0)));
        _postEpoch(0, 0, bytes32(uint256(1)));
        vm.expectRevert(
            abi.encodeWithSelector(ICommitmentLog.RoundUnknown.selector, JOB, uint64(1))
        );
        _postEpoch(1, 1, bytes32(uint256(1)));
    }

    function test_anyoneMayPublishABoundedCommitment(address sender, uint256 length) public {
        length = bound(length, 1, 1024);
        _postRound(4);
        bytes memory commitment = new bytes(length);
        commitment[length - 1] = 0x42;
        vm.expectEmit(address(_log));
        emit ICommitmentLog.CommitmentPosted(JOB, 4, sender, commitment);
        vm.prank(sender);
        _log.postCommitment(JOB, 4, commitment);
    }

    function test_commitmentsOutOfBoundsAreRejected() public {
        _postRound(4);
        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.BadCommitmentLength.selector, 0));
        _log.postCommitment(JOB, 4, "");
        vm.expectRevert(abi.encodeWithSelector(ICommitmentLog.BadCommitmentLength.selector, 1025));
        _log.postCommitment(JOB, 4, new bytes(1025));
        vm.expectRevert(
            abi.encodeWithSelector(ICommitmentLog.RoundUnknown.selector, JOB, uint64(5))
        );
        _log.postCommitment(JOB, 5, new bytes(1));
    }

    function test_onlyTheCoordinatorPosts(address stranger) public {
        vm.assume(stranger != COORDINATOR);
        bytes memory refused = abi.encodeWithSelector(
            IAccessControl.AccessControlUnauthorizedAccount.selector,
            stranger,
            _log.COORDINATOR_ROLE()
        );
        vm.expectRevert(refused);
        vm.prank(stranger);
        _log.postRound(JOB, 0, bytes32(uint256(1)));
        vm.expectRevert(refused);
        vm.prank(stranger);
        _log.postEpoch(1, JOB, 0, bytes32(uint256(1)), 1);
    }

    function _postRound(uint64 round) private {
        vm.prank(COORDINATOR);
        _log.postRound(JOB, round, keccak256(abi.encode(round)));
    }

    function _postEpoch(uint64 epoch, uint64 round, bytes32 root) private {
        vm.prank(COORDINATOR);
        _log.postEpoch(epoch, JOB, round, root, 3);
    }
}
