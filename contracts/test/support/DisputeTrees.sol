// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// A tensor with all its bytes. `shape`: dtype, rank and five dims of 32 bits in one word, as in src/dispute/TraceRecords.sol.
struct Tensor {
    uint256 shape;
    bytes data;
}

/// SHA-256 trees by plain padding, written independently of src/dispute/MerkleSha256.sol.
library DisputeTrees {
    function root(bytes32[] memory leaves) internal pure returns (bytes32) {
        return nodes(leaves, depthOf(leaves.length))[0];
    }

    function depthOf(uint256 count) internal pure returns (uint256 depth) {
        while (2 ** depth < count) ++depth;
    }

    /// All nodes `height` levels above the leaves, absent ones too.
    function nodes(bytes32[] memory leaves, uint256 height)
        internal
        pure
        returns (bytes32[] memory level)
    {
        level = new bytes32[](2 ** depthOf(leaves.length));
        for (uint256 i = 0; i < level.length; ++i) {
            level[i] = i < leaves.length
                ? leaves[i]
                : sha256(abi.encodePacked(uint8(3), "gym absent leaf"));
        }
        for (; height > 0; --height) {
            level = _parents(level);
        }
    }

    /// Siblings from leaf `index` up to its ancestor of this height.
    function path(bytes32[] memory leaves, uint256 index, uint256 height)
        internal
        pure
        returns (bytes32[] memory siblings)
    {
        return pathFrom(leaves, index, 0, height);
    }

    function path(bytes32[] memory leaves, uint256 index) internal pure returns (bytes32[] memory) {
        return pathFrom(leaves, index, 0, depthOf(leaves.length));
    }

    /// Siblings from node `index` of height `from` up to its ancestor of height `to`.
    function pathFrom(bytes32[] memory leaves, uint256 index, uint256 from, uint256 to)
        internal
        pure
        returns (bytes32[] memory siblings)
    {
        siblings = new bytes32[](to - from);
        bytes32[] memory level = nodes(leaves, from);
        for (uint256 i = 0; i < siblings.length; ++i) {
            siblings[i] = level[(index >> i) ^ 1];
            level = _parents(level);
        }
    }

    /// Nodes with leaves below them that an answer to node `index` of height `height` lists.
    function children(bytes32[] memory leaves, uint256 height, uint256 index, uint256 max)
        internal
        pure
        returns (bytes32[] memory list)
    {
        if (height == 0) return new bytes32[](0);
        uint256 answers = (height + max - 1) / max;
        uint256 down = (height + answers - 1) / answers;
        bytes32[] memory level = nodes(leaves, height - down);
        uint256 all = (leaves.length + 2 ** (height - down) - 1) / 2 ** (height - down);
        uint256 first = index * 2 ** down;
        uint256 count = all - first < 2 ** down ? all - first : 2 ** down;
        list = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = level[first + i];
        }
    }

    function chunk(bytes memory data, uint256 index) internal pure returns (bytes memory part) {
        uint256 rest = data.length - 1024 * index;
        part = new bytes(rest < 1024 ? rest : 1024);
        assembly {
            mcopy(add(part, 32), add(add(data, 32), mul(1024, index)), mload(part))
        }
    }

    function chunkLeaves(bytes memory data) internal pure returns (bytes32[] memory leaves) {
        leaves = new bytes32[]((data.length + 1023) / 1024);
        for (uint256 i = 0; i < leaves.length; ++i) {
            leaves[i] = chunkLeaf(chunk(data, i));
        }
    }

    function chunkLeaf(bytes memory part) internal pure returns (bytes32) {
        return sha256(abi.encodePacked(uint8(0), part, new bytes(1024 - part.length)));
    }

    function treeRoot(bytes memory data) internal pure returns (bytes32) {
        return root(chunkLeaves(data));
    }

    function tensorRoot(Tensor memory t) internal pure returns (bytes32) {
        return sha256(abi.encodePacked(uint8(2), descriptor(t), treeRoot(t.data)));
    }

    /// dtype, rank and dims, as they are hashed.
    function descriptor(Tensor memory t) internal pure returns (bytes memory head) {
        uint256 rank = uint8(t.shape >> 160);
        head = abi.encodePacked(uint8(t.shape >> 168), uint8(rank));
        for (uint256 i = 0; i < rank; ++i) {
            head = abi.encodePacked(head, uint64(uint32(t.shape >> (32 * (4 - i)))));
        }
    }

    function tensorRoots(Tensor[] memory list) internal pure returns (bytes32[] memory roots) {
        roots = new bytes32[](list.length);
        for (uint256 i = 0; i < roots.length; ++i) {
            roots[i] = tensorRoot(list[i]);
        }
    }

    function shapeOf(uint256 dtype, uint256 a) internal pure returns (uint256) {
        return (dtype << 168) | (uint256(1) << 160) | (a << 128);
    }

    function shapeOf(uint256 dtype, uint256 a, uint256 b) internal pure returns (uint256) {
        return (dtype << 168) | (uint256(2) << 160) | (a << 128) | (b << 96);
    }

    function shapeOf(uint256 dtype, uint256 a, uint256 b, uint256 c)
        internal
        pure
        returns (uint256)
    {
        return (dtype << 168) | (uint256(3) << 160) | (a << 128) | (b << 96) | (c << 64);
    }

    function elements(uint256 shape) internal pure returns (uint256 count) {
        count = 1;
        for (uint256 i = 0; i < uint8(shape >> 160); ++i) {
            count *= uint32(shape >> (32 * (4 - i)));
        }
    }

    function sizeOf(uint256 shape) internal pure returns (uint256) {
        uint256 dtype = uint8(shape >> 168);
        return dtype == 3 ? 8 : dtype == 4 || dtype == 6 ? 2 : dtype == 5 ? 1 : 4;
    }

    function _parents(bytes32[] memory level) private pure returns (bytes32[] memory parents) {
        parents = new bytes32[](level.length / 2);
        for (uint256 i = 0; i < parents.length; ++i) {
            parents[i] = sha256(abi.encodePacked(uint8(1), level[2 * i], level[2 * i + 1]));
        }
    }
}
