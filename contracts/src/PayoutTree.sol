// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title Merkle-sum search trees of earners
/// @notice An inner node is keccak256(abi.encode(left, sum of left, pivot, right, sum of right)), and its sum is that of both
/// sides. Earners below `pivot` are on the left, the others on the right. So what a root pays is at most its sum, and each
/// earner has one place: the leaf that its path ends at is the earner's, or the earner is not in the tree.
library PayoutTree {
    /// @notice One level of a path, seen from below.
    /// @param hash The sibling.
    /// @param sum What the sibling's side pays in all.
    /// @param pivot The first earner of the right side.
    struct Step {
        bytes32 hash;
        uint128 sum;
        address pivot;
    }

    /// @notice Root and sum of the tree in which `key`'s path ends at a leaf; a root of zero if one of the amounts has
    /// more than 128 bits.
    /// @param leaf The leaf's hash.
    /// @param amount What the leaf pays.
    /// @param key The earner whose path it is.
    /// @param path From the leaf up, far fewer steps than 2^128.
    function fold(bytes32 leaf, uint256 amount, address key, Step[] calldata path)
        internal
        pure
        returns (bytes32 root, uint256 sum)
    {
        root = leaf;
        sum = amount;
        // A step is three words of calldata. In assembly, because a claim pays for each of its levels.
        assembly ("memory-safe") {
            let node := mload(0x40)
            let tooMuch := shr(128, amount)
            let end := add(path.offset, mul(path.length, 0x60))
            for { let step := path.offset } lt(step, end) { step := add(step, 0x60) } {
                let siblingSum := calldataload(add(step, 0x20))
                let pivot := calldataload(add(step, 0x40))
                // Where the own side goes in the node, and the sibling's: 0 and 0x60, or the other way.
                let own := mul(iszero(lt(key, pivot)), 0x60)
                let sibling := sub(0x60, own)
                mstore(add(node, own), root)
                mstore(add(node, add(own, 0x20)), sum)
                mstore(add(node, sibling), calldataload(step))
                mstore(add(node, add(sibling, 0x20)), siblingSum)
                mstore(add(node, 0x40), pivot)
                root := keccak256(node, 0xa0)
                tooMuch := or(tooMuch, shr(128, siblingSum))
                sum := add(sum, siblingSum)
            }
            if tooMuch { root := 0 }
        }
    }
}
