// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {AdminTimelock} from "../src/AdminTimelock.sol";
import {DelayedRoles} from "../src/DelayedRoles.sol";
import {JobEscrow} from "../src/JobEscrow.sol";
import {IJobEscrow} from "../src/interfaces/IJobEscrow.sol";
import {EscrowFixture} from "./support/EscrowFixture.sol";
import {FeeToken, ReentrantToken} from "./support/Tokens.sol";

contract JobEscrowTest is EscrowFixture {
    function setUp() public {
        _deploy();
    }

    function test_depositCreditsTheOwnerAndNumbersDeposits() public {
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Deposited(BOB, ALICE, 5, 1);
        assertEq(_deposit(BOB, 5), 1, "first id");
        assertEq(_deposit(BOB, 6), 2, "second id");
        assertEq(_escrow.balanceOf(BOB), 11, "balance");
        assertEq(_escrow.balanceOf(ALICE), 0, "payer's balance");
        assertEq(_escrow.totalBalance(), 11, "total");
        assertEq(_token.balanceOf(address(_escrow)), 11, "tokens");
    }

    function test_depositRejectsZeroAmountZeroOwnerAndMissingAllowance() public {
        vm.expectRevert(IJobEscrow.ZeroAmount.selector);
        _deposit(BOB, 0);
        vm.expectRevert(IJobEscrow.ZeroAddress.selector);
        _deposit(address(0), 1);
        vm.prank(BOB);
        (bool ok,) = address(_escrow).call(abi.encodeCall(IJobEscrow.deposit, (BOB, 1)));
        assertTrue(!ok, "a deposit without tokens went through");
    }

    function test_depositWithPermitNeedsNoAllowance(uint128 amount) public {
        vm.assume(amount != 0);
        vm.prank(ALICE);
        _token.approve(address(_escrow), 0);
        (uint8 v, bytes32 r, bytes32 s) = _permit(amount, block.timestamp);
        vm.prank(ALICE);
        _escrow.depositWithPermit(BOB, amount, block.timestamp, v, r, s);
        assertEq(_escrow.balanceOf(BOB), amount, "balance");
    }

    function test_depositWithPermitSurvivesAFrontRunPermit() public {
        vm.prank(ALICE);
        _token.approve(address(_escrow), 0);
        (uint8 v, bytes32 r, bytes32 s) = _permit(7, block.timestamp);
        _token.permit(ALICE, address(_escrow), 7, block.timestamp, v, r, s);
        vm.prank(ALICE);
        _escrow.depositWithPermit(ALICE, 7, block.timestamp, v, r, s);
        assertEq(_escrow.balanceOf(ALICE), 7, "balance");
    }

    function test_depositWithPermitRejectsAnotherAmountThanSigned() public {
        vm.prank(ALICE);
        _token.approve(address(_escrow), 0);
        (uint8 v, bytes32 r, bytes32 s) = _permit(7, block.timestamp);
        vm.prank(ALICE);
        (bool ok,) = address(_escrow)
            .call(
                abi.encodeCall(IJobEscrow.depositWithPermit, (ALICE, 8, block.timestamp, v, r, s))
            );
        assertTrue(!ok, "8 were deposited with a permit for 7");
    }

    function test_feeOnTransferTokenIsRejectedOnEveryPath() public {
        FeeToken fee = new FeeToken(ALICE);
        JobEscrow escrow = _newEscrow(IERC20(address(fee)));
        vm.prank(ALICE);
        fee.approve(address(escrow), 1e30);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.TransferAmountMismatch.selector, 10, 9));
        vm.prank(ALICE);
        escrow.deposit(ALICE, 10);

        fee.setFee(false);
        vm.startPrank(ALICE);
        escrow.deposit(ALICE, 10);
        escrow.lockOwn(10);
        vm.stopPrank();
        fee.setFee(true);
        (address[] memory owners, uint256[] memory amounts) = _one(ALICE, 10);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.TransferAmountMismatch.selector, 10, 9));
        vm.prank(SETTLER);
        escrow.release(1, owners, amounts);
    }

    function test_reentryIsRefused() public {
        ReentrantToken token = new ReentrantToken(ALICE);
        JobEscrow escrow = _newEscrow(IERC20(address(token)));
        vm.prank(ALICE);
        token.approve(address(escrow), 1e30);
        token.arm(address(escrow), abi.encodeCall(IJobEscrow.withdraw, ()));
        vm.prank(ALICE);
        escrow.deposit(ALICE, 10);
        bytes memory refused =
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        assertEq(keccak256(token.result()), keccak256(refused), "result of the inner call");
    }

    function test_releaseMovesBalancesToTheDistributor() public {
        _depositLocked(ALICE, 100);
        _depositLocked(BOB, 50);
        address[] memory owners = new address[](2);
        uint256[] memory amounts = new uint256[](2);
        (owners[0], owners[1]) = (ALICE, BOB);
        (amounts[0], amounts[1]) = (30, 50);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Released(1, ALICE, 30);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Released(1, BOB, 50);
        vm.prank(SETTLER);
        _escrow.release(1, owners, amounts);
        assertEq(_escrow.balanceOf(ALICE), 70, "Alice");
        assertEq(_escrow.balanceOf(BOB), 0, "Bob");
        assertEq(_escrow.totalBalance(), 70, "total");
        assertEq(_escrow.lockedOf(ALICE), 70, "locked of Alice");
        assertEq(_escrow.totalLocked(), 70, "locked");
        assertEq(_token.balanceOf(DISTRIBUTOR), 80, "distributor");
        (uint64 epoch, uint256 released) = _escrow.releaseState();
        assertEq(epoch, 1, "epoch");
        assertEq(released, 80, "released");
        assertEq(_escrow.releasedOf(1, ALICE), 30, "released of Alice");
    }

    function test_releaseIsOncePerOwnerAndEpoch() public {
        _depositLocked(ALICE, 100);
        _release(1, ALICE, 30);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.AlreadyReleased.selector, uint64(1), ALICE)
        );
        _release(1, ALICE, 30);
    }

    function test_releaseRejectsBadLists() public {
        _depositLocked(ALICE, 100);
        (address[] memory owners,) = _one(ALICE, 1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.BadListLength.selector, 1, 0));
        vm.prank(SETTLER);
        _escrow.release(1, owners, new uint256[](0));
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.BadListLength.selector, 0, 0));
        vm.prank(SETTLER);
        _escrow.release(1, new address[](0), new uint256[](0));
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.BadListLength.selector, 257, 257));
        vm.prank(SETTLER);
        _escrow.release(1, new address[](257), new uint256[](257));
        vm.expectRevert(IJobEscrow.ZeroAmount.selector);
        _release(1, ALICE, 0);
    }

    function test_releaseCannotExceedWhatIsLocked() public {
        _depositLocked(ALICE, 10);
        _deposit(ALICE, 5);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.InsufficientLock.selector, ALICE, 10, 11));
        _release(1, ALICE, 11);
    }

    function test_releaseIsCappedPerEpochAndEpochsAreSpaced() public {
        _depositLocked(ALICE, 3 * CAP);
        _depositLocked(BOB, 1);
        _release(1, ALICE, CAP);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.ReleaseCapExceeded.selector, uint64(1), CAP + 1, CAP)
        );
        _release(1, BOB, 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                IJobEscrow.EpochTooEarly.selector, uint64(2), uint64(block.timestamp) + INTERVAL
            )
        );
        _release(2, ALICE, 1);
        vm.warp(block.timestamp + INTERVAL);
        _release(2, ALICE, CAP);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.EpochClosed.selector, uint64(1), uint64(2))
        );
        _release(1, BOB, 1);
        vm.prank(_admin);
        _escrow.setReleaseCap(CAP + 1);
        _release(2, BOB, 1);
    }

    /// Whatever the jobs of one owner cost, an epoch takes no more than the cap of its balance.
    function test_releaseIsCappedPerOwnerAndEpoch(uint256 cap, uint256 amount) public {
        cap = bound(cap, 1, CAP / 2);
        amount = bound(amount, 1, CAP - cap);
        _depositLocked(ALICE, 3 * CAP);
        _depositLocked(BOB, 3 * CAP);
        assertEq(_escrow.ownerReleaseCap(), type(uint128).max, "not limited at first");
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.OwnerReleaseCapSet(cap);
        vm.prank(_admin);
        _escrow.setOwnerReleaseCap(cap);
        assertEq(_escrow.ownerReleaseCap(), cap, "cap");
        if (amount > cap) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    IJobEscrow.OwnerReleaseCapExceeded.selector, uint64(1), ALICE, amount, cap
                )
            );
        }
        _release(1, ALICE, amount);
        // Each owner has a cap of its own, and a new one in the next epoch.
        _release(1, BOB, cap);
        vm.warp(block.timestamp + INTERVAL);
        _release(2, ALICE, cap);
        assertEq(_escrow.releasedOf(2, ALICE), cap, "released");
    }

    function test_capsOf128BitsAndMoreAreRejected() public {
        vm.expectPartialRevert(SafeCast.SafeCastOverflowedUintDowncast.selector);
        vm.prank(_admin);
        _escrow.setOwnerReleaseCap(uint256(type(uint128).max) + 1);
        vm.expectPartialRevert(SafeCast.SafeCastOverflowedUintDowncast.selector);
        vm.prank(_admin);
        _escrow.setReleaseCap(uint256(type(uint128).max) + 1);
    }

    function test_epochZeroIsRejected() public {
        _depositLocked(ALICE, 1);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.EpochClosed.selector, uint64(0), uint64(0))
        );
        _release(0, ALICE, 1);
    }

    function test_withdrawalPaysAfterTheDelay(uint256 deposit, uint256 amount) public {
        deposit = bound(deposit, 1, type(uint128).max);
        amount = bound(amount, 1, deposit);
        _deposit(BOB, deposit);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.WithdrawalRequested(BOB, amount, uint64(block.timestamp) + DELAY);
        vm.prank(BOB);
        _escrow.requestWithdrawal(amount);
        vm.warp(block.timestamp + DELAY - 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                IJobEscrow.WithdrawalNotReady.selector, uint64(block.timestamp) + 1
            )
        );
        vm.prank(BOB);
        _escrow.withdraw();
        vm.warp(block.timestamp + 1);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Withdrawn(BOB, amount);
        vm.prank(BOB);
        assertEq(_escrow.withdraw(), amount, "returned");
        assertEq(_token.balanceOf(BOB), amount, "tokens");
        assertEq(_escrow.balanceOf(BOB), deposit - amount, "left");
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NoWithdrawal.selector, BOB));
        vm.prank(BOB);
        _escrow.withdraw();
    }

    function test_spentMoneyCannotBeWithdrawn() public {
        _deposit(BOB, 100);
        vm.prank(BOB);
        _escrow.requestWithdrawal(100);
        _lockOfBob(60, "1");
        _release(1, BOB, 60);
        vm.warp(block.timestamp + DELAY);
        vm.prank(BOB);
        assertEq(_escrow.withdraw(), 40, "paid");
        assertEq(_escrow.balanceOf(BOB), 0, "left");
    }

    function test_aRequestThatWasLockedWhollyPaysNothingAndCloses() public {
        _deposit(BOB, 100);
        vm.prank(BOB);
        _escrow.requestWithdrawal(100);
        _lockOfBob(100, "1");
        vm.warp(block.timestamp + DELAY);
        vm.prank(BOB);
        assertEq(_escrow.withdraw(), 0, "paid");
        (uint256 amount,) = _escrow.withdrawalOf(BOB);
        assertEq(amount, 0, "request");
    }

    function test_requestAboveTheBalanceIsRejectedAndZeroTakesItBack() public {
        _deposit(BOB, 10);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.InsufficientBalance.selector, BOB, 10, 11)
        );
        vm.prank(BOB);
        _escrow.requestWithdrawal(11);
        vm.prank(BOB);
        _escrow.requestWithdrawal(10);
        vm.prank(BOB);
        _escrow.requestWithdrawal(0);
        vm.warp(block.timestamp + DELAY);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NoWithdrawal.selector, BOB));
        vm.prank(BOB);
        _escrow.withdraw();
    }

    /// The settler never unlocks, and the guardian pauses: the owner has all of it back in time.
    function test_aSettlerThatNeverUnlocksKeepsNoDeposit(uint256 amount) public {
        amount = bound(amount, 1, type(uint128).max);
        _deposit(BOB, amount);
        _lockOfBob(amount, "1");
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.ExitRequested(BOB, uint64(block.timestamp) + 30 days);
        vm.prank(BOB);
        _escrow.requestExit();
        uint256 start = block.timestamp;
        vm.prank(GUARDIAN);
        _escrow.pause();
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.InsufficientBalance.selector, BOB, 0, 1));
        vm.prank(BOB);
        _escrow.requestWithdrawal(1);
        vm.warp(start + 30 days - 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                IJobEscrow.WithdrawalNotReady.selector, uint64(block.timestamp) + 1
            )
        );
        vm.prank(BOB);
        _escrow.exit();
        vm.warp(start + 30 days);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Unlocked(BOB, amount, amount);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Withdrawn(BOB, amount);
        vm.prank(BOB);
        assertEq(_escrow.exit(), amount, "returned");
        assertEq(_token.balanceOf(BOB), amount, "tokens");
        assertEq(_escrow.totalBalance(), 0, "total");
        assertEq(_escrow.lockedOf(BOB), 0, "locked");
        assertEq(_escrow.totalLocked(), 0, "all locked");
    }

    function test_anExitPaysWhatReleasesLeft() public {
        _deposit(BOB, 100);
        vm.prank(BOB);
        _escrow.requestExit();
        _lockOfBob(80, "1");
        _release(1, BOB, 60);
        _deposit(BOB, 5);
        vm.warp(block.timestamp + 30 days);
        vm.prank(BOB);
        assertEq(_escrow.exit(), 45, "returned");
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotLeaving.selector, BOB));
        vm.prank(BOB);
        _escrow.exit();
    }

    function test_anExitIsRequestedOnceAndCanBeTakenBack() public {
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotLeaving.selector, BOB));
        vm.prank(BOB);
        _escrow.cancelExit();
        vm.prank(BOB);
        _escrow.requestExit();
        uint64 availableAt = uint64(block.timestamp) + 30 days;
        assertEq(_escrow.exitOf(BOB), availableAt, "time");
        vm.warp(block.timestamp + 29 days);
        // A repetition would begin the wait again.
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.LeavingAlready.selector, availableAt));
        vm.prank(BOB);
        _escrow.requestExit();
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.ExitRequested(BOB, 0);
        vm.prank(BOB);
        _escrow.cancelExit();
        vm.warp(block.timestamp + 2 days);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotLeaving.selector, BOB));
        vm.prank(BOB);
        _escrow.exit();
    }

    function test_pauseStopsDepositsAndReleasesButNeverWithdrawals() public {
        _deposit(BOB, 100);
        vm.prank(GUARDIAN);
        _escrow.pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _deposit(BOB, 1);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        vm.prank(ALICE);
        _escrow.depositWithPermit(BOB, 1, block.timestamp, 27, 0, 0);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _release(1, BOB, 1);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        vm.prank(BOB);
        _escrow.lockOwn(1);
        vm.prank(BOB);
        _escrow.requestWithdrawal(100);
        vm.warp(block.timestamp + DELAY);
        vm.prank(BOB);
        assertEq(_escrow.withdraw(), 100, "paid during the pause");
        vm.prank(_admin);
        _escrow.unpause();
        _deposit(BOB, 1);
    }

    function test_rolesAreEnforced(address stranger) public {
        vm.assume(stranger != SETTLER && stranger != _admin && stranger != GUARDIAN);
        (address[] memory owners, uint256[] memory amounts) = _one(ALICE, 1);
        _expectRefused(stranger, _escrow.SETTLER_ROLE());
        vm.prank(stranger);
        _escrow.release(1, owners, amounts);
        _expectRefused(stranger, _escrow.SETTLER_ROLE());
        vm.prank(stranger);
        _escrow.unlock(owners, amounts);
        _expectRefused(stranger, _escrow.GUARDIAN_ROLE());
        vm.prank(stranger);
        _escrow.pause();
        _expectRefused(stranger, 0);
        vm.prank(stranger);
        _escrow.unpause();
        _expectRefused(stranger, 0);
        vm.prank(stranger);
        _escrow.setReleaseCap(0);
        _expectRefused(stranger, 0);
        vm.prank(stranger);
        _escrow.setOwnerReleaseCap(0);
    }

    function test_constructorChecksItsParameters() public {
        IERC20 token = IERC20(address(_token));
        vm.expectRevert(IJobEscrow.ZeroAddress.selector);
        new JobEscrow(
            IERC20(address(0)), DISTRIBUTOR, _timelock, SETTLER, GUARDIAN, DELAY, INTERVAL, CAP
        );
        vm.expectRevert(IJobEscrow.ZeroAddress.selector);
        new JobEscrow(token, address(0), _timelock, SETTLER, GUARDIAN, DELAY, INTERVAL, CAP);
        AdminTimelock slow = new AdminTimelock(90 days, ADMIN_KEY, GUARDIAN);
        vm.expectPartialRevert(IJobEscrow.DelayTooLong.selector);
        new JobEscrow(token, DISTRIBUTOR, slow, SETTLER, GUARDIAN, 31 days, INTERVAL, CAP);
        vm.expectPartialRevert(IJobEscrow.DelayTooLong.selector);
        new JobEscrow(token, DISTRIBUTOR, _timelock, SETTLER, GUARDIAN, DELAY, 31 days, CAP);
        vm.expectRevert(
            abi.encodeWithSelector(DelayedRoles.DelayTooShort.selector, 2 * DELAY, 2 * DELAY + 2)
        );
        new JobEscrow(token, DISTRIBUTOR, _timelock, SETTLER, GUARDIAN, DELAY + 1, INTERVAL, CAP);
    }
}
