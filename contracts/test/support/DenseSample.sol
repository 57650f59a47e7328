// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {RecordProof} from "../../src/dispute/DisputeTypes.sol";
import {Float32} from "../../src/numerics/Float32.sol";
import {DenseModel} from "./DenseModel.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// A trace program that has nothing but a state: two parameters and a tensor that is none. `codec`: what its header has behind 204 bytes.
struct DenseProgram {
    uint32[2] elements;
    uint64[2] offsets;
    uint64 deltaBytes;
    bytes codec;
}

/// A program of codec 1 and a unit of it, of two states and the delta between them.
library DenseSample {
    uint256 internal constant U8 = 5;
    uint256 internal constant SLOTS = 3;
    uint32 internal constant PARAMETERS = 2;
    /// 31 rows, of which the last one has five elements and lies in the second chunk; and one row of nine.
    uint32 internal constant FIRST = 30 * 64 + 5;
    uint32 internal constant SECOND = 9;
    uint64 internal constant BYTES = 1024 + 33 + 33;

    function program() internal pure returns (DenseProgram memory p) {
        p.elements = [FIRST, SECOND];
        p.offsets = [uint64(33), 1057];
        (p.deltaBytes, p.codec) = (BYTES, hex"00000001");
    }

    // --- records ---

    function header(DenseProgram memory p) internal pure returns (bytes memory) {
        bytes memory counts =
            abi.encodePacked(uint32(1), uint32(0), uint32(0), uint32(0), uint32(SLOTS), uint32(0));
        bytes memory none =
            abi.encodePacked(type(uint32).max, type(uint32).max, type(uint32).max, new bytes(20));
        bytes memory delta = abi.encodePacked(PARAMETERS, p.deltaBytes, uint64(0));
        bytes32 slots = DisputeTrees.root(_digests(p));
        return abi.encodePacked(counts, none, delta, new bytes(96), slots, p.codec);
    }

    function traceRoot(DenseProgram memory p) internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.trace_program.v1", header(p)));
    }

    function slotProof(DenseProgram memory p, uint256 i)
        internal
        pure
        returns (RecordProof memory proof)
    {
        (proof.index, proof.data) = (uint32(i), _records(p)[i]);
        proof.path = DisputeTrees.path(_digests(p), i);
    }

    function _records(DenseProgram memory p) private pure returns (bytes[] memory list) {
        list = new bytes[](SLOTS);
        for (uint32 k = 0; k < PARAMETERS; ++k) {
            bytes memory shape = abi.encodePacked(uint8(1), uint8(1), p.elements[k]);
            list[k] = abi.encodePacked(shape, uint8(3), k, p.offsets[k], k);
        }
        list[2] = abi.encodePacked(
            uint8(1), uint8(1), uint32(1), uint8(3), uint32(2), uint64(0), uint32(0)
        );
    }

    function _digests(DenseProgram memory p) private pure returns (bytes32[] memory list) {
        bytes[] memory records = _records(p);
        list = new bytes32[](records.length);
        for (uint256 i = 0; i < list.length; ++i) {
            list[i] = sha256(abi.encodePacked("gym.state_slot.v1", records[i]));
        }
    }

    // --- states and delta ---

    /// Numbers of another exponent in each row. The third row of the first parameter does not change, the fourth one has special numbers.
    function states() internal pure returns (Tensor[] memory begin, Tensor[] memory end) {
        (begin, end) = (new Tensor[](SLOTS), new Tensor[](SLOTS));
        uint256[3] memory counts = [uint256(FIRST), SECOND, 1];
        uint256[4] memory special = [uint256(0x7F800000), 0x7FC00000, 0xFF7FFFFF, 0x00400001];
        for (uint256 s = 0; s < SLOTS; ++s) {
            uint256 shape = DisputeTrees.shapeOf(1, counts[s]);
            begin[s] = Tensor(shape, new bytes(4 * counts[s]));
            end[s] = Tensor(shape, new bytes(4 * counts[s]));
            for (uint256 i = 0; i < counts[s]; ++i) {
                uint256 word = uint256(keccak256(abi.encode(s, i)));
                uint256 exponent = 3 + 8 * (i / 64) + (word >> 64) % 4;
                uint256 a = (word & 0x807FFFFF) | (exponent << 23);
                uint256 b = ((word >> 128) & 0x807FFFFF) | (exponent << 23);
                if (s == 0 && i / 64 == 2) b = a;
                if (s == 0 && i / 64 == 3) b = special[i % 4];
                put(begin[s].data, i, a);
                put(end[s].data, i, b);
            }
        }
    }

    function deltaOf(Tensor[] memory begin, Tensor[] memory end)
        internal
        pure
        returns (bytes memory)
    {
        uint256 firsts = (uint256(FIRST) + 63) / 64;
        bytes[] memory rows = new bytes[](1 + firsts + 1);
        rows[0] = DenseModel.head(PARAMETERS);
        for (uint256 r = 1; r < rows.length; ++r) {
            uint256 s = r > firsts ? 1 : 0;
            uint256 first = s == 1 ? 0 : 64 * (r - 1);
            uint256 count = (s == 1 ? SECOND : FIRST) - first;
            uint256[] memory x = new uint256[](count < 64 ? count : 64);
            for (uint256 i = 0; i < x.length; ++i) {
                x[i] = Float32.sub(get(end[s].data, first + i), get(begin[s].data, first + i));
            }
            rows[r] = DenseModel.encode(x);
        }
        return DenseModel.join(rows);
    }

    /// Where a byte's row has its elements. @return has Whether it is of a parameter.
    function place(uint256 offset)
        internal
        pure
        returns (bool has, uint256 slot, uint256 first, uint256 count)
    {
        if (offset < 33 || offset == 1023) return (false, 0, 0, 0);
        if (offset >= 1057) return (true, 1, 0, SECOND);
        if (offset >= 1024) return (true, 0, 30 * 64, 5);
        return (true, 0, 64 * (offset / 33 - 1), 64);
    }

    function put(bytes memory data, uint256 i, uint256 bits) internal pure {
        for (uint256 b = 0; b < 4; ++b) {
            data[4 * i + b] = bytes1(uint8(bits >> (8 * b)));
        }
    }

    function get(bytes memory data, uint256 i) internal pure returns (uint256 bits) {
        for (uint256 b = 4; b > 0; --b) {
            bits = (bits << 8) | uint8(data[4 * i + b - 1]);
        }
    }
}
