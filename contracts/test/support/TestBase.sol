// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Vm} from "./Vm.sol";

/// Checks that fail a test by reverting, and the address of the cheat codes.
abstract contract TestBase {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    error NotEqual(string what, uint256 actual, uint256 expected);
    error NotAtMost(string what, uint256 actual, uint256 limit);
    error Untrue(string what);

    function assertEq(uint256 actual, uint256 expected, string memory what) internal pure {
        if (actual != expected) revert NotEqual(what, actual, expected);
    }

    function assertEq(bytes32 actual, bytes32 expected, string memory what) internal pure {
        if (actual != expected) revert NotEqual(what, uint256(actual), uint256(expected));
    }

    function assertEq(address actual, address expected, string memory what) internal pure {
        if (actual != expected) revert NotEqual(what, uint160(actual), uint160(expected));
    }

    function assertLe(uint256 actual, uint256 limit, string memory what) internal pure {
        if (actual > limit) revert NotAtMost(what, actual, limit);
    }

    function assertTrue(bool condition, string memory what) internal pure {
        if (!condition) revert Untrue(what);
    }

    /// Maps any `x` into [low, high].
    function bound(uint256 x, uint256 low, uint256 high) internal pure returns (uint256) {
        if (x >= low && x <= high) return x;
        uint256 size = high - low + 1;
        return size == 0 ? x : low + x % size;
    }
}
