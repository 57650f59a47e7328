// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

import {Blocks} from "../numerics/Blocks.sol";
import {ExactParts} from "../numerics/ExactParts.sol";
import {Float32} from "../numerics/Float32.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {Descriptors, Op, Schema, Tensor} from "./Descriptors.sol";
import {OpFamily} from "./OpFamily.sol";

/// @title Opcodes 64 to 71: parts of exact sums
contract SumOps is OpFamily {
    uint256 private constant BLOCK_MAX = 64;
    uint256 private constant BLOCK_EXPONENT = 65;
    uint256 private constant CONSTANT_EXPONENT = 66;
    uint256 private constant QUANTISE_I32 = 67;
    uint256 private constant QUANTISE_I16 = 68;
    uint256 private constant BLOCK_SUM = 69;
    uint256 private constant SELECT_SUM = 70;
    uint256 private constant FINISH_SUM = 71;

    uint256 private constant CONSTANT_EXPONENT_MAX = 127;
    int256 private constant SUM_BITS = 30;
    int256 private constant PRODUCT_BITS = 13;

    function _schema(uint256 opcode) internal pure override returns (Schema memory) {
        if (opcode < BLOCK_MAX || opcode > FINISH_SUM) revert UnknownOpcode(opcode);
        if (opcode == CONSTANT_EXPONENT) return Schema(1, 1, 1, 0);
        bool one = opcode <= BLOCK_EXPONENT || opcode == BLOCK_SUM;
        return one ? Schema(1, 1, 0, 0) : Schema(2, 2, 0, 0);
    }

    function _check(Op memory op) internal pure override {
        uint256 opcode = op.opcode;
        uint256 dtype = op.inputs[0].dtype;
        if (opcode == BLOCK_MAX) {
            if (dtype != Descriptors.F32 && dtype != Descriptors.I32) {
                revert BadDtype(Descriptors.INPUT);
            }
            return _checkBlocks(op, dtype, dtype);
        }
        if (opcode == BLOCK_SUM) {
            if (dtype != Descriptors.I32 && dtype != Descriptors.I64) {
                revert BadDtype(Descriptors.INPUT);
            }
            return _checkBlocks(op, dtype, Descriptors.I64);
        }
        if (opcode == QUANTISE_I32) return _checkQuantise(op, Descriptors.I32);
        if (opcode == QUANTISE_I16) return _checkQuantise(op, Descriptors.I16);
        if (opcode == SELECT_SUM) return _checkSelectSum(op);
        if (opcode == FINISH_SUM) return _checkFinishSum(op);
        if (op.attributes[0] > CONSTANT_EXPONENT_MAX) revert BadAttribute(0);
        _checkBlocks(op, Descriptors.F32, Descriptors.I32);
    }

    /// @dev [.., n] -> [.., blocks(n)].
    function _checkBlocks(Op memory op, uint256 from, uint256 to) private pure {
        Tensor memory x = op.inputs[0];
        Descriptors.requireDtype(x, from, Descriptors.INPUT);
        Descriptors.requireDtype(op.output, to, Descriptors.OUTPUT);
        Descriptors.requireLike(op.output, x, Descriptors.blocks(x.last), Descriptors.OUTPUT);
    }

    function _checkQuantise(Op memory op, uint256 to) private pure {
        Tensor memory x = op.inputs[0];
        Tensor memory e = op.inputs[1];
        Descriptors.requireDtype(x, Descriptors.F32, Descriptors.INPUT);
        Descriptors.requireDtype(e, Descriptors.I32, Descriptors.INPUT + 1);
        Descriptors.requireDtype(op.output, to, Descriptors.OUTPUT);
        if (e.last != 1) {
            Descriptors.requireLike(e, x, Descriptors.blocks(x.last), Descriptors.INPUT + 1);
        } else {
            Descriptors.requireLike(e, x, 1, Descriptors.INPUT + 1);
        }
        Descriptors.requireLike(op.output, x, x.last, Descriptors.OUTPUT);
    }

    function _checkSelectSum(Op memory op) private pure {
        Tensor memory q = op.inputs[0];
        Tensor memory output = op.output; // [V, D, blocks]
        Descriptors.requireDtype(q, Descriptors.I32, Descriptors.INPUT);
        Descriptors.requireDtype(output, Descriptors.I64, Descriptors.OUTPUT);
        Descriptors.requireRank(q, 2, Descriptors.INPUT);
        Descriptors.requireRank(output, 3, Descriptors.OUTPUT);
        Descriptors.requireIndices(op.inputs[1], q.last, Descriptors.INPUT + 1);
        if (output.dims[1] != q.dims[0] || output.last != Descriptors.blocks(q.last)) {
            revert BadShape(Descriptors.OUTPUT);
        }
    }

    function _checkFinishSum(Op memory op) private pure {
        Descriptors.requireDtype(op.inputs[0], Descriptors.I64, Descriptors.INPUT);
        Descriptors.requireDtype(op.inputs[1], Descriptors.I32, Descriptors.INPUT + 1);
        Descriptors.requireDtype(op.output, Descriptors.F32, Descriptors.OUTPUT);
        uint256 count = op.inputs[0].count;
        if (count % op.inputs[1].count != 0) revert BadShape(Descriptors.INPUT + 1);
        Descriptors.requireCount(op.output, count, Descriptors.OUTPUT);
    }

    function _reach(Op memory op, uint256 operand, uint256 element, int256)
        internal
        pure
        override
        returns (uint256 first, uint256 count)
    {
        uint256 opcode = op.opcode;
        if (opcode == FINISH_SUM) return (element % op.inputs[operand].count, 1);
        if (opcode == QUANTISE_I32 || opcode == QUANTISE_I16) {
            return (operand == 0 ? element : _exponentOf(op, element), 1);
        }
        uint256 length = op.inputs[0].last;
        if (opcode == SELECT_SUM) {
            uint256 blocks = op.output.last;
            uint256 row = operand == 0 ? element / blocks % op.output.dims[1] : 0;
            return Blocks.range(length, row * blocks + element % blocks);
        }
        return Blocks.range(length, element);
    }

    /// @dev The exponent of an element's row, or of its block.
    function _exponentOf(Op memory op, uint256 element) private pure returns (uint256) {
        uint256 length = op.inputs[0].last;
        uint256 perRow = op.inputs[1].last;
        uint256 block_ = perRow == 1 ? 0 : element % length / Descriptors.BLOCK;
        return element / length * perRow + block_;
    }

    function _evaluate(Op memory op, bytes[] calldata inputs, uint256 element)
        internal
        pure
        override
        returns (uint256)
    {
        uint256 opcode = op.opcode;
        if (opcode == BLOCK_SUM) return Blocks.sum(inputs[0], Descriptors.size(op.inputs[0]));
        if (opcode == SELECT_SUM) return _selectSum(op, inputs, element);
        if (opcode == BLOCK_MAX) return _blockMax(inputs[0], op.output.dtype == Descriptors.F32);
        if (opcode <= CONSTANT_EXPONENT) {
            uint256 largest = Blocks.largestMagnitude(inputs[0]);
            int256 e = opcode == BLOCK_EXPONENT
                ? ExactParts.rowExponent(largest)
                : _constantExponent(largest, op.attributes[0]);
            return uint32(int32(e));
        }
        uint256 x = LittleEndian.read(inputs[0]);
        int256 exponent = LittleEndian.int32Of(LittleEndian.read(inputs[1]));
        if (opcode == FINISH_SUM) return _finishSum(LittleEndian.int64Of(x), exponent);
        if (opcode == QUANTISE_I32) {
            return uint32(int32(ExactParts.quantise(x, exponent, SUM_BITS)));
        }
        return uint16(int16(ExactParts.quantise(x, exponent, PRODUCT_BITS)));
    }

    function _blockMax(bytes calldata x, bool isFloat) private pure returns (uint256) {
        if (!isFloat) return Blocks.largestInteger(x) ^ Float32.SIGN;
        if (Blocks.largestMagnitude(x) > Float32.INF) return Float32.NAN;
        uint256 key = Blocks.largestKey(x);
        return key & Float32.SIGN != 0 ? key ^ Float32.SIGN : key ^ type(uint32).max;
    }

    /// @dev c, unless a magnitude of the block is above 2^c.
    function _constantExponent(uint256 largest, uint256 c) private pure returns (int256) {
        return largest <= (c + 127) << 23 ? int256(c) : ExactParts.POISONED;
    }

    /// @dev An index outside [0, V) counts as the nearest one inside.
    function _selectSum(Op memory op, bytes[] calldata inputs, uint256 element)
        private
        pure
        returns (uint256)
    {
        uint256 v = element / (op.output.last * op.output.dims[1]);
        int256 low = v == 0 ? type(int32).min : int256(v);
        int256 high = v == op.output.dims[0] - 1 ? type(int32).max : int256(v);
        return Blocks.selectSum(inputs[0], inputs[1], low, high);
    }

    function _finishSum(int256 total, int256 exponent) private pure returns (uint256) {
        if (exponent == ExactParts.POISONED) return Float32.NAN;
        return ExactParts.finish(total, exponent - SUM_BITS);
    }
}
