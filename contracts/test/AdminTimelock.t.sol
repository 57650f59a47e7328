// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AdminTimelock} from "../src/AdminTimelock.sol";
import {CommitmentLog} from "../src/CommitmentLog.sol";
import {IDrandBeacon} from "../src/interfaces/IDrandBeacon.sol";
import {DelayedRoles} from "../src/DelayedRoles.sol";
import {JobEscrow} from "../src/JobEscrow.sol";
import {IJobEscrow} from "../src/interfaces/IJobEscrow.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";

/// A thief has the admin's key; owners have deposits, and earners rewards that they did not claim yet.
contract AdminTimelockTest is DistributorFixture {
    address private constant OWNER = address(0xb0b);
    address private constant THIEF = address(0x7e1f);
    uint256 private constant ADMIN_DELAY = 2 * DELAY;
    uint256 private constant CAP = 1 ether;

    JobEscrow private _escrow;
    CommitmentLog private _log;

    function setUp() public {
        _deploy();
        _escrow = new JobEscrow(
            IERC20(address(_token)),
            address(_distributor),
            _timelock,
            SETTLER,
            GUARDIAN,
            DELAY,
            1 minutes,
            CAP
        );
        _log = new CommitmentLog(_timelock, address(0xc0), GUARDIAN, IDrandBeacon(address(0)));
        _token.approve(address(_escrow), 100 ether);
        _escrow.deposit(OWNER, 100 ether);
        _earn(0, 60);
        _earn(1, 40);
        _submitActive(1);
    }

    function test_aStolenAdminKeyTakesNothingBeforeEverybodyHasLeft() public {
        uint256 start = block.timestamp;
        (address[] memory targets, bytes[] memory calls) = _theft();
        for (uint256 i = 0; i < calls.length; ++i) {
            vm.prank(ADMIN_KEY);
            (bool ok,) = targets[i].call(calls[i]);
            assertTrue(!ok, "the admin's key acted by itself");
        }
        _announce(targets, calls, 0);
        _expectNotReady(targets, calls);
        vm.warp(start + ADMIN_DELAY - 1);
        _expectNotReady(targets, calls);

        // Whoever sees it within half of the delay leaves.
        vm.warp(start + ADMIN_DELAY / 2);
        vm.prank(OWNER);
        _escrow.requestWithdrawal(100 ether);
        vm.warp(start + ADMIN_DELAY / 2 + DELAY);
        vm.prank(OWNER);
        assertEq(_escrow.withdraw(), 100 ether, "the owner's deposit");
        _claim(0);
        _claim(1);

        vm.warp(start + ADMIN_DELAY);
        _execute(targets, calls);
        (address[] memory owners, uint256[] memory amounts) = (new address[](1), new uint256[](1));
        (owners[0], amounts[0]) = (OWNER, 1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.InsufficientLock.selector, OWNER, 0, 1));
        vm.prank(THIEF);
        _escrow.release(1, owners, amounts);
        assertEq(_distributor.claimed(_earner(0)), 60, "earner 0");
        assertEq(_distributor.claimed(_earner(1)), 40, "earner 1");
    }

    function test_theGuardianCancelsWhatAThiefAnnounced() public {
        (address[] memory targets, bytes[] memory calls) = _theft();
        bytes32 id = _announce(targets, calls, 0);
        vm.prank(GUARDIAN);
        _timelock.cancel(id);
        vm.warp(block.timestamp + ADMIN_DELAY);
        _expectNotReady(targets, calls);
    }

    function test_anAnnouncementLapses() public {
        (address[] memory targets, bytes[] memory calls) = _theft();
        bytes32 id = _announce(targets, calls, 0);
        vm.warp(block.timestamp + ADMIN_DELAY + _timelock.EXECUTION_PERIOD() + 1);
        _expectNotReady(targets, calls);
        assertTrue(!_timelock.isOperationPending(id), "pending");
        _announce(targets, calls, 0);
        assertEq(_timelock.announcementCount(), 2, "announcements");
    }

    function test_announcementsAreListedWithTheirBlocks() public {
        (address[] memory targets, bytes[] memory calls) = _theft();
        vm.roll(77);
        bytes32 id = _announce(targets, calls, 0);
        vm.roll(78);
        vm.prank(ADMIN_KEY);
        _timelock.schedule(targets[0], 0, calls[0], 0, 0, ADMIN_DELAY);
        (bytes32 first, uint64 firstBlock) = _timelock.announcement(0);
        (bytes32 second, uint64 secondBlock) = _timelock.announcement(1);
        assertEq(first, id, "first");
        assertEq(firstBlock, 77, "block of the first");
        assertEq(second, _timelock.hashOperation(targets[0], 0, calls[0], 0, 0), "second");
        assertEq(secondBlock, 78, "block of the second");
    }

    function test_neitherTheDelayNorTheAdminChanges() public {
        _expectExecutionFails(
            address(_timelock),
            abi.encodeCall(_timelock.updateDelay, (0)),
            AdminTimelock.DelayIsFixed.selector
        );
        _expectExecutionFails(
            address(_escrow),
            abi.encodeCall(IAccessControl.grantRole, (bytes32(0), THIEF)),
            DelayedRoles.AdminIsFixed.selector
        );
        _expectExecutionFails(
            address(_escrow),
            abi.encodeCall(IAccessControl.revokeRole, (bytes32(0), address(_timelock))),
            DelayedRoles.AdminIsFixed.selector
        );
        vm.expectPartialRevert(TimelockController.TimelockInsufficientDelay.selector);
        vm.prank(ADMIN_KEY);
        _timelock.schedule(address(_escrow), 0, "", 0, 0, ADMIN_DELAY - 1);
    }

    function test_theGuardianTakesAwayAndLowersAtOnceAndNothingElse() public {
        bytes32 settler = _escrow.SETTLER_ROLE();
        bytes32 coordinator = _log.COORDINATOR_ROLE();
        bytes32 guardian = _escrow.GUARDIAN_ROLE();
        vm.prank(GUARDIAN);
        _escrow.setReleaseCap(CAP - 1);
        vm.prank(GUARDIAN);
        _escrow.setOwnerReleaseCap(5);
        vm.prank(GUARDIAN);
        _distributor.setGrowthLimit(7);
        assertEq(_escrow.releaseCap(), CAP - 1, "release cap");
        assertEq(_escrow.ownerReleaseCap(), 5, "cap of an owner");
        assertEq(_distributor.growthLimit(), 7, "growth limit");
        _expectGuardianRefused(address(_escrow), abi.encodeCall(_escrow.setReleaseCap, (CAP)));
        _expectGuardianRefused(address(_escrow), abi.encodeCall(_escrow.setOwnerReleaseCap, (6)));
        _expectGuardianRefused(
            address(_distributor), abi.encodeCall(_distributor.setGrowthLimit, (8))
        );
        _expectGuardianRefused(
            address(_escrow), abi.encodeCall(_escrow.grantRole, (settler, GUARDIAN))
        );
        _expectGuardianRefused(
            address(_escrow), abi.encodeCall(_escrow.revokeRole, (guardian, GUARDIAN))
        );
        _expectGuardianRefused(address(_escrow), abi.encodeCall(_escrow.unpause, ()));

        vm.prank(GUARDIAN);
        _escrow.revokeRole(settler, SETTLER);
        vm.prank(GUARDIAN);
        _distributor.revokeRole(settler, SETTLER);
        vm.prank(GUARDIAN);
        _log.revokeRole(coordinator, address(0xc0));
        assertTrue(!_escrow.hasRole(settler, SETTLER), "escrow");
        assertTrue(!_distributor.hasRole(settler, SETTLER), "distributor");
        assertTrue(!_log.hasRole(coordinator, address(0xc0)), "log");
    }

    /// A guardian who helps the thief pauses claims for longer than the delay.
    function test_claimsHaveToHaveRunBeforeTheAdminActs() public {
        (address[] memory targets, bytes[] memory calls) = _theft();
        _announce(targets, calls, 0);
        vm.prank(GUARDIAN);
        _distributor.pauseClaims();
        uint256 resumed = block.timestamp + _distributor.CLAIM_PAUSE_MAX();
        vm.warp(resumed + DELAY - 1);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.ClaimsWerePaused.selector, resumed + DELAY)
        );
        _execute(targets, calls);
        _claim(0);
        vm.warp(resumed + DELAY);
        _execute(targets, calls);
    }

    function test_theConstructorChecksItsParameters() public {
        vm.expectRevert(AdminTimelock.ZeroAddress.selector);
        new AdminTimelock(0, address(0), GUARDIAN);
        vm.expectRevert(AdminTimelock.ZeroAddress.selector);
        new AdminTimelock(0, ADMIN_KEY, address(0));
        vm.expectRevert(
            abi.encodeWithSelector(
                AdminTimelock.DelayTooLong.selector, uint256(91 days), uint256(90 days)
            )
        );
        new AdminTimelock(91 days, ADMIN_KEY, GUARDIAN);
    }

    /// Everything that lets money move faster, each call by the contract that it concerns.
    function _theft() private view returns (address[] memory targets, bytes[] memory calls) {
        (targets, calls) = (new address[](6), new bytes[](6));
        bytes32 settler = _escrow.SETTLER_ROLE();
        (targets[0], calls[0]) =
        (address(_escrow), abi.encodeCall(_escrow.setReleaseCap, (100 ether)));
        (targets[1], calls[1]) =
        (address(_escrow), abi.encodeCall(_escrow.setOwnerReleaseCap, (100 ether)));
        (targets[2], calls[2]) =
        (address(_escrow), abi.encodeCall(_escrow.grantRole, (settler, THIEF)));
        (targets[3], calls[3]) =
        (address(_distributor), abi.encodeCall(_distributor.setGrowthLimit, (FUNDS + 1)));
        (targets[4], calls[4]) =
        (address(_distributor), abi.encodeCall(_distributor.grantRole, (settler, THIEF)));
        (targets[5], calls[5]) =
        (address(_log), abi.encodeCall(_log.grantRole, (_log.COORDINATOR_ROLE(), THIEF)));
    }

    function _announce(address[] memory targets, bytes[] memory calls, bytes32 salt)
        private
        returns (bytes32 id)
    {
        uint256[] memory values = new uint256[](targets.length);
        vm.prank(ADMIN_KEY);
        _timelock.scheduleBatch(targets, values, calls, 0, salt, ADMIN_DELAY);
        return _timelock.hashOperationBatch(targets, values, calls, 0, salt);
    }

    function _execute(address[] memory targets, bytes[] memory calls) private {
        vm.prank(ADMIN_KEY);
        _timelock.executeBatch(targets, new uint256[](targets.length), calls, 0, 0);
    }

    function _expectNotReady(address[] memory targets, bytes[] memory calls) private {
        vm.expectPartialRevert(TimelockController.TimelockUnexpectedOperationState.selector);
        _execute(targets, calls);
    }

    function _expectExecutionFails(address target, bytes memory call, bytes4 error_) private {
        vm.prank(ADMIN_KEY);
        _timelock.schedule(target, 0, call, 0, 0, ADMIN_DELAY);
        vm.warp(block.timestamp + ADMIN_DELAY);
        vm.expectRevert(error_);
        vm.prank(ADMIN_KEY);
        _timelock.execute(target, 0, call, 0, 0);
    }

    function _expectGuardianRefused(address target, bytes memory call) private {
        vm.prank(GUARDIAN);
        (bool ok, bytes memory data) = target.call(call);
        bytes memory refused = abi.encodeWithSelector(
            IAccessControl.AccessControlUnauthorizedAccount.selector, GUARDIAN, bytes32(0)
        );
        assertTrue(!ok && keccak256(data) == keccak256(refused), "not refused for its role");
    }
}
