// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";

/// What anybody can prove against a root before it pays.
contract RewardsDistributorProofsTest is DistributorFixture {
    address private constant STRANGER = address(0x57a);

    /// An earner's leaf under one root.
    struct Leaf {
        uint256 cumulative;
        bytes32[] proof;
    }

    function setUp() public {
        _deploy();
    }

    function test_anybodyDisablesARootUnderWhichAnEarnerFell() public {
        (Leaf memory before, Leaf memory fallen) = _fall(1, 1);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RootDisabled(2);
        _disprove(2, 1, before, fallen);
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
        vm.warp(block.timestamp + DELAY);
        assertEq(_distributor.activeRoot().epoch, 1, "active");
        _distributor.claim(_earner(1), before.cumulative, before.proof);
        assertEq(_token.balanceOf(_earner(1)), before.cumulative, "paid by the root before");
        // Epochs go on, and a root that repairs it is taken.
        _earn(1, 1);
        _submitActive(3);
        assertEq(_distributor.activeRoot().epoch, 3, "active");
    }

    function test_whoeverDidNotFallProvesNothing() public {
        (Leaf memory before, Leaf memory fallen) = _fall(1, 1);
        Leaf memory same = _leaf(0);
        Leaf memory more = _leaf(2);
        _expectRefused(2, 0, Leaf(same.cumulative, same.proof), same, _notFallen(0, 10, 10));
        _expectRefused(2, 2, Leaf(30, before.proof), more, _notFallen(2, 30, 31));
        // An amount that is under neither root, or under the other one.
        _expectRefused(2, 1, Leaf(21, before.proof), fallen, _invalid(1, 21));
        _expectRefused(2, 1, before, Leaf(18, fallen.proof), _invalid(1, 18));
        // Another earner's leaf.
        _expectRefused(2, 0, before, fallen, _invalid(0, before.cumulative));
        _expectRefused(
            2,
            1,
            Leaf(before.cumulative, new bytes32[](41)),
            fallen,
            abi.encodeWithSelector(IRewardsDistributor.TooLong.selector, 41)
        );
        _disprove(2, 1, before, fallen);
    }

    function test_onlyAPendingRootIsDisproved() public {
        (Leaf memory before, Leaf memory fallen) = _fall(1, 1);
        _expectRefused(0, 1, before, fallen, _notPending(0));
        _expectRefused(1, 1, before, fallen, _notPending(1));
        _expectRefused(3, 1, before, fallen, _notPending(3));
        vm.warp(block.timestamp + DELAY);
        _expectRefused(2, 1, before, fallen, _notPending(2));
    }

    function test_aDisabledRootIsNotDisprovedAgain() public {
        (Leaf memory before, Leaf memory fallen) = _fall(1, 1);
        _disprove(2, 1, before, fallen);
        _expectRefused(2, 1, before, fallen, _notPending(2));
    }

    /// The root before a disabled one is what the next one is compared with.
    function test_aRootAfterADisabledOneIsComparedWithTheActiveOne() public {
        (Leaf memory before, Leaf memory fallen) = _fall(1, 1);
        _disprove(2, 1, before, fallen);
        _submit(3);
        _disprove(3, 1, before, _leaf(1));
        assertEq(_distributor.activeRoot().epoch, 1, "active");
    }

    function test_theFirstRootHasNothingToFallFrom() public {
        _earn(0, 10);
        _submit(1);
        Leaf memory leaf = _leaf(0);
        _expectRefused(
            1,
            0,
            Leaf(11, leaf.proof),
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
        Leaf memory before = _leaf(falls);
        Leaf memory otherBefore = _leaf(other);
        by = bound(by, 1, before.cumulative);
        _unearn(falls, by);
        _earn(other, by);
        _submit(2);
        Leaf memory otherAfter = _leaf(other);
        _expectRefused(
            2,
            other,
            otherBefore,
            otherAfter,
            _notFallen(other, otherBefore.cumulative, otherAfter.cumulative)
        );
        Leaf memory fallen = _leaf(falls);
        bytes32 bit = bytes32(1 << (seed >> 8) % 256);
        fallen.proof[seed % fallen.proof.length] ^= bit;
        _expectRefused(2, falls, before, fallen, _invalid(falls, fallen.cumulative));
        fallen.proof[seed % fallen.proof.length] ^= bit;
        _disprove(2, falls, before, fallen);
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
    }

    /// Three earners with 10, 20, 30; in the next root `who` has `by` less and somebody else has it.
    function _fall(uint256 who, uint256 by)
        private
        returns (Leaf memory before, Leaf memory fallen)
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

    function _leaf(uint256 index) private view returns (Leaf memory) {
        return Leaf(_earned[index], _proof(index));
    }

    function _disprove(uint64 epoch, uint256 who, Leaf memory before, Leaf memory fallen) private {
        vm.prank(STRANGER);
        _distributor.disableFallen(
            epoch, _earner(who), before.cumulative, before.proof, fallen.cumulative, fallen.proof
        );
    }

    function _expectRefused(
        uint64 epoch,
        uint256 who,
        Leaf memory before,
        Leaf memory fallen,
        bytes memory error_
    ) private {
        vm.expectRevert(error_);
        _disprove(epoch, who, before, fallen);
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
