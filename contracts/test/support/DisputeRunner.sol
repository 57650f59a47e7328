// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Philox} from "../../src/numerics/Philox.sol";
import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {DisputeProgram, Operand, Primitive} from "./DisputeProgram.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// What the asserter does wrong, in one step. Whatever comes after is computed from it.
enum Wrong {
    Nothing,
    Primitive,
    Batch,
    Clock,
    Random,
    Loss,
    GradNorm,
    Skipped,
    BatchRoot,
    Slot,
    Gradient
}

/// @param index Of the primitive, slot or gradient. @param element Of the tensor.
struct Fault {
    Wrong what;
    uint256 step;
    uint256 index;
    uint256 element;
}

/// One step as a player sees it: all tensors, and what is derived from them.
struct StepRun {
    Tensor[] leaves;
    Tensor[] primitives;
    bytes32[] leafRoots;
    bytes32[] primitiveRoots;
    bytes32[] stateBefore;
    bytes32[] stateAfter;
    bytes32[] gradients;
    bytes record;
    bytes32 link;
    Tensor[] before;
}

/// Trains the units of DisputeProgram, element by element.
contract DisputeRunner {
    uint256 public constant TOKENS = 1000;
    uint64 public constant ROUND = 3;
    uint32 public constant SLOT = 5;
    uint32 public constant STEPS = 3;
    uint32 public constant CHECKPOINT_EVERY = 2;
    bytes32 public constant SEED = keccak256("job seed");

    IOneStep private _oneStep;

    constructor(IOneStep oneStep) {
        _oneStep = oneStep;
    }

    function dataset() public pure returns (Tensor memory t) {
        t.shape = DisputeTrees.shapeOf(6, TOKENS);
        t.data = new bytes(2 * TOKENS);
        for (uint256 i = 0; i < TOKENS; ++i) {
            t.data[2 * i] = bytes1(uint8((7 * i) % 256));
        }
    }

    /// Fresh state: small numbers of both signs.
    function initialState() public pure returns (Tensor[] memory state) {
        uint256[] memory shapes = DisputeProgram.slotShapes();
        state = new Tensor[](shapes.length);
        for (uint256 s = 0; s < shapes.length; ++s) {
            state[s] = _zeros(shapes[s]);
            for (uint256 i = 0; i < DisputeTrees.elements(shapes[s]); ++i) {
                uint256 word = uint256(keccak256(abi.encode(s, i)));
                // A float in +-[0.5, 2).
                _set(state[s], i, 0x3F000000 | (word & 0x80FFFFFF));
            }
        }
    }

    function run(Fault calldata fault) external view returns (StepRun[] memory steps) {
        steps = new StepRun[](STEPS);
        Tensor[] memory state = initialState();
        bytes32 link = 0;
        for (uint256 s = 0; s < STEPS; ++s) {
            Fault memory here = fault;
            if (here.step != s) here.what = Wrong.Nothing;
            steps[s] = _step(s, state, link, here);
            link = steps[s].link;
            state = _next(state, steps[s].leaves);
        }
    }

    function _step(uint256 s, Tensor[] memory state, bytes32 link, Fault memory fault)
        private
        view
        returns (StepRun memory r)
    {
        r.before = state;
        r.stateBefore = DisputeTrees.tensorRoots(state);
        r.leaves = new Tensor[](DisputeProgram.LEAVES);
        r.leaves[0] = _batch(s);
        r.leaves[1] = _words(DisputeTrees.shapeOf(2, 2), [ROUND * STEPS + s, s, 0, 0, 0]);
        r.leaves[2] = _words(DisputeTrees.shapeOf(2, 5), [_key(0), _key(4), ROUND, SLOT, s]);
        if (fault.what == Wrong.Batch) _flip(r.leaves[0], fault.element);
        if (fault.what == Wrong.Clock) _flip(r.leaves[1], fault.element);
        if (fault.what == Wrong.Random) _flip(r.leaves[2], fault.element);
        _compute(r, fault);
        r.leafRoots = DisputeTrees.tensorRoots(r.leaves);
        r.primitiveRoots = DisputeTrees.tensorRoots(r.primitives);
        r.stateAfter = DisputeTrees.tensorRoots(_next(state, r.leaves));
        if (fault.what == Wrong.Slot) r.stateAfter[fault.index] = keccak256("another tensor");
        uint32[2] memory named = DisputeProgram.gradientLeaves();
        r.gradients = new bytes32[](2);
        (r.gradients[0], r.gradients[1]) = (r.leafRoots[named[0]], r.leafRoots[named[1]]);
        if (fault.what == Wrong.Gradient) r.gradients[fault.index] = keccak256("another gradient");
        _record(r, s, link, fault);
    }

    function _compute(StepRun memory r, Fault memory fault) private view {
        Primitive[] memory ops = DisputeProgram.primitives();
        r.primitives = new Tensor[](ops.length);
        uint256 leaf = DisputeProgram.INPUTS;
        uint256 first = 0;
        for (uint256 p = 0; p < ops.length; ++p) {
            r.primitives[p] = _evaluate(ops[p], r, first);
            bool wrong = fault.what == Wrong.Primitive && fault.index == p;
            if (wrong) _flip(r.primitives[p], fault.element);
            // The last primitive of a macro op writes its leaf.
            if (p == 0 || p == 4 || p >= 8) {
                r.leaves[leaf++] = r.primitives[p];
                first = p + 1;
            }
        }
    }

    function _evaluate(Primitive memory op, StepRun memory r, uint256 first)
        private
        view
        returns (Tensor memory out)
    {
        IOneStep.Descriptor memory d;
        (d.opcode, d.attributes) = (op.opcode, op.attributes);
        _unpack(op.shape, d.output);
        d.inputs = new IOneStep.Shape[](op.inputs.length);
        Tensor[] memory from = new Tensor[](op.inputs.length);
        for (uint256 k = 0; k < from.length; ++k) {
            _unpack(op.inputs[k].shape, d.inputs[k]);
            from[k] = _source(op.inputs[k], r, first);
        }
        out = _zeros(op.shape);
        bytes[] memory data = new bytes[](from.length);
        for (uint64 i = 0; i < DisputeTrees.elements(op.shape); ++i) {
            uint32 index = 0;
            for (uint256 k = from.length; k > 0; --k) {
                (uint64 begin, uint64 count) = _oneStep.reach(d, k - 1, i, index);
                data[k - 1] = _slice(from[k - 1], begin, count);
                if (op.opcode == 34) index = uint32(uint8(data[k - 1][0]));
            }
            _set(out, i, _oneStep.evaluate(d, data, i));
        }
    }

    function _source(Operand memory from, StepRun memory r, uint256 first)
        private
        pure
        returns (Tensor memory)
    {
        if (from.kind == 1) return r.primitives[first + from.index];
        return from.kind == 2 ? r.leaves[from.index] : r.before[from.index];
    }

    function _next(Tensor[] memory state, Tensor[] memory leaves)
        private
        pure
        returns (Tensor[] memory next)
    {
        next = new Tensor[](3);
        (next[0], next[1], next[2]) = (leaves[3], leaves[5], state[2]);
    }

    function _record(StepRun memory r, uint256 s, bytes32 link, Fault memory fault) private pure {
        bytes32 batchRoot = r.leafRoots[0];
        uint256 loss = _get(r.leaves[DisputeProgram.LOSS], 0);
        uint256 norm = _get(r.leaves[DisputeProgram.GRAD_NORM], 0);
        if (fault.what == Wrong.BatchRoot) batchRoot = keccak256("another batch");
        if (fault.what == Wrong.Loss) loss ^= 1;
        if (fault.what == Wrong.GradNorm) norm ^= 1;
        uint8 skipped = fault.what == Wrong.Skipped ? 2 : 0;
        bool checkpoint = s + 1 == STEPS || (s + 1) % CHECKPOINT_EVERY == 0;
        bytes memory head = abi.encodePacked(uint64(s), batchRoot, uint32(loss), uint32(norm));
        r.record = !checkpoint
            ? abi.encodePacked(head, skipped, uint8(0))
            : abi.encodePacked(
                head,
                skipped | 1,
                DisputeTrees.root(r.gradients),
                uint8(1),
                DisputeTrees.root(r.stateAfter)
            );
        r.link = sha256(abi.encodePacked(link, r.record));
    }

    function _batch(uint256 s) private pure returns (Tensor memory t) {
        uint256 length = DisputeProgram.WINDOW_TOKENS + 1;
        t = _zeros(DisputeTrees.shapeOf(2, 2, length));
        Tensor memory all = dataset();
        uint256 starts = (TOKENS - TOKENS / 10 - length) / DisputeProgram.STRIDE + 1;
        for (uint256 w = 0; w < 2; ++w) {
            Philox.Position memory place = Philox.Position(_key(0), _key(4), ROUND, SLOT, s, 0);
            uint256 word = Philox.word(place, 4 * w) + (Philox.word(place, 4 * w + 1) << 32);
            uint256 start = ((word * starts) >> 64) * DisputeProgram.STRIDE;
            for (uint256 i = 0; i < length; ++i) {
                _set(t, w * length + i, uint8(all.data[2 * (start + i)]));
            }
        }
    }

    function _key(uint256 first) private pure returns (uint256 word) {
        for (uint256 i = 0; i < 4; ++i) {
            word |= uint256(uint8(SEED[first + i])) << (8 * i);
        }
    }

    function _words(uint256 shape, uint256[5] memory words) private pure returns (Tensor memory t) {
        t = _zeros(shape);
        for (uint256 i = 0; i < DisputeTrees.elements(shape); ++i) {
            _set(t, i, words[i]);
        }
    }

    function _zeros(uint256 shape) private pure returns (Tensor memory) {
        return Tensor(shape, new bytes(DisputeTrees.elements(shape) * DisputeTrees.sizeOf(shape)));
    }

    function _set(Tensor memory t, uint256 i, uint256 value) private pure {
        uint256 size = DisputeTrees.sizeOf(t.shape);
        for (uint256 k = 0; k < size; ++k) {
            t.data[i * size + k] = bytes1(uint8(value >> (8 * k)));
        }
    }

    function _get(Tensor memory t, uint256 i) private pure returns (uint256 value) {
        uint256 size = DisputeTrees.sizeOf(t.shape);
        for (uint256 k = size; k > 0; --k) {
            value = (value << 8) | uint8(t.data[i * size + k - 1]);
        }
    }

    function _flip(Tensor memory t, uint256 element) private pure {
        // A copy: leaves and state share tensors.
        t.data = abi.encodePacked(t.data);
        // The highest byte: what is rounded away would be no fault.
        uint256 size = DisputeTrees.sizeOf(t.shape);
        uint256 place = (element % DisputeTrees.elements(t.shape)) * size + size - 1;
        t.data[place] ^= 0x01;
    }

    function _slice(Tensor memory t, uint256 first, uint256 count)
        private
        pure
        returns (bytes memory part)
    {
        uint256 size = DisputeTrees.sizeOf(t.shape);
        part = new bytes(count * size);
        for (uint256 i = 0; i < part.length; ++i) {
            part[i] = t.data[first * size + i];
        }
    }

    function _unpack(uint256 packed, IOneStep.Shape memory to) private pure {
        (to.dtype, to.rank) = (uint8(packed >> 168), uint8(packed >> 160));
        for (uint256 i = 0; i < 5; ++i) {
            to.dims[i] = uint32(packed >> (32 * (4 - i)));
        }
    }
}
