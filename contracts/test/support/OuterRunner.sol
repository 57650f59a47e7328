// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Float32} from "../../src/numerics/Float32.sol";
import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";
import {PlainMean} from "./PlainMean.sol";

/// An aggregate as a player sees it. `held`: what the deltas count, packed (DeltaGroups). `slots`: of withdrawn ones with 2^16 times
/// the age. `state`: the tensors of the record's state root, parameters, then momenta.
struct OuterRun {
    Tensor[] base;
    Tensor[] momentum;
    Tensor[] deltas;
    uint32[] slots;
    uint32 held;
    Tensor[] baseAfter;
    Tensor[] momentumAfter;
    bytes32[] state;
    bytes record;
}

/// The outer step of DisputeProgram's parameters. Sums are made of OneStep's primitives, not of src/numerics/OuterStep.sol.
contract OuterRunner {
    IOneStep private _oneStep;

    constructor(IOneStep oneStep) {
        _oneStep = oneStep;
    }

    /// An aggregate of deltas that are made up. @param seed Which.
    function run(uint32[] calldata slots, uint32 held, uint256 seed)
        external
        view
        returns (OuterRun memory r)
    {
        (r.base, r.momentum) = (_floats(seed, 1), _floats(seed, 2));
        (r.slots, r.held) = (slots, held);
        r.deltas = new Tensor[](slots.length);
        for (uint256 i = 0; i < slots.length; ++i) {
            Tensor[] memory parts = _floats(seed, 3 + i);
            r.deltas[i].shape = DisputeTrees.shapeOf(5, DisputeProgram.DELTA_BYTES);
            r.deltas[i].data =
                abi.encodePacked("GYMDLTA1", uint32(0), uint32(2), parts[0].data, parts[1].data);
        }
        (r.baseAfter, r.momentumAfter) = (_floats(seed, 0), _floats(seed, 0));
        for (uint256 k = 0; k < 2; ++k) {
            for (uint256 i = 0; i < r.base[k].data.length / 4; ++i) {
                _element(r, k, i);
            }
        }
        r.state = new bytes32[](4);
        for (uint256 k = 0; k < 2; ++k) {
            r.state[k] = DisputeTrees.tensorRoot(r.baseAfter[k]);
            r.state[2 + k] = DisputeTrees.tensorRoot(r.momentumAfter[k]);
        }
        r.record = recordOf(r);
    }

    function recordOf(OuterRun memory r) public pure returns (bytes memory) {
        bytes32 batch = batchRoot(DisputeTrees.tensorRoots(r.deltas), r.held);
        return recordWith(batch, DisputeTrees.root(r.state));
    }

    function recordWith(bytes32 batch, bytes32 stateRoot) public pure returns (bytes memory) {
        return abi.encodePacked(uint64(0), batch, uint64(0), uint8(0), uint8(1), stateRoot);
    }

    /// Of the record of an aggregate that was made from these.
    function batchRoot(bytes32[] memory deltas, uint32 held) public pure returns (bytes32) {
        uint32 count = uint32(deltas.length);
        return sha256(abi.encodePacked("gym.included.v2", count, held, DisputeTrees.root(deltas)));
    }

    /// Element `i` of parameter `k` in every delta.
    function column(OuterRun memory r, uint256 k, uint256 i)
        public
        pure
        returns (bytes memory values)
    {
        uint256 offset = 16 + 1200 * k + 4 * i;
        values = new bytes(4 * r.deltas.length);
        for (uint256 d = 0; d < r.deltas.length; ++d) {
            for (uint256 b = 0; b < 4; ++b) {
                values[4 * d + b] = r.deltas[d].data[offset + b];
            }
        }
    }

    /// exact_sum of f32 values by the primitives block_exponent, quantise_i32, block_sum and finish_sum; at most 1,024.
    function sum(bytes memory values) public view returns (uint256) {
        bytes[] memory last = new bytes[](2);
        last[1] = _block(65, 2, 1, values, 4);
        last[0] = _block(69, 3, 2, _quantised(values, last[1]), 8);
        return _oneStep.evaluate(_op(71, _shape(1, 1), _shape(3, 1), _shape(2, 1)), last, 0);
    }

    /// Where some values are held, but not all, or some are withdrawn, each is multiplied with what it counts. @param packed DeltaGroups.
    function mean(bytes memory values, uint256 packed) public view returns (uint256) {
        uint256 count = values.length / 4;
        if (packed == 0 || packed == count) {
            return Float32.div(sum(values), Float32.fromInt64(int256(count)));
        }
        bytes memory weighted = bytes.concat(values);
        int256 shares = 0;
        for (uint256 i = 0; i < count; ++i) {
            int256 weight = PlainMean.weightOf(i, count, packed);
            if (weight > 0) shares += weight;
            uint256 factor = Float32.fromInt64(weight);
            _put(weighted, 4 * i, Float32.mul(_get(values, 4 * i), factor), 4);
        }
        return Float32.div(sum(weighted), Float32.fromInt64(shares));
    }

    /// A primitive that makes one number of a block of numbers of four bytes.
    function _block(uint16 opcode, uint8 to, uint8 from, bytes memory data, uint256 size)
        private
        view
        returns (bytes memory)
    {
        bytes[] memory one = new bytes[](1);
        one[0] = data;
        uint32 n = uint32(data.length / 4);
        IOneStep.Shape memory none;
        IOneStep.Descriptor memory d = _op(opcode, _shape(to, 1), _shape(from, n), none);
        return _bytes(_oneStep.evaluate(d, one, 0), size);
    }

    function _quantised(bytes memory values, bytes memory exponent)
        private
        view
        returns (bytes memory q)
    {
        uint32 n = uint32(values.length / 4);
        q = new bytes(values.length);
        bytes[] memory two = new bytes[](2);
        two[1] = exponent;
        IOneStep.Descriptor memory d = _op(67, _shape(2, n), _shape(1, n), _shape(2, 1));
        for (uint256 i = 0; i < n; ++i) {
            two[0] = _bytes(_get(values, 4 * i), 4);
            _put(q, 4 * i, _oneStep.evaluate(d, two, uint64(i)), 4);
        }
    }

    function _element(OuterRun memory r, uint256 k, uint256 i) private view {
        uint256 x = mean(column(r, k, i), r.held);
        uint256 m = _get(r.momentum[k].data, 4 * i);
        uint256 after_ = Float32.fma(m, DisputeProgram.OUTER_MOMENTUM, x);
        uint256 direction = Float32.fma(after_, DisputeProgram.OUTER_MOMENTUM, x);
        _put(r.momentumAfter[k].data, 4 * i, after_, 4);
        uint256 base = _get(r.base[k].data, 4 * i);
        _put(r.baseAfter[k].data, 4 * i, Float32.fma(direction, DisputeProgram.OUTER_RATE, base), 4);
    }

    /// Tensors like the parameters, of floats in +-[0.5, 2).
    function _floats(uint256 seed, uint256 salt) private pure returns (Tensor[] memory list) {
        uint256[] memory shapes = DisputeProgram.slotShapes();
        list = new Tensor[](2);
        for (uint256 k = 0; k < 2; ++k) {
            uint256 count = DisputeTrees.elements(shapes[k]);
            list[k] = Tensor(shapes[k], new bytes(4 * count));
            for (uint256 i = 0; i < count; ++i) {
                uint256 word = uint256(keccak256(abi.encode(seed, salt, k, i)));
                _put(list[k].data, 4 * i, 0x3F000000 | (word & 0x80FFFFFF), 4);
            }
        }
    }

    /// @param b Of the second input; without a dtype if there is none.
    function _op(
        uint16 opcode,
        IOneStep.Shape memory output,
        IOneStep.Shape memory a,
        IOneStep.Shape memory b
    ) private pure returns (IOneStep.Descriptor memory d) {
        (d.opcode, d.output) = (opcode, output);
        d.inputs = new IOneStep.Shape[](b.dtype == 0 ? 1 : 2);
        d.inputs[0] = a;
        if (b.dtype != 0) d.inputs[1] = b;
    }

    function _shape(uint8 dtype, uint32 last) private pure returns (IOneStep.Shape memory s) {
        (s.dtype, s.rank) = (dtype, 2);
        (s.dims[0], s.dims[1]) = (1, last);
    }

    function _bytes(uint256 x, uint256 size) private pure returns (bytes memory data) {
        data = new bytes(size);
        _put(data, 0, x, size);
    }

    function _put(bytes memory data, uint256 offset, uint256 x, uint256 size) private pure {
        for (uint256 b = 0; b < size; ++b) {
            data[offset + b] = bytes1(uint8(x >> (8 * b)));
        }
    }

    function _get(bytes memory data, uint256 offset) private pure returns (uint256 x) {
        for (uint256 b = 4; b > 0; --b) {
            x = (x << 8) | uint8(data[offset + b - 1]);
        }
    }
}
