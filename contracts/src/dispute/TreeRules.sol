// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Descent} from "./Descent.sol";
import {
    Cursor,
    Facts,
    Frames,
    IDisputeErrors,
    OpFrame,
    Pick,
    Stage,
    StepFrame,
    StepPick
} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Header, Shapes, TraceRecords} from "./TraceRecords.sol";

/// @title Moves down the trees, and from the unit to a step or to its delta
/// @notice Pure rules: each function has the arguments of the move of IDisputeGame that it decides, and returns where the game
/// continues. DisputeGame sees to whose turn it is and that the cursor is the game's.
contract TreeRules {
    using Frames for Cursor;
    using Frames for Facts;
    using Frames for OpFrame;
    using Frames for StepFrame;
    using Shapes for uint256;

    /// @notice See IDisputeGame.declareStates.
    function declareStates(
        bytes32,
        Cursor calldata c,
        Facts calldata facts,
        bytes32 statesRoot,
        bytes32[] calldata records,
        bytes32[] calldata states
    ) external view returns (Cursor memory next) {
        c.expect(Stage.UNIT, false);
        bytes32 factsHash = facts.hash();
        c.check(factsHash);
        Frames.nonZero(statesRoot);
        next = Descent.root(
            Stage.STEPS, facts.recordsRoot, facts.steps, Frames.ofSteps(factsHash, statesRoot)
        );
        next.twin = statesRoot;
        _answerTwins(next, facts, records, states);
    }

    /// @notice See IDisputeGame.answerSteps.
    function answerSteps(
        bytes32,
        Cursor calldata c,
        Facts calldata facts,
        bytes32 statesRoot,
        bytes32[] calldata records,
        bytes32[] calldata states
    ) external view returns (Cursor memory next) {
        c.expect(Stage.STEPS, false);
        c.check(Frames.ofSteps(facts.hash(), statesRoot));
        next = c;
        _answerTwins(next, facts, records, states);
    }

    /// @notice See IDisputeGame.answer.
    function answer(bytes32, Cursor calldata c, bytes32[] calldata children)
        external
        view
        returns (Cursor memory next)
    {
        bool tree = c.stage == Stage.TRACE || c.stage == Stage.STATE || c.stage == Stage.GRADIENTS
            || c.stage == Stage.PRIMITIVES || c.stage == Stage.CHUNKS || c.stage == Stage.OUTER
            || c.stage == Stage.OUTER_STATE;
        // A chunk is answered with its bytes.
        if (!tree || c.height == 0) revert IDisputeErrors.WrongStage(c.stage);
        next = c;
        Descent.answer(next, c.node, children, Descent.LEVELS_MAX);
        next.answered = true;
    }

    /// @notice See IDisputeGame.pick.
    function pick(bytes32, Cursor calldata c, Pick calldata to)
        external
        view
        returns (Cursor memory next)
    {
        bool tree = c.stage == Stage.STEPS || c.stage == Stage.TRACE || c.stage == Stage.STATE
            || c.stage == Stage.GRADIENTS || c.stage == Stage.PRIMITIVES || c.stage == Stage.CHUNKS
            || c.stage == Stage.OUTER || c.stage == Stage.OUTER_STATE;
        if (!tree) revert IDisputeErrors.WrongStage(c.stage);
        // Leaves have moves of their own, but chunks.
        bool leaf = to.path.length == c.height;
        if (to.path.length == 0 || (leaf && c.stage != Stage.CHUNKS)) {
            revert MerkleSha256.BadProofLength(to.path.length, c.height);
        }
        Descent.below(c, c.node, to.index, to.node, to.path);
        next = c;
        (next.height, next.index) = (uint8(c.height - to.path.length), to.index);
        (next.node, next.answered) = (to.node, false);
        if (c.stage == Stage.STEPS) {
            if (to.twinPath.length != to.path.length) {
                revert MerkleSha256.BadProofLength(to.twinPath.length, to.path.length);
            }
            Descent.below(c, c.twin, to.index, to.twin, to.twinPath);
            next.twin = to.twin;
        } else if (to.twin != 0 || to.twinPath.length != 0) {
            revert MerkleSha256.BadProofLength(to.twinPath.length, 0);
        }
    }

    /// @notice See IDisputeGame.pickStep.
    function pickStep(bytes32, Cursor calldata c, Facts calldata facts, StepPick calldata to)
        external
        view
        returns (Cursor memory next)
    {
        c.expect(Stage.STEPS, true);
        bytes32 factsHash = facts.hash();
        c.check(Frames.ofSteps(factsHash, to.statesRoot));
        uint256 step = to.after_.index;
        Descent.leafBelow(c, c.node, step, to.after_.node, to.after_.path);
        Descent.leafBelow(c, c.twin, step, to.after_.twin, to.after_.twinPath);
        StepFrame memory frame;
        // Below facts.steps, which is a uint32.
        // forge-lint: disable-next-line(unsafe-typecast)
        (frame.facts, frame.program, frame.step) = (factsHash, facts.traceRoot, uint32(step));
        (frame.hashAfter, frame.stateAfter) = (to.after_.node, to.after_.twin);
        (frame.hashBefore, frame.stateBefore) = _before(facts, to, step);
        next.stage = Stage.STEP;
        (next.node, next.twin, next.frame) = (frame.hashAfter, frame.stateAfter, frame.hash());
    }

    /// @notice See IDisputeGame.pickDelta.
    function pickDelta(
        bytes32,
        Cursor calldata c,
        Facts calldata facts,
        bytes32 statesRoot,
        bytes calldata header
    ) external pure returns (Cursor memory next) {
        c.expect(Stage.STEPS, true);
        bytes32 factsHash = facts.hash();
        c.check(Frames.ofSteps(factsHash, statesRoot));
        Header memory h = TraceRecords.header(header, facts.traceRoot);
        OpFrame memory op;
        (op.step, op.program, op.leaf) = (factsHash, facts.traceRoot, TraceRecords.NO_LEAF);
        op.shape = TraceRecords.deltaShape(h);
        next.stage = Stage.TENSOR;
        next.leaves = uint64(op.shape.chunks());
        (next.node, next.frame) = (facts.deltaRoot, op.hash());
    }

    /// @dev Link and state before a step: the unit's beginning, or leaves of the two trees.
    function _before(Facts calldata facts, StepPick calldata to, uint256 step)
        private
        view
        returns (bytes32 link, bytes32 state)
    {
        Pick calldata before = to.before;
        if (step == 0) {
            bool given = before.node != 0 || before.twin != 0 || before.index != 0
                || before.path.length + before.twinPath.length != 0;
            if (given) revert IDisputeErrors.BadRecord(0);
            return (0, facts.initialStateRoot);
        }
        if (before.index != step - 1) revert IDisputeErrors.BadRecord(before.index);
        (link, state) = (before.node, before.twin);
        Frames.nonZero(link);
        Frames.nonZero(state);
        MerkleSha256.verify(facts.recordsRoot, step - 1, facts.steps, link, before.path);
        MerkleSha256.verify(to.statesRoot, step - 1, facts.steps, state, before.twinPath);
    }

    /// @dev Both lists of children, and the last state where they end in it: it is committed to.
    function _answerTwins(
        Cursor memory next,
        Facts calldata facts,
        bytes32[] calldata records,
        bytes32[] calldata states
    ) private view {
        Descent.answer(next, next.node, records, Descent.TWIN_LEVELS_MAX);
        Descent.answer(next, next.twin, states, Descent.TWIN_LEVELS_MAX);
        next.answered = true;
        if (!Descent.listsLeaves(next, Descent.TWIN_LEVELS_MAX)) return;
        uint256 end = (uint256(next.index) + 1) << next.height;
        if (end < next.leaves) return;
        bytes32 last = states.length == 0 ? next.twin : states[states.length - 1];
        if (last != facts.finalStateRoot) {
            revert MerkleSha256.RootMismatch(last, facts.finalStateRoot);
        }
    }
}
