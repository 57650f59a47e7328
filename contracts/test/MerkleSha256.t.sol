// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {TestBase} from "./support/TestBase.sol";

/// Calldata arguments and reverts at a depth of their own.
contract MerkleHarness {
    function verify(
        bytes32 root,
        uint256 index,
        uint256 count,
        bytes32 leaf,
        bytes32[] calldata path
    ) external view {
        MerkleSha256.verify(root, index, count, leaf, path);
    }

    function fold(bytes32[] memory children, uint256 levels, uint256 height)
        external
        view
        returns (bytes32)
    {
        return MerkleSha256.fold(children, levels, height);
    }

    function chunkLeaf(bytes calldata chunk) external view returns (bytes32) {
        return MerkleSha256.chunkLeaf(chunk);
    }
}

/// Roots are lines of tests/vectors/merkle.txt, which Python's hashlib made.
contract MerkleSha256Test is TestBase {
    MerkleHarness private _harness;

    function setUp() public {
        _harness = new MerkleHarness();
    }

    function test_rootsAreThoseOfTheVectors() public view {
        _expectRoot(1, 0x3870d34f9c528e02f038823bfaffcc63e4de826bdd2b0d3d7521605f8e5ff5f3);
        _expectRoot(2, 0x28bdd9d97cbb24f4c8683ea47eb1ff04fc1ea1b1111803e5604a41da1a5de9ea);
        _expectRoot(3, 0xfd320bdf588ddd9ff0b7c03c1167daff5338f1c066d2bf2f5ad0ac324baa1d63);
        _expectRoot(5, 0x64f996a2be8ddcef6ce46637b3b49549c2ffcda55cc8030831f567530d484f25);
        _expectRoot(16, 0xc1eda01a9dcbfa3789202f40cf43a4f25df5bb5e890a00aae468b9a774a1be17);
        _expectRoot(17, 0xdef38bd938834332931807afd2aa32e6e1205a917a1ea9016ab7d440a247a3e6);
        _expectRoot(100, 0xb9e7c6717dd06a4509ac491bfaf55999d19d1987f35d1b7ee04da8d9c67012a6);
        _expectRoot(129, 0x3e83272942d0c7707040274b2e8afe9ed19423e73c376df2c7c330a62862b29b);
    }

    function test_chunksAreThoseOfTheVectors() public view {
        assertEq(
            _harness.chunkLeaf(_pattern(1)),
            0x8c0aa24881f2e20eeea364b0807065844450e845aeba8183f0c2fb2442f49a29,
            "1 byte"
        );
        assertEq(
            _harness.chunkLeaf(_pattern(1023)),
            0x2cc64c41858a3f4bfe15354483424690b9b6aa6354743f9e36b7e114e03018c5,
            "1,023 bytes"
        );
        assertEq(
            _harness.chunkLeaf(_pattern(1024)),
            0x2d8adeda572195cdcff66702483b6587f5a9b1a947c94be434f5f9af441eb955,
            "1,024 bytes"
        );
    }

    function test_tensorsAreThoseOfTheVectors() public view {
        uint64[] memory dims = new uint64[](2);
        (dims[0], dims[1]) = (2, 3);
        bytes32 tree = _harness.chunkLeaf(_pattern(24));
        assertEq(
            MerkleSha256.tensorDigest(1, dims, tree),
            0x361cd61e651eb5013b838098c7b2fbd6b74fe064cf656cdb02a2d9e9c5794602,
            "f32 [2, 3]"
        );
    }

    function test_aChunkThatIsTooLongIsRefused() public {
        vm.expectRevert(abi.encodeWithSelector(MerkleSha256.BadChunk.selector, 1025));
        _harness.chunkLeaf(new bytes(1025));
    }

    /// Every leaf of a tree of any size has a path; with another index, count, leaf, sibling or length it has none.
    function test_pathsLeadToTheRoot(uint256 count, uint256 index, uint256 level) public {
        count = bound(count, 1, 300);
        index = bound(index, 0, count - 1);
        (bytes32 root, bytes32[] memory path) = _tree(count, index);
        // Hashing is a call, too, and expectRevert means the next one.
        bytes32 leaf = _leaf(index);
        bytes32 other = _leaf(index + 1);
        _harness.verify(root, index, count, leaf, path);
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        _harness.verify(root, index, count, other, path);
        vm.expectRevert(abi.encodeWithSelector(MerkleSha256.LeafOutside.selector, count, count));
        _harness.verify(root, count, count, leaf, path);
        vm.expectRevert(MerkleSha256.ZeroRoot.selector);
        _harness.verify(0, index, count, leaf, path);
        bytes32[] memory longer = new bytes32[](path.length + 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                MerkleSha256.BadProofLength.selector, path.length + 1, path.length
            )
        );
        _harness.verify(root, index, count, leaf, longer);
        if (path.length == 0) return;
        path[level % path.length] ^= bytes32(uint256(1));
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        _harness.verify(root, index, count, leaf, path);
    }

    /// Children of any level fold to the root, whatever part of the tree is absent.
    function test_childrenFoldToTheRoot(uint256 count, uint256 height) public {
        count = bound(count, 1, 300);
        uint256 depth = MerkleSha256.depthOf(count);
        height = bound(height, 0, depth);
        (bytes32 root,) = _tree(count, 0);
        bytes32[] memory nodes = _level(count, height);
        assertEq(_harness.fold(nodes, depth - height, height), root, "root");
        bytes32[] memory more = new bytes32[]((uint256(1) << (depth - height)) + 1);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        _harness.fold(more, depth - height, height);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        _harness.fold(new bytes32[](0), depth - height, height);
    }

    function _expectRoot(uint256 count, bytes32 expected) private view {
        uint256 depth = MerkleSha256.depthOf(count);
        assertEq(_harness.fold(_level(count, 0), depth, 0), expected, "fold");
        (bytes32 root, bytes32[] memory path) = _tree(count, count - 1);
        assertEq(root, expected, "tree");
        _harness.verify(expected, count - 1, count, _leaf(count - 1), path);
    }

    /// The nodes with leaves below them, `height` levels above the leaves, by plain padding.
    function _level(uint256 count, uint256 height) private pure returns (bytes32[] memory nodes) {
        bytes32[] memory level = _padded(count);
        for (uint256 i = 0; i < height; ++i) {
            level = _parents(level);
        }
        nodes = new bytes32[]((count + (uint256(1) << height) - 1) >> height);
        for (uint256 i = 0; i < nodes.length; ++i) {
            nodes[i] = level[i];
        }
    }

    function _tree(uint256 count, uint256 index)
        private
        pure
        returns (bytes32 root, bytes32[] memory path)
    {
        bytes32[] memory level = _padded(count);
        path = new bytes32[](MerkleSha256.depthOf(count));
        for (uint256 i = 0; i < path.length; ++i) {
            path[i] = level[(index >> i) ^ 1];
            level = _parents(level);
        }
        return (level[0], path);
    }

    function _padded(uint256 count) private pure returns (bytes32[] memory level) {
        level = new bytes32[](uint256(1) << MerkleSha256.depthOf(count));
        for (uint256 i = 0; i < level.length; ++i) {
            level[i] = i < count ? _leaf(i) : sha256(abi.encodePacked(uint8(3), "gym absent leaf"));
        }
    }

    function _parents(bytes32[] memory level) private pure returns (bytes32[] memory parents) {
        parents = new bytes32[](level.length / 2);
        for (uint256 i = 0; i < parents.length; ++i) {
            parents[i] = sha256(abi.encodePacked(uint8(1), level[2 * i], level[2 * i + 1]));
        }
    }

    function _leaf(uint256 index) private pure returns (bytes32) {
        // forge-lint: disable-next-line(unsafe-typecast)
        return sha256(abi.encodePacked("leaf", uint64(index)));
    }

    function _pattern(uint256 size) private pure returns (bytes memory data) {
        data = new bytes(size);
        for (uint256 i = 0; i < size; ++i) {
            // forge-lint: disable-next-line(unsafe-typecast)
            data[i] = bytes1(uint8(i * 131 + (i >> 8) * 17 + 7));
        }
    }
}
