// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IOneStep} from "../../src/onestep/IOneStep.sol";
import {OneStepFixture} from "./OneStepFixture.sol";

/// The largest legal leaf of every primitive, operands' bytes all non-zero.
abstract contract OneStepCases is OneStepFixture {
    uint32 private constant BLOCK = 1024;
    uint32 private constant BIG = 2 ** 31;
    uint64 private constant ELEMENT = 2 ** 30 + 12_345;

    function _elementwise() internal {
        string[17] memory names = [
            "",
            "fill",
            "add",
            "sub",
            "mul",
            "div",
            "min",
            "fma",
            "sqrt",
            "rsqrt",
            "exp",
            "log",
            "sigmoid",
            "gelu",
            "silu",
            "less_equal",
            "select"
        ];
        for (uint16 opcode = 1; opcode <= 16; ++opcode) {
            bool three = opcode == 7 || opcode == 16;
            bool one = opcode >= 8 && opcode <= 14;
            uint256 inputs = opcode == 1 ? 0 : three ? 3 : one ? 1 : 2;
            IOneStep.Descriptor memory d = _op(opcode, _wide(F32), inputs);
            bytes[] memory data = new bytes[](inputs);
            for (uint256 k = 0; k < inputs; ++k) {
                d.inputs[k] = d.output;
                // About 0.7, 1.3 and -2: no special case ends early.
                data[k] = _littleEndian(k == 0 ? 0x3F333333 : k == 1 ? 0x3FA66667 : 0xC0012345, 4);
            }
            if (opcode == 1) d.attributes[0] = 0x3F333333;
            // A negative argument takes the longest way through sigmoid's family.
            if (opcode >= 12 && opcode <= 14) data[0] = _littleEndian(0xBF333333, 4);
            _measure(names[opcode], d, data, ELEMENT);
        }
    }

    function _movement() internal {
        IOneStep.Descriptor memory d = _op(32, _wide(F32), 1);
        d.inputs[0] = _shape(F32, BIG);
        (d.attributes[1], d.attributes[2], d.attributes[3]) = (2 ** 24, 2 ** 18, 2 ** 12);
        (d.attributes[4], d.attributes[5]) = (2 ** 6, 1);
        _measure("strided_copy", d, _one(_noise(1, 4)), ELEMENT);

        d = _op(33, _shape(F32, 2 ** 20, 12 * 100), 12);
        bytes[] memory parts = new bytes[](12);
        for (uint256 k = 0; k < 12; ++k) {
            d.inputs[k] = _shape(F32, 2 ** 20, 100);
        }
        parts[11] = _noise(1, 4);
        _measure("concat", d, parts, 1200 * 777 + 1199);

        d = _op(34, _shape(F32, 2 ** 15, 2 ** 16), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(F32, 2 ** 15, 2 ** 16), _shape(I32, 2 ** 15));
        _measure("gather_rows", d, _two(_noise(1, 4), _noise(2, 4)), ELEMENT);

        d = _op(35, _shape(F32, 2 ** 15, 1), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(F32, 2 ** 15, 2 ** 16), _shape(I32, 2 ** 15));
        _measure("pick", d, _two(_noise(1, 4), _noise(2, 4)), 12_345);

        d = _op(36, _shape(F32, 2 ** 15, 2 ** 16), 1);
        d.inputs[0] = _shape(I32, 2 ** 15);
        _measure("one_hot", d, _one(_noise(1, 4)), ELEMENT);

        d = _op(37, _shape(F32, 2 ** 5, 2 ** 13, 2 ** 13), 1);
        d.inputs[0] = d.output;
        d.attributes[0] = 0xFF800000;
        _measure("causal_fill", d, _one(_noise(1, 4)), ELEMENT);

        d = _op(38, _wide(F32), 1);
        d.inputs[0] = _shape(I32, 5);
        (d.attributes[0], d.attributes[1], d.attributes[2]) = (2 ** 24 - 1, 2 ** 31, 0x3F8E38E4);
        _measure("random_mask", d, _one(_noise(1, 20)), ELEMENT);
    }

    function _blocks() internal {
        IOneStep.Descriptor memory d = _op(64, _shape(F32, 1024, 1024), 1);
        d.inputs[0] = _shape(F32, 1024, 1024 * BLOCK);
        bytes[] memory block_ = _one(_finite(1));
        _measure("block_max", d, block_, 999_999);
        (d.opcode, d.output.dtype) = (65, I32);
        _measure("block_exponent", d, block_, 999_999);
        (d.opcode, d.attributes[0]) = (66, 127);
        _measure("constant_exponent", d, block_, 999_999);
        d.attributes[0] = 0;

        (d.opcode, d.output.dtype, d.inputs[0].dtype) = (69, I64, I64);
        _measure("block_sum", d, _one(_noise(1, 8 * BLOCK)), 999_999);

        d = _op(70, _shape(I64, 1024, 1024, 1024), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(I32, 1024, 1024 * BLOCK), _shape(I32, 1024 * BLOCK));
        _measure("select_sum", d, _two(_noise(1, 4 * BLOCK), _noise(2, 4 * BLOCK)), ELEMENT / 2);
    }

    function _quantised() internal {
        bytes[] memory data = _two(_littleEndian(0x3F333333, 4), _littleEndian(1, 4));
        IOneStep.Descriptor memory d = _op(67, _shape(I32, 1024, 1024 * BLOCK), 2);
        (d.inputs[0], d.inputs[1]) = (_shape(F32, 1024, 1024 * BLOCK), _shape(I32, 1024, 1024));
        _measure("quantise_i32", d, data, ELEMENT / 2);
        (d.opcode, d.output.dtype) = (68, I16);
        _measure("quantise_i16", d, data, ELEMENT / 2);

        d = _op(71, _wide(F32), 2);
        (d.inputs[0], d.inputs[1]) = (_wide(I64), _wide(I32));
        _measure("finish_sum", d, _two(_noise(1, 8), _littleEndian(3, 4)), ELEMENT);
    }

    function _products() internal {
        IOneStep.Shape memory a = _shape(I16, 2, 512, 2 ** 20);
        IOneStep.Shape memory product = _shape(I64, 2, 512, 512);
        (product.rank, product.dims[3]) = (4, 1024);
        IOneStep.Descriptor memory d = _op(72, product, 2);
        (d.inputs[0], d.inputs[1]) = (a, a);
        bytes memory row = _noise(1, 2 * BLOCK);
        _measure("block_dot", d, _two(row, _noise(2, 2 * BLOCK)), ELEMENT / 4);

        d = _op(73, product, 5);
        d.inputs[0] = product;
        (d.inputs[1], d.inputs[3]) = (_shape(I32, 2, 512, 1024), _shape(I32, 2, 512, 1024));
        (d.inputs[2], d.inputs[4]) = (_shape(I32, 2, 512, 1), _shape(I32, 2, 512, 1));
        bytes[] memory data = new bytes[](5);
        data[0] = _noise(1, 8);
        for (uint256 k = 1; k < 5; ++k) {
            data[k] = _littleEndian(k % 2 == 1 ? 1 : 12, 4);
        }
        _measure("rescale_dot", d, data, ELEMENT / 4);

        product.dims[3] = 1;
        IOneStep.Shape memory finished = product;
        d = _op(74, _shape(F32, 2, 512, 512), 3);
        (d.inputs[0], d.inputs[1], d.inputs[2]) =
        (finished, _shape(I32, 2, 512, 1), _shape(I32, 2, 512, 1));
        data = new bytes[](3);
        (data[0], data[1], data[2]) = (_noise(1, 8), _littleEndian(3, 4), _littleEndian(4, 4));
        _measure("finish_product", d, data, 400_000);
    }

    function _measure(
        string memory name,
        IOneStep.Descriptor memory d,
        bytes[] memory inputs,
        uint64 element
    ) internal virtual;

    /// 2^30 elements and more in five dims.
    function _wide(uint8 dtype) private pure returns (IOneStep.Shape memory s) {
        s.dtype = dtype;
        s.rank = 5;
        s.dims = [uint32(127), 64, 64, 64, 64];
    }

    /// A block of f32 without NaN.
    function _finite(uint256 seed) private pure returns (bytes memory data) {
        data = _noise(seed, 4 * BLOCK);
        for (uint256 i = 3; i < data.length; i += 4) {
            data[i] = data[i] & 0xBF;
        }
    }
}
