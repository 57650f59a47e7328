// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {RewardsDistributor} from "../src/RewardsDistributor.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";
import {ReentrantToken} from "./support/Tokens.sol";
import {Tree} from "./support/Tree.sol";

contract RewardsDistributorTest is DistributorFixture {
    function setUp() public {
        _deploy();
    }

    function test_leafIsTheDocumentedHash() public view {
        bytes32 inner = keccak256(
            abi.encode(
                block.chainid, address(_distributor), address(_token), _earner(1), uint256(7)
            )
        );
        assertEq(_distributor.leafOf(_earner(1), 7), keccak256(abi.encodePacked(inner)), "leaf");
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

    function test_theRootBeforePaysWhileTheNextIsPending() public {
        _earn(0, 10);
        _submitActive(1);
        bytes32[] memory oldProof = _proof(0);
        _earn(0, 5);
        _submit(2);
        _distributor.claim(_earner(0), 10, oldProof);
        assertEq(_token.balanceOf(_earner(0)), 10, "paid by the old root");
        vm.warp(block.timestamp + DELAY);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(0), 10)
        );
        _distributor.claim(_earner(0), 10, oldProof);
        _claim(0);
        assertEq(_token.balanceOf(_earner(0)), 15, "paid by both");
        assertEq(_distributor.claimed(_earner(0)), 15, "claimed");
        assertEq(_distributor.totalClaimed(), 15, "total claimed");
    }

    function test_nobodyIsPaidTwice() public {
        _earn(0, 10);
        _submitActive(1);
        _claim(0);
        _expectClaimReverts(
            0, abi.encodeWithSelector(IRewardsDistributor.NothingToClaim.selector, _earner(0), 10)
        );
    }

    function test_aDisabledRootNeverPaysAndTheOneBeforeStays() public {
        _earn(0, 10);
        _submitActive(1);
        _earn(0, 90);
        _submit(2);
        bytes32[] memory disabledProof = _proof(0);
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
        _distributor.claim(_earner(0), 100, disabledProof);

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
        vm.prank(ADMIN);
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
        vm.prank(ADMIN);
        _distributor.setGrowthLimit(uint256(type(uint128).max) + 1);
        vm.prank(ADMIN);
        _distributor.setGrowthLimit(type(uint128).max);
    }

    function test_leavesBeyondTheTotalAreNotPaid() public {
        _earn(0, 60);
        _earn(1, 60);
        bytes32 root = _root();
        vm.prank(SETTLER);
        _distributor.submitRoot(1, root, 100, FILE_ROOT);
        vm.warp(block.timestamp + DELAY);
        _claim(0);
        _expectClaimReverts(
            1, abi.encodeWithSelector(IRewardsDistributor.ClaimsExceedTotal.selector, 120, 100)
        );
    }

    function test_aRecipientIsPaidInsteadOfTheEarner() public {
        address cold = address(0xc01d);
        _earn(0, 10);
        _submitActive(1);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RecipientSet(_earner(0), cold);
        vm.prank(_earner(0));
        _distributor.setRecipient(cold);
        _claim(0);
        assertEq(_token.balanceOf(cold), 10, "recipient");
        assertEq(_token.balanceOf(_earner(0)), 0, "earner");
        vm.prank(_earner(0));
        _distributor.setRecipient(address(0));
        assertEq(_distributor.recipientOf(_earner(0)), _earner(0), "reset");
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.BadRecipient.selector, address(_distributor))
        );
        vm.prank(_earner(0));
        _distributor.setRecipient(address(_distributor));
    }

    function test_claimManySkipsThePaidAndRefusesTheWrong() public {
        _earn(0, 10);
        _earn(1, 20);
        _earn(2, 30);
        _submitActive(1);
        _claim(1);
        IRewardsDistributor.Claim[] memory claims = new IRewardsDistributor.Claim[](4);
        for (uint256 i = 0; i < 3; ++i) {
            claims[i] = IRewardsDistributor.Claim(_earner(i), _earned[i], _proof(i));
        }
        claims[3] = claims[0];
        assertEq(_distributor.claimMany(claims), 40, "amount");
        assertEq(_token.balanceOf(_earner(0)), 10, "first");
        assertEq(_token.balanceOf(_earner(1)), 20, "second");
        assertEq(_token.balanceOf(_earner(2)), 30, "third");
        claims[2].cumulative = 31;
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(2), 31)
        );
        _distributor.claimMany(claims);
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.TooLong.selector, 257));
        _distributor.claimMany(new IRewardsDistributor.Claim[](257));
    }

    function test_overlongProofsAreRejected() public {
        _earn(0, 10);
        _submitActive(1);
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.TooLong.selector, 41));
        _distributor.claim(_earner(0), 10, new bytes32[](41));
    }

    function test_pauseStopsRootsButNotClaims() public {
        _earn(0, 10);
        _submitActive(1);
        vm.prank(GUARDIAN);
        _distributor.pause();
        _expectSubmitReverts(2, abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        _claim(0);
        vm.prank(ADMIN);
        _distributor.unpause();
        _submit(2);
    }

    function test_aPauseOfClaimsEndsByItselfAndCannotBeProlonged() public {
        _earn(0, 10);
        _submitActive(1);
        uint64 start = uint64(block.timestamp);
        uint64 longest = _distributor.CLAIM_PAUSE_MAX();
        vm.prank(GUARDIAN);
        _distributor.pauseClaims();
        _expectClaimReverts(
            0, abi.encodeWithSelector(IRewardsDistributor.ClaimsArePaused.selector, start + longest)
        );
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.PauseTooSoon.selector, start + 2 * longest)
        );
        vm.prank(GUARDIAN);
        _distributor.pauseClaims();
        vm.warp(start + longest);
        _claim(0);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.PauseTooSoon.selector, start + 2 * longest)
        );
        vm.prank(GUARDIAN);
        _distributor.pauseClaims();
    }

    function test_endingAPauseEarlyDoesNotBringTheNextForward() public {
        _earn(0, 10);
        _submitActive(1);
        vm.expectRevert(IRewardsDistributor.ClaimsNotPaused.selector);
        vm.prank(GUARDIAN);
        _distributor.unpauseClaims();
        uint64 next = uint64(block.timestamp) + 2 * _distributor.CLAIM_PAUSE_MAX();
        vm.prank(GUARDIAN);
        _distributor.pauseClaims();
        vm.prank(GUARDIAN);
        _distributor.unpauseClaims();
        _claim(0);
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.PauseTooSoon.selector, next));
        vm.prank(GUARDIAN);
        _distributor.pauseClaims();
    }

    function test_rolesAreEnforced(address stranger) public {
        vm.assume(stranger != SETTLER && stranger != ADMIN && stranger != GUARDIAN);
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

    function test_reentryIsRefused() public {
        ReentrantToken token = new ReentrantToken(address(this));
        RewardsDistributor target =
            new RewardsDistributor(IERC20(address(token)), ADMIN, 1 days, 0, 1e30);
        bytes32 role = target.SETTLER_ROLE();
        vm.prank(ADMIN);
        target.grantRole(role, SETTLER);
        token.transfer(address(target), 100);
        bytes32 leaf = target.leafOf(_earner(0), 50);
        vm.prank(SETTLER);
        target.submitRoot(1, leaf, 100, FILE_ROOT);
        bytes32[] memory proof = new bytes32[](0);
        token.arm(
            address(target), abi.encodeCall(IRewardsDistributor.claim, (_earner(0), 50, proof))
        );
        target.claim(_earner(0), 50, proof);
        bytes memory refused =
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        assertEq(keccak256(token.result()), keccak256(refused), "result of the inner call");
        assertEq(token.balanceOf(_earner(0)), 50, "paid once");
    }

    function test_constructorChecksItsParameters() public {
        vm.expectRevert(IRewardsDistributor.ZeroAddress.selector);
        new RewardsDistributor(IERC20(address(0)), ADMIN, 0, 0, 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                IRewardsDistributor.DelayTooLong.selector, uint64(31 days), uint64(30 days)
            )
        );
        new RewardsDistributor(IERC20(address(_token)), ADMIN, 0, 31 days, 1);
    }

    /// Every earner of a random tree is paid exactly; proofs with one flipped bit, another earner's proof and
    /// another amount are refused.
    function test_randomTreesPayExactly(uint256 seed, uint8 size) public {
        uint256 earners = bound(size, 1, 40);
        for (uint256 i = 0; i < earners; ++i) {
            _earn(i, 1 + uint256(keccak256(abi.encode(seed, i))) % 1e18);
        }
        _submitActive(1);
        for (uint256 i = 0; i < earners; ++i) {
            _expectWrongProofsRefused(i, uint256(keccak256(abi.encode(seed, "bit", i))));
            _claim(i);
            assertEq(_token.balanceOf(_earner(i)), _earned[i], "paid");
        }
        assertEq(_distributor.totalClaimed(), _total, "total");
    }

    /// An inner node, presented as a leaf by somebody who found a preimage shape, must not verify.
    function test_innerNodesAreNotLeaves() public {
        _earn(0, 10);
        _earn(1, 20);
        _submitActive(1);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(0), 10)
        );
        _distributor.claim(_earner(0), 10, new bytes32[](0));
    }

    function _expectWrongProofsRefused(uint256 index, uint256 random) private {
        address earner = _earner(index);
        uint256 amount = _earned[index];
        bytes32[] memory proof = _proof(index);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, earner, amount + 1)
        );
        _distributor.claim(earner, amount + 1, proof);
        if (proof.length == 0) return;
        proof[random % proof.length] ^= bytes32(1 << ((random >> 8) % 256));
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, earner, amount)
        );
        _distributor.claim(earner, amount, proof);
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
