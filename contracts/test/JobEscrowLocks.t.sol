// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

import {IJobEscrow} from "../src/interfaces/IJobEscrow.sol";
import {EscrowFixture} from "./support/EscrowFixture.sol";

/// What owners' signatures lock, and what a settler can do without them.
contract JobEscrowLocksTest is EscrowFixture {
    function setUp() public {
        _deploy();
    }

    function test_anOrderLocksItsBudgetUntilItIsReleased() public {
        _deposit(BOB, 100);
        IJobEscrow.JobOrder memory order = _order(BOB, 60, "1");
        bytes memory signature = _sign(BOB_KEY, order);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Locked(BOB, "1", 0, 60);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
        assertEq(_escrow.lockedOf(BOB), 60, "locked");
        assertEq(_escrow.totalLocked(), 60, "locked of all");
        assertEq(_escrow.jobLockOf(BOB, "1"), 60, "lock of the order");
        assertEq(_escrow.fundingLockOf(BOB, "1"), 0, "no order for more budget");
        _release(1, BOB, 25);
        assertEq(_escrow.lockedOf(BOB), 35, "left");
        assertEq(_escrow.balanceOf(BOB), 75, "balance");
    }

    function test_anOrderForMoreBudgetLocksWithANonceOfItsOwn() public {
        _deposit(BOB, 100);
        _lockOfBob(60, "1");
        IJobEscrow.JobFunding memory funding = _funding(40);
        bytes memory signature = _sign(BOB_KEY, funding);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Locked(BOB, "1", "job", 40);
        vm.prank(SETTLER);
        _escrow.lockFunding(funding, signature);
        assertEq(_escrow.lockedOf(BOB), 100, "locked");
        assertEq(_escrow.fundingLockOf(BOB, "1"), 40, "lock of the order");
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.AlreadyLocked.selector, BOB, bytes32("1"))
        );
        vm.prank(SETTLER);
        _escrow.lockFunding(funding, signature);
    }

    /// Whoever holds the settler's key, or a bug in gym-rewards: of an owner that signed nothing it releases nothing.
    function test_aSettlerReleasesNothingThatNoOwnerSigned(uint256 amount) public {
        amount = bound(amount, 1, CAP);
        _deposit(BOB, CAP);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.InsufficientLock.selector, BOB, 0, amount)
        );
        _release(1, BOB, amount);
        IJobEscrow.JobOrder memory order = _order(BOB, amount, "1");
        bytes memory signature = _sign(ALICE_KEY, order);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotSigned.selector, BOB, ALICE));
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
        assertEq(_escrow.balanceOf(BOB), CAP, "balance");
    }

    /// Nor, in any number of epochs, more than the owner's orders come to.
    function test_aSettlerReleasesNoMoreThanOwnersSigned(uint256 budget, uint256 first) public {
        budget = bound(budget, 2, CAP / 2);
        first = bound(first, 1, budget - 1);
        _deposit(BOB, CAP);
        _lockOfBob(budget, "1");
        _release(1, BOB, first);
        vm.warp(block.timestamp + INTERVAL);
        vm.expectRevert(
            abi.encodeWithSelector(
                IJobEscrow.InsufficientLock.selector, BOB, budget - first, budget - first + 1
            )
        );
        _release(2, BOB, budget - first + 1);
        _release(2, BOB, budget - first);
        assertEq(_escrow.balanceOf(BOB), CAP - budget, "balance");
        assertEq(_escrow.lockedOf(BOB), 0, "locked");
    }

    function test_anOrderLocksOnceAlsoUnderALaterExpiry() public {
        _deposit(BOB, 100);
        _lockOfBob(10, "1");
        IJobEscrow.JobOrder memory again = _order(BOB, 10, "1");
        again.expiry += 1;
        bytes memory signature = _sign(BOB_KEY, again);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.AlreadyLocked.selector, BOB, bytes32("1"))
        );
        vm.prank(SETTLER);
        _escrow.lock(again, signature);
    }

    function test_noMemberOfAnOrderCanBeChanged(uint256 seed) public {
        _deposit(BOB, 1000);
        IJobEscrow.JobOrder memory order = _order(BOB, 100, "1");
        vm.assume(seed != order.pricePerPflop && seed != order.maxDataPrice);
        bytes memory signature = _sign(BOB_KEY, order);
        uint256 which = seed % 7;
        if (which == 0) order.spec = keccak256(abi.encode(seed));
        if (which == 1) order.datasetsHash = keccak256(abi.encode(seed));
        if (which == 2) order.budget = 101;
        if (which == 3) order.pricePerPflop = seed;
        if (which == 4) order.maxDataPrice = seed;
        if (which == 5) order.nonce = keccak256(abi.encode(seed));
        if (which == 6) order.expiry += 1;
        vm.expectPartialRevert(IJobEscrow.NotSigned.selector);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
    }

    function test_anOrderIsForItsContractAndChain() public {
        _deposit(BOB, 100);
        IJobEscrow.JobOrder memory order = _order(BOB, 10, "1");
        bytes memory signature = _sign(BOB_KEY, order);
        vm.chainId(block.chainid + 1);
        vm.expectPartialRevert(IJobEscrow.NotSigned.selector);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
    }

    function test_aSignatureThatIsNoneIsRefused() public {
        _deposit(BOB, 100);
        IJobEscrow.JobOrder memory order = _order(BOB, 10, "1");
        vm.expectPartialRevert(ECDSA.ECDSAInvalidSignatureLength.selector);
        vm.prank(SETTLER);
        _escrow.lock(order, hex"1234");
        vm.expectRevert(ECDSA.ECDSAInvalidSignature.selector);
        vm.prank(SETTLER);
        _escrow.lock(order, new bytes(65));
    }

    function test_anOrderLocksUntilItExpires() public {
        _deposit(BOB, 100);
        IJobEscrow.JobOrder memory order = _order(BOB, 10, "1");
        bytes memory signature = _sign(BOB_KEY, order);
        vm.warp(order.expiry + 1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.OrderExpired.selector, order.expiry));
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
        vm.warp(order.expiry);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
    }

    function test_ordersLockNoMoreThanThereIs() public {
        _deposit(BOB, 100);
        _lockOfBob(60, "1");
        IJobEscrow.JobOrder memory order = _order(BOB, 41, "2");
        bytes memory signature = _sign(BOB_KEY, order);
        vm.expectRevert(
            abi.encodeWithSelector(IJobEscrow.InsufficientBalance.selector, BOB, 40, 41)
        );
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
        order.budget = 0;
        signature = _sign(BOB_KEY, order);
        vm.expectRevert(IJobEscrow.ZeroAmount.selector);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
    }

    function test_onlyTheSettlerLocksOrders(address stranger) public {
        vm.assume(stranger != SETTLER);
        IJobEscrow.JobOrder memory order = _order(BOB, 10, "1");
        bytes memory signature = _sign(BOB_KEY, order);
        _expectRefused(stranger, _escrow.SETTLER_ROLE());
        vm.prank(stranger);
        _escrow.lock(order, signature);
        IJobEscrow.JobFunding memory funding = _funding(10);
        signature = _sign(BOB_KEY, funding);
        _expectRefused(stranger, _escrow.SETTLER_ROLE());
        vm.prank(stranger);
        _escrow.lockFunding(funding, signature);
    }

    function test_aPauseStopsLocksAndNoUnlocking() public {
        _deposit(BOB, 100);
        _lockOfBob(60, "1");
        vm.prank(GUARDIAN);
        _escrow.pause();
        IJobEscrow.JobOrder memory order = _order(BOB, 10, "2");
        bytes memory signature = _sign(BOB_KEY, order);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
        IJobEscrow.JobFunding memory funding = _funding(10);
        signature = _sign(BOB_KEY, funding);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        vm.prank(SETTLER);
        _escrow.lockFunding(funding, signature);
        _unlock(BOB, 60);
        assertEq(_escrow.lockedOf(BOB), 0, "locked");
    }

    /// A repetition, and an older total that comes late, change nothing.
    function test_unlockingCountsTotals() public {
        _deposit(BOB, 100);
        _lockOfBob(60, "1");
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Unlocked(BOB, 20, 20);
        _unlock(BOB, 20);
        _unlock(BOB, 20);
        _unlock(BOB, 10);
        assertEq(_escrow.lockedOf(BOB), 40, "locked");
        assertEq(_escrow.unlockedOf(BOB), 20, "unlocked");
        _unlock(BOB, 25);
        assertEq(_escrow.lockedOf(BOB), 35, "locked then");
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.Unlocked(BOB, 35, 1000);
        _unlock(BOB, 1000);
        assertEq(_escrow.lockedOf(BOB), 0, "no more than was locked");
        assertEq(_escrow.totalLocked(), 0, "locked of all");
        vm.prank(BOB);
        _escrow.requestWithdrawal(100);
    }

    function test_anExitCountsAsUnlocked() public {
        _deposit(BOB, 100);
        _lockOfBob(60, "1");
        vm.prank(BOB);
        _escrow.requestExit();
        vm.warp(block.timestamp + 30 days);
        vm.prank(BOB);
        assertEq(_escrow.exit(), 100, "paid");
        // What was unlocked before the owner came back takes nothing from its next lock.
        _deposit(BOB, 100);
        _lockOfBob(50, "2");
        _unlock(BOB, 60);
        assertEq(_escrow.lockedOf(BOB), 50, "locked");
    }

    function test_lockedMoneyCannotBeWithdrawn(uint256 budget, uint256 request) public {
        budget = bound(budget, 1, 99);
        request = bound(request, 1, 100);
        _deposit(BOB, 100);
        vm.prank(BOB);
        _escrow.requestWithdrawal(request);
        _lockOfBob(budget, "1");
        vm.warp(block.timestamp + DELAY);
        uint256 free = 100 - budget;
        vm.prank(BOB);
        assertEq(_escrow.withdraw(), request < free ? request : free, "paid");
        assertLe(budget, _escrow.balanceOf(BOB), "what is locked is there");
    }

    function test_anAccountLocksItsOwn() public {
        _deposit(BOB, 10);
        vm.expectEmit(address(_escrow));
        emit IJobEscrow.LockedOwn(BOB, 7);
        vm.prank(BOB);
        _escrow.lockOwn(7);
        _release(1, BOB, 7);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.InsufficientBalance.selector, BOB, 3, 4));
        vm.prank(BOB);
        _escrow.lockOwn(4);
    }

    function test_unlockingRejectsBadLists() public {
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.BadListLength.selector, 0, 0));
        vm.prank(SETTLER);
        _escrow.unlock(new address[](0), new uint256[](0));
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.BadListLength.selector, 257, 257));
        vm.prank(SETTLER);
        _escrow.unlock(new address[](257), new uint256[](257));
    }

    function _unlock(address owner, uint256 total) private {
        (address[] memory owners, uint256[] memory totals) = _one(owner, total);
        vm.prank(SETTLER);
        _escrow.unlock(owners, totals);
    }

    function _funding(uint256 amount) private view returns (IJobEscrow.JobFunding memory) {
        return IJobEscrow.JobFunding(BOB, "job", amount, "1", uint64(block.timestamp) + 1 hours);
    }
}
