// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Descent} from "../src/dispute/Descent.sol";
import {Cursor, Pick, Stage} from "../src/dispute/DisputeTypes.sol";
import {MerkleSha256} from "../src/dispute/MerkleSha256.sol";
import {TreeRules} from "../src/dispute/TreeRules.sol";
import {DisputeTrees} from "./support/DisputeTrees.sol";
import {TestBase} from "./support/TestBase.sol";

/// Trees of any size are descended in as few answers as possible, and only along what was posted.
contract DisputeTreesTest is TestBase {
    TreeRules private _rules;

    function setUp() public {
        _rules = new TreeRules();
    }

    /// From the root to any leaf: answers of at most 128 children, ceil(depth / 7) of them.
    function test_anyLeafIsReached(uint256 count, uint256 leaf) public view {
        bytes32[] memory leaves = _leaves(bound(count, 2, 300));
        leaf = bound(leaf, 0, leaves.length - 1);
        Cursor memory c = _root(leaves);
        uint256 answers = 0;
        while (c.height > 0) {
            bytes32[] memory children = DisputeTrees.children(leaves, c.height, c.index, 7);
            assertLe(children.length, 128, "children");
            c = _rules.answer(0, c, children);
            ++answers;
            uint256 down = Descent.levels(c.height, 7);
            uint256 height = c.height - down;
            Pick memory to = _pick(leaves, leaf >> height, height, c.height);
            c = _rules.pick(0, c, to);
        }
        assertEq(c.node, leaves[leaf], "leaf");
        assertEq(c.index, leaf, "index");
        assertEq(answers, (DisputeTrees.depthOf(leaves.length) + 6) / 7, "answers");
    }

    /// Neither nodes that the tree does not have, nor of another place.
    function test_absentNodesAreNoNodes(uint256 count) public {
        bytes32[] memory leaves = _leaves(bound(count, 3, 127));
        if (leaves.length == 2 ** DisputeTrees.depthOf(leaves.length)) return;
        Cursor memory c = _rules.answer(0, _root(leaves), leaves);
        Pick memory to = _pick(leaves, leaves.length, 0, c.height);
        vm.expectPartialRevert(Descent.NodeOutside.selector);
        _rules.pick(0, c, to);
        to = _pick(leaves, 0, 0, c.height);
        to.index = uint64(leaves.length - 1);
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        _rules.pick(0, c, to);
        to.index = uint64(2 ** uint256(c.height));
        vm.expectPartialRevert(Descent.NodeOutside.selector);
        _rules.pick(0, c, to);
    }

    /// An answer with absent nodes at its end, one child less, or another child is none.
    function test_childrenAreThoseOfTheNode(uint256 count, uint256 child) public {
        bytes32[] memory leaves = _leaves(bound(count, 2, 128));
        Cursor memory c = _root(leaves);
        bytes32[] memory other = new bytes32[](leaves.length - 1);
        vm.expectPartialRevert(MerkleSha256.BadProofLength.selector);
        _rules.answer(0, c, other);
        leaves[child % leaves.length] ^= bytes32(uint256(2));
        vm.expectPartialRevert(MerkleSha256.RootMismatch.selector);
        _rules.answer(0, c, leaves);
    }

    function _root(bytes32[] memory leaves) private pure returns (Cursor memory c) {
        (c.stage, c.leaves) = (Stage.CHUNKS, uint64(leaves.length));
        c.height = uint8(DisputeTrees.depthOf(leaves.length));
        c.node = DisputeTrees.root(leaves);
    }

    function _pick(bytes32[] memory leaves, uint256 index, uint256 height, uint256 top)
        private
        pure
        returns (Pick memory to)
    {
        to.index = uint64(index);
        to.node = DisputeTrees.nodes(leaves, height)[index];
        to.path = DisputeTrees.pathFrom(leaves, index, height, top);
    }

    function _leaves(uint256 count) private pure returns (bytes32[] memory leaves) {
        leaves = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            leaves[i] = keccak256(abi.encode(i));
        }
    }
}
