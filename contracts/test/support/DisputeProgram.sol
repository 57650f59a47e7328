// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {RecordProof} from "../../src/dispute/DisputeTypes.sol";
import {DisputeTrees} from "./DisputeTrees.sol";

/// Where an operand comes from. kind 1 primitive, 2 leaf, 3 state.
struct Operand {
    uint8 kind;
    uint32 index;
    uint256 shape;
}

struct Primitive {
    uint16 opcode;
    uint256 shape;
    uint64[8] attributes;
    Operand[] inputs;
}

struct Macro {
    uint32 first;
    uint32 count;
}

/// A train program of six macro ops over a state of three tensors, as a trace program: an elementwise op, a row sum, a product, two
/// copies that are loss and gradient norm, and a lookup of rows by the batch.
library DisputeProgram {
    uint256 internal constant F32 = 1;
    uint256 internal constant I32 = 2;
    uint256 internal constant I64 = 3;
    uint256 internal constant I16 = 4;
    uint256 internal constant LEAVES = 9;
    uint256 internal constant INPUTS = 3;
    uint256 internal constant PRIMITIVES = 12;
    uint256 internal constant SLOTS = 3;
    /// Slots 0 and 1 are what is trained.
    uint256 internal constant PARAMETERS = 2;
    uint256 internal constant DELTA_BYTES = 16 + 1200 + 36;
    /// 0.75 and 0.875.
    uint32 internal constant OUTER_RATE = 0x3F400000;
    uint32 internal constant OUTER_MOMENTUM = 0x3F600000;
    uint256 internal constant LOSS = 6;
    uint256 internal constant GRAD_NORM = 7;
    uint256 internal constant WINDOW_TOKENS = 3;
    uint256 internal constant STRIDE = 2;

    function macros() internal pure returns (Macro[] memory list) {
        list = new Macro[](6);
        list[0] = Macro(0, 1);
        list[1] = Macro(1, 4);
        list[2] = Macro(5, 4);
        list[3] = Macro(9, 1);
        list[4] = Macro(10, 1);
        list[5] = Macro(11, 1);
    }

    function slotShapes() internal pure returns (uint256[] memory shapes) {
        shapes = new uint256[](SLOTS);
        shapes[0] = DisputeTrees.shapeOf(F32, 3, 100);
        shapes[1] = DisputeTrees.shapeOf(F32, 3, 3);
        shapes[2] = DisputeTrees.shapeOf(F32, 1);
    }

    function leafShapes() internal pure returns (uint256[] memory shapes) {
        Primitive[] memory ops = primitives();
        shapes = new uint256[](LEAVES);
        shapes[0] = DisputeTrees.shapeOf(I32, 2, WINDOW_TOKENS + 1);
        shapes[1] = DisputeTrees.shapeOf(I32, 2);
        shapes[2] = DisputeTrees.shapeOf(I32, 5);
        Macro[] memory all = macros();
        for (uint256 i = 0; i < all.length; ++i) {
            shapes[INPUTS + i] = ops[all[i].first + all[i].count - 1].shape;
        }
    }

    function primitives() internal pure returns (Primitive[] memory ops) {
        ops = new Primitive[](PRIMITIVES);
        uint256 x = DisputeTrees.shapeOf(F32, 3, 100);
        uint256 rows = DisputeTrees.shapeOf(I32, 3, 1);
        uint256 one = DisputeTrees.shapeOf(F32, 1);
        ops[0] = _op(2, x, Operand(3, 0, x), Operand(3, 2, one));
        Operand memory leaf3 = Operand(2, 3, x);
        // Sums of rows.
        ops[1] = _op(65, rows, leaf3);
        uint256 q = DisputeTrees.shapeOf(I32, 3, 100);
        ops[2] = _op(67, q, leaf3, Operand(1, 0, rows));
        uint256 sums = DisputeTrees.shapeOf(I64, 3, 1);
        ops[3] = _op(69, sums, Operand(1, 1, q));
        uint256 column = DisputeTrees.shapeOf(F32, 3, 1);
        ops[4] = _op(71, column, Operand(1, 2, sums), Operand(1, 0, rows));
        // Products of rows.
        ops[5] = _op(65, rows, leaf3);
        uint256 half = DisputeTrees.shapeOf(I16, 3, 100);
        ops[6] = _op(68, half, leaf3, Operand(1, 0, rows));
        uint256 dots = DisputeTrees.shapeOf(I64, 3, 3, 1);
        ops[7] = _op(72, dots, Operand(1, 1, half), Operand(1, 1, half));
        ops[8] = _op(74, DisputeTrees.shapeOf(F32, 3, 3), Operand(1, 2, dots));
        ops[8].inputs = _three(ops[8].inputs[0], Operand(1, 0, rows), Operand(1, 0, rows));
        // Loss and gradient norm: elements 0 and 1 of the sums.
        ops[9] = _op(32, one, Operand(2, 4, column));
        ops[10] = _op(32, one, Operand(2, 4, column));
        ops[10].attributes[0] = 1;
        uint256 table = DisputeTrees.shapeOf(F32, 3, 3);
        uint256 batch = DisputeTrees.shapeOf(I32, 2, WINDOW_TOKENS + 1);
        ops[11] = _op(34, DisputeTrees.shapeOf(F32, 8, 3), Operand(3, 1, table));
        ops[11] = _op(34, ops[11].shape, ops[11].inputs[0], Operand(2, 0, batch));
    }

    // --- encodings ---

    function header() internal pure returns (bytes memory) {
        bytes memory counts = abi.encodePacked(
            uint32(1), uint32(INPUTS), uint32(LEAVES), uint32(PRIMITIVES), uint32(SLOTS), uint32(2)
        );
        bytes memory named = abi.encodePacked(uint32(LOSS), uint32(GRAD_NORM), type(uint32).max);
        bytes memory batch = abi.encodePacked(
            uint32(2), uint32(WINDOW_TOKENS), uint32(STRIDE), uint32(256), uint32(0)
        );
        batch = abi.encodePacked(batch, uint32(PARAMETERS), uint64(DELTA_BYTES));
        batch = abi.encodePacked(batch, OUTER_RATE, OUTER_MOMENTUM);
        return abi.encodePacked(
            counts,
            named,
            batch,
            _rootOf(gradientRecords(), "gym.gradient_leaf.v1"),
            _rootOf(leafRecords(), "gym.trace_leaf.v1"),
            _rootOf(primitiveRecords(), "gym.primitive.v1"),
            _rootOf(slotRecords(), "gym.state_slot.v1")
        );
    }

    function traceRoot() internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.trace_program.v1", header()));
    }

    function leafProof(uint256 i) internal pure returns (RecordProof memory) {
        return _proof(leafRecords(), "gym.trace_leaf.v1", i);
    }

    function primitiveProof(uint256 i) internal pure returns (RecordProof memory) {
        return _proof(primitiveRecords(), "gym.primitive.v1", i);
    }

    function slotProof(uint256 i) internal pure returns (RecordProof memory) {
        return _proof(slotRecords(), "gym.state_slot.v1", i);
    }

    function gradientProof(uint256 i) internal pure returns (RecordProof memory) {
        return _proof(gradientRecords(), "gym.gradient_leaf.v1", i);
    }

    function gradientLeaves() internal pure returns (uint32[2] memory) {
        return [uint32(3), 5];
    }

    function leafRecords() internal pure returns (bytes[] memory list) {
        list = new bytes[](LEAVES);
        uint256[] memory shapes = leafShapes();
        Macro[] memory all = macros();
        for (uint8 i = 0; i < LEAVES; ++i) {
            if (i < INPUTS) {
                list[i] = abi.encodePacked(i + 1, _shape(shapes[i]));
                continue;
            }
            Macro memory m = all[i - INPUTS];
            list[i] = abi.encodePacked(uint8(0), _shape(shapes[i]), m.first, m.count, m.count - 1);
        }
    }

    function primitiveRecords() internal pure returns (bytes[] memory list) {
        Primitive[] memory ops = primitives();
        list = new bytes[](ops.length);
        for (uint256 i = 0; i < list.length; ++i) {
            bytes memory data = abi.encodePacked(ops[i].opcode, _shape(ops[i].shape));
            for (uint256 k = 0; k < 8; ++k) {
                data = abi.encodePacked(data, ops[i].attributes[k]);
            }
            data = abi.encodePacked(data, uint8(ops[i].inputs.length));
            for (uint256 k = 0; k < ops[i].inputs.length; ++k) {
                Operand memory from = ops[i].inputs[k];
                data = abi.encodePacked(data, from.kind, from.index, _shape(from.shape));
            }
            list[i] = data;
        }
    }

    /// After a step: the elementwise op's output, the product, and what it was.
    function slotRecords() internal pure returns (bytes[] memory list) {
        list = new bytes[](SLOTS);
        uint256[] memory shapes = slotShapes();
        list[0] = abi.encodePacked(_shape(shapes[0]), uint8(2), uint32(3), uint64(16), uint32(0));
        list[1] = abi.encodePacked(_shape(shapes[1]), uint8(2), uint32(5), uint64(1216), uint32(1));
        list[2] = abi.encodePacked(_shape(shapes[2]), uint8(3), uint32(2), uint64(0), uint32(0));
    }

    function gradientRecords() internal pure returns (bytes[] memory list) {
        list = new bytes[](2);
        (list[0], list[1]) = (abi.encodePacked(uint32(3)), abi.encodePacked(uint32(5)));
    }

    function _shape(uint256 packed) private pure returns (bytes memory data) {
        data = abi.encodePacked(uint8(packed >> 168), uint8(packed >> 160));
        for (uint256 i = 0; i < uint8(packed >> 160); ++i) {
            data = abi.encodePacked(data, uint32(packed >> (32 * (4 - i))));
        }
    }

    function _digests(bytes[] memory records, string memory tag)
        private
        pure
        returns (bytes32[] memory list)
    {
        list = new bytes32[](records.length);
        for (uint256 i = 0; i < list.length; ++i) {
            list[i] = sha256(abi.encodePacked(tag, records[i]));
        }
    }

    function _rootOf(bytes[] memory records, string memory tag) private pure returns (bytes32) {
        return DisputeTrees.root(_digests(records, tag));
    }

    function _proof(bytes[] memory records, string memory tag, uint256 i)
        private
        pure
        returns (RecordProof memory)
    {
        bytes32[] memory path = DisputeTrees.path(_digests(records, tag), i);
        return RecordProof(uint32(i), records[i], path);
    }

    function _op(uint16 opcode, uint256 shape, Operand memory a)
        private
        pure
        returns (Primitive memory p)
    {
        (p.opcode, p.shape, p.inputs) = (opcode, shape, new Operand[](1));
        p.inputs[0] = a;
    }

    function _op(uint16 opcode, uint256 shape, Operand memory a, Operand memory b)
        private
        pure
        returns (Primitive memory p)
    {
        (p.opcode, p.shape, p.inputs) = (opcode, shape, new Operand[](2));
        (p.inputs[0], p.inputs[1]) = (a, b);
    }

    function _three(Operand memory a, Operand memory b, Operand memory c)
        private
        pure
        returns (Operand[] memory inputs)
    {
        inputs = new Operand[](3);
        (inputs[0], inputs[1], inputs[2]) = (a, b, c);
    }
}
