// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {ExactParts} from "../../src/numerics/ExactParts.sol";
import {Float32} from "../../src/numerics/Float32.sol";
import {LittleEndian} from "../../src/numerics/LittleEndian.sol";

/// The mean of deltas value by value, by the scalar steps that primitives are made of: what
/// OuterStep.mean() computes a word at a time.
library PlainMean {
    uint256 private constant FLOAT_BYTES = 4;
    int256 private constant SUM_BITS = 30;
    uint256 private constant PART = 1024;
    int256 private constant BIAS = 100;

    /// @param values At least one little-endian f32. @param packed What they count (DeltaGroups).
    function mean(bytes calldata values, uint256 packed) internal pure returns (uint256) {
        uint256 count = values.length / FLOAT_BYTES;
        int256 exponent = ExactParts.rowExponent(_largest(values, count, packed));
        if (exponent == ExactParts.POISONED) return Float32.NAN;
        int256 total = 0;
        int256 shares = 0;
        for (uint256 i = 0; i < count; ++i) {
            int256 weight = weightOf(i, count, packed);
            int256 shift = _isTwice(weight) ? exponent - 1 : exponent;
            uint256 x = LittleEndian.element(values, i, FLOAT_BYTES);
            int256 part = ExactParts.quantise(x, shift, SUM_BITS);
            total += weight < 0 ? -part : part;
            if (weight > 0) shares += weight;
        }
        uint256 sum = ExactParts.finish(total, exponent - SUM_BITS);
        return Float32.div(sum, Float32.fromInt64(shares));
    }

    /// What each 1,024 of the values add, as it is posted (ColumnParts).
    function postedParts(bytes memory values, uint256 packed)
        internal
        pure
        returns (bytes memory all)
    {
        uint256 count = values.length / FLOAT_BYTES;
        int256 exponent = _exponent(values, 0, count, packed);
        for (uint256 first = 0; first < count; first += PART) {
            uint256 end = first + PART < count ? first + PART : count;
            int256 own = _exponent(values, first, end, packed);
            int256 total = 0;
            for (uint256 i = first; i < end && exponent != ExactParts.POISONED; ++i) {
                int256 weight = weightOf(i, count, packed);
                int256 shift = _isTwice(weight) ? exponent - 1 : exponent;
                int256 term = ExactParts.quantise(LittleEndian.word(values, i), shift, SUM_BITS);
                total += weight < 0 ? -term : term;
            }
            all =
                bytes.concat(all, bytes1(uint8(uint256(own + BIAS))), bytes8(uint64(int64(total))));
        }
    }

    function _exponent(bytes memory values, uint256 first, uint256 end, uint256 packed)
        private
        pure
        returns (int256)
    {
        uint256 largest = 0;
        for (uint256 i = first; i < end; ++i) {
            uint256 x = Float32.abs(LittleEndian.word(values, i));
            if (_isTwice(weightOf(i, values.length / FLOAT_BYTES, packed))) {
                x = Float32.scale2(x, 1);
            }
            if (x > largest) largest = x;
        }
        return ExactParts.rowExponent(largest);
    }

    /// What delta `i` of `count` counts: 2, 1, -2, -1, or 1 where all count alike.
    function weightOf(uint256 i, uint256 count, uint256 packed) internal pure returns (int256) {
        uint256 added = count - ((packed >> 16) & 0xFF);
        if (i >= added) return i + (packed >> 24) >= count ? -1 : -2;
        if (packed == 0) return 1;
        return i + (packed & 0xFFFF) >= added ? int256(1) : int256(2);
    }

    function _isTwice(int256 weight) private pure returns (bool) {
        return weight == 2 || weight == -2;
    }

    /// Largest magnitude, times what it counts.
    function _largest(bytes calldata values, uint256 count, uint256 packed)
        private
        pure
        returns (uint256 largest)
    {
        for (uint256 i = 0; i < count; ++i) {
            uint256 x = Float32.abs(LittleEndian.element(values, i, FLOAT_BYTES));
            if (_isTwice(weightOf(i, count, packed))) x = Float32.scale2(x, 1);
            if (x > largest) largest = x;
        }
    }
}
