// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Cursor,
    ElementProof,
    Frames,
    OpFrame,
    Pick,
    Stage,
    StepFrame,
    StepPick,
    TensorProof,
    TokenProof
} from "../../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../../src/dispute/IDisputeMoves.sol";
import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {DisputeDeltaPlay} from "./DisputeDeltaPlay.sol";
import {Play} from "./DisputePlay.sol";
import {DisputeProgram, Macro, Primitive} from "./DisputeProgram.sol";
import {StepRun} from "./DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// Two players who know their own runs: they make the move that is due until the game is over.
abstract contract DisputePlayer is DisputeDeltaPlay {
    using Frames for Cursor;

    mapping(bytes32 position => Cursor) private _known;

    function _begin(address challenger, bytes32 salt) internal returns (Play memory p) {
        p.id = _open(challenger, salt);
        p.challenger = challenger;
        _start(p);
    }

    /// The game was opened.
    function _start(Play memory p) internal {
        (p.c.stage, p.c.node, p.c.frame) = (Stage.UNIT, _unit, keccak256(abi.encode(_facts)));
        _follow(p, p.c);
    }

    /// Plays until the game is over, at most `moves` moves.
    function _play(Play memory p, StepRun[] memory a, StepRun[] memory c, uint256 moves) internal {
        for (; moves > 0 && _isOpen(p.id); --moves) {
            _plan(p, a, c);
            _send(p);
        }
    }

    /// Sends the planned move; the rules say where it leads.
    function _send(Play memory p) internal {
        (, bytes memory out) = _ruler.staticcall(_call);
        sendPlannedAs(_mover);
        _afterMove();
        if (!_isOpen(p.id)) return;
        _follow(p, abi.decode(out, (Cursor)));
    }

    function _follow(Play memory p, Cursor memory next) private {
        if (next.answered) _known[next.hash()] = next;
        bytes32 position = _game.gameOf(p.id).position;
        p.c = position == next.hash() ? next : _known[position];
        assertEq(p.c.hash(), position, "position");
        // What the asserter declares is a part of the frame.
        if (p.c.stage == Stage.TRACE) p.step.trace = p.c.node;
        if (p.c.stage == Stage.PRIMITIVES && p.c.height == DisputeTrees.depthOf(p.c.leaves)) {
            p.op.macroRoot = p.c.node;
        }
    }

    function _plan(Play memory p, StepRun[] memory a, StepRun[] memory c) internal {
        if (!p.c.answered) return _planAnswer(p, a);
        if (p.c.stage == Stage.STEPS && p.delta.data.length != 0) return _planDelta(p, a);
        if (p.c.stage == Stage.STEPS) return _planStep(p, a, c);
        uint256 s = p.step.step;
        if (p.c.stage == Stage.TRACE) return _planLeaf(p, a[s], c[s]);
        if (p.c.stage == Stage.STATE) return _planSlot(p, a[s]);
        if (p.c.stage == Stage.GRADIENTS) return _planGradient(p, a[s]);
        if (p.c.stage == Stage.PRIMITIVES) return _planPrimitive(p, a[s], c[s]);
        bool delta = p.op.leaf == type(uint32).max;
        Tensor memory mine = delta ? _delta(c) : _disputed(p, c[s]);
        Tensor memory theirs = _disputed(p, a[s]);
        if (p.c.height > 0) return _planChunk(p, theirs, mine);
        if (delta) return _planWord(p, a, mine);
        if (p.op.count == 0) return _planToken(p, theirs, mine);
        _planElement(p, a[s], theirs, mine);
    }

    // --- the asserter ---

    function _planStep(Play memory p, StepRun[] memory a, StepRun[] memory c) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_trees), "pickStep");
        StepPick memory to = _stepPick(p, a, _wrongStep(a, c));
        _call = abi.encodeCall(IDisputeMoves.pickStep, (p.id, p.c, _facts, to));
    }

    function _wrongStep(StepRun[] memory a, StepRun[] memory c) private pure returns (uint256 s) {
        (bytes32[] memory links, bytes32[] memory states) = (_links(a), _states(a));
        bytes32[] memory mine = _states(c);
        // A wrong trace of a right step is a fault, too, but only once it is declared.
        while (
            s + 1 < c.length && links[s] == c[s].link && states[s] == mine[s]
                && _first(a[s].leafRoots, c[s].leafRoots) == c[s].leafRoots.length
        ) ++s;
    }

    /// Names step `s`, which the game is about from then on.
    function _stepPick(Play memory p, StepRun[] memory a, uint256 s)
        internal
        view
        returns (StepPick memory to)
    {
        (bytes32[] memory links, bytes32[] memory states) = (_links(a), _states(a));
        to.statesRoot = DisputeTrees.root(states);
        to.after_ = Pick(
            uint64(s),
            links[s],
            DisputeTrees.path(links, s),
            states[s],
            DisputeTrees.path(states, s)
        );
        p.step = StepFrame({
            facts: keccak256(abi.encode(_facts)),
            program: _facts.traceRoot,
            step: uint32(s),
            hashBefore: 0,
            hashAfter: links[s],
            stateBefore: _facts.initialStateRoot,
            stateAfter: states[s],
            trace: 0
        });
        if (s > 0) {
            to.before = Pick(
                uint64(s - 1),
                links[s - 1],
                DisputeTrees.path(links, s - 1),
                states[s - 1],
                DisputeTrees.path(states, s - 1)
            );
            (p.step.hashBefore, p.step.stateBefore) = (links[s - 1], states[s - 1]);
        }
    }

    function _planLeaf(Play memory p, StepRun memory a, StepRun memory c) private {
        (_mover, _ruler) = (p.challenger, address(_steps));
        uint256 i = _first(a.leafRoots, c.leafRoots);
        if (i == a.leafRoots.length) return _planRecord(p, a, c);
        Pick memory to = _pickOf(a.leafRoots, i);
        bytes memory header = DisputeProgram.header();
        if (i == 1 || i == 2) {
            (_name, _ruler) = ("proveInput", address(_faults));
            _call = abi.encodeCall(
                IDisputeMoves.proveInput,
                (p.id, p.c, p.step, _facts, header, to, DisputeProgram.leafProof(i))
            );
            return;
        }
        OpFrame memory op;
        (op.step, op.program, op.leaf) = (p.c.frame, _facts.traceRoot, uint32(i));
        if (i == 0) {
            op.shape = DisputeProgram.leafShapes()[0];
        } else {
            Macro memory m = DisputeProgram.macros()[i - DisputeProgram.INPUTS];
            (op.first, op.count, op.writer) = (m.first, m.count, m.count - 1);
        }
        p.op = op;
        _name = "pickLeaf";
        _call = abi.encodeCall(
            IDisputeMoves.pickLeaf, (p.id, p.c, p.step, header, to, DisputeProgram.leafProof(i))
        );
    }

    /// All leaves are equal: a field of the record, the state after, or a gradient is not.
    function _planRecord(Play memory p, StepRun memory a, StepRun memory c) private {
        bytes memory header = DisputeProgram.header();
        uint8 field = _wrongField(a.record, c.record);
        if (field < 4) {
            (_name, _ruler) = ("proveRecord", address(_faults));
            uint256 leaf = field == 1 ? DisputeProgram.LOSS : DisputeProgram.GRAD_NORM;
            if (field == 0) leaf = 0;
            _call = abi.encodeCall(
                IDisputeMoves.proveRecord,
                (
                    p.id,
                    p.c,
                    p.step,
                    header,
                    a.record,
                    field,
                    _pickOf(a.leafRoots, leaf),
                    DisputeProgram.leafProof(leaf)
                )
            );
            return;
        }
        _name = "pickTree";
        bool state = _first(a.stateAfter, c.stateAfter) < a.stateAfter.length;
        _call = abi.encodeCall(
            IDisputeMoves.pickTree, (p.id, p.c, p.step, header, state ? bytes("") : a.record)
        );
    }

    function _wrongField(bytes memory a, bytes memory c) private pure returns (uint8) {
        for (uint256 i = 8; i < 49; ++i) {
            if (a[i] == c[i]) continue;
            if (i < 40) return 0;
            return i < 44 ? 1 : i < 48 ? 2 : 3;
        }
        return 4;
    }

    function _planSlot(Play memory p, StepRun memory a) private {
        (_mover, _ruler, _name) = (p.challenger, address(_faults), "proveSlot");
        bytes32[3] memory right = [a.leafRoots[3], a.leafRoots[5], a.stateBefore[2]];
        uint256 j = 0;
        while (j < 2 && a.stateAfter[j] == right[j]) ++j;
        Pick memory source =
            j == 2 ? _pickOf(a.stateBefore, 2) : _pickOf(a.leafRoots, j == 0 ? 3 : 5);
        Pick memory slot = _pickOf(a.stateAfter, j);
        _call = abi.encodeCall(
            IDisputeMoves.proveSlot,
            (p.id, p.c, p.step, DisputeProgram.header(), slot, DisputeProgram.slotProof(j), source)
        );
    }

    function _planGradient(Play memory p, StepRun memory a) private {
        (_mover, _ruler, _name) = (p.challenger, address(_faults), "proveGradient");
        uint32[2] memory named = DisputeProgram.gradientLeaves();
        uint256 k = a.gradients[0] == a.leafRoots[named[0]] ? 1 : 0;
        _call = abi.encodeCall(
            IDisputeMoves.proveGradient,
            (
                p.id,
                p.c,
                p.step,
                DisputeProgram.header(),
                _pickOf(a.gradients, k),
                DisputeProgram.gradientProof(k),
                _pickOf(a.leafRoots, named[k])
            )
        );
    }

    function _planPrimitive(Play memory p, StepRun memory a, StepRun memory c) private {
        (_mover, _ruler, _name) = (p.challenger, address(_steps), "pickPrimitive");
        bytes32[] memory roots = _outputs(p, a);
        uint256 k = _first(roots, _outputs(p, c));
        p.op.primitive = uint32(k);
        p.op.record = sha256(
            abi.encodePacked("gym.primitive.v1", DisputeProgram.primitiveRecords()[p.op.first + k])
        );
        p.op.shape = DisputeProgram.primitives()[p.op.first + k].shape;
        _call = abi.encodeCall(
            IDisputeMoves.pickPrimitive,
            (
                p.id,
                p.c,
                OpFrame(
                    p.op.step,
                    p.op.program,
                    p.op.leaf,
                    p.op.first,
                    p.op.count,
                    p.op.writer,
                    p.op.macroRoot,
                    0,
                    0,
                    0
                ),
                DisputeProgram.header(),
                _pickOf(roots, k),
                DisputeProgram.primitiveProof(p.op.first + k)
            )
        );
    }

    function _planChunk(Play memory p, Tensor memory theirs, Tensor memory mine) private {
        (_mover, _ruler, _name) = (p.challenger, address(_trees), "pick");
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(theirs.data);
        uint256 i = _first(leaves, DisputeTrees.chunkLeaves(mine.data));
        _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, _pickOf(leaves, i)));
    }

    function _planElement(Play memory p, StepRun memory a, Tensor memory theirs, Tensor memory mine)
        private
    {
        (_mover, _ruler, _name) = (p.challenger, address(_elements), "proveElement");
        ElementProof memory proof = _elementProof(p, a, _element(theirs, mine));
        _call = abi.encodeCall(IDisputeMoves.proveElement, (p.id, p.c, proof));
    }

    function _elementProof(Play memory p, StepRun memory a, uint64 element)
        internal
        view
        returns (ElementProof memory proof)
    {
        uint256 index = p.op.first + p.op.primitive;
        (proof.op, proof.step, proof.header) = (p.op, p.step, DisputeProgram.header());
        proof.primitive = DisputeProgram.primitiveRecords()[index];
        proof.element = element;
        proof.chunk = DisputeTrees.chunk(_disputed(p, a).data, p.c.index);
        Primitive memory op = DisputeProgram.primitives()[index];
        proof.operands = new TensorProof[](op.inputs.length);
        IOneStep.Descriptor memory d = _descriptor(op);
        uint32 where = 0;
        for (uint256 k = op.inputs.length; k > 0; --k) {
            (uint64 first, uint64 count) = _oneStep.reach(d, k - 1, element, where);
            Tensor memory t = _source(p, a, op.inputs[k - 1]);
            proof.operands[k - 1] = _tensorProof(t, first, count);
            proof.operands[k - 1].path = _pathOf(p, a, op.inputs[k - 1]);
            if (op.opcode == 34) where = uint32(uint8(t.data[4 * first]));
        }
    }

    function _planToken(Play memory p, Tensor memory theirs, Tensor memory mine) private {
        (_mover, _ruler, _name) = (p.challenger, address(_elements), "proveToken");
        TokenProof memory proof;
        (proof.op, proof.step, proof.facts) = (p.op, p.step, _facts);
        proof.header = DisputeProgram.header();
        proof.element = _element(theirs, mine);
        proof.chunk = DisputeTrees.chunk(theirs.data, p.c.index);
        proof.tokens = uint64(_runner.TOKENS());
        // Which chunk has the token: the one for which the rules find a fault.
        Tensor memory all = _runner.dataset();
        for (uint256 i = 0; i < 2; ++i) {
            proof.dataset = _tensorProof(all, 512 * i, 1);
            _call = abi.encodeCall(IDisputeMoves.proveToken, (p.id, p.c, proof));
            (bool ok,) = _ruler.staticcall(_call);
            if (ok) return;
        }
    }

    // --- what both know ---
}
