// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AdminTimelock} from "../../src/AdminTimelock.sol";
import {GymToken} from "../../src/GymToken.sol";
import {PayoutTree} from "../../src/PayoutTree.sol";
import {RewardsDistributor} from "../../src/RewardsDistributor.sol";
import {IRewardsDistributor} from "../../src/interfaces/IRewardsDistributor.sol";
import {TestBase} from "./TestBase.sol";
import {Tree} from "./Tree.sol";

/// A funded distributor and a list of what earners earned, from which roots and proofs are built.
abstract contract DistributorFixture is TestBase {
    address internal constant ADMIN_KEY = address(0xad);
    address internal constant SETTLER = address(0x5e);
    address internal constant GUARDIAN = address(0x9a);
    bytes32 internal constant FILE_ROOT = keccak256("epoch file");
    uint64 internal constant DELAY = 1 hours;
    uint256 internal constant FUNDS = 1e24;

    GymToken internal _token;
    RewardsDistributor internal _distributor;
    AdminTimelock internal _timelock;
    address internal _admin;
    uint256[] internal _earned;
    uint256 internal _total;

    function _deploy() internal {
        vm.warp(1_000_000);
        _token = new GymToken(address(this), type(uint256).max);
        _timelock = new AdminTimelock(2 * DELAY, ADMIN_KEY, GUARDIAN);
        _admin = address(_timelock);
        _distributor = new RewardsDistributor(
            IERC20(address(_token)), _timelock, SETTLER, GUARDIAN, DELAY, FUNDS
        );
        _token.transfer(address(_distributor), FUNDS);
    }

    function _earner(uint256 index) internal pure returns (address) {
        return address(uint160(0xe0000 + index));
    }

    function _earn(uint256 index, uint256 amount) internal {
        while (_earned.length <= index) _earned.push(0);
        _earned[index] += amount;
        _total += amount;
    }

    function _unearn(uint256 index, uint256 amount) internal {
        _earned[index] -= amount;
        _total -= amount;
    }

    function _leaves() internal view returns (Tree.Leaf[] memory leaves) {
        leaves = new Tree.Leaf[](_earned.length);
        for (uint256 i = 0; i < leaves.length; ++i) {
            leaves[i] =
                Tree.Leaf(_earner(i), _earned[i], _distributor.leafOf(_earner(i), _earned[i]));
        }
    }

    function _root() internal view returns (bytes32) {
        return Tree.root(_leaves());
    }

    function _path(uint256 index) internal view returns (PayoutTree.Step[] memory) {
        return Tree.path(_leaves(), index);
    }

    function _leaf(uint256 index) internal view returns (IRewardsDistributor.Claim memory) {
        return IRewardsDistributor.Claim(_earner(index), _earned[index], _path(index));
    }

    function _submit(uint64 epoch) internal {
        bytes32 root = _root();
        vm.prank(SETTLER);
        _distributor.submitRoot(epoch, root, _total, FILE_ROOT);
    }

    function _submitActive(uint64 epoch) internal {
        _submit(epoch);
        vm.warp(block.timestamp + DELAY);
    }

    function _claim(uint256 index) internal {
        _distributor.claim(_earner(index), _earned[index], _path(index));
    }

    /// The call alone: what it needs is computed before, since the next call is the one that must revert.
    function _expectClaimReverts(uint256 index, bytes memory error_) internal {
        PayoutTree.Step[] memory path = _path(index);
        vm.expectRevert(error_);
        _distributor.claim(_earner(index), _earned[index], path);
    }

    function _expectSubmitReverts(uint64 epoch, bytes memory error_) internal {
        bytes32 root = _root();
        vm.expectRevert(error_);
        vm.prank(SETTLER);
        _distributor.submitRoot(epoch, root, _total, FILE_ROOT);
    }
}
