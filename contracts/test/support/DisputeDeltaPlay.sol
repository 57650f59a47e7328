// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DeltaProof, OpFrame} from "../../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../../src/dispute/IDisputeMoves.sol";
import {DisputeAsserter} from "./DisputeAsserter.sol";
import {DisputeDelta} from "./DisputeDelta.sol";
import {Play} from "./DisputePlay.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {StepRun} from "./DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// Plans the challenger's way through the delta.
abstract contract DisputeDeltaPlay is DisputeAsserter {
    function _planDelta(Play memory p, StepRun[] memory a) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_trees), "pickDelta");
        OpFrame memory op;
        (op.step, op.program) = (keccak256(abi.encode(_facts)), _facts.traceRoot);
        (op.leaf, op.shape) =
        (type(uint32).max, DisputeTrees.shapeOf(5, DisputeProgram.DELTA_BYTES));
        p.op = op;
        bytes32 states = DisputeTrees.root(_states(a));
        _call = abi.encodeCall(
            IDisputeMoves.pickDelta, (p.id, p.c, _facts, states, DisputeProgram.header())
        );
    }

    function _planWord(Play memory p, StepRun[] memory a, Tensor memory mine) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_elements), "proveDelta");
        // The first byte that differs: elements of the delta's tensor are bytes.
        DeltaProof memory proof = _wordProof(p, a, _element(p.delta, mine) / 4);
        _call = abi.encodeCall(IDisputeMoves.proveDelta, (p.id, p.c, proof));
    }

    function _wordProof(Play memory p, StepRun[] memory a, uint64 word)
        internal
        view
        returns (DeltaProof memory proof)
    {
        (proof.op, proof.facts, proof.header) = (p.op, _facts, DisputeProgram.header());
        proof.word = word;
        proof.chunk = DisputeTrees.chunk(p.delta.data, p.c.index);
        if (word < 4) return proof;
        (uint256 slot, uint256 element) = DisputeDelta.place(word);
        proof.slot = DisputeProgram.slotProof(slot);
        Tensor[] memory end = _final(a);
        proof.final_ = _tensorProof(end[slot], element, 1);
        proof.final_.path = DisputeTrees.path(DisputeTrees.tensorRoots(end), slot);
        proof.base = _tensorProof(a[0].before[slot], element, 1);
        proof.base.path = DisputeTrees.path(a[0].stateBefore, slot);
    }
}
