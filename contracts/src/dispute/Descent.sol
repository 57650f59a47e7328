// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, Frames, IDisputeErrors} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";

/// @title How a tree is descended
/// @notice An answer lists the nodes some levels below; how many levels is fixed by the height, so that answers of one tree have
/// about the same size and there are as few as possible.
library Descent {
    /// @notice Most levels of an answer: 128 children.
    uint256 internal constant LEVELS_MAX = 7;
    /// @notice The same where an answer has two lists.
    uint256 internal constant TWIN_LEVELS_MAX = 6;

    /// @notice A node that the tree does not have.
    error NodeOutside(uint256 index, uint256 height);

    /// @notice The cursor at the root of a tree of `leaves` leaves; a tree of one leaf needs no answer.
    function root(uint8 stage, bytes32 node, uint256 leaves, bytes32 frame)
        internal
        pure
        returns (Cursor memory c)
    {
        Frames.nonZero(node);
        if (leaves == 0) revert NodeOutside(0, 0);
        uint256 height = MerkleSha256.depthOf(leaves);
        if (height > MerkleSha256.DEPTH_MAX) revert NodeOutside(leaves, height);
        c.stage = stage;
        // At most DEPTH_MAX, and leaves at most 2^DEPTH_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        c.height = uint8(height);
        // forge-lint: disable-next-line(unsafe-typecast)
        c.leaves = uint64(leaves);
        (c.node, c.frame, c.answered) = (node, frame, height == 0);
    }

    /// @notice Levels that an answer to a node of this height goes down.
    function levels(uint256 height, uint256 max) internal pure returns (uint256) {
        if (height == 0) return 0;
        uint256 answers = (height + max - 1) / max;
        return (height + answers - 1) / answers;
    }

    /// @notice Reverts unless `children` are all the nodes below the cursor's that an answer must list. None for a leaf.
    /// @param max Levels at most. @param node The cursor's node, or its twin.
    function answer(Cursor memory c, bytes32 node, bytes32[] calldata children, uint256 max)
        internal
        view
    {
        uint256 down = levels(c.height, max);
        uint256 to = c.height - down;
        uint256 expected = down == 0 ? 0 : _childrenOf(c, down, to);
        if (children.length != expected) {
            revert MerkleSha256.BadProofLength(children.length, expected);
        }
        if (down == 0) return;
        bytes32[] memory list = children;
        bool zero;
        assembly ("memory-safe") {
            let end := add(list, shl(5, expected))
            for { let at := list } lt(at, end) {} {
                at := add(at, 32)
                zero := or(zero, iszero(mload(at)))
            }
        }
        if (zero) revert IDisputeErrors.ZeroDigest();
        bytes32 computed = MerkleSha256.fold(list, down, to);
        if (computed != node) revert MerkleSha256.RootMismatch(computed, node);
    }

    /// @notice Whether an answer to the cursor's node lists leaves.
    function listsLeaves(Cursor memory c, uint256 max) internal pure returns (bool) {
        return levels(c.height, max) == c.height;
    }

    /// @notice Reverts unless `node` is number `index` among the nodes path.length levels below `from`.
    function below(
        Cursor calldata c,
        bytes32 from,
        uint256 index,
        bytes32 node,
        bytes32[] calldata path
    ) internal view {
        Frames.nonZero(node);
        if (path.length > c.height) revert MerkleSha256.BadProofLength(path.length, c.height);
        uint256 height = c.height - path.length;
        if (index >> path.length != c.index || index << height >= c.leaves) {
            revert NodeOutside(index, height);
        }
        bytes32 computed = MerkleSha256.ascend(index, node, path);
        if (computed != from) revert MerkleSha256.RootMismatch(computed, from);
    }

    /// @notice below() down to a leaf.
    function leafBelow(
        Cursor calldata c,
        bytes32 from,
        uint256 index,
        bytes32 leaf,
        bytes32[] calldata path
    ) internal view {
        if (path.length != c.height) {
            revert MerkleSha256.BadProofLength(path.length, c.height);
        }
        below(c, from, index, leaf, path);
    }

    /// @dev Nodes with leaves among the 2^down below the cursor's.
    function _childrenOf(Cursor memory c, uint256 down, uint256 height)
        private
        pure
        returns (uint256)
    {
        uint256 all = (uint256(c.leaves) + (uint256(1) << height) - 1) >> height;
        uint256 rest = all - (uint256(c.index) << down);
        return rest < uint256(1) << down ? rest : uint256(1) << down;
    }
}
