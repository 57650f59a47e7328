// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Blocks} from "./Blocks.sol";
import {ExactParts} from "./ExactParts.sol";
import {Float32} from "./Float32.sol";

/// @title One element of an aggregate
/// @notice The program of src/program/derived_programs.cpp's aggregate_program(): the exact mean of the deltas, then a step with
/// Nesterov momentum. All numbers are bits of f32.
library OuterStep {
    /// @notice Deltas at most: a block of an exact sum.
    uint256 internal constant DELTAS_MAX = 1024;
    uint256 private constant FLOAT_BYTES = 4;
    int256 private constant SUM_BITS = 30;
    /// @dev Of the exponent of an f32: added to the bits of a number that is neither subnormal nor near infinity it doubles the number.
    uint256 private constant ONE_MORE = 0x00800000;

    /// @notice exact_sum of the values, divided by their number; where some are held, but not all, each other one counts twice, in sum and
    /// number. @param values 1 to DELTAS_MAX little-endian f32. @param held How many, the last ones, are held; not above their number.
    function mean(bytes calldata values, uint256 held) internal pure returns (uint256) {
        uint256 count = values.length / FLOAT_BYTES;
        uint256 twice = held == 0 ? 0 : count - held;
        int256 exponent = ExactParts.rowExponent(_largest(values, twice));
        if (exponent == ExactParts.POISONED) return Float32.NAN;
        int256 total = Blocks.quantisedSum(values[:FLOAT_BYTES * twice], exponent - 1)
            + Blocks.quantisedSum(values[FLOAT_BYTES * twice:], exponent);
        uint256 sum = ExactParts.finish(total, exponent - SUM_BITS);
        // Not above 2 * DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        return Float32.div(sum, Float32.fromInt64(int256(count + twice)));
    }

    /// @notice The momentum after the step. @param before The momentum. @param mu The train program's constant.
    function momentum(uint256 before, uint256 mu, uint256 mean_) internal pure returns (uint256) {
        return Float32.fma(before, mu, mean_);
    }

    /// @notice The parameter after the step. @param before The parameter. @param rate The train program's constant.
    /// @param momentumAfter momentum().
    function parameter(
        uint256 before,
        uint256 rate,
        uint256 mu,
        uint256 momentumAfter,
        uint256 mean_
    ) internal pure returns (uint256) {
        return Float32.fma(Float32.fma(momentumAfter, mu, mean_), rate, before);
    }

    /// @dev Bits of the largest magnitude where the first `twice` values are doubled; those of subnormals, as small, have any exponent
    /// that is far below ExactParts.rowExponent()'s least.
    function _largest(bytes calldata values, uint256 twice) private pure returns (uint256) {
        uint256 single = Blocks.largestMagnitude(values[FLOAT_BYTES * twice:]);
        if (twice == 0) return single;
        uint256 doubled = Blocks.largestMagnitude(values[:FLOAT_BYTES * twice]) + ONE_MORE;
        return doubled > single ? doubled : single;
    }
}
