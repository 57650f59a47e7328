// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ElementwiseOps} from "../../src/onestep/ElementwiseOps.sol";
import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {MovementOps} from "../../src/onestep/MovementOps.sol";
import {OneStep} from "../../src/onestep/OneStep.sol";
import {ProductOps} from "../../src/onestep/ProductOps.sol";
import {SumOps} from "../../src/onestep/SumOps.sol";
import {TestBase} from "./TestBase.sol";

/// The one-step contracts, and short ways to write descriptors and operands.
abstract contract OneStepFixture is TestBase {
    uint8 internal constant F32 = 1;
    uint8 internal constant I32 = 2;
    uint8 internal constant I64 = 3;
    uint8 internal constant I16 = 4;

    OneStep internal _oneStep;

    function _deploy() internal {
        _oneStep = new OneStep(
            address(new ElementwiseOps()),
            address(new MovementOps()),
            address(new SumOps()),
            address(new ProductOps())
        );
    }

    /// A descriptor whose inputs are to be filled in.
    function _op(uint16 opcode, IOneStep.Shape memory output, uint256 inputs)
        internal
        pure
        returns (IOneStep.Descriptor memory d)
    {
        d.opcode = opcode;
        d.output = output;
        d.inputs = new IOneStep.Shape[](inputs);
    }

    function _shape(uint8 dtype, uint32 a) internal pure returns (IOneStep.Shape memory s) {
        (s.dtype, s.rank, s.dims[0]) = (dtype, 1, a);
    }

    function _shape(uint8 dtype, uint32 a, uint32 b)
        internal
        pure
        returns (IOneStep.Shape memory s)
    {
        s = _shape(dtype, a);
        (s.rank, s.dims[1]) = (2, b);
    }

    function _shape(uint8 dtype, uint32 a, uint32 b, uint32 c)
        internal
        pure
        returns (IOneStep.Shape memory s)
    {
        s = _shape(dtype, a, b);
        (s.rank, s.dims[2]) = (3, c);
    }

    /// Pseudo-random bytes, none of them zero: the dearest calldata.
    function _noise(uint256 seed, uint256 length) internal pure returns (bytes memory data) {
        data = new bytes(length);
        bytes32 word;
        for (uint256 i = 0; i < length; ++i) {
            if (i % 32 == 0) word = keccak256(abi.encode(seed, i));
            data[i] = word[i % 32] | 0x01;
        }
    }

    /// `value` in `size` bytes, the lowest first.
    function _littleEndian(uint256 value, uint256 size) internal pure returns (bytes memory data) {
        data = new bytes(size);
        for (uint256 i = 0; i < size; ++i) {
            data[i] = bytes1(uint8((value >> (8 * i)) & 0xFF));
        }
    }

    /// Signed element `index` of `size` bytes each.
    function _element(bytes memory data, uint256 index, uint256 size)
        internal
        pure
        returns (int256)
    {
        uint256 value;
        for (uint256 i = size; i > 0; --i) {
            value = (value << 8) | uint8(data[index * size + i - 1]);
        }
        uint256 sign = 1 << (8 * size - 1);
        return int256(value ^ sign) - int256(sign);
    }

    function _one(bytes memory a) internal pure returns (bytes[] memory inputs) {
        inputs = new bytes[](1);
        inputs[0] = a;
    }

    function _two(bytes memory a, bytes memory b) internal pure returns (bytes[] memory inputs) {
        inputs = new bytes[](2);
        (inputs[0], inputs[1]) = (a, b);
    }
}
