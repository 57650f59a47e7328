// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {PayoutTree} from "../src/PayoutTree.sol";
import {RewardsDistributor} from "../src/RewardsDistributor.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";
import {Tree} from "./support/Tree.sol";
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
        PayoutTree.Step[] memory oldPath = _path(0);
        _earn(0, 5);
        _submit(2);
        _distributor.claim(_earner(0), 10, oldPath);
        assertEq(_token.balanceOf(_earner(0)), 10, "paid by the old root");
        vm.warp(block.timestamp + DELAY);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(0), 10)
        );
        _distributor.claim(_earner(0), 10, oldPath);
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

    /// The attack: every earner has what it had, the total is funded, and one leaf more goes to the settler. On a tree without
    /// sums this leaf was paid, and the last earner to claim was not.
    function test_oneMoreLeafUnderTheSameTotalIsNotPaid() public {
        _earn(0, 60);
        _earn(1, 40);
        _submitActive(1);
        uint256 total = _total;
        _earn(2, 50);
        bytes32 root = _root();
        vm.prank(SETTLER);
        _distributor.submitRoot(2, root, total, FILE_ROOT);
        vm.warp(block.timestamp + DELAY);
        for (uint256 i = 0; i < 3; ++i) {
            _expectClaimReverts(i, _invalid(i, _earned[i]));
        }
    }

    /// The same with a sum that somewhere in the tree hides the leaf: those below it are not paid, the others are.
    function test_aSumThatHidesALeafPaysNobodyBelowIt() public {
        for (uint256 i = 0; i < 4; ++i) {
            _earn(i, 10);
        }
        Tree.Leaf[] memory all = _leaves();
        bytes32 right = Tree.node(all[2].hash, 10, all[3].earner, all[3].hash, 10);
        bytes32 left = Tree.node(all[0].hash, 10, all[1].earner, all[1].hash, 10);
        // The right side pays 20, and its parent says 10.
        bytes32 root = Tree.node(left, 20, all[2].earner, right, 10);
        vm.prank(SETTLER);
        _distributor.submitRoot(1, root, 30, FILE_ROOT);
        vm.warp(block.timestamp + DELAY);
        PayoutTree.Step[] memory path = new PayoutTree.Step[](2);
        path[0] = PayoutTree.Step(all[1].hash, 10, all[1].earner);
        path[1] = PayoutTree.Step(right, 10, all[2].earner);
        _distributor.claim(_earner(0), 10, path);
        for (uint256 sum = 10; sum <= 20; sum += 10) {
            path[0] = PayoutTree.Step(all[3].hash, uint128(sum - 10), all[3].earner);
            path[1] = PayoutTree.Step(left, 20, all[2].earner);
            vm.expectRevert(_invalid(2, 10));
            _distributor.claim(_earner(2), 10, path);
        }
    }

    /// A leaf so large that the sums begin again at zero.
    function test_sumsDoNotOverflow() public {
        uint256 huge = type(uint256).max - 9;
        _earn(0, 0);
        bytes32 leaf = _distributor.leafOf(_earner(0), huge);
        bytes32 other = _distributor.leafOf(_earner(1), 20);
        bytes32 root = Tree.node(leaf, huge, _earner(1), other, 20);
        vm.prank(SETTLER);
        _distributor.submitRoot(1, root, 10, FILE_ROOT);
        vm.warp(block.timestamp + DELAY);
        PayoutTree.Step[] memory path = new PayoutTree.Step[](1);
        path[0] = PayoutTree.Step(other, 20, _earner(1));
        vm.expectRevert(_invalid(0, huge));
        _distributor.claim(_earner(0), huge, path);
        // The other leaf needs a sum that is no uint128, which the contract does not read.
        bytes memory request = abi.encodeCall(_distributor.claim, (_earner(1), 20, path));
        assembly ("memory-safe") {
            // selector, earner, cumulative, place and length of the path; then its first step
            mstore(add(request, add(0x20, 0x84)), leaf)
            mstore(add(request, add(0x20, 0xa4)), huge)
        }
        (bool ok,) = address(_distributor).call(request);
        assertTrue(!ok, "paid under a sum that overflows");
    }

    /// Each earner has one place: a second leaf of it, in another, is on nobody's path.
    function test_aSecondLeafOfAnEarnerIsNotPaid() public {
        _earn(0, 10);
        _earn(1, 20);
        bytes32 again = _distributor.leafOf(_earner(0), 30);
        bytes32 own = Tree.node(
            _distributor.leafOf(_earner(0), 10),
            10,
            _earner(1),
            _distributor.leafOf(_earner(1), 20),
            20
        );
        bytes32 root = Tree.node(own, 30, _earner(2), again, 30);
        vm.prank(SETTLER);
        _distributor.submitRoot(1, root, 60, FILE_ROOT);
        vm.warp(block.timestamp + DELAY);
        PayoutTree.Step[] memory path = new PayoutTree.Step[](1);
        path[0] = PayoutTree.Step(own, 30, _earner(2));
        vm.expectRevert(_invalid(0, 30));
        _distributor.claim(_earner(0), 30, path);
    }

    /// What an earner was paid under one root and lost under the next, its heir gets only as far as the total reaches.
    function test_moreThanTheTotalIsNotPaidOverTwoRoots() public {
        _earn(0, 60);
        _earn(1, 40);
        _submitActive(1);
        _claim(0);
        _unearn(0, 50);
        _earn(1, 50);
        _submitActive(2);
        _expectClaimReverts(
            1, abi.encodeWithSelector(IRewardsDistributor.ClaimsExceedTotal.selector, 150, 100)
        );
    }

    function test_aLeafOfZeroPaysNothing() public {
        _earn(0, 0);
        _earn(1, 10);
        _submitActive(1);
        _expectClaimReverts(
            0, abi.encodeWithSelector(IRewardsDistributor.NothingToClaim.selector, _earner(0), 0)
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
            claims[i] = _leaf(i);
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

    function test_overlongPathsAreRejected() public {
        _earn(0, 10);
        _submitActive(1);
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.TooLong.selector, 41));
        _distributor.claim(_earner(0), 10, new PayoutTree.Step[](41));
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
            new RewardsDistributor(IERC20(address(token)), _timelock, SETTLER, GUARDIAN, 0, 1e30);
        token.transfer(address(target), 100);
        bytes32 leaf = target.leafOf(_earner(0), 50);
        vm.prank(SETTLER);
        target.submitRoot(1, leaf, 50, FILE_ROOT);
        PayoutTree.Step[] memory path = new PayoutTree.Step[](0);
        token.arm(
            address(target), abi.encodeCall(IRewardsDistributor.claim, (_earner(0), 50, path))
        );
        target.claim(_earner(0), 50, path);
        bytes memory refused =
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        assertEq(keccak256(token.result()), keccak256(refused), "result of the inner call");
        assertEq(token.balanceOf(_earner(0)), 50, "paid once");
    }

    /// Every earner of a random tree is paid exactly; paths with one flipped bit, another earner's proof and
    /// another amount are refused.
    function test_randomTreesPayExactly(uint256 seed, uint8 size) public {
        uint256 earners = bound(size, 1, 40);
        for (uint256 i = 0; i < earners; ++i) {
            _earn(i, 1 + uint256(keccak256(abi.encode(seed, i))) % 1e18);
        }
        _submitActive(1);
        for (uint256 i = 0; i < earners; ++i) {
            _expectWrongPathsRefused(i, uint256(keccak256(abi.encode(seed, "bit", i))));
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
        _distributor.claim(_earner(0), 10, new PayoutTree.Step[](0));
    }

    function _expectWrongPathsRefused(uint256 index, uint256 random) private {
        address earner = _earner(index);
        uint256 amount = _earned[index];
        PayoutTree.Step[] memory path = _path(index);
        vm.expectRevert(_invalid(index, amount + 1));
        _distributor.claim(earner, amount + 1, path);
        if (path.length == 0) return;
        PayoutTree.Step memory step = path[random % path.length];
        uint256 part = (random >> 16) % 3;
        if (part == 0) step.hash ^= bytes32(1 << ((random >> 8) % 256));
        if (part == 1) step.sum ^= uint128(1 << ((random >> 8) % 127));
        if (part == 2) {
            step.pivot = address(uint160(step.pivot) ^ uint160(1 << ((random >> 8) % 160)));
        }
        vm.expectRevert(_invalid(index, amount));
        _distributor.claim(earner, amount, path);
    }

    function _invalid(uint256 index, uint256 cumulative) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IRewardsDistributor.InvalidProof.selector, _earner(index), cumulative
        );
    }
}
