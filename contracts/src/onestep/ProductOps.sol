// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Blocks} from "../numerics/Blocks.sol";
import {ExactParts} from "../numerics/ExactParts.sol";
import {Float32} from "../numerics/Float32.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {Descriptors, Op, Schema, Tensor} from "./Descriptors.sol";
import {OpFamily} from "./OpFamily.sol";

/// @title Opcodes 72 to 74: parts of exact products
contract ProductOps is OpFamily {
    uint256 private constant BLOCK_DOT = 72;
    uint256 private constant RESCALE_DOT = 73;
    uint256 private constant FINISH_PRODUCT = 74;

    /// Longest row of a product.
    uint256 private constant LENGTH_MAX = 2 ** 20;
    /// A finished product is the sum of its blocks' terms times 2^(ea + eb - 42).
    int256 private constant FINISH_BITS = 42;

    function _schema(uint256 opcode) internal pure override returns (Schema memory) {
        if (opcode == BLOCK_DOT) return Schema(2, 2, 0, 0);
        if (opcode == RESCALE_DOT) return Schema(5, 5, 0, 0);
        if (opcode == FINISH_PRODUCT) return Schema(3, 3, 0, 0);
        revert UnknownOpcode(opcode);
    }

    function _check(Op memory op) internal pure override {
        if (op.opcode == BLOCK_DOT) _checkBlockDot(op);
        else if (op.opcode == RESCALE_DOT) _checkRescaleDot(op);
        else _checkFinishProduct(op);
    }

    function _checkBlockDot(Op memory op) private pure {
        Tensor memory a = op.inputs[0];
        Descriptors.requireDtype(a, Descriptors.I16, Descriptors.INPUT);
        Descriptors.requireDtype(op.inputs[1], Descriptors.I16, Descriptors.INPUT + 1);
        Descriptors.requireDtype(op.output, Descriptors.I64, Descriptors.OUTPUT);
        _checkPair(a, op.inputs[1], 1);
        if (a.last > LENGTH_MAX) revert BadShape(Descriptors.INPUT);
        _checkProduct(op.output, a, op.inputs[1], Descriptors.blocks(a.last), Descriptors.OUTPUT);
    }

    function _checkRescaleDot(Op memory op) private pure {
        Descriptors.requireDtype(op.inputs[0], Descriptors.I64, Descriptors.INPUT);
        Descriptors.requireDtype(op.output, Descriptors.I64, Descriptors.OUTPUT);
        for (uint256 k = 1; k < 5; ++k) {
            Descriptors.requireDtype(op.inputs[k], Descriptors.I32, Descriptors.INPUT + k);
        }
        Tensor memory a = op.inputs[1];
        Tensor memory b = op.inputs[3];
        _checkPair(a, b, 3);
        Descriptors.requireLike(op.inputs[2], a, 1, Descriptors.INPUT + 2);
        Descriptors.requireLike(op.inputs[4], b, 1, Descriptors.INPUT + 4);
        _checkProduct(op.inputs[0], a, b, a.last, Descriptors.INPUT);
        Descriptors.requireLike(op.output, op.inputs[0], a.last, Descriptors.OUTPUT);
    }

    function _checkFinishProduct(Op memory op) private pure {
        Descriptors.requireDtype(op.inputs[0], Descriptors.I64, Descriptors.INPUT);
        Descriptors.requireDtype(op.inputs[1], Descriptors.I32, Descriptors.INPUT + 1);
        Descriptors.requireDtype(op.inputs[2], Descriptors.I32, Descriptors.INPUT + 2);
        Descriptors.requireDtype(op.output, Descriptors.F32, Descriptors.OUTPUT);
        _checkPair(op.inputs[1], op.inputs[2], 2);
        if (op.inputs[1].last != 1) revert BadShape(Descriptors.INPUT + 1);
        _checkProduct(op.inputs[0], op.inputs[1], op.inputs[2], 1, Descriptors.INPUT);
        Descriptors.requireCount(op.output, op.inputs[0].count, Descriptors.OUTPUT);
    }

    /// @dev [.., M, K] and [.., N, K] of rank 2 to 4. @param second number of the operand b.
    function _checkPair(Tensor memory a, Tensor memory b, uint256 second) private pure {
        bool ranks = a.rank == b.rank && a.rank >= 2 && a.rank < Descriptors.RANK_MAX;
        if (!ranks || a.last != b.last || !Descriptors.sameLeading(a, b, a.rank - 2)) {
            revert BadShape(Descriptors.INPUT + second);
        }
    }

    /// @dev t is [.., M, N, last]. @param name which tensor t is.
    function _checkProduct(
        Tensor memory t,
        Tensor memory a,
        Tensor memory b,
        uint256 last,
        uint256 name
    ) private pure {
        bool fits = t.rank == a.rank + 1 && Descriptors.sameLeading(t, a, a.rank - 1)
            && t.dims[a.rank - 1] == b.dims[b.rank - 2] && t.last == last;
        if (!fits) revert BadShape(name);
    }

    function _reach(Op memory op, uint256 operand, uint256 element, int256)
        internal
        pure
        override
        returns (uint256 first, uint256 count)
    {
        if (op.opcode == BLOCK_DOT) {
            uint256 length = op.inputs[0].last;
            uint256 blocks = op.output.last;
            uint256 start =
                _row(op.inputs[0], op.inputs[1], operand == 0, element / blocks) * blocks;
            return Blocks.range(length, start + element % blocks);
        }
        if (operand == 0) return (element, 1);
        if (op.opcode == FINISH_PRODUCT) {
            return (_row(op.inputs[1], op.inputs[2], operand == 1, element), 1);
        }
        uint256 perRow = op.inputs[1].last;
        uint256 row = _row(op.inputs[1], op.inputs[3], operand <= 2, element / perRow);
        bool perBlock = operand == 1 || operand == 3;
        return (perBlock ? row * perRow + element % perRow : row, 1);
    }

    /// @dev The row of [.., M, K] (`ofA`) or [.., N, K] that cell (.., m, n) belongs to.
    function _row(Tensor memory a, Tensor memory b, bool ofA, uint256 cell)
        private
        pure
        returns (uint256)
    {
        uint256 m = a.dims[a.rank - 2];
        uint256 n = b.dims[b.rank - 2];
        return ofA ? cell / n : cell / (m * n) * n + cell % n;
    }

    function _evaluate(Op memory op, bytes[] calldata inputs, uint256)
        internal
        pure
        override
        returns (uint256)
    {
        if (op.opcode == BLOCK_DOT) return uint64(int64(Blocks.dot(inputs[0], inputs[1])));
        int256 total = LittleEndian.int64Of(LittleEndian.read(inputs[0]));
        if (op.opcode == RESCALE_DOT) {
            int256 shift = _exponent(inputs[2]) - _exponent(inputs[1]) + _exponent(inputs[4])
                - _exponent(inputs[3]);
            return uint64(int64(ExactParts.blockTerm(total, shift)));
        }
        int256 ea = _exponent(inputs[1]);
        int256 eb = _exponent(inputs[2]);
        if (ea == ExactParts.POISONED || eb == ExactParts.POISONED) return Float32.NAN;
        return ExactParts.finish(total, ea + eb - FINISH_BITS);
    }

    function _exponent(bytes calldata data) private pure returns (int256) {
        return LittleEndian.int32Of(LittleEndian.read(data));
    }
}
