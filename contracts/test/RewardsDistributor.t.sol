// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {PayoutTree} from "../src/PayoutTree.sol";
import {AdminTimelock} from "../src/AdminTimelock.sol";
import {DelayedRoles} from "../src/DelayedRoles.sol";
import {RewardsDistributor} from "../src/RewardsDistributor.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";

/// Roots: their order, funding, activation and end. What they pay is in RewardsDistributorClaims.t.sol.
contract RewardsDistributorTest is DistributorFixture {
    function setUp() public {
        _deploy();
    }

    function test_withoutARootNothingIsActivePendingOrPaid() public {
        for (uint256 i = 0; i < 2; ++i) {
            IRewardsDistributor.RootInfo memory active = _distributor.activeRoot();
            assertEq(active.epoch, 0, "epoch");
            assertEq(active.root, 0, "root");
            assertEq(active.totalCumulative, 0, "total");
            assertEq(active.epochFileRoot, 0, "file root");
            assertEq(active.activeAt, 0, "active at");
            assertEq(_distributor.pendingRoot().epoch, 0, "pending");
            assertEq(_distributor.pendingRoot().activeAt, 0, "pending at");
            _earn(0, 10);
            _expectClaimReverts(
                0, abi.encodeWithSelector(IRewardsDistributor.NoActiveRoot.selector)
            );
            // Neither is what was disabled.
            _submit(1 + uint64(i));
            assertEq(_distributor.lastEpoch(), 1 + i, "last");
            vm.prank(GUARDIAN);
            _distributor.disable(1 + uint64(i));
            vm.warp(block.timestamp + 2 * DELAY);
        }
    }

    function test_aRootPaysOnlyAfterItsActivation() public {
        _earn(0, 10);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RootSubmitted(
            1, _root(), 10, FILE_ROOT, uint64(block.timestamp) + DELAY
        );
        _submit(1);
        assertEq(_distributor.pendingRoot().epoch, 1, "pending");
        _expectClaimReverts(0, abi.encodeWithSelector(IRewardsDistributor.NoActiveRoot.selector));
        vm.warp(block.timestamp + DELAY - 1);
        _expectClaimReverts(0, abi.encodeWithSelector(IRewardsDistributor.NoActiveRoot.selector));
        vm.warp(block.timestamp + 1);
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
        assertEq(_distributor.activeRoot().epoch, 1, "active");
        assertEq(_distributor.activeRoot().epochFileRoot, FILE_ROOT, "file root");
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.Claimed(_earner(0), _earner(0), 10, 10);
        _claim(0);
        assertEq(_token.balanceOf(_earner(0)), 10, "paid");
    }

    function test_aDisabledRootNeverPaysAndTheOneBeforeStays() public {
        _earn(0, 10);
        _submitActive(1);
        _earn(0, 90);
        _submit(2);
        PayoutTree.Step[] memory disabledPath = _path(0);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RootDisabled(2);
        vm.prank(GUARDIAN);
        _distributor.disable(2);
        vm.warp(block.timestamp + 2 * DELAY);
        assertEq(_distributor.activeRoot().epoch, 1, "active");
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(0), 100)
        );
        _distributor.claim(_earner(0), 100, disabledPath);

        // The totals are compared with the active root's, the epochs with every epoch posted.
        _unearn(0, 85);
        _expectSubmitReverts(
            2,
            abi.encodeWithSelector(
                IRewardsDistributor.EpochNotIncreasing.selector, uint64(2), uint64(2)
            )
        );
        _submitActive(3);
        assertEq(_distributor.activeRoot().epoch, 3, "active");
        _claim(0);
        assertEq(_token.balanceOf(_earner(0)), 15, "paid");
    }

    function test_theFirstRootCanBeDisabledToo() public {
        _earn(0, 10);
        _submit(1);
        vm.prank(GUARDIAN);
        _distributor.disable(1);
        vm.warp(block.timestamp + DELAY);
        _expectClaimReverts(0, abi.encodeWithSelector(IRewardsDistributor.NoActiveRoot.selector));
        _submitActive(2);
        _claim(0);
    }

    function test_onlyAPendingRootCanBeDisabled() public {
        _earn(0, 10);
        _expectNotPending(0);
        _expectNotPending(1);
        _submit(1);
        _expectNotPending(2);
        vm.warp(block.timestamp + DELAY);
        _expectNotPending(1);
        _earn(0, 10);
        _submit(2);
        vm.prank(GUARDIAN);
        _distributor.disable(2);
        _expectNotPending(2);
    }

    function test_aPendingRootCannotBeReplaced() public {
        _earn(0, 10);
        _submit(1);
        uint64 activeAt = uint64(block.timestamp) + DELAY;
        _expectSubmitReverts(
            2, abi.encodeWithSelector(IRewardsDistributor.RootPending.selector, uint64(1), activeAt)
        );
    }

    function test_zeroRootsAreRejected() public {
        vm.expectRevert(IRewardsDistributor.ZeroRoot.selector);
        vm.prank(SETTLER);
        _distributor.submitRoot(1, 0, 1, FILE_ROOT);
        vm.expectRevert(IRewardsDistributor.ZeroRoot.selector);
        vm.prank(SETTLER);
        _distributor.submitRoot(1, FILE_ROOT, 1, 0);
    }

    function test_epochsIncrease(uint64 first, uint64 second) public {
        vm.assume(first != 0 && second <= first);
        _earn(0, 1);
        _submitActive(first);
        _expectSubmitReverts(
            second,
            abi.encodeWithSelector(IRewardsDistributor.EpochNotIncreasing.selector, second, first)
        );
    }

    function test_totalsNeverDecrease() public {
        _earn(0, 10);
        _submitActive(1);
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.TotalDecreased.selector, 9, 10));
        vm.prank(SETTLER);
        _distributor.submitRoot(2, FILE_ROOT, 9, FILE_ROOT);
    }

    function test_totalsAreFundedByWhatWasPaidAndIsHeld() public {
        _earn(0, FUNDS);
        _submitActive(1);
        _claim(0);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.TotalNotFunded.selector, FUNDS + 1, FUNDS)
        );
        vm.prank(SETTLER);
        _distributor.submitRoot(2, FILE_ROOT, FUNDS + 1, FILE_ROOT);
    }

    function test_growthIsLimitedPerRoot() public {
        vm.prank(_admin);
        _distributor.setGrowthLimit(100);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.GrowthLimitExceeded.selector, 101, 100)
        );
        vm.prank(SETTLER);
        _distributor.submitRoot(1, FILE_ROOT, 101, FILE_ROOT);
        vm.prank(SETTLER);
        _distributor.submitRoot(1, FILE_ROOT, 100, FILE_ROOT);
        vm.warp(block.timestamp + DELAY);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.GrowthLimitExceeded.selector, 101, 100)
        );
        vm.prank(SETTLER);
        _distributor.submitRoot(2, FILE_ROOT, 201, FILE_ROOT);
    }

    function test_numbersOf128BitsAndMoreAreRejected() public {
        vm.expectPartialRevert(SafeCast.SafeCastOverflowedUintDowncast.selector);
        vm.prank(_admin);
        _distributor.setGrowthLimit(uint256(type(uint128).max) + 1);
        vm.prank(_admin);
        _distributor.setGrowthLimit(type(uint128).max);
    }

    function test_pauseStopsRootsButNotClaims() public {
        _earn(0, 10);
        _submitActive(1);
        vm.prank(GUARDIAN);
        _distributor.pause();
        _expectSubmitReverts(2, abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        _claim(0);
        vm.prank(_admin);
        _distributor.unpause();
        _submit(2);
    }

    function test_rolesAreEnforced(address stranger) public {
        vm.assume(stranger != SETTLER && stranger != _admin && stranger != GUARDIAN);
        bytes32 guardian = _distributor.GUARDIAN_ROLE();
        bytes32 settler = _distributor.SETTLER_ROLE();
        _refused(
            stranger,
            settler,
            abi.encodeCall(IRewardsDistributor.submitRoot, (1, FILE_ROOT, 0, FILE_ROOT))
        );
        _refused(stranger, guardian, abi.encodeCall(IRewardsDistributor.disable, (1)));
        _refused(stranger, guardian, abi.encodeCall(IRewardsDistributor.pause, ()));
        _refused(stranger, guardian, abi.encodeCall(IRewardsDistributor.pauseClaims, ()));
        _refused(stranger, guardian, abi.encodeCall(IRewardsDistributor.unpauseClaims, ()));
        _refused(stranger, 0, abi.encodeCall(IRewardsDistributor.unpause, ()));
        _refused(stranger, 0, abi.encodeCall(IRewardsDistributor.setGrowthLimit, (1)));
        _refused(SETTLER, guardian, abi.encodeCall(IRewardsDistributor.disable, (1)));
    }

    function test_constructorChecksItsParameters() public {
        vm.expectRevert(IRewardsDistributor.ZeroAddress.selector);
        new RewardsDistributor(IERC20(address(0)), _timelock, SETTLER, GUARDIAN, 0, 1);
        AdminTimelock slow = new AdminTimelock(90 days, ADMIN_KEY, GUARDIAN);
        vm.expectRevert(
            abi.encodeWithSelector(
                IRewardsDistributor.DelayTooLong.selector, uint64(31 days), uint64(30 days)
            )
        );
        new RewardsDistributor(IERC20(address(_token)), slow, SETTLER, GUARDIAN, 31 days, 1);
        vm.expectRevert(
            abi.encodeWithSelector(DelayedRoles.DelayTooShort.selector, 2 * DELAY, 2 * DELAY + 2)
        );
        new RewardsDistributor(IERC20(address(_token)), _timelock, SETTLER, GUARDIAN, DELAY + 1, 1);
    }

    function _expectNotPending(uint64 epoch) private {
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.NotPending.selector, epoch));
        vm.prank(GUARDIAN);
        _distributor.disable(epoch);
    }

    function _refused(address caller, bytes32 role, bytes memory call) private {
        vm.prank(caller);
        (bool ok, bytes memory data) = address(_distributor).call(call);
        bytes memory expected = abi.encodeWithSelector(
            IAccessControl.AccessControlUnauthorizedAccount.selector, caller, role
        );
        assertTrue(!ok && keccak256(data) == keccak256(expected), "not refused for its role");
    }
}
