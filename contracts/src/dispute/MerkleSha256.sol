// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title The SHA-256 trees of docs/PROTOCOL.md ("Bytes that are hashed and signed")
/// @notice A tree of `count` leaves is padded with absent leaves to the next power of two. Whoever verifies knows count and
/// index, so they decide how long a proof is: neither an inner node nor a longer path can pass for a leaf.
library MerkleSha256 {
    /// @notice Deepest tree: 2^48 leaves.
    uint256 internal constant DEPTH_MAX = 48;
    /// @notice Bytes of a chunk.
    uint256 internal constant CHUNK_BYTES = 1024;
    /// @dev SHA-256 of 0x03 and "gym absent leaf".
    bytes32 internal constant ABSENT_LEAF =
        0x4f6991676b591175b73a1c571bef413a134b505b823c0efb81c1e17d5cc1c707;

    /// @notice A leaf index that the tree does not have.
    error LeafOutside(uint256 index, uint256 count);
    /// @notice A proof, or a list of children, of another length than count and index demand.
    error BadProofLength(uint256 length, uint256 expected);
    /// @notice A root of zero is not valid.
    error ZeroRoot();
    /// @notice The path, or the children, lead to another root.
    error RootMismatch(bytes32 computed, bytes32 expected);
    /// @notice A chunk that is longer than its tensor's, or has other bytes than zero behind it.
    error BadChunk(uint256 length);

    /// @notice H(0x01 | left | right).
    function node(bytes32 left, bytes32 right) internal view returns (bytes32 digest) {
        assembly ("memory-safe") {
            // Free memory, overwritten by whoever comes next.
            let at := mload(0x40)
            mstore8(at, 1)
            mstore(add(at, 1), left)
            mstore(add(at, 33), right)
            if iszero(staticcall(gas(), 2, at, 65, 0, 32)) { revert(0, 0) }
            digest := mload(0)
        }
    }

    /// @notice H(0x00 | chunk | zeros up to 1,024 bytes). @param chunk At most 1,024 bytes.
    function chunkLeaf(bytes calldata chunk) internal view returns (bytes32 digest) {
        if (chunk.length > CHUNK_BYTES) revert BadChunk(chunk.length);
        assembly ("memory-safe") {
            let at := mload(0x40)
            // Memory behind the free pointer may hold anything.
            for { let i := 0 } lt(i, 1056) { i := add(i, 32) } { mstore(add(at, i), 0) }
            calldatacopy(add(at, 1), chunk.offset, chunk.length)
            if iszero(staticcall(gas(), 2, at, 1025, 0, 32)) { revert(0, 0) }
            digest := mload(0)
        }
    }

    /// @notice The root of 2^height absent leaves.
    function absent(uint256 height) internal view returns (bytes32 digest) {
        digest = ABSENT_LEAF;
        for (uint256 i = 0; i < height; ++i) {
            digest = node(digest, digest);
        }
    }

    /// @notice ceil(log2(count)); 0 for none and one.
    function depthOf(uint256 count) internal pure returns (uint256 depth) {
        while ((uint256(1) << depth) < count) ++depth;
    }

    /// @notice The root that `leaf` and the siblings from the bottom up lead to.
    /// @param index Of the leaf, within the padded tree.
    /// @param path One sibling a level.
    function ascend(uint256 index, bytes32 leaf, bytes32[] calldata path)
        internal
        view
        returns (bytes32 digest)
    {
        digest = leaf;
        for (uint256 i = 0; i < path.length; ++i) {
            digest = index & 1 == 0 ? node(digest, path[i]) : node(path[i], digest);
            index >>= 1;
        }
    }

    /// @notice Reverts unless `leaf` is leaf number `index` of the tree of `count` leaves under `root`.
    function verify(
        bytes32 root,
        uint256 index,
        uint256 count,
        bytes32 leaf,
        bytes32[] calldata path
    ) internal view {
        if (root == 0) revert ZeroRoot();
        if (index >= count) revert LeafOutside(index, count);
        uint256 depth = depthOf(count);
        if (path.length != depth) revert BadProofLength(path.length, depth);
        bytes32 computed = ascend(index, leaf, path);
        if (computed != root) revert RootMismatch(computed, root);
    }

    /// @notice The root of a tree whose nodes `height` levels above the leaves are `children` and, beyond
    /// the last leaf, absent.
    /// @param children Only the nodes with leaves below them, at least one.
    /// @param levels From the children up to the result; children.length <= 2^levels.
    /// @param height From the leaves up to the children.
    function fold(bytes32[] memory children, uint256 levels, uint256 height)
        internal
        view
        returns (bytes32)
    {
        uint256 count = children.length;
        if (count == 0 || count > uint256(1) << levels) {
            revert BadProofLength(count, uint256(1) << levels);
        }
        bytes32 padding = count == uint256(1) << levels ? bytes32(0) : absent(height);
        for (; levels > 0; --levels) {
            _foldLevel(children, count, padding);
            count = (count + 1) >> 1;
            if (padding != 0) padding = node(padding, padding);
        }
        return children[0];
    }

    /// @dev Replaces the first `count` children by the nodes above them. A pair lies side by side already, and the byte before it is
    /// no longer needed when it is hashed: most of an answer's gas is this loop.
    function _foldLevel(bytes32[] memory children, uint256 count, bytes32 padding) private view {
        assembly ("memory-safe") {
            let first := add(children, 32)
            let end := add(first, shl(5, count))
            let length := mload(children)
            let behind := mload(end)
            mstore(end, padding)
            let to := first
            for { let at := first } lt(at, end) { at := add(at, 64) } {
                mstore8(sub(at, 1), 1)
                if iszero(staticcall(gas(), 2, sub(at, 1), 65, to, 32)) { revert(0, 0) }
                to := add(to, 32)
            }
            mstore(children, length)
            mstore(end, behind)
        }
    }

    /// @notice H(0x02 | dtype | rank | dims, u64 each | tree root).
    function tensorDigest(uint8 dtype, uint64[] memory dims, bytes32 treeRoot)
        internal
        pure
        returns (bytes32)
    {
        bytes memory head = abi.encodePacked(uint8(2), dtype, uint8(dims.length));
        for (uint256 i = 0; i < dims.length; ++i) {
            head = abi.encodePacked(head, dims[i]);
        }
        return sha256(abi.encodePacked(head, treeRoot));
    }
}
