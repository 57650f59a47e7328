// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// Merkle trees with sorted pairs, written independently of OpenZeppelin's verifier. An odd node moves up as it is.
library Tree {
    function root(bytes32[] memory leaves) internal pure returns (bytes32) {
        bytes32[] memory layer = leaves;
        while (layer.length > 1) layer = _parents(layer);
        return layer[0];
    }

    function proof(bytes32[] memory leaves, uint256 index)
        internal
        pure
        returns (bytes32[] memory)
    {
        bytes32[] memory siblings = new bytes32[](64);
        uint256 length = 0;
        bytes32[] memory layer = leaves;
        while (layer.length > 1) {
            uint256 sibling = index ^ 1;
            if (sibling < layer.length) siblings[length++] = layer[sibling];
            index /= 2;
            layer = _parents(layer);
        }
        bytes32[] memory trimmed = new bytes32[](length);
        for (uint256 i = 0; i < length; ++i) {
            trimmed[i] = siblings[i];
        }
        return trimmed;
    }

    function _parents(bytes32[] memory layer) private pure returns (bytes32[] memory parents) {
        parents = new bytes32[]((layer.length + 1) / 2);
        for (uint256 i = 0; i < parents.length; ++i) {
            bytes32 left = layer[2 * i];
            if (2 * i + 1 == layer.length) {
                parents[i] = left;
                continue;
            }
            bytes32 right = layer[2 * i + 1];
            parents[i] = left < right
                ? keccak256(abi.encodePacked(left, right))
                : keccak256(abi.encodePacked(right, left));
        }
    }
}
