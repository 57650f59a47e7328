// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

import {Descriptors, Op, Schema} from "./Descriptors.sol";
import {IOneStep} from "./IOneStep.sol";

/// @title Common parts of all families of primitives
/// @notice A family is a contract of its own because all of them together exceed the size of one
/// (EIP-170). Each implements IOneStep for its opcodes and refuses the others.
abstract contract OpFamily is IOneStep {
    /// @inheritdoc IOneStep
    function reach(Descriptor calldata d, uint256 operand, uint64 element, uint32 index)
        external
        pure
        returns (uint64 first, uint64 count)
    {
        Op memory op = _load(d, element);
        if (operand >= op.inputs.length) revert NoSuchOperand(operand);
        (uint256 from, uint256 elements) = _reach(op, operand, element, int32(index));
        return (uint64(from), uint64(elements));
    }

    /// @inheritdoc IOneStep
    function evaluate(Descriptor calldata d, bytes[] calldata inputs, uint64 element)
        external
        pure
        returns (uint64 bits)
    {
        Op memory op = _load(d, element);
        uint256 operands = op.inputs.length;
        if (inputs.length != operands) revert WrongInputCount(inputs.length, operands);
        for (uint256 k = 0; k < operands; ++k) {
            (, uint256 count) = _reach(op, k, element, 0); // the index changes no count
            uint256 expected = count * Descriptors.size(op.inputs[k]);
            uint256 length = inputs[k].length;
            if (length != expected) revert WrongInputLength(k, length, expected);
        }
        return uint64(_evaluate(op, inputs, element));
    }

    function _load(Descriptor calldata d, uint256 element) private pure returns (Op memory op) {
        op = Descriptors.load(d, _schema(d.opcode));
        _check(op);
        if (element >= op.output.count) revert ElementOutOfRange(element, op.output.count);
    }

    /// @dev Reverts with UnknownOpcode for opcodes of other families.
    function _schema(uint256 opcode) internal pure virtual returns (Schema memory);

    /// @dev The primitive's rule about dtypes, dims and attributes; reverts where it is broken.
    function _check(Op memory op) internal pure virtual;

    /// @dev See reach(). `op` is legal, `operand` and `element` are in range; results are below 2^32.
    function _reach(Op memory op, uint256 operand, uint256 element, int256 index)
        internal
        pure
        virtual
        returns (uint256 first, uint256 count);

    /// @dev See evaluate(). `op` is legal, and so are the inputs' lengths; the result is below 2^64.
    function _evaluate(Op memory op, bytes[] calldata inputs, uint256 element)
        internal
        pure
        virtual
        returns (uint256 bits);
}
