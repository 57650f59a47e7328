// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
    Cursor,
    OpFrame,
    Pick,
    StepFrame,
    TensorProof
} from "../../src/dispute/DisputeTypes.sol";
import {IDisputeGame} from "../../src/interfaces/IDisputeGame.sol";
import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {DisputeFixture} from "./DisputeFixture.sol";
import {Operand, Primitive} from "./DisputeProgram.sol";
import {StepRun} from "./DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// A game as both players see it.
struct Play {
    bytes32 id;
    address challenger;
    Cursor c;
    StepFrame step;
    OpFrame op;
    /// What the asserter has under its delta root, where that is disputed.
    Tensor delta;
}

/// A planned move, and what every player can compute from a run.
abstract contract DisputePlay is DisputeFixture {
    /// The next move, for tests that change it.
    bytes internal _call;
    address internal _mover;
    address internal _ruler;
    string internal _name;

    /// The last call was a move.
    function _afterMove() internal virtual {}

    /// Sends the planned move as its player; a call, so that a test can expect its refusal.
    function sendPlanned() external {
        sendPlannedAs(_mover);
    }

    function sendPlannedAs(address mover) public {
        vm.prank(mover);
        (bool ok, bytes memory reason) = address(_game).call(_call);
        if (!ok) {
            assembly {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    function _isOpen(bytes32 id) internal view returns (bool) {
        IDisputeGame.Status status = _game.gameOf(id).status;
        return status == IDisputeGame.Status.AsserterMoves
            || status == IDisputeGame.Status.ChallengerMoves;
    }

    function _disputed(Play memory p, StepRun memory run) internal pure returns (Tensor memory) {
        if (p.op.leaf == type(uint32).max) return p.delta;
        if (p.op.count == 0) return run.leaves[p.op.leaf];
        return run.primitives[p.op.first + p.op.primitive];
    }

    function _outputs(Play memory p, StepRun memory run)
        internal
        pure
        returns (bytes32[] memory roots)
    {
        roots = new bytes32[](p.op.count);
        for (uint256 i = 0; i < roots.length; ++i) {
            roots[i] = run.primitiveRoots[p.op.first + i];
        }
    }

    function _source(Play memory p, StepRun memory run, Operand memory from)
        internal
        pure
        returns (Tensor memory)
    {
        if (from.kind == 1) return run.primitives[p.op.first + from.index];
        return from.kind == 2 ? run.leaves[from.index] : run.before[from.index];
    }

    function _pathOf(Play memory p, StepRun memory run, Operand memory from)
        internal
        pure
        returns (bytes32[] memory)
    {
        if (from.kind == 1) return DisputeTrees.path(_outputs(p, run), from.index);
        return DisputeTrees.path(from.kind == 2 ? run.leafRoots : run.stateBefore, from.index);
    }

    function _tensorProof(Tensor memory t, uint256 first, uint256 count)
        internal
        pure
        returns (TensorProof memory proof)
    {
        if (count == 0) return proof;
        uint256 size = DisputeTrees.sizeOf(t.shape);
        uint256 begin = first * size / 1024;
        uint256 end = ((first + count) * size - 1) / 1024 + 1;
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(t.data);
        proof.treeRoot = DisputeTrees.root(leaves);
        proof.chunks = new Chunk[](end - begin);
        for (uint256 i = begin; i < end; ++i) {
            proof.chunks[i - begin] =
                Chunk(DisputeTrees.chunk(t.data, i), DisputeTrees.path(leaves, i));
        }
    }

    function _descriptor(Primitive memory op) internal pure returns (IOneStep.Descriptor memory d) {
        (d.opcode, d.attributes) = (op.opcode, op.attributes);
        _unpackShape(op.shape, d.output);
        d.inputs = new IOneStep.Shape[](op.inputs.length);
        for (uint256 k = 0; k < d.inputs.length; ++k) {
            _unpackShape(op.inputs[k].shape, d.inputs[k]);
        }
    }

    function _unpackShape(uint256 packed, IOneStep.Shape memory to) internal pure {
        (to.dtype, to.rank) = (uint8(packed >> 168), uint8(packed >> 160));
        for (uint256 i = 0; i < 5; ++i) {
            to.dims[i] = uint32(packed >> (32 * (4 - i)));
        }
    }

    function _pickOf(bytes32[] memory leaves, uint256 i) internal pure returns (Pick memory to) {
        (to.index, to.node, to.path) = (uint64(i), leaves[i], DisputeTrees.path(leaves, i));
    }

    function _element(Tensor memory a, Tensor memory c) internal pure returns (uint64) {
        uint256 i = 0;
        while (i + 1 < a.data.length && a.data[i] == c.data[i]) ++i;
        return uint64(i / DisputeTrees.sizeOf(a.shape));
    }

    function _first(bytes32[] memory a, bytes32[] memory c) internal pure returns (uint256 i) {
        while (i < a.length && a[i] == c[i]) ++i;
    }
}
