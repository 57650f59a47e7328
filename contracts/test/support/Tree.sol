// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {PayoutTree} from "../../src/PayoutTree.sol";

/// Merkle-sum search trees, written from the top down and independently of the contract's fold. The left side of n leaves
/// has the largest power of two below n.
library Tree {
    struct Leaf {
        address earner;
        uint256 amount;
        bytes32 hash;
    }

    function root(Leaf[] memory leaves) internal pure returns (bytes32 hash) {
        (hash,) = _fold(leaves, 0, leaves.length);
    }

    function node(bytes32 left, uint256 leftSum, address pivot, bytes32 right, uint256 rightSum)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(left, leftSum, pivot, right, rightSum));
    }

    function path(Leaf[] memory leaves, uint256 index)
        internal
        pure
        returns (PayoutTree.Step[] memory steps)
    {
        PayoutTree.Step[] memory down = new PayoutTree.Step[](64);
        uint256 length = 0;
        (uint256 begin, uint256 end) = (0, leaves.length);
        while (end - begin > 1) {
            uint256 cut = begin + _left(end - begin);
            bool left = index < cut;
            (bytes32 hash, uint256 sum) = left ? _fold(leaves, cut, end) : _fold(leaves, begin, cut);
            down[length++] = PayoutTree.Step(hash, uint128(sum), leaves[cut].earner);
            (begin, end) = left ? (begin, cut) : (cut, end);
        }
        steps = new PayoutTree.Step[](length);
        for (uint256 i = 0; i < length; ++i) {
            steps[i] = down[length - 1 - i];
        }
    }

    function _fold(Leaf[] memory leaves, uint256 begin, uint256 end)
        private
        pure
        returns (bytes32, uint256)
    {
        if (end - begin == 1) return (leaves[begin].hash, leaves[begin].amount);
        uint256 cut = begin + _left(end - begin);
        (bytes32 left, uint256 leftSum) = _fold(leaves, begin, cut);
        (bytes32 right, uint256 rightSum) = _fold(leaves, cut, end);
        return (node(left, leftSum, leaves[cut].earner, right, rightSum), leftSum + rightSum);
    }

    function _left(uint256 count) private pure returns (uint256 left) {
        left = 1;
        while (2 * left < count) left *= 2;
    }
}
