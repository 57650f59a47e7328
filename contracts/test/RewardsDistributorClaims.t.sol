// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {RewardsDistributor} from "../src/RewardsDistributor.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";
import {ReentrantToken} from "./support/Tokens.sol";

/// What a root pays, to whom, and how often.
contract RewardsDistributorClaimsTest is DistributorFixture {
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
}
