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

    /// @param values 1 to 1,024 little-endian f32. @param held How many, the last ones, are held.
    function mean(bytes calldata values, uint256 held) internal pure returns (uint256) {
        uint256 count = values.length / FLOAT_BYTES;
        uint256 twice = held == 0 ? 0 : count - held;
        int256 exponent = ExactParts.rowExponent(_largest(values, count, twice));
        if (exponent == ExactParts.POISONED) return Float32.NAN;
        int256 total = 0;
        for (uint256 i = 0; i < count; ++i) {
            int256 shift = i < twice ? exponent - 1 : exponent;
            uint256 x = LittleEndian.element(values, i, FLOAT_BYTES);
            total += ExactParts.quantise(x, shift, SUM_BITS);
        }
        uint256 sum = ExactParts.finish(total, exponent - SUM_BITS);
        return Float32.div(sum, Float32.fromInt64(int256(count + twice)));
    }

    /// Largest magnitude where the first `twice` values are doubled.
    function _largest(bytes calldata values, uint256 count, uint256 twice)
        private
        pure
        returns (uint256 largest)
    {
        for (uint256 i = 0; i < count; ++i) {
            uint256 x = Float32.abs(LittleEndian.element(values, i, FLOAT_BYTES));
            if (i < twice) x = Float32.scale2(x, 1);
            if (x > largest) largest = x;
        }
    }
}
