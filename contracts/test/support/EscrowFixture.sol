// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AdminTimelock} from "../../src/AdminTimelock.sol";
import {GymToken} from "../../src/GymToken.sol";
import {JobEscrow} from "../../src/JobEscrow.sol";
import {IJobEscrow} from "../../src/interfaces/IJobEscrow.sol";
import {Orders} from "./Orders.sol";
import {TestBase} from "./TestBase.sol";

/// An escrow whose every deposit is paid by Alice, and the short forms of its calls.
abstract contract EscrowFixture is TestBase {
    uint256 internal constant ALICE_KEY = 0xa11ce;
    uint256 internal constant BOB_KEY = 0xb0b;
    uint64 internal constant DELAY = 1 days;
    uint64 internal constant INTERVAL = 1 hours;
    uint256 internal constant CAP = 1000 ether;

    address internal immutable ALICE = vm.addr(ALICE_KEY);
    address internal immutable BOB = vm.addr(BOB_KEY);
    address internal constant ADMIN_KEY = address(0xad);
    address internal constant SETTLER = address(0x5e);
    address internal constant GUARDIAN = address(0x9a);
    address internal constant DISTRIBUTOR = address(0xd157);

    GymToken internal _token;
    JobEscrow internal _escrow;
    AdminTimelock internal _timelock;
    address internal _admin;

    function _deploy() internal {
        vm.warp(1_000_000);
        _token = new GymToken(ALICE, type(uint256).max);
        _escrow = _newEscrow(IERC20(address(_token)));
        vm.prank(ALICE);
        _token.approve(address(_escrow), type(uint256).max);
    }

    function _newEscrow(IERC20 token) internal returns (JobEscrow escrow) {
        _timelock = new AdminTimelock(2 * DELAY, ADMIN_KEY, GUARDIAN);
        _admin = address(_timelock);
        escrow =
            new JobEscrow(token, DISTRIBUTOR, _timelock, SETTLER, GUARDIAN, DELAY, INTERVAL, CAP);
    }

    function _deposit(address owner, uint256 amount) internal returns (uint256) {
        vm.prank(ALICE);
        return _escrow.deposit(owner, amount);
    }

    /// A deposit of which nothing can be withdrawn.
    function _depositLocked(address owner, uint256 amount) internal {
        _deposit(owner, amount);
        vm.prank(owner);
        _escrow.lockOwn(amount);
    }

    function _order(address owner, uint256 budget, bytes32 nonce)
        internal
        view
        returns (IJobEscrow.JobOrder memory)
    {
        return IJobEscrow.JobOrder({
            owner: owner,
            spec: keccak256("text"),
            datasetsHash: keccak256("datasets"),
            budget: budget,
            pricePerPflop: 10,
            maxDataPrice: 20,
            nonce: nonce,
            expiry: uint64(block.timestamp) + 1 hours
        });
    }

    function _sign(uint256 key, IJobEscrow.JobOrder memory order)
        internal
        view
        returns (bytes memory)
    {
        return _signature(key, Orders.digest(address(_escrow), order));
    }

    function _sign(uint256 key, IJobEscrow.JobFunding memory funding)
        internal
        view
        returns (bytes memory)
    {
        return _signature(key, Orders.digest(address(_escrow), funding));
    }

    function _signature(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    /// What the settler does with an order that Bob signed.
    function _lockOfBob(uint256 budget, bytes32 nonce) internal {
        IJobEscrow.JobOrder memory order = _order(BOB, budget, nonce);
        bytes memory signature = _sign(BOB_KEY, order);
        vm.prank(SETTLER);
        _escrow.lock(order, signature);
    }

    function _release(uint64 epoch, address owner, uint256 amount) internal {
        (address[] memory owners, uint256[] memory amounts) = _one(owner, amount);
        vm.prank(SETTLER);
        _escrow.release(epoch, owners, amounts);
    }

    function _one(address owner, uint256 amount)
        internal
        pure
        returns (address[] memory owners, uint256[] memory amounts)
    {
        owners = new address[](1);
        amounts = new uint256[](1);
        owners[0] = owner;
        amounts[0] = amount;
    }

    function _permit(uint256 amount, uint256 deadline)
        internal
        view
        returns (uint8 v, bytes32 r, bytes32 s)
    {
        bytes32 typeHash = keccak256(
            "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
        );
        bytes32 structHash = keccak256(
            abi.encode(typeHash, ALICE, address(_escrow), amount, _token.nonces(ALICE), deadline)
        );
        bytes32 digest =
            keccak256(abi.encodePacked(hex"1901", _token.DOMAIN_SEPARATOR(), structHash));
        return vm.sign(ALICE_KEY, digest);
    }

    function _expectRefused(address caller, bytes32 role) internal {
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessControl.AccessControlUnauthorizedAccount.selector, caller, role
            )
        );
    }
}
