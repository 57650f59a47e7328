// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

import {Float32} from "../numerics/Float32.sol";
import {LittleEndian} from "../numerics/LittleEndian.sol";
import {Philox} from "../numerics/Philox.sol";
import {Descriptors, Op, Schema, Tensor} from "./Descriptors.sol";
import {OpFamily} from "./OpFamily.sol";

/// @title Opcodes 32 to 38: movement, selection, random masks
contract MovementOps is OpFamily {
    uint256 private constant STRIDED_COPY = 32;
    uint256 private constant CONCAT = 33;
    uint256 private constant GATHER_ROWS = 34;
    uint256 private constant PICK = 35;
    uint256 private constant ONE_HOT = 36;
    uint256 private constant CAUSAL_FILL = 37;
    uint256 private constant RANDOM_MASK = 38;

    uint256 private constant CONCAT_INPUTS_MAX = 12;
    uint256 private constant RANDOM_WORDS = 5;
    uint256 private constant RANDOM_OPS = 2 ** 24;

    function _schema(uint256 opcode) internal pure override returns (Schema memory) {
        if (opcode == STRIDED_COPY) return Schema(1, 1, 6, 0);
        if (opcode == CONCAT) return Schema(1, CONCAT_INPUTS_MAX, 0, 0);
        if (opcode == GATHER_ROWS || opcode == PICK) return Schema(2, 2, 0, 0);
        if (opcode == ONE_HOT) return Schema(1, 1, 0, 0);
        if (opcode == CAUSAL_FILL) return Schema(1, 1, 1, 1);
        if (opcode == RANDOM_MASK) return Schema(1, 1, 3, 4);
        revert UnknownOpcode(opcode);
    }

    function _check(Op memory op) internal pure override {
        uint256 opcode = op.opcode;
        if (opcode == STRIDED_COPY) return _checkStridedCopy(op);
        if (opcode == CONCAT) return _checkConcat(op);
        Descriptors.requireDtype(op.output, Descriptors.F32, Descriptors.OUTPUT);
        if (opcode == GATHER_ROWS) return _checkGatherRows(op);
        if (opcode == PICK) return _checkPick(op);
        if (opcode == CAUSAL_FILL) return _checkCausalFill(op);
        if (opcode == RANDOM_MASK) return _checkRandomMask(op);
        Descriptors.requireRank(op.output, 2, Descriptors.OUTPUT);
        Descriptors.requireIndices(op.inputs[0], op.output.dims[0], Descriptors.INPUT);
    }

    function _checkStridedCopy(Op memory op) private pure {
        Descriptors.requireDtype(op.output, op.inputs[0].dtype, Descriptors.OUTPUT);
        uint256 last = op.attributes[0];
        for (uint256 k = 0; k < Descriptors.RANK_MAX; ++k) {
            uint256 stride = op.attributes[1 + k];
            if (stride > Descriptors.ELEMENTS_MAX || last > Descriptors.ELEMENTS_MAX) {
                revert BadAttribute(1 + k);
            }
            if (k < op.output.rank) last += (op.output.dims[k] - 1) * stride;
            else if (stride != 0) revert BadAttribute(1 + k);
        }
        if (last >= op.inputs[0].count) revert BadShape(Descriptors.OUTPUT);
    }

    function _checkConcat(Op memory op) private pure {
        Tensor memory first = op.inputs[0];
        uint256 last = 0;
        for (uint256 k = 0; k < op.inputs.length; ++k) {
            Tensor memory part = op.inputs[k];
            Descriptors.requireDtype(part, op.output.dtype, Descriptors.INPUT + k);
            Descriptors.requireLike(part, first, part.last, Descriptors.INPUT + k);
            last += part.last;
        }
        Descriptors.requireLike(op.output, first, last, Descriptors.OUTPUT);
    }

    function _checkGatherRows(Op memory op) private pure {
        Tensor memory table = op.inputs[0];
        Descriptors.requireDtype(table, Descriptors.F32, Descriptors.INPUT);
        Descriptors.requireRank(table, 2, Descriptors.INPUT);
        Descriptors.requireRank(op.output, 2, Descriptors.OUTPUT);
        Descriptors.requireIndices(op.inputs[1], op.output.dims[0], Descriptors.INPUT + 1);
        if (op.output.last != table.last) revert BadShape(Descriptors.OUTPUT);
    }

    function _checkPick(Op memory op) private pure {
        Tensor memory x = op.inputs[0];
        Descriptors.requireDtype(x, Descriptors.F32, Descriptors.INPUT);
        Descriptors.requireRank(x, 2, Descriptors.INPUT);
        Descriptors.requireIndices(op.inputs[1], x.dims[0], Descriptors.INPUT + 1);
        Descriptors.requireLike(op.output, x, 1, Descriptors.OUTPUT);
    }

    function _checkCausalFill(Op memory op) private pure {
        Tensor memory x = op.inputs[0];
        Descriptors.requireDtype(x, Descriptors.F32, Descriptors.INPUT);
        if (x.rank < 2 || x.dims[x.rank - 2] != x.last) revert BadShape(Descriptors.INPUT);
        Descriptors.requireLike(op.output, x, x.last, Descriptors.OUTPUT);
    }

    function _checkRandomMask(Op memory op) private pure {
        Tensor memory position = op.inputs[0];
        Descriptors.requireDtype(position, Descriptors.I32, Descriptors.INPUT);
        Descriptors.requireRank(position, 1, Descriptors.INPUT);
        Descriptors.requireCount(position, RANDOM_WORDS, Descriptors.INPUT);
        if (op.attributes[0] >= RANDOM_OPS) revert BadAttribute(0);
        if (op.attributes[1] > type(uint32).max) revert BadAttribute(1);
    }

    function _reach(Op memory op, uint256 operand, uint256 element, int256 index)
        internal
        pure
        override
        returns (uint256 first, uint256 count)
    {
        uint256 opcode = op.opcode;
        if (opcode == STRIDED_COPY) return (_strided(op, element), 1);
        if (opcode == CONCAT) return _partOfConcat(op, operand, element);
        uint256 width = op.output.last;
        if (opcode == GATHER_ROWS) {
            if (operand == 1) return (element / width, 1);
            return (_clamp(index, op.inputs[0].dims[0]) * width + element % width, 1);
        }
        if (opcode == PICK) {
            if (operand == 1) return (element, 1);
            return (element * op.inputs[0].last + _clamp(index, op.inputs[0].last), 1);
        }
        if (opcode == ONE_HOT) return (element / width, 1);
        if (opcode == CAUSAL_FILL) return (element, 1);
        return (0, RANDOM_WORDS);
    }

    function _strided(Op memory op, uint256 element) private pure returns (uint256 source) {
        source = op.attributes[0];
        for (uint256 k = op.output.rank; k > 0; --k) {
            uint256 dim = op.output.dims[k - 1];
            source += element % dim * op.attributes[k];
            element /= dim;
        }
    }

    function _partOfConcat(Op memory op, uint256 operand, uint256 element)
        private
        pure
        returns (uint256 first, uint256 count)
    {
        uint256 begin = 0;
        for (uint256 k = 0; k < operand; ++k) {
            begin += op.inputs[k].last;
        }
        uint256 part = op.inputs[operand].last;
        uint256 column = element % op.output.last;
        if (column < begin || column >= begin + part) return (0, 0);
        return (element / op.output.last * part + column - begin, 1);
    }

    function _evaluate(Op memory op, bytes[] calldata inputs, uint256 element)
        internal
        pure
        override
        returns (uint256)
    {
        uint256 opcode = op.opcode;
        if (opcode == CONCAT) return _onlyPart(inputs);
        if (opcode == RANDOM_MASK) return _randomMask(op, inputs[0], element);
        uint256 x = LittleEndian.read(inputs[0]);
        uint256 width = op.output.last;
        if (opcode == ONE_HOT) {
            bool hot = element % width == _clamp(LittleEndian.int32Of(x), width);
            return hot ? Float32.ONE : 0;
        }
        if (opcode == CAUSAL_FILL && element % width > element / width % width) {
            return op.attributes[0];
        }
        return x;
    }

    /// @dev All other parts of a concat are empty.
    function _onlyPart(bytes[] calldata inputs) private pure returns (uint256) {
        uint256 k = 0;
        while (inputs[k].length == 0) ++k;
        return LittleEndian.read(inputs[k]);
    }

    function _randomMask(Op memory op, bytes calldata position, uint256 element)
        private
        pure
        returns (uint256)
    {
        Philox.Position memory place = Philox.Position({
            key0: LittleEndian.element(position, 0, 4),
            key1: LittleEndian.element(position, 1, 4),
            round: LittleEndian.element(position, 2, 4),
            slot: LittleEndian.element(position, 3, 4),
            step: LittleEndian.element(position, 4, 4),
            op: op.attributes[0]
        });
        return Philox.word(place, element) < op.attributes[1] ? 0 : op.attributes[2];
    }

    /// @return `index` clamped into [0, count).
    function _clamp(int256 index, uint256 count) private pure returns (uint256) {
        if (index < 0) return 0;
        return uint256(index) < count ? uint256(index) : count - 1;
    }
}
