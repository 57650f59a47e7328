// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    DeltaProof,
    ElementProof,
    Finding,
    IDisputeErrors,
    Stage
} from "../src/dispute/DisputeTypes.sol";
import {DisputeDelta} from "./support/DisputeDelta.sol";
import {DisputePlayer, Play} from "./support/DisputePlayer.sol";
import {DisputeProgram, Macro} from "./support/DisputeProgram.sol";
import {StepRun} from "./support/DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./support/DisputeTrees.sol";

/// The last move of a game at any element: a claim that is right is no fault, another one is, and what is computed is right. Whole
/// games to any element are in DisputeGame.t.sol and DisputeDelta.t.sol; a leaf alone is fast enough for many runs.
contract DisputeLeavesTest is DisputePlayer {
    /// Kept apart, so that a run of a test reads no more than it needs.
    mapping(uint256 step => bytes) private _stepRuns;
    bytes private _rightDelta;
    bytes private _beginState;
    bytes private _endState;

    function setUp() public {
        _deployGame();
        StepRun[] memory run = _right();
        _post(run);
        for (uint256 s = 0; s < run.length; ++s) {
            _stepRuns[s] = abi.encode(run[s]);
        }
        _rightDelta = _delta(run).data;
        (_beginState, _endState) = (abi.encode(run[0].before), abi.encode(_final(run)));
    }

    function test_anyElementOfAnyPrimitive(
        uint256 step,
        uint256 primitive,
        uint256 element,
        uint256 flip
    ) public {
        StepRun memory run = abi.decode(_stepRuns[bound(step, 0, 2)], (StepRun));
        Play memory p = _atPrimitive(run, bound(primitive, 0, 11));
        Tensor memory t = _disputed(p, run);
        element = bound(element, 0, DisputeTrees.elements(t.shape) - 1);
        uint256 size = DisputeTrees.sizeOf(t.shape);
        p.c.index = uint64(element * size / 1024);
        ElementProof memory proof = _elementProof(p, run, uint64(element));
        p.c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _elements.proveElement(0, p.c, proof);
        uint256 right = _number(proof.chunk, element * size % 1024, size);
        _change(proof.chunk, element * size % 1024, size, flip);
        p.c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        Finding memory found = _elements.proveElement(0, p.c, proof);
        assertEq(found.computed, bytes32(right), "computed");
        assertTrue(found.claimed != found.computed, "claimed");
    }

    function test_anyWordOfADelta(uint256 word, uint256 flip) public {
        word = bound(word, 0, DisputeProgram.DELTA_BYTES / 4 - 1);
        (Cursor memory c, DeltaProof memory proof) = _atWord(word);
        vm.expectRevert(IDisputeErrors.NoFault.selector);
        _elements.proveDelta(0, c, proof);
        uint256 right = _number(proof.chunk, 4 * word % 1024, 4);
        _change(proof.chunk, 4 * word % 1024, 4, flip);
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
        Finding memory found = _elements.proveDelta(0, c, proof);
        assertEq(found.element, word, "word");
        assertEq(found.computed, bytes32(right), "computed");
        assertTrue(found.claimed != found.computed, "claimed");
    }

    /// A posted chunk of this primitive's output; which one is to be said.
    function _atPrimitive(StepRun memory run, uint256 primitive)
        private
        view
        returns (Play memory p)
    {
        p.step.program = _facts.traceRoot;
        p.step.trace = DisputeTrees.root(run.leafRoots);
        p.step.stateBefore = DisputeTrees.root(run.stateBefore);
        Macro[] memory all = DisputeProgram.macros();
        uint256 m = 0;
        while (all[m].first + all[m].count <= primitive) ++m;
        (p.op.step, p.op.program) = (keccak256(abi.encode(p.step)), _facts.traceRoot);
        (p.op.first, p.op.count) = (all[m].first, all[m].count);
        p.op.primitive = uint32(primitive - all[m].first);
        p.op.macroRoot = DisputeTrees.root(_outputs(p, run));
        p.op.record = sha256(
            abi.encodePacked("gym.primitive.v1", DisputeProgram.primitiveRecords()[primitive])
        );
        p.op.shape = DisputeProgram.primitives()[primitive].shape;
        (p.c.stage, p.c.answered, p.c.frame) = (Stage.CHUNKS, true, keccak256(abi.encode(p.op)));
    }

    function _atWord(uint256 word) private view returns (Cursor memory c, DeltaProof memory proof) {
        (proof.facts, proof.header, proof.word) = (_facts, DisputeProgram.header(), uint64(word));
        (proof.op.step, proof.op.program) = (keccak256(abi.encode(_facts)), _facts.traceRoot);
        proof.op.leaf = type(uint32).max;
        proof.op.shape = DisputeTrees.shapeOf(5, DisputeProgram.DELTA_BYTES);
        proof.chunk = DisputeTrees.chunk(_rightDelta, word / 256);
        if (word >= 4) {
            (uint256 slot, uint256 element) = DisputeDelta.place(word);
            proof.slot = DisputeProgram.slotProof(slot);
            Tensor[] memory begin = abi.decode(_beginState, (Tensor[]));
            proof.base = _tensorProof(begin[slot], element, 1);
            proof.base.path = DisputeTrees.path(DisputeTrees.tensorRoots(begin), slot);
            Tensor[] memory end = abi.decode(_endState, (Tensor[]));
            proof.final_ = _tensorProof(end[slot], element, 1);
            proof.final_.path = DisputeTrees.path(DisputeTrees.tensorRoots(end), slot);
        }
        (c.stage, c.answered, c.index) = (Stage.CHUNKS, true, uint64(word / 256));
        c.frame = keccak256(abi.encode(proof.op));
        c.node = DisputeTrees.chunkLeaves(proof.chunk)[0];
    }

    function _number(bytes memory data, uint256 offset, uint256 size)
        private
        pure
        returns (uint256 x)
    {
        for (uint256 b = size; b > 0; --b) {
            x = (x << 8) | uint8(data[offset + b - 1]);
        }
    }

    /// Another number in its place.
    function _change(bytes memory data, uint256 offset, uint256 size, uint256 flip) private pure {
        for (uint256 b = 0; b < size; ++b) {
            data[offset + b] ^= bytes1(uint8(flip >> (8 * b)));
        }
        if (flip << (256 - 8 * size) == 0) data[offset] ^= 0x01;
    }
}
