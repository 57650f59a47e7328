// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    ColumnProof,
    Cursor,
    Finding,
    IDisputeErrors,
    OuterProof,
    Stage
} from "../src/dispute/DisputeTypes.sol";
import {OuterPlay, OuterPlayer} from "./support/OuterPlayer.sol";
import {OuterRun} from "./support/OuterRunner.sol";
import {DisputeProgram} from "./support/DisputeProgram.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";

/// The last moves of a game about an aggregate at any element, as DisputeLeaves.t.sol of training.
contract DisputeOuterLeavesTest is OuterPlayer {
    function setUp() public {
        _deployOuter();
        _postOuter(_rightOuter());
    }

    /// From the posted chunk on: what is right is no fault; another claim is, and so is another column.
    function test_anyElementOfAnyTensor(uint256 tree, uint256 element, uint256 flip) public {
        OuterRun memory right = _rightOuter();
        (OuterPlay memory p, uint64 i) = _atChunk(right, 1 + tree % 2, bound(element, 0, 308));
        bytes memory chunk = DisputeTrees.chunk(_tensorOf(p, right).data, p.c.index);
        p.values = _outerRunner.column(right, p.op.primitive, i);
        bytes32 computed = _claimIsRight(p, right, i, chunk);
        _change(chunk, 4 * uint256(i) % 1024, uint32(flip));
        p.c.node = DisputeTrees.chunkLeaves(chunk)[0];
        p.c = _withColumn(p, i, chunk);
        Finding memory found = _outerProofs.proveOuter(0, p.c, _outerProof(p, right));
        assertEq(found.element, i, "element");
        assertEq(found.claimed, p.c.node, "claimed");
        assertEq(found.computed, computed, "computed");
    }

    function test_anyValueOfAColumn(uint256 position, uint256 element, uint256 flip) public {
        OuterRun memory right = _rightOuter();
        position = bound(position, 0, 2);
        (OuterPlay memory p, uint64 i) = _atChunk(right, 1, bound(element, 0, 308));
        bytes memory chunk = DisputeTrees.chunk(_tensorOf(p, right).data, p.c.index);
        p.values = _outerRunner.column(right, p.op.primitive, i);
        Cursor memory before = p.c;
        p.c = _withColumn(p, i, chunk);
        ColumnProof memory proof = _columnProof(p, right, uint32(position));
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _outerProofs.proveColumn(0, p.c, proof);
        p.c = before;
        _change(p.values, 4 * position, uint32(flip));
        p.c = _withColumn(p, i, chunk);
        proof = _columnProof(p, right, uint32(position));
        Finding memory found = _outerProofs.proveColumn(0, p.c, proof);
        assertEq(found.element, position, "position");
        assertTrue(found.claimed != found.computed, "claimed");
    }

    /// @return computed What was claimed.
    function _claimIsRight(OuterPlay memory p, OuterRun memory right, uint64 i, bytes memory chunk)
        private
        returns (bytes32 computed)
    {
        Cursor memory before = p.c;
        p.c = _withColumn(p, i, chunk);
        OuterProof memory proof = _outerProof(p, right);
        computed = p.c.node;
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _outerProofs.proveOuter(0, p.c, proof);
        p.c = before;
    }

    /// The cursor at a posted chunk of element `n`, counted through both parameters; i of its own.
    function _atChunk(OuterRun memory right, uint256 tree, uint256 n)
        private
        view
        returns (OuterPlay memory p, uint64 i)
    {
        bool first = n < 300;
        (p.op.primitive, i) = first ? (0, uint64(n)) : (1, uint64(n - 300));
        p.frame.facts = keccak256(abi.encode(_outerFacts));
        (p.frame.program, p.frame.deltas, p.frame.tree) = (_outerFacts.traceRoot, 3, uint8(tree));
        p.frame.held = right.held;
        p.frame.deltasRoot = DisputeTrees.root(DisputeTrees.tensorRoots(right.deltas));
        (p.op.step, p.op.program) = (keccak256(abi.encode(p.frame)), _outerFacts.traceRoot);
        (p.op.leaf, p.op.shape) = (type(uint32).max, DisputeProgram.slotShapes()[p.op.primitive]);
        p.op.record = sha256(
            abi.encodePacked("gym.state_slot.v1", DisputeProgram.slotRecords()[p.op.primitive])
        );
        (p.c.stage, p.c.answered, p.c.index) = (Stage.CHUNKS, true, i / 256);
        p.c.frame = keccak256(abi.encode(p.op));
        Tensor memory t = _tensorOf(p, right);
        p.c.node = DisputeTrees.chunkLeaves(t.data)[p.c.index];
    }

    /// The element is picked from the chunk, and the column of p.values posted.
    function _withColumn(OuterPlay memory p, uint64 i, bytes memory chunk)
        private
        view
        returns (Cursor memory)
    {
        Cursor memory next = _outer.pickElement(0, p.c, p.op, p.frame, i, chunk);
        return _outer.postColumn(0, next, p.values);
    }

    /// Another word in its place.
    function _change(bytes memory data, uint256 offset, uint32 flip) private pure {
        if (flip == 0) flip = 1;
        for (uint256 b = 0; b < 4; ++b) {
            data[offset + b] ^= bytes1(uint8(flip >> (8 * b)));
        }
    }
}
