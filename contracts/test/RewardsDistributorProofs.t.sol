// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {PayoutTree} from "../src/PayoutTree.sol";
import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";
import {Tree} from "./support/Tree.sol";

/// What anybody can prove against a root before it pays.
contract RewardsDistributorProofsTest is DistributorFixture {
    address private constant STRANGER = address(0x57a);

    function setUp() public {
        _deploy();
    }

    function test_anybodyDisablesARootUnderWhichAnEarnerFell() public {
        (IRewardsDistributor.Claim memory before, IRewardsDistributor.Claim memory fallen) =
            _fall(1, 1);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RootDisabled(2);
        _disprove(2, before, fallen);
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
        vm.warp(block.timestamp + DELAY);
        assertEq(_distributor.activeRoot().epoch, 1, "active");
        _distributor.claim(_earner(1), before.cumulative, before.path);
        assertEq(_token.balanceOf(_earner(1)), before.cumulative, "paid by the root before");
        // Epochs go on, and a root that repairs it is taken.
        _earn(1, 1);
        _submitActive(3);
        assertEq(_distributor.activeRoot().epoch, 3, "active");
    }

    function test_whoeverDidNotFallProvesNothing() public {
        for (uint256 i = 0; i < 3; ++i) {
            _earn(i, 10 * (i + 1));
        }
        _submitActive(1);
        IRewardsDistributor.Claim[3] memory before = [_leaf(0), _leaf(1), _leaf(2)];
        _unearn(1, 1);
        _earn(2, 1);
        _submit(2);
        IRewardsDistributor.Claim memory fallen = _leaf(1);
        _expectRefused(2, before[0], _leaf(0), _notFallen(0, 10, 10));
        _expectRefused(2, before[2], _leaf(2), _notFallen(2, 30, 31));
        // An amount that is under neither root, or under the other one.
        _expectRefused(2, _with(before[1], 21), fallen, _invalid(1, 21));
        _expectRefused(2, before[1], _with(fallen, 18), _invalid(1, 18));
        // Another earner's leaf is not at the end of this one's path.
        _expectRefused(2, before[1], _leaf(0), _invalid(0, 10));
        _expectRefused(2, before[0], fallen, _invalid(1, 19));
        // Another earner's path in the active tree.
        before[0].path = before[1].path;
        _expectRefused(2, before[0], fallen, _invalid(0, 10));
        before[0].path = new PayoutTree.Step[](41);
        _expectRefused(
            2, before[0], fallen, abi.encodeWithSelector(IRewardsDistributor.TooLong.selector, 41)
        );
        _disprove(2, before[1], fallen);
    }

    /// A leaf of zero in the earner's place is a fall like any other.
    function test_anybodyDisablesARootUnderWhichAnEarnerHasZero() public {
        (IRewardsDistributor.Claim memory before, IRewardsDistributor.Claim memory fallen) =
            _fall(1, 20);
        assertEq(fallen.cumulative, 0, "has");
        _disprove(2, before, fallen);
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
    }

    /// A root without an earner that had something: whoever has its place instead shows that.
    function test_anybodyDisablesARootThatLeavesAnEarnerOut() public {
        for (uint256 left = 0; left < 4; ++left) {
            _deploy();
            delete _earned;
            _total = 0;
            for (uint256 i = 0; i < 4; ++i) {
                _earn(i, 10);
            }
            _submitActive(1);
            IRewardsDistributor.Claim memory before = _leaf(left);
            _submitWithout(2, left);
            _disprove(2, before, _atTheEndOf(left));
            assertEq(_distributor.pendingRoot().epoch, 0, "pending");
        }
    }

    function test_onlyAPendingRootIsDisproved() public {
        (IRewardsDistributor.Claim memory before, IRewardsDistributor.Claim memory fallen) =
            _fall(1, 1);
        _expectRefused(0, before, fallen, _notPending(0));
        _expectRefused(1, before, fallen, _notPending(1));
        _expectRefused(3, before, fallen, _notPending(3));
        vm.warp(block.timestamp + DELAY);
        _expectRefused(2, before, fallen, _notPending(2));
    }

    function test_aDisabledRootIsNotDisprovedAgain() public {
        (IRewardsDistributor.Claim memory before, IRewardsDistributor.Claim memory fallen) =
            _fall(1, 1);
        _disprove(2, before, fallen);
        _expectRefused(2, before, fallen, _notPending(2));
    }

    /// The root before a disabled one is what the next one is compared with.
    function test_aRootAfterADisabledOneIsComparedWithTheActiveOne() public {
        (IRewardsDistributor.Claim memory before, IRewardsDistributor.Claim memory fallen) =
            _fall(1, 1);
        _disprove(2, before, fallen);
        _submit(3);
        _disprove(3, before, _leaf(1));
        assertEq(_distributor.activeRoot().epoch, 1, "active");
    }

    function test_theFirstRootHasNothingToFallFrom() public {
        _earn(0, 10);
        _submit(1);
        IRewardsDistributor.Claim memory leaf = _leaf(0);
        _expectRefused(
            1,
            _with(leaf, 11),
            leaf,
            abi.encodeWithSelector(IRewardsDistributor.NoActiveRoot.selector)
        );
    }

    /// Random trees: whoever fell proves it, by any amount and at any place; nobody else can.
    function test_anyFallIsProvenAndNothingElse(uint256 seed, uint8 size, uint256 by) public {
        uint256 earners = bound(size, 2, 40);
        for (uint256 i = 0; i < earners; ++i) {
            _earn(i, 1 + uint256(keccak256(abi.encode(seed, i))) % 1e18);
        }
        _submitActive(1);
        uint256 falls = seed % earners;
        uint256 other = (falls + 1) % earners;
        IRewardsDistributor.Claim memory before = _leaf(falls);
        IRewardsDistributor.Claim memory otherBefore = _leaf(other);
        by = bound(by, 1, before.cumulative);
        _unearn(falls, by);
        _earn(other, by);
        _submit(2);
        IRewardsDistributor.Claim memory otherAfter = _leaf(other);
        _expectRefused(
            2,
            otherBefore,
            otherAfter,
            _notFallen(other, otherBefore.cumulative, otherAfter.cumulative)
        );
        IRewardsDistributor.Claim memory fallen = _leaf(falls);
        bytes32 bit = bytes32(1 << (seed >> 8) % 256);
        fallen.path[seed % fallen.path.length].hash ^= bit;
        _expectRefused(2, before, fallen, _invalid(falls, fallen.cumulative));
        fallen.path[seed % fallen.path.length].hash ^= bit;
        _disprove(2, before, fallen);
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
    }

    /// Three earners with 10, 20, 30; in the next root `who` has `by` less and somebody else has it.
    function _fall(uint256 who, uint256 by)
        private
        returns (IRewardsDistributor.Claim memory before, IRewardsDistributor.Claim memory fallen)
    {
        for (uint256 i = 0; i < 3; ++i) {
            _earn(i, 10 * (i + 1));
        }
        _submitActive(1);
        before = _leaf(who);
        _unearn(who, by);
        _earn(2, by);
        _submit(2);
        fallen = _leaf(who);
    }

    function _with(IRewardsDistributor.Claim memory leaf, uint256 cumulative)
        private
        pure
        returns (IRewardsDistributor.Claim memory)
    {
        return IRewardsDistributor.Claim(leaf.earner, cumulative, leaf.path);
    }

    /// The leaves of everybody but one, whose 10 the last of them gets.
    function _without(uint256 left) private view returns (Tree.Leaf[] memory leaves) {
        leaves = new Tree.Leaf[](3);
        for (uint256 i = 0; i < 3; ++i) {
            uint256 who = i < left ? i : i + 1;
            uint256 amount = i == 2 ? 20 : 10;
            leaves[i] = Tree.Leaf(_earner(who), amount, _distributor.leafOf(_earner(who), amount));
        }
    }

    function _submitWithout(uint64 epoch, uint256 left) private {
        bytes32 root = Tree.root(_without(left));
        vm.prank(SETTLER);
        _distributor.submitRoot(epoch, root, 40, FILE_ROOT);
    }

    /// Of leaves in order, the path of an address between two of them ends at the lower one, that of an address below all at the first.
    function _atTheEndOf(uint256 left) private view returns (IRewardsDistributor.Claim memory) {
        Tree.Leaf[] memory leaves = _without(left);
        uint256 ends = left == 0 ? 0 : left - 1;
        return IRewardsDistributor.Claim(
            leaves[ends].earner, leaves[ends].amount, Tree.path(leaves, ends)
        );
    }

    function _disprove(
        uint64 epoch,
        IRewardsDistributor.Claim memory before,
        IRewardsDistributor.Claim memory fallen
    ) private {
        vm.prank(STRANGER);
        _distributor.disableFallen(epoch, before, fallen);
    }

    function _expectRefused(
        uint64 epoch,
        IRewardsDistributor.Claim memory before,
        IRewardsDistributor.Claim memory fallen,
        bytes memory error_
    ) private {
        vm.expectRevert(error_);
        _disprove(epoch, before, fallen);
    }

    function _invalid(uint256 who, uint256 cumulative) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(
                IRewardsDistributor.InvalidProof.selector, _earner(who), cumulative
            );
    }

    function _notFallen(uint256 who, uint256 active, uint256 pending)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            IRewardsDistributor.NotFallen.selector, _earner(who), active, pending
        );
    }

    function _notPending(uint64 epoch) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IRewardsDistributor.NotPending.selector, epoch);
    }
}
