// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title One element of one tensor
/// @notice The end of a dispute: the contract computes any single output element of any primitive
/// of docs/NUMERICS.md from the operand elements that it depends on. Stateless; whoever calls has
/// proven the descriptor and the elements against roots that both sides agree on.
interface IOneStep {
    /// @notice Element type and dims of a tensor, row-major.
    /// @param dtype 1 f32, 2 i32, 3 i64, 4 i16, 5 u8, 6 u16, 7 u32: the numbers of tensor roots.
    /// @param rank 1 to 5.
    /// @param dims The first `rank` are at least 1, their product at most 2^31; the others are 0.
    struct Shape {
        uint8 dtype;
        uint8 rank;
        uint32[5] dims;
    }

    /// @notice One primitive with everything but its data.
    /// @param opcode 1 to 74, as in docs/NUMERICS.md.
    /// @param attributes In the table's order; f32 ones as bits, unused ones 0.
    struct Descriptor {
        uint16 opcode;
        uint64[8] attributes;
        Shape output;
        Shape[] inputs;
    }

    /// @notice No primitive has this number.
    error UnknownOpcode(uint256 opcode);
    /// @notice A primitive does not take this many operands.
    error WrongArity(uint256 inputs);
    /// @notice An attribute is out of range, or set although the primitive has no such attribute.
    error BadAttribute(uint256 index);
    /// @notice A tensor's dtype is unknown or not the one the primitive wants. 0 is the output, 1 + k
    /// operand k.
    error BadDtype(uint256 tensor);
    /// @notice A tensor's dims are illegal or not those the primitive wants. 0 is the output, 1 + k
    /// operand k.
    error BadShape(uint256 tensor);
    /// @notice The output has only `count` elements.
    error ElementOutOfRange(uint256 element, uint256 count);
    /// @notice The primitive has no such operand.
    error NoSuchOperand(uint256 operand);
    /// @notice evaluate() got the bytes of another number of operands than the descriptor names.
    error WrongInputCount(uint256 inputs, uint256 expected);
    /// @notice The bytes of an operand are not exactly the elements that reach() names.
    error WrongInputLength(uint256 operand, uint256 length, uint256 expected);

    /// @notice The elements of an operand that one output element depends on: consecutive, at most
    /// 1,024. Equals depends_on() of src/program/reach.cpp.
    /// @param d The primitive. Reverts if it is not legal.
    /// @param operand Which of its inputs, from 0.
    /// @param element Which output element, row-major.
    /// @param index For operand 0 of gather_rows and pick: the element of operand 1 that reach()
    /// names for it, as its bits. Ignored otherwise.
    /// @return first The first element. @return count How many; 0: none (another part of a concat).
    function reach(Descriptor calldata d, uint256 operand, uint64 element, uint32 index)
        external
        view
        returns (uint64 first, uint64 count);

    /// @notice One output element.
    /// @param d The primitive. Reverts if it is not legal.
    /// @param inputs For each operand the little-endian bytes of exactly the elements reach() names.
    /// @param element Which output element, row-major.
    /// @return bits The element's bits, zero-extended from its dtype's size.
    function evaluate(Descriptor calldata d, bytes[] calldata inputs, uint64 element)
        external
        view
        returns (uint64 bits);
}
