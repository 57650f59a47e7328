// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Float32} from "../numerics/Float32.sol";
import {Float32Programs} from "../numerics/Float32Programs.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {Descriptors, Op, Schema} from "./Descriptors.sol";
import {OpFamily} from "./OpFamily.sol";

/// @title Opcodes 1 to 16: f32 in, f32 out, element by element
contract ElementwiseOps is OpFamily {
    uint256 private constant FILL = 1;
    uint256 private constant ADD = 2;
    uint256 private constant SUB = 3;
    uint256 private constant MUL = 4;
    uint256 private constant DIV = 5;
    uint256 private constant MIN = 6;
    uint256 private constant FMA = 7;
    uint256 private constant SQRT = 8;
    uint256 private constant RSQRT = 9;
    uint256 private constant EXP = 10;
    uint256 private constant LOG = 11;
    uint256 private constant SIGMOID = 12;
    uint256 private constant GELU = 13;
    uint256 private constant SILU = 14;
    uint256 private constant LESS_EQUAL = 15;
    uint256 private constant SELECT = 16;

    function _schema(uint256 opcode) internal pure override returns (Schema memory) {
        if (opcode == FILL) return Schema(0, 0, 1, 1);
        if (opcode == FMA || opcode == SELECT) return Schema(3, 3, 0, 0);
        if (opcode >= SQRT && opcode <= SILU) return Schema(1, 1, 0, 0);
        if (opcode >= ADD && opcode <= LESS_EQUAL) return Schema(2, 2, 0, 0);
        revert UnknownOpcode(opcode);
    }

    function _check(Op memory op) internal pure override {
        Descriptors.requireDtype(op.output, Descriptors.F32, Descriptors.OUTPUT);
        for (uint256 k = 0; k < op.inputs.length; ++k) {
            Descriptors.requireDtype(op.inputs[k], Descriptors.F32, Descriptors.INPUT + k);
            (uint256 divisor,) = Descriptors.broadcast(op.inputs[k], op.output);
            if (divisor == 0) revert BadShape(Descriptors.INPUT + k);
        }
    }

    function _reach(Op memory op, uint256 operand, uint256 element, int256)
        internal
        pure
        override
        returns (uint256 first, uint256 count)
    {
        (uint256 divisor, uint256 period) = Descriptors.broadcast(op.inputs[operand], op.output);
        return (element / divisor % period, 1);
    }

    function _evaluate(Op memory op, bytes[] calldata inputs, uint256)
        internal
        pure
        override
        returns (uint256)
    {
        uint256 opcode = op.opcode;
        if (opcode == FILL) return op.attributes[0];
        uint256 a = LittleEndian.read(inputs[0]);
        if (inputs.length == 1) return _unary(opcode, a);
        uint256 b = LittleEndian.read(inputs[1]);
        if (inputs.length == 2) return _binary(opcode, a, b);
        uint256 c = LittleEndian.read(inputs[2]);
        if (opcode == FMA) return Float32.fma(a, b, c);
        return Float32.canonical(Float32.lt(0, a) ? b : c);
    }

    function _unary(uint256 opcode, uint256 x) private pure returns (uint256) {
        if (opcode == SQRT) return Float32.sqrt(x);
        if (opcode == RSQRT) return Float32Programs.rsqrt(x);
        if (opcode == EXP) return Float32Programs.exp(x);
        if (opcode == LOG) return Float32Programs.log(x);
        if (opcode == SIGMOID) return Float32Programs.sigmoid(x);
        if (opcode == GELU) return Float32Programs.gelu(x);
        return Float32Programs.silu(x);
    }

    function _binary(uint256 opcode, uint256 a, uint256 b) private pure returns (uint256) {
        if (opcode == ADD) return Float32.add(a, b);
        if (opcode == SUB) return Float32.sub(a, b);
        if (opcode == MUL) return Float32.mul(a, b);
        if (opcode == DIV) return Float32.div(a, b);
        if (opcode == MIN) return Float32.min(a, b);
        return Float32.le(a, b) ? Float32.ONE : 0;
    }
}
