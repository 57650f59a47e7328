// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    Chunk,
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
import {IDisputeGame} from "../../src/interfaces/IDisputeGame.sol";
import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {DisputeFixture} from "./DisputeFixture.sol";
import {DisputeProgram, Macro, Operand, Primitive} from "./DisputeProgram.sol";
import {StepRun} from "./DisputeRunner.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// A game as both players see it.
struct Play {
    bytes32 id;
    address challenger;
    Cursor c;
    StepFrame step;
    OpFrame op;
}

/// Two players who know their own runs: they make the move that is due until the game is over.
abstract contract DisputePlayer is DisputeFixture {
    using Frames for Cursor;

    mapping(bytes32 position => Cursor) private _known;
    /// The next move, for tests that change it.
    bytes internal _call;
    address internal _mover;
    address internal _ruler;
    string internal _name;

    function _begin(address challenger, bytes32 salt) internal returns (Play memory p) {
        p.id = _open(challenger, salt);
        p.challenger = challenger;
        _start(p);
    }

    /// The last call was a move.
    function _afterMove() internal virtual {}

    /// The planned move's arguments.
    function _arguments() internal view returns (bytes memory data) {
        data = new bytes(_call.length - 4);
        for (uint256 i = 0; i < data.length; ++i) {
            data[i] = _call[4 + i];
        }
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

    function _isOpen(bytes32 id) internal view returns (bool) {
        IDisputeGame.Status status = _game.gameOf(id).status;
        return status == IDisputeGame.Status.AsserterMoves
            || status == IDisputeGame.Status.ChallengerMoves;
    }

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
        if (p.c.stage == Stage.STEPS) return _planStep(p, a, c);
        uint256 s = p.step.step;
        if (p.c.stage == Stage.TRACE) return _planLeaf(p, a[s], c[s]);
        if (p.c.stage == Stage.STATE) return _planSlot(p, a[s]);
        if (p.c.stage == Stage.GRADIENTS) return _planGradient(p, a[s]);
        if (p.c.stage == Stage.PRIMITIVES) return _planPrimitive(p, a[s], c[s]);
        Tensor memory mine = _disputed(p, c[s]);
        Tensor memory theirs = _disputed(p, a[s]);
        if (p.c.height > 0) return _planChunk(p, theirs, mine);
        if (p.op.count == 0) return _planToken(p, theirs, mine);
        _planElement(p, a[s], theirs, mine);
    }

    // --- the asserter ---

    function _planAnswer(Play memory p, StepRun[] memory a) private {
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

    function _planStep(Play memory p, StepRun[] memory a, StepRun[] memory c) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_trees), "pickStep");
        (bytes32[] memory links, bytes32[] memory states) = (_links(a), _states(a));
        bytes32[] memory mine = _states(c);
        uint256 s = 0;
        // A wrong trace of a right step is a fault, too, but only once it is declared.
        while (
            s + 1 < c.length && links[s] == c[s].link && states[s] == mine[s]
                && _first(a[s].leafRoots, c[s].leafRoots) == c[s].leafRoots.length
        ) ++s;
        StepPick memory to;
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
        _call = abi.encodeCall(IDisputeMoves.pickStep, (p.id, p.c, _facts, to));
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
            IDisputeMoves.pickLeaf,
            (p.id, p.c, p.step, header, to, DisputeProgram.leafProof(i))
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
            (
                p.id,
                p.c,
                p.step,
                DisputeProgram.header(),
                slot,
                DisputeProgram.slotProof(j),
                source
            )
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
            abi.encodePacked(
                "gym.primitive.v1", DisputeProgram.primitiveRecords()[p.op.first + k]
            )
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

    function _planElement(
        Play memory p,
        StepRun memory a,
        Tensor memory theirs,
        Tensor memory mine
    ) private {
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

    function _disputed(Play memory p, StepRun memory run) internal pure returns (Tensor memory) {
        if (p.op.count == 0) return run.leaves[p.op.leaf];
        return run.primitives[p.op.first + p.op.primitive];
    }

    function _outputs(Play memory p, StepRun memory run)
        private
        pure
        returns (bytes32[] memory roots)
    {
        roots = new bytes32[](p.op.count);
        for (uint256 i = 0; i < roots.length; ++i) {
            roots[i] = run.primitiveRoots[p.op.first + i];
        }
    }

    function _source(Play memory p, StepRun memory run, Operand memory from)
        private
        pure
        returns (Tensor memory)
    {
        if (from.kind == 1) return run.primitives[p.op.first + from.index];
        return from.kind == 2 ? run.leaves[from.index] : run.before[from.index];
    }

    function _pathOf(Play memory p, StepRun memory run, Operand memory from)
        private
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

    function _descriptor(Primitive memory op) private pure returns (IOneStep.Descriptor memory d) {
        (d.opcode, d.attributes) = (op.opcode, op.attributes);
        _unpackShape(op.shape, d.output);
        d.inputs = new IOneStep.Shape[](op.inputs.length);
        for (uint256 k = 0; k < d.inputs.length; ++k) {
            _unpackShape(op.inputs[k].shape, d.inputs[k]);
        }
    }

    function _unpackShape(uint256 packed, IOneStep.Shape memory to) private pure {
        (to.dtype, to.rank) = (uint8(packed >> 168), uint8(packed >> 160));
        for (uint256 i = 0; i < 5; ++i) {
            to.dims[i] = uint32(packed >> (32 * (4 - i)));
        }
    }

    function _pickOf(bytes32[] memory leaves, uint256 i) internal pure returns (Pick memory to) {
        (to.index, to.node, to.path) = (uint64(i), leaves[i], DisputeTrees.path(leaves, i));
    }

    function _element(Tensor memory a, Tensor memory c) private pure returns (uint64) {
        uint256 i = 0;
        while (i + 1 < a.data.length && a.data[i] == c.data[i]) ++i;
        return uint64(i / DisputeTrees.sizeOf(a.shape));
    }

    function _first(bytes32[] memory a, bytes32[] memory c) internal pure returns (uint256 i) {
        while (i < a.length && a[i] == c[i]) ++i;
    }
}
