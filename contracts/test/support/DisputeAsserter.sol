// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, Frames, Stage} from "../../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../../src/dispute/IDisputeMoves.sol";

import {DisputePlay, Play} from "./DisputePlay.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {StepRun} from "./DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// Plans the asserter's answers.
abstract contract DisputeAsserter is DisputePlay {
    using Frames for Cursor;

    function _planAnswer(Play memory p, StepRun[] memory a) internal {
        (_mover, _ruler) = (_asserter, address(_trees));
        if (p.c.stage == Stage.UNIT) return _planDeclaration(p, a);
        StepRun memory run = a[p.step.step];
        if (p.c.stage == Stage.STEP) return _planOpening(p, run);
        if (p.c.stage == Stage.MACRO) return _planMacro(p, run);
        if (p.c.stage == Stage.TENSOR || p.c.height == 0) {
            return _planTensor(p, _disputed(p, run));
        }
        _name = "answer";
        bytes32[] memory leaves = p.c.stage == Stage.STATE ? run.stateAfter : run.gradients;
        bytes32[] memory children = DisputeTrees.children(leaves, p.c.height, p.c.index, 7);
        _call = abi.encodeCall(IDisputeMoves.answer, (p.id, p.c, children));
    }

    function _planDeclaration(Play memory p, StepRun[] memory a) private {
        (bytes32[] memory links, bytes32[] memory states) = (_links(a), _states(a));
        uint256 depth = DisputeTrees.depthOf(a.length);
        _name = "declareStates";
        _call = abi.encodeCall(
            IDisputeMoves.declareStates,
            (
                p.id,
                p.c,
                _facts,
                DisputeTrees.root(states),
                DisputeTrees.children(links, depth, 0, 6),
                DisputeTrees.children(states, depth, 0, 6)
            )
        );
    }

    function _planOpening(Play memory p, StepRun memory run) private {
        _ruler = address(_steps);
        uint256 depth = DisputeTrees.depthOf(run.leafRoots.length);
        _name = "openStep";
        _call = abi.encodeCall(
            IDisputeMoves.openStep,
            (
                p.id,
                p.c,
                p.step,
                _facts,
                DisputeProgram.header(),
                run.record,
                DisputeTrees.root(run.leafRoots),
                DisputeTrees.children(run.leafRoots, depth, 0, 7)
            )
        );
    }

    function _planMacro(Play memory p, StepRun memory run) private {
        _ruler = address(_steps);
        bytes32[] memory roots = _outputs(p, run);
        bytes32[] memory children =
            DisputeTrees.children(roots, DisputeTrees.depthOf(roots.length), 0, 7);
        _name = "openMacro";
        _call = abi.encodeCall(
            IDisputeMoves.openMacro,
            (p.id, p.c, p.op, DisputeTrees.root(roots), new bytes32[](0), children)
        );
    }

    function _planTensor(Play memory p, Tensor memory t) private {
        _ruler = address(_steps);
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(t.data);
        if (leaves.length == 1 || p.c.stage == Stage.CHUNKS) {
            _name = "postChunk";
            bytes memory content = DisputeTrees.chunk(t.data, p.c.index);
            _call = abi.encodeCall(IDisputeMoves.postChunk, (p.id, p.c, p.op, content));
            return;
        }
        _name = "openTensor";
        bytes32[] memory children =
            DisputeTrees.children(leaves, DisputeTrees.depthOf(leaves.length), 0, 7);
        _call = abi.encodeCall(
            IDisputeMoves.openTensor, (p.id, p.c, p.op, DisputeTrees.root(leaves), children)
        );
    }

    // --- the challenger ---
}
