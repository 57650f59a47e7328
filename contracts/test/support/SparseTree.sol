// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// A tree of any size whose leaves are all `usual`, but for two of them.
struct SparseTree {
    uint256 leaves;
    bytes32 usual;
    uint256[2] places;
    bytes32[2] others;
}

/// The nodes of SparseTree, without its leaves: trees of tensors that no memory has room for.
library SparseTrees {
    function root(SparseTree memory t) internal pure returns (bytes32) {
        return node(t, depthOf(t), 0);
    }

    function depthOf(SparseTree memory t) internal pure returns (uint256 depth) {
        while (2 ** depth < t.leaves) ++depth;
    }

    /// Node `index` of those `height` levels above the leaves.
    function node(SparseTree memory t, uint256 height, uint256 index)
        internal
        pure
        returns (bytes32)
    {
        uint256 first = index << height;
        if (first >= t.leaves) return _same(sha256("\x03gym absent leaf"), height);
        bool special = t.places[0] >> height == index || t.places[1] >> height == index;
        if (!special && first + 2 ** height <= t.leaves) return _same(t.usual, height);
        if (height == 0) return t.places[0] == index ? t.others[0] : t.others[1];
        return _parent(node(t, height - 1, 2 * index), node(t, height - 1, 2 * index + 1));
    }

    /// Siblings from node `index` of height `from` up to its ancestor of height `to`.
    function path(SparseTree memory t, uint256 index, uint256 from, uint256 to)
        internal
        pure
        returns (bytes32[] memory siblings)
    {
        siblings = new bytes32[](to - from);
        for (uint256 i = 0; i < siblings.length; ++i) {
            siblings[i] = node(t, from + i, (index >> i) ^ 1);
        }
    }

    /// Levels that an answer goes down from this height.
    function levels(uint256 height) internal pure returns (uint256) {
        uint256 answers = (height + 6) / 7;
        return (height + answers - 1) / answers;
    }

    /// What an answer to a node above the leaves lists.
    function children(SparseTree memory t, uint256 height, uint256 index)
        internal
        pure
        returns (bytes32[] memory list)
    {
        uint256 to = height - levels(height);
        uint256 all = (t.leaves + 2 ** to - 1) >> to;
        uint256 first = index << (height - to);
        uint256 count = all - first < 2 ** (height - to) ? all - first : 2 ** (height - to);
        list = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = node(t, to, first + i);
        }
    }

    function _same(bytes32 leaf, uint256 height) private pure returns (bytes32) {
        for (; height > 0; --height) {
            leaf = _parent(leaf, leaf);
        }
        return leaf;
    }

    function _parent(bytes32 left, bytes32 right) private pure returns (bytes32) {
        return sha256(abi.encodePacked(uint8(1), left, right));
    }
}
