// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "./IOneStep.sol";

/// @notice A tensor's shape, with what is asked of it most.
/// @param count its elements. @param last its last dim.
struct Tensor {
    uint256 dtype;
    uint256 rank;
    uint256 count;
    uint256 last;
    uint32[5] dims;
}

/// @notice A descriptor whose tensors and attributes are legal by themselves; whether they fit each
/// other is the primitive's own rule.
struct Op {
    uint256 opcode;
    uint64[8] attributes;
    Tensor output;
    Tensor[] inputs;
}

/// @notice Inputs of a primitive: operands, attributes, and which of those (bit k: attribute k)
/// are the bits of an f32.
struct Schema {
    uint256 inputsMin;
    uint256 inputsMax;
    uint256 attributes;
    uint256 floats;
}

/// @title Legality of descriptors
/// @notice The rules of src/program/validate.cpp and check_primitive.cpp that need no other op.
/// @dev Products of dims stay below 2^160, sums and products of counts below 2^96: unchecked
/// nowhere, as nothing here is hot.
library Descriptors {
    uint256 internal constant F32 = 1;
    uint256 internal constant I32 = 2;
    uint256 internal constant I64 = 3;
    uint256 internal constant I16 = 4;
    uint256 internal constant ELEMENTS_MAX = 2 ** 31;
    uint256 internal constant RANK_MAX = 5;
    /// Elements of a block: the largest reach.
    uint256 internal constant BLOCK = 1024;
    /// Which tensor an error names: the output, or this plus the operand's number.
    uint256 internal constant OUTPUT = 0;
    uint256 internal constant INPUT = 1;

    /// @notice Reads a descriptor and checks the rules that hold for every primitive.
    function load(IOneStep.Descriptor calldata d, Schema memory schema)
        internal
        pure
        returns (Op memory op)
    {
        op.opcode = d.opcode;
        op.attributes = d.attributes;
        _checkAttributes(op.attributes, schema);
        uint256 inputs = d.inputs.length;
        if (inputs < schema.inputsMin || inputs > schema.inputsMax) {
            revert IOneStep.WrongArity(inputs);
        }
        op.output = _tensor(d.output, OUTPUT);
        op.inputs = new Tensor[](inputs);
        for (uint256 k = 0; k < inputs; ++k) {
            op.inputs[k] = _tensor(d.inputs[k], INPUT + k);
        }
    }

    /// @notice Bytes of one element.
    function size(Tensor memory t) internal pure returns (uint256) {
        return sizeOf(t.dtype);
    }

    /// @notice Bytes of one element; 0 for an unknown dtype.
    function sizeOf(uint256 dtype) internal pure returns (uint256) {
        // forge-lint: disable-next-line(incorrect-shift)
        return dtype > 7 ? 0 : (0x42128440 >> (4 * dtype)) & 15; // a digit each
    }

    function blocks(uint256 length) internal pure returns (uint256) {
        return (length + BLOCK - 1) / BLOCK;
    }

    function requireDtype(Tensor memory t, uint256 dtype, uint256 name) internal pure {
        if (t.dtype != dtype) revert IOneStep.BadDtype(name);
    }

    function requireRank(Tensor memory t, uint256 rank, uint256 name) internal pure {
        if (t.rank != rank) revert IOneStep.BadShape(name);
    }

    function requireCount(Tensor memory t, uint256 count, uint256 name) internal pure {
        if (t.count != count) revert IOneStep.BadShape(name);
    }

    /// @notice i32 indices, as many as `count`.
    function requireIndices(Tensor memory t, uint256 count, uint256 name) internal pure {
        requireDtype(t, I32, name);
        requireCount(t, count, name);
    }

    /// @notice `t` has the dims of `like`, but `last` for the last one.
    function requireLike(Tensor memory t, Tensor memory like, uint256 last, uint256 name)
        internal
        pure
    {
        if (!isLike(t, like, last)) revert IOneStep.BadShape(name);
    }

    function isLike(Tensor memory t, Tensor memory like, uint256 last)
        internal
        pure
        returns (bool)
    {
        return t.rank == like.rank && t.last == last && sameLeading(t, like, like.rank - 1);
    }

    /// @notice The first `count` dims are equal.
    function sameLeading(Tensor memory a, Tensor memory b, uint256 count)
        internal
        pure
        returns (bool)
    {
        for (uint256 k = 0; k < count; ++k) {
            if (a.dims[k] != b.dims[k]) return false;
        }
        return true;
    }

    /// @notice How an elementwise operand is repeated: element i reads (i / divisor) % period.
    /// @return divisor 0 if it cannot be. @return period Elements it has.
    function broadcast(Tensor memory operand, Tensor memory output)
        internal
        pure
        returns (uint256 divisor, uint256 period)
    {
        period = operand.count;
        if (period == output.count || period == 1) return (1, period);
        if (isLike(operand, output, 1)) return (output.last, period);
        return (operand.last == output.last && output.count % period == 0 ? 1 : 0, period);
    }

    function _tensor(IOneStep.Shape calldata shape, uint256 name)
        private
        pure
        returns (Tensor memory t)
    {
        t.dtype = shape.dtype;
        t.rank = shape.rank;
        t.dims = shape.dims;
        if (sizeOf(t.dtype) == 0) revert IOneStep.BadDtype(name);
        if (t.rank == 0 || t.rank > RANK_MAX) revert IOneStep.BadShape(name);
        t.count = 1;
        for (uint256 k = 0; k < RANK_MAX; ++k) {
            // Zero behind the rank, and nowhere else.
            if (k < t.rank == (t.dims[k] == 0)) revert IOneStep.BadShape(name);
            if (k < t.rank) t.count *= t.dims[k];
        }
        if (t.count > ELEMENTS_MAX) revert IOneStep.BadShape(name);
        t.last = t.dims[t.rank - 1];
    }

    function _checkAttributes(uint64[8] memory attributes, Schema memory schema) private pure {
        for (uint256 k = 0; k < 8; ++k) {
            uint256 value = attributes[k];
            if (k >= schema.attributes) {
                if (value != 0) revert IOneStep.BadAttribute(k);
            } else if ((schema.floats >> k) & 1 != 0) {
                bool isNaN = value & 0x7FFFFFFF > 0x7F800000;
                if (value > type(uint32).max || isNaN) revert IOneStep.BadAttribute(k);
            }
        }
    }
}
