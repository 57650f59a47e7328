// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {DenseRow} from "../numerics/DenseRow.sol";
import {TensorProof} from "./DisputeTypes.sol";
import {MerkleSha256} from "./MerkleSha256.sol";
import {Operands, Span} from "./Operands.sol";

/// @title Where the rows of a delta of codec 1 lie
/// @notice src/codec/include/gym/codec/row_layout.hpp: 31 in a chunk, whose last byte is 0, so that no row lies in two chunks. Row 0 is
/// the head.
library DeltaRows {
    uint256 private constant IN_CHUNK = 31;

    /// @notice The first byte of a row; of the number of all rows: the delta's bytes.
    function beginOf(uint256 row) internal pure returns (uint256) {
        return row / IN_CHUNK * MerkleSha256.CHUNK_BYTES + row % IN_CHUNK * DenseRow.BYTES;
    }

    /// @notice The row that a byte lies in; the byte is not padding.
    function rowOf(uint256 offset) internal pure returns (uint256) {
        return offset / MerkleSha256.CHUNK_BYTES * IN_CHUNK + offset % MerkleSha256.CHUNK_BYTES
            / DenseRow.BYTES;
    }

    /// @notice Whether a byte is the last one of a chunk, which no row has.
    function isPadding(uint256 offset) internal pure returns (bool) {
        return offset % MerkleSha256.CHUNK_BYTES == IN_CHUNK * DenseRow.BYTES;
    }

    /// @notice The chunk that a row lies in, and its place among the rows of that.
    function placeOf(uint256 row) internal pure returns (uint256 chunk, uint256 place) {
        return (row / IN_CHUNK, row % IN_CHUNK);
    }

    /// @notice Element `index` of the parameter whose rows begin at `begin`, out of its row: whatever bytes that has, for nobody has
    /// checked them. @param total Bytes of the delta. @param delta The chunk that has the row.
    function element(uint256 total, uint256 begin, uint256 index, TensorProof calldata delta)
        internal
        view
        returns (uint256)
    {
        uint256 row = rowOf(begin) + index / DenseRow.ELEMENTS;
        Span memory span = Span(0, total, beginOf(row), DenseRow.BYTES);
        if (span.begin + DenseRow.BYTES > total) revert Operands.ElementOutside(index);
        return DenseRow.element(Operands.range(delta, span), index % DenseRow.ELEMENTS);
    }

    /// @notice Of a parameter. @param elements Its number of elements.
    function count(uint256 elements) internal pure returns (uint256) {
        return (elements + DenseRow.ELEMENTS - 1) / DenseRow.ELEMENTS;
    }
}
