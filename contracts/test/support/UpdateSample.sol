// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Chunk, TensorProof} from "../../src/dispute/DisputeTypes.sol";
import {Float32} from "../../src/numerics/Float32.sol";
import {DenseModel} from "./DenseModel.sol";
import {DenseProgram, DenseSample} from "./DenseSample.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";

/// An aggregate with an update. `base`, `outer`: before the step; outer states have two momenta, two residuals and the update. `column`: of every
/// element of both parameters the values of the deltas, 12 bytes each.
struct UpdateRun {
    Tensor[] base;
    Tensor[] outer;
    Tensor[] baseAfter;
    Tensor[] outerAfter;
    bytes[2] column;
}

/// The program of DenseSample with an update, and an outer step over three deltas, written without the contracts' rows.
library UpdateSample {
    uint256 internal constant PARAMETERS = 2;
    uint256 internal constant UPDATE = 4;
    /// 0.5 and 0.75.
    uint256 internal constant RATE = 0x3F000000;
    uint256 internal constant MU = 0x3F400000;
    uint256 private constant THREE = 0x40400000;
    /// Rows of the first parameter below this one are of zeros.
    uint256 private constant FIRST_ROW = 27;

    function program() internal pure returns (DenseProgram memory p) {
        p = DenseSample.program();
        p.codec = hex"00010001";
    }

    function header() internal pure returns (bytes memory h) {
        h = DenseSample.header(program());
        for (uint256 i = 0; i < 4; ++i) {
            h[68 + i] = bytes1(uint8(RATE >> (8 * (3 - i))));
            h[72 + i] = bytes1(uint8(MU >> (8 * (3 - i))));
        }
    }

    function traceRoot() internal pure returns (bytes32) {
        return sha256(abi.encodePacked("gym.trace_program.v1", header()));
    }

    function elements(uint256 parameter) internal pure returns (uint256) {
        return parameter == 0 ? DenseSample.FIRST : DenseSample.SECOND;
    }

    function run() internal pure returns (UpdateRun memory r) {
        (r.base, r.baseAfter) = (_state(1), _state(1));
        (r.outer, r.outerAfter) = (_outer(true), _outer(false));
        for (uint256 p = 0; p < PARAMETERS; ++p) {
            r.column[p] = new bytes(12 * elements(p));
        }
        bytes[] memory rows = new bytes[](33);
        rows[0] = DenseModel.head(2);
        for (uint256 i = 1; i < rows.length; ++i) {
            bool second = i == 32;
            rows[i] = _row(r, second ? 1 : 0, second ? 0 : i - 1);
        }
        r.outerAfter[UPDATE].data = DenseModel.join(rows);
    }

    /// What the step makes of an element.
    function step(UpdateRun memory r, uint256 p, uint256 i) internal pure returns (uint256 u) {
        (, u) = _step(r, p, i);
    }

    /// A row of the update with its elements. @return row Its bytes. @return first Its first element. @return count Its elements.
    function rowOf(UpdateRun memory r, uint256 p, uint256 number)
        internal
        pure
        returns (bytes memory row, uint256 first, uint256 count)
    {
        (first, count) = (64 * number, elements(p) - 64 * number);
        if (count > 64) count = 64;
        row = new bytes(33);
        uint256 begin = beginOf(p, number);
        for (uint256 b = 0; b < 33; ++b) {
            row[b] = r.outerAfter[UPDATE].data[begin + b];
        }
    }

    /// Of a row in the update.
    function beginOf(uint256 p, uint256 number) internal pure returns (uint256) {
        uint256 row = p == 0 ? 1 + number : 32;
        return row / 31 * 1024 + row % 31 * 33;
    }

    /// The chunk of a tensor that has a byte; path up to the root of the list.
    function proof(Tensor[] memory list, uint256 k, uint256 offset)
        internal
        pure
        returns (TensorProof memory t)
    {
        bytes32[] memory leaves = DisputeTrees.chunkLeaves(list[k].data);
        t.chunks = new Chunk[](1);
        t.chunks[0].content = DisputeTrees.chunk(list[k].data, offset / 1024);
        t.chunks[0].path = DisputeTrees.path(leaves, offset / 1024);
        t.treeRoot = DisputeTrees.root(leaves);
        t.path = DisputeTrees.path(DisputeTrees.tensorRoots(list), k);
    }

    function _row(UpdateRun memory r, uint256 p, uint256 number)
        private
        pure
        returns (bytes memory row)
    {
        uint256 first = 64 * number;
        uint256 count = elements(p) - first < 64 ? elements(p) - first : 64;
        if (p == 0 && number < FIRST_ROW) return new bytes(33);
        uint256[] memory u = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 momentum;
            _fill(r, p, first + i);
            (momentum, u[i]) = _step(r, p, first + i);
            DenseSample.put(r.outerAfter[p].data, first + i, momentum);
        }
        row = DenseModel.encode(u);
        for (uint256 i = 0; i < count; ++i) {
            uint256 d = DenseModel.decode(row, i);
            uint256 base = DenseSample.get(r.base[p].data, first + i);
            DenseSample.put(r.outerAfter[2 + p].data, first + i, Float32.sub(u[i], d));
            DenseSample.put(r.baseAfter[p].data, first + i, Float32.add(base, d));
        }
    }

    function _step(UpdateRun memory r, uint256 p, uint256 i)
        private
        pure
        returns (uint256 momentum, uint256 u)
    {
        uint256 sum = Float32.add(
            Float32.add(
                DenseSample.get(r.column[p], 3 * i), DenseSample.get(r.column[p], 3 * i + 1)
            ),
            DenseSample.get(r.column[p], 3 * i + 2)
        );
        uint256 mean = Float32.div(sum, THREE);
        momentum = Float32.fma(DenseSample.get(r.outer[p].data, i), MU, mean);
        uint256 direction = Float32.fma(momentum, MU, mean);
        u = Float32.fma(direction, RATE, DenseSample.get(r.outer[2 + p].data, i));
    }

    /// Momentum, residual and values of an element; the values are few bits apart, so that any order of sums is exact.
    function _fill(UpdateRun memory r, uint256 p, uint256 i) private pure {
        uint256 word = uint256(keccak256(abi.encode("update", p, i)));
        for (uint256 k = 0; k < 3; ++k) {
            uint256 bits = 0x3A000000 | ((word >> (32 * k)) & 0x807F0000);
            DenseSample.put(r.column[p], 3 * i + k, bits);
        }
        DenseSample.put(r.outer[p].data, i, 0x3A000000 | ((word >> 96) & 0x807FFFFF));
        DenseSample.put(r.outer[2 + p].data, i, 0x38000000 | ((word >> 128) & 0x80FFFFFF));
    }

    /// Floats that are like the parameters.
    function _state(uint256 salt) private pure returns (Tensor[] memory list) {
        list = new Tensor[](PARAMETERS);
        for (uint256 p = 0; p < PARAMETERS; ++p) {
            uint256 count = elements(p);
            list[p] = Tensor(DisputeTrees.shapeOf(1, count), new bytes(4 * count));
            for (uint256 i = 0; i < count; ++i) {
                uint256 word = uint256(keccak256(abi.encode(salt, p, i)));
                DenseSample.put(list[p].data, i, 0x3D000000 | (word & 0x807FFFFF));
            }
        }
    }

    function _outer(bool before) private pure returns (Tensor[] memory list) {
        list = new Tensor[](UPDATE + 1);
        for (uint256 k = 0; k < UPDATE; ++k) {
            uint256 count = elements(k % 2);
            list[k] = Tensor(DisputeTrees.shapeOf(1, count), new bytes(4 * count));
        }
        bytes memory rows = before ? new bytes(DenseSample.BYTES) : new bytes(0);
        list[UPDATE] = Tensor(DisputeTrees.shapeOf(5, DenseSample.BYTES), rows);
    }
}
