// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IRewardsDistributor} from "../src/interfaces/IRewardsDistributor.sol";
import {DistributorFixture} from "./support/DistributorFixture.sol";
import {Tree} from "./support/Tree.sol";

/// Leaves that anybody demands of a pending root, so that a settler gains nothing by keeping its tree to itself.
contract RewardsDistributorDemandsTest is DistributorFixture {
    address private constant STRANGER = address(0x57a);
    address private constant ANSWERER = address(0xa25);

    uint256 private _bond;

    function setUp() public {
        _deploy();
        _bond = _distributor.demandBond();
        vm.deal(STRANGER, 10 * _bond);
        for (uint256 i = 0; i < 4; ++i) {
            _earn(i, 10 * (i + 1));
        }
        _submitActive(1);
    }

    /// The attack: everything goes to the settler's accomplice, under a root that nobody can open.
    function test_aRootThatHidesALeafNeverPays() public {
        IRewardsDistributor.Claim memory mine = _leaf(1);
        address accomplice = address(0xacc);
        bytes32 stolen = _distributor.leafOf(accomplice, _total);
        vm.prank(SETTLER);
        _distributor.submitRoot(2, stolen, _total, FILE_ROOT);
        _demand(2, mine);
        vm.warp(block.timestamp + DELAY);
        assertEq(_distributor.activeRoot().epoch, 1, "active");
        assertEq(_distributor.pendingRoot().epoch, 0, "pending");
        Tree.Leaf[] memory leaves = new Tree.Leaf[](1);
        leaves[0] = Tree.Leaf(accomplice, _total, stolen);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, accomplice, _total)
        );
        _distributor.claim(accomplice, _total, Tree.path(leaves, 0));
        _claim(1);
        assertEq(_token.balanceOf(_earner(1)), 20, "paid by the root before");
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RootDisabled(2);
        vm.prank(STRANGER);
        _distributor.reclaimBond(2, mine.earner);
        assertEq(STRANGER.balance, 10 * _bond, "bond");
    }

    function test_aRootAfterOneThatHidALeafIsTakenAndTellsOfIt() public {
        _submitHiding(2);
        _demand(2, _leaf(1));
        vm.warp(block.timestamp + DELAY);
        bytes32 root = _root();
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.RootDisabled(2);
        vm.prank(SETTLER);
        _distributor.submitRoot(3, root, _total, FILE_ROOT);
        assertEq(_distributor.openDemands(), 0, "demands of the new root");
        vm.warp(block.timestamp + DELAY);
        assertEq(_distributor.activeRoot().epoch, 3, "active");
        vm.prank(STRANGER);
        _distributor.reclaimBond(2, _earner(1));
        assertEq(STRANGER.balance, 10 * _bond, "bond");
        assertEq(_distributor.activeRoot().epoch, 3, "still active");
    }

    function test_whoeverShowsTheLeafGetsTheBond() public {
        IRewardsDistributor.Claim memory before = _leaf(1);
        _earn(3, 5);
        _submit(2);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.LeafDemanded(2, _earner(1), 20, STRANGER);
        _demand(2, before);
        assertEq(_distributor.openDemands(), 1, "open");
        vm.warp(block.timestamp + DELAY - 1);
        IRewardsDistributor.Claim memory leaf = _leaf(1);
        vm.expectEmit(address(_distributor));
        emit IRewardsDistributor.LeafShown(2, _earner(1));
        vm.prank(ANSWERER);
        _distributor.showLeaf(2, leaf);
        assertEq(ANSWERER.balance, _bond, "answerer");
        assertEq(_distributor.openDemands(), 0, "open");
        vm.warp(block.timestamp + 1);
        assertEq(_distributor.activeRoot().epoch, 2, "active");
        vm.expectRevert(_notDemanded(2, 1));
        vm.prank(STRANGER);
        _distributor.reclaimBond(2, _earner(1));
    }

    function test_eachDemandHasToBeAnswered() public {
        IRewardsDistributor.Claim memory first = _leaf(0);
        IRewardsDistributor.Claim memory second = _leaf(2);
        _submit(2);
        _demand(2, first);
        _demand(2, second);
        vm.prank(ANSWERER);
        _distributor.showLeaf(2, second);
        vm.warp(block.timestamp + DELAY);
        assertEq(_distributor.activeRoot().epoch, 1, "active");
        vm.expectRevert(_notPending(2));
        _distributor.showLeaf(2, first);
    }

    /// A leaf with less than before is no answer, nor is one that is not under the root.
    function test_anAnswerHasNoLessThanBefore() public {
        IRewardsDistributor.Claim memory before = _leaf(1);
        _unearn(1, 1);
        _earn(0, 1);
        _submit(2);
        _demand(2, before);
        _expectNotShown(_leaf(1), 1, 19);
        _expectNotShown(before, 1, 20);
        IRewardsDistributor.Claim memory other = _leaf(0);
        vm.expectRevert(_notDemanded(2, 0));
        _distributor.showLeaf(2, other);
    }

    function test_aLeafOfZeroIsNotDemanded() public {
        _earn(4, 0);
        _submitActive(2);
        IRewardsDistributor.Claim memory leaf = _leaf(4);
        _submit(3);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(4), 0)
        );
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond}(3, leaf);
    }

    function test_demandsComeEarlyOnceAndWithTheirBond() public {
        IRewardsDistributor.Claim memory leaf = _leaf(1);
        vm.expectRevert(_notPending(2));
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond}(2, leaf);
        _submit(2);
        uint64 latest = uint64(block.timestamp) + DELAY / 2;
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.WrongBond.selector, _bond - 1, _bond)
        );
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond - 1}(2, leaf);
        leaf.cumulative = 21;
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(1), 21)
        );
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond}(2, leaf);
        leaf.cumulative = 20;
        vm.warp(latest);
        _demand(2, leaf);
        _expectDemandedBefore(leaf);
        vm.prank(ANSWERER);
        _distributor.showLeaf(2, leaf);
        _expectDemandedBefore(leaf);
        vm.warp(latest + 1);
        IRewardsDistributor.Claim memory other = _leaf(2);
        vm.expectRevert(abi.encodeWithSelector(IRewardsDistributor.DemandTooLate.selector, latest));
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond}(2, other);
    }

    function test_aBondComesBackOnceAndOnlyWhenTheRootIsDead() public {
        IRewardsDistributor.Claim memory leaf = _leaf(1);
        _submit(2);
        uint64 activeAt = uint64(block.timestamp) + DELAY;
        _demand(2, leaf);
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.RootPending.selector, uint64(2), activeAt)
        );
        vm.prank(STRANGER);
        _distributor.reclaimBond(2, _earner(1));
        vm.prank(GUARDIAN);
        _distributor.disable(2);
        vm.expectRevert(_notDemanded(2, 1));
        _distributor.reclaimBond(2, _earner(1));
        vm.prank(STRANGER);
        _distributor.reclaimBond(2, _earner(1));
        assertEq(STRANGER.balance, 10 * _bond, "bond");
        vm.expectRevert(_notDemanded(2, 1));
        vm.prank(STRANGER);
        _distributor.reclaimBond(2, _earner(1));
        assertEq(address(_distributor).balance, 0, "nothing stays");
    }

    function _submitHiding(uint64 epoch) private {
        vm.prank(SETTLER);
        _distributor.submitRoot(epoch, keccak256("hidden"), _total, FILE_ROOT);
    }

    function _demand(uint64 epoch, IRewardsDistributor.Claim memory leaf) private {
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond}(epoch, leaf);
    }

    function _expectDemandedBefore(IRewardsDistributor.Claim memory leaf) private {
        vm.expectRevert(
            abi.encodeWithSelector(
                IRewardsDistributor.DemandedBefore.selector, uint64(2), leaf.earner
            )
        );
        vm.prank(STRANGER);
        _distributor.demandLeaf{value: _bond}(2, leaf);
    }

    function _expectNotShown(IRewardsDistributor.Claim memory leaf, uint256 who, uint256 amount)
        private
    {
        vm.expectRevert(
            abi.encodeWithSelector(IRewardsDistributor.InvalidProof.selector, _earner(who), amount)
        );
        _distributor.showLeaf(2, leaf);
    }

    function _notDemanded(uint64 epoch, uint256 who) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IRewardsDistributor.NotDemanded.selector, epoch, _earner(who));
    }

    function _notPending(uint64 epoch) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IRewardsDistributor.NotPending.selector, epoch);
    }
}
