// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {
    ColumnProof,
    Cursor,
    Frames,
    OpFrame,
    OuterFrame,
    OuterProof,
    Pick,
    SlotProof,
    Stage
} from "../../src/dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../../src/dispute/IDisputeMoves.sol";
import {DisputePlay} from "./DisputePlay.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";
import {OuterFixture} from "./OuterFixture.sol";
import {OuterRun} from "./OuterRunner.sol";
import {SlotLists} from "./SlotLists.sol";

/// A game about an aggregate as both players see it. `values`: the column that the asserter posted, or will if it is not its deltas'.
struct OuterPlay {
    bytes32 id;
    address challenger;
    Cursor c;
    OuterFrame frame;
    OpFrame op;
    bytes values;
}

/// Two players of a game about an aggregate, each with its own run.
abstract contract OuterPlayer is OuterFixture, DisputePlay {
    using Frames for Cursor;

    mapping(bytes32 position => Cursor) private _known;

    /// @dev External, so that a test can expect it to revert. As late as the slot's commitment is.
    function show(
        OuterPlay memory p,
        uint32 index,
        bytes memory commitment,
        bytes32[] memory path,
        bytes32[] memory included
    ) external {
        this.showAs(p, index, commitment, path, included, _isShownLate(p));
    }

    function showAs(
        OuterPlay memory p,
        uint32 index,
        bytes memory commitment,
        bytes32[] memory path,
        bytes32[] memory included,
        bool late
    ) external {
        vm.prank(_asserter);
        _game.showIncluded(p.id, p.c, _outerFacts, index, commitment, path, included, late);
    }

    function _beginOuter(address challenger, bytes32 salt) internal returns (OuterPlay memory p) {
        p.id = _open(challenger, salt);
        _startOuter(p, challenger);
    }

    function _startOuter(OuterPlay memory p, address challenger) internal {
        p.challenger = challenger;
        (p.c.stage, p.c.node, p.c.frame) = (Stage.UNIT, _unit, keccak256(abi.encode(_outerFacts)));
        _followOuter(p, p.c);
    }

    function _playOuter(OuterPlay memory p, OuterRun memory a, OuterRun memory c, uint256 moves)
        internal
    {
        for (; moves > 0 && _isOpen(p.id); --moves) {
            _planOuter(p, a, c);
            _sendOuter(p);
        }
    }

    function _sendOuter(OuterPlay memory p) internal {
        (, bytes memory out) = _ruler.staticcall(_call);
        sendPlannedAs(_mover);
        _afterMove();
        if (_isOpen(p.id)) _followOuter(p, abi.decode(out, (Cursor)));
    }

    function _followOuter(OuterPlay memory p, Cursor memory next) private {
        if (next.answered) _known[next.hash()] = next;
        bytes32 position = _game.gameOf(p.id).position;
        p.c = position == next.hash() ? next : _known[position];
        assertEq(p.c.hash(), position, "position");
    }

    function _planOuter(OuterPlay memory p, OuterRun memory a, OuterRun memory c) internal {
        if (!p.c.answered) return _planOuterAnswer(p, a);
        (_mover, _ruler) = (p.challenger, address(_outer));
        if (p.c.stage == Stage.OUTER) return _planOuterPick(p, a, c);
        if (p.c.stage == Stage.OUTER_STATE) {
            return p.frame.tree == 3 ? _planOuterSlot(p, a) : _planOuterTensor(p, a, c);
        }
        if (p.c.stage == Stage.INCLUDED) return _planSigner(p);
        if (p.c.stage == Stage.COLUMN) return _planOuterProof(p, a, c);
        _planOuterElement(p, a, c);
    }

    // --- the asserter ---

    function _planOuterAnswer(OuterPlay memory p, OuterRun memory a) internal {
        (_mover, _ruler) = (_asserter, address(_outer));
        if (p.c.stage == Stage.UNIT) return _planDeclareOuter(p, a);
        if (p.c.stage == Stage.INCLUDED) return _planShow(p, a);
        if (p.c.stage == Stage.COLUMN) {
            _name = "postColumn";
            if (p.values.length == 0) p.values = _columnOf(p, a);
            _call = abi.encodeCall(IDisputeMoves.postColumn, (p.id, p.c, p.values));
            return;
        }
        if (p.c.stage == Stage.OUTER_STATE) {
            (_name, _ruler) = ("answer", address(_trees));
            bytes32[] memory children =
                DisputeTrees.children(_treeOf(p, a), p.c.height, p.c.index, 7);
            _call = abi.encodeCall(IDisputeMoves.answer, (p.id, p.c, children));
            return;
        }
        _planOuterTensorAnswer(p, _tensorOf(p, a));
    }

    function _planDeclareOuter(OuterPlay memory p, OuterRun memory a) private {
        _name = "declareOuter";
        p.frame = _frameOf(a);
        bytes32[] memory deltas = DisputeTrees.tensorRoots(a.deltas);
        _call = _declaration(p, a.record, deltas, SlotLists.declared(a.slots, a.held), a.held);
    }

    function _declaration(
        OuterPlay memory p,
        bytes memory record,
        bytes32[] memory deltas,
        bytes memory slots,
        uint32 held
    ) internal view returns (bytes memory) {
        bytes32[] memory children =
            DisputeTrees.children(deltas, DisputeTrees.depthOf(deltas.length), 0, 7);
        bytes32 root = DisputeTrees.root(deltas);
        return abi.encodeCall(
            IDisputeMoves.declareOuter,
            (p.id, p.c, _outerFacts, record, root, children, slots, held)
        );
    }

    /// What the asserter of a run declares.
    function _frameOf(OuterRun memory a) internal view returns (OuterFrame memory) {
        return OuterFrame({
            facts: keccak256(abi.encode(_outerFacts)),
            program: _outerFacts.traceRoot,
            deltasRoot: DisputeTrees.root(DisputeTrees.tensorRoots(a.deltas)),
            deltas: uint32(a.deltas.length),
            held: a.held,
            slots: keccak256(SlotLists.declared(a.slots, a.held)),
            stateRoot: DisputeTrees.root(a.state),
            tree: 0
        });
    }

    function _planShow(OuterPlay memory p, OuterRun memory a) private {
        _name = "showIncluded";
        if (p.c.height >= Frames.WITHDRAWN) return _planShowWithdrawn(p, a);
        uint32 slot = a.slots[p.c.index];
        bool late = _isShownLate(p);
        bool before = p.c.height == Frames.HELD && !late;
        _call = abi.encodeCall(
            IDisputeMoves.showIncluded,
            (
                p.id,
                p.c,
                _outerFacts,
                _placeOf[slot],
                _posted[slot],
                DisputeTrees.path(before ? _leavesBefore : _leaves, _placeOf[slot]),
                _pathOf(a, p.c.index),
                late
            )
        );
    }

    /// Runs with withdrawn deltas are of tests that know what there is to show.
    function _planShowWithdrawn(OuterPlay memory, OuterRun memory) internal virtual {
        revert("nothing is withdrawn");
    }

    /// Whether there is something to show of it.
    function _isShownWithdrawn(OuterRun memory, uint256) internal view virtual returns (bool) {
        return false;
    }

    /// Whether the delta that is asked for is a held one whose commitment came late.
    function _isShownLate(OuterPlay memory p) internal view returns (bool) {
        // A slot, as it was declared.
        // forge-lint: disable-next-line(unsafe-typecast)
        return p.c.height == Frames.HELD && _isLate(uint32(uint256(p.c.twin)));
    }

    /// From an included delta's root to the root over them.
    function _pathOf(OuterRun memory r, uint256 i) internal pure returns (bytes32[] memory) {
        return DisputeTrees.path(DisputeTrees.tensorRoots(r.deltas), i);
    }

    function _planOuterTensorAnswer(OuterPlay memory p, Tensor memory t) private {
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

    function _planOuterPick(OuterPlay memory p, OuterRun memory a, OuterRun memory c) private {
        for (uint256 i = 0; i < a.deltas.length; ++i) {
            if (!_isPosted(a, i)) return _planIncluded(p, a, i);
        }
        if (_differ(a.baseAfter, c.baseAfter)) return _planTree(p, 1);
        _planTree(p, _differ(a.momentumAfter, c.momentumAfter) ? 2 : 3);
    }

    /// Whether the delta is that of a commitment of the slot's worker, which its worker signed.
    function _isPosted(OuterRun memory a, uint256 i) private view returns (bool) {
        if (a.slots[i] > type(uint16).max) return _isShownWithdrawn(a, i);
        bytes memory signed = _posted[a.slots[i]];
        OuterRun memory right = _rightOuter();
        for (uint256 k = 0; k < right.slots.length; ++k) {
            bool held = _isHeldAt(right, k);
            if (right.slots[k] != a.slots[i] || held != _isHeldAt(a, i)) continue;
            bytes32 root = DisputeTrees.tensorRoot(right.deltas[k]);
            bytes32 hash = _hashOf(held ? _recordBefore : _record);
            bytes memory honest = _signedBy(_unitOf(a.slots[i], root), hash, _workerKey(a.slots[i]));
            return root == DisputeTrees.tensorRoot(a.deltas[i])
                && keccak256(signed) == keccak256(honest) && (!_isLate(a.slots[i]) || _takesLate());
        }
        return false;
    }

    /// Whether delta `i`, which is not withdrawn, is declared as held.
    function _isHeldAt(OuterRun memory r, uint256 i) private pure returns (bool) {
        return i + (r.held & 0xFFFF) + ((r.held >> 16) & 0xFF) >= r.slots.length;
    }

    function _planTree(OuterPlay memory p, uint8 tree) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_outer), "pickOuter");
        OuterFrame memory before = _with(p.frame, 0);
        p.frame.tree = tree;
        _call = abi.encodeCall(
            IDisputeMoves.pickOuter, (p.id, p.c, before, _outerFacts, DisputeProgram.header(), tree)
        );
    }

    function _planIncluded(OuterPlay memory p, OuterRun memory a, uint256 i) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_outer), "pickIncluded");
        _call = abi.encodeCall(
            IDisputeMoves.pickIncluded,
            (p.id, p.c, p.frame, SlotLists.declared(a.slots, a.held), uint32(i))
        );
    }

    function _planSigner(OuterPlay memory p) private {
        (_name, _ruler) = ("proveSigner", address(_opening));
        bytes memory shown;
        SlotProof memory slot;
        for (uint32 i = 0; i < 16; ++i) {
            bytes memory signed = _posted[i];
            if (sha256(abi.encodePacked("gym.commitment.v1", signed)) == p.c.node) {
                (shown, slot) = (signed, _slotOf(i));
            }
        }
        bytes memory record = p.c.height == 0 ? _record : _recordBefore;
        _call = abi.encodeCall(
            IDisputeMoves.proveSigner, (p.id, p.c, _outerFacts, record, slot, shown)
        );
    }

    function _planOuterTensor(OuterPlay memory p, OuterRun memory a, OuterRun memory c) private {
        bytes32[] memory theirs = _treeOf(p, a);
        _planTensorOf(p, a, _first(theirs, _treeOf(p, c)));
    }

    function _planTensorOf(OuterPlay memory p, OuterRun memory a, uint256 k) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_outer), "pickOuterTensor");
        OpFrame memory op;
        (op.step, op.program) = (p.c.frame, _outerFacts.traceRoot);
        (op.leaf, op.primitive) = (type(uint32).max, uint32(k));
        op.record = sha256(abi.encodePacked("gym.state_slot.v1", DisputeProgram.slotRecords()[k]));
        op.shape = DisputeProgram.slotShapes()[k];
        p.op = op;
        _call = abi.encodeCall(
            IDisputeMoves.pickOuterTensor,
            (
                p.id,
                p.c,
                p.frame,
                DisputeProgram.header(),
                _pickOf(_treeOf(p, a), k),
                DisputeProgram.slotProof(k)
            )
        );
    }

    function _planOuterElement(OuterPlay memory p, OuterRun memory a, OuterRun memory c) private {
        Tensor memory theirs = _tensorOf(p, a);
        Tensor memory mine = _tensorOf(p, c);
        if (p.c.height > 0) {
            bytes32[] memory leaves = DisputeTrees.chunkLeaves(theirs.data);
            uint256 i = _first(leaves, DisputeTrees.chunkLeaves(mine.data));
            (_name, _ruler) = ("pick", address(_trees));
            _call = abi.encodeCall(IDisputeMoves.pick, (p.id, p.c, _pickOf(leaves, i)));
            return;
        }
        _planPickElement(p, a, _element(theirs, mine));
    }

    function _planPickElement(OuterPlay memory p, OuterRun memory a, uint64 element) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_outer), "pickElement");
        bytes memory chunk = DisputeTrees.chunk(_tensorOf(p, a).data, p.c.index);
        _call =
            abi.encodeCall(IDisputeMoves.pickElement, (p.id, p.c, p.op, p.frame, element, chunk));
    }

    function _planOuterProof(OuterPlay memory p, OuterRun memory a, OuterRun memory c) private {
        _ruler = address(_outerProofs);
        bytes memory right = _columnOf(p, c);
        for (uint32 i = 0; i < right.length / 4; ++i) {
            if (_wordAt(right, i) == _wordAt(p.values, i)) continue;
            _name = "proveColumn";
            ColumnProof memory column = _columnProof(p, a, i);
            _call = abi.encodeCall(IDisputeMoves.proveColumn, (p.id, p.c, column));
            return;
        }
        _name = "proveOuter";
        _call = abi.encodeCall(IDisputeMoves.proveOuter, (p.id, p.c, _outerProof(p, a)));
    }

    function _columnProof(OuterPlay memory p, OuterRun memory a, uint32 position)
        internal
        pure
        returns (ColumnProof memory proof)
    {
        (proof.op, proof.outer, proof.header) = (p.op, p.frame, DisputeProgram.header());
        (proof.values, proof.position) = (p.values, position);
        proof.slot = DisputeProgram.slotProof(p.op.primitive);
        uint256 offset = 16 + 1200 * uint256(p.op.primitive) + 4 * p.c.index;
        proof.delta = _tensorProof(a.deltas[position], offset, 4);
        proof.delta.path = _pathOf(a, position);
    }

    function _outerProof(OuterPlay memory p, OuterRun memory a)
        internal
        view
        returns (OuterProof memory proof)
    {
        (proof.op, proof.outer, proof.facts) = (p.op, p.frame, _outerFacts);
        (proof.header, proof.values) = (DisputeProgram.header(), p.values);
        uint256 k = p.op.primitive;
        proof.base = _tensorProof(a.base[k], p.c.index, 1);
        proof.base.path = DisputeTrees.path(DisputeTrees.tensorRoots(a.base), k);
        proof.momentum = _tensorProof(a.momentum[k], p.c.index, 1);
        proof.momentum.path = DisputeTrees.path(DisputeTrees.tensorRoots(a.momentum), k);
    }

    function _planOuterSlot(OuterPlay memory p, OuterRun memory a) private {
        uint256 i = 0;
        while (i < 3 && a.state[i] == _sourceOf(a, i)) ++i;
        _planSlotOf(p, a, i);
    }

    function _planSlotOf(OuterPlay memory p, OuterRun memory a, uint256 i) internal {
        (_mover, _ruler, _name) = (p.challenger, address(_outerProofs), "proveOuterSlot");
        bytes32[] memory sources = DisputeTrees.tensorRoots(i < 2 ? a.baseAfter : a.momentumAfter);
        Pick memory source = _pickOf(sources, i % 2);
        _call = abi.encodeCall(
            IDisputeMoves.proveOuterSlot,
            (p.id, p.c, p.frame, _outerFacts, DisputeProgram.header(), _pickOf(a.state, i), source)
        );
    }

    // --- what both know ---

    function _treeOf(OuterPlay memory p, OuterRun memory r)
        internal
        pure
        returns (bytes32[] memory)
    {
        if (p.frame.tree == 3) return r.state;
        return DisputeTrees.tensorRoots(p.frame.tree == 1 ? r.baseAfter : r.momentumAfter);
    }

    function _tensorOf(OuterPlay memory p, OuterRun memory r)
        internal
        pure
        returns (Tensor memory)
    {
        return (p.frame.tree == 1 ? r.baseAfter : r.momentumAfter)[p.op.primitive];
    }

    function _columnOf(OuterPlay memory p, OuterRun memory r) internal view returns (bytes memory) {
        return _outerRunner.column(r, p.op.primitive, p.c.index);
    }

    function _with(OuterFrame memory f, uint8 tree) internal pure returns (OuterFrame memory) {
        return
            OuterFrame(
                f.facts, f.program, f.deltasRoot, f.deltas, f.held, f.slots, f.stateRoot, tree
            );
    }

    function _wordAt(bytes memory data, uint256 i) private pure returns (bytes4 word) {
        assembly {
            word := mload(add(add(data, 32), mul(4, i)))
        }
    }

    function _sourceOf(OuterRun memory r, uint256 i) private pure returns (bytes32) {
        return DisputeTrees.tensorRoot(i < 2 ? r.baseAfter[i] : r.momentumAfter[i - 2]);
    }

    function _differ(Tensor[] memory a, Tensor[] memory c) private pure returns (bool) {
        return keccak256(abi.encode(a)) != keccak256(abi.encode(c));
    }
}
