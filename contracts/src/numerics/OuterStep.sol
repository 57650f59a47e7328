// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Blocks} from "./Blocks.sol";
import {ExactParts} from "./ExactParts.sol";
import {Float32} from "./Float32.sol";
import {LittleEndian} from "./LittleEndian.sol";

/// @title One element of an aggregate
/// @notice The program of src/program/derived_programs.cpp's aggregate_program(): the exact mean of the deltas, then a step with
/// Nesterov momentum. All numbers are bits of f32.
library OuterStep {
    /// @notice Deltas at most: a block of an exact sum.
    uint256 internal constant DELTAS_MAX = 1024;
    uint256 private constant FLOAT_BYTES = 4;
    int256 private constant SUM_BITS = 30;

    /// @notice exact_sum of the values, divided by their number. @param values 1 to DELTAS_MAX little-endian f32.
    function mean(bytes calldata values) internal pure returns (uint256) {
        uint256 count = values.length / FLOAT_BYTES;
        int256 exponent = ExactParts.rowExponent(Blocks.largestMagnitude(values));
        int256 total = 0;
        for (uint256 i = 0; i < count; ++i) {
            uint256 x = LittleEndian.element(values, i, FLOAT_BYTES);
            total += ExactParts.quantise(x, exponent, SUM_BITS);
        }
        bool poisoned = exponent == ExactParts.POISONED;
        uint256 sum = poisoned ? Float32.NAN : ExactParts.finish(total, exponent - SUM_BITS);
        // Not above DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        return Float32.div(sum, Float32.fromInt64(int256(count)));
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
}
