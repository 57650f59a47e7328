// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Blocks} from "./Blocks.sol";
import {ExactParts} from "./ExactParts.sol";
import {Float32} from "./Float32.sol";

/// @notice What the deltas of an aggregate count, by the order in which they are listed: those of the round itself 2, held ones 1,
/// withdrawn ones -2, withdrawn ones that were held when they went in -1. `packed` is the number of held ones, 2^16 times that of all
/// withdrawn ones, and 2^24 times that of those among them that were held.
/// @param timely Of the round itself. @param added Those and the held ones. @param single The first of the withdrawn ones that were held.
struct DeltaGroups {
    uint256 timely;
    uint256 added;
    uint256 single;
}

/// @title One element of an aggregate
/// @notice The program of src/program/derived_programs.cpp's aggregate_program(): the exact mean of the deltas, then a step with
/// Nesterov momentum. All numbers are bits of f32.
library OuterStep {
    /// @notice Deltas at most: a block of an exact sum.
    uint256 internal constant DELTAS_MAX = 1024;
    /// @notice Withdrawn ones among them, at most.
    uint256 internal constant WITHDRAWN_MAX = 16;
    uint256 private constant FLOAT_BYTES = 4;
    int256 private constant SUM_BITS = 30;
    /// @dev Of the exponent of an f32: added to the bits of a number that is neither subnormal nor near infinity it doubles the number.
    uint256 private constant ONE_MORE = 0x00800000;

    /// @notice The groups of so many deltas, and whether there can be such. @param packed See DeltaGroups.
    function groups(uint256 count, uint256 packed)
        internal
        pure
        returns (DeltaGroups memory g, bool legal)
    {
        uint256 held = packed & 0xFFFF;
        uint256 withdrawn = (packed >> 16) & 0xFF;
        uint256 single = packed >> 24;
        legal = single <= withdrawn && withdrawn <= WITHDRAWN_MAX && withdrawn < count
            && held <= count - withdrawn && count <= DELTAS_MAX;
        if (!legal) return (g, legal);
        g.added = count - withdrawn;
        (g.timely, g.single) = (g.added - held, count - single);
    }

    /// @notice exact_sum of the values, times what each counts, divided by what those that are added count together. Where nothing is
    /// withdrawn and all are of one group, each counts 1.
    /// @param values 1 to DELTAS_MAX little-endian f32. @param packed Legal groups of so many.
    function mean(bytes calldata values, uint256 packed) internal pure returns (uint256) {
        uint256 count = values.length / FLOAT_BYTES;
        (DeltaGroups memory g,) = groups(count, packed);
        uint256 twice = packed == 0 ? 0 : g.timely;
        bytes calldata added = values[:FLOAT_BYTES * g.added];
        bytes calldata withdrawn = values[FLOAT_BYTES * g.added:];
        uint256 withdrawnTwice = g.single - g.added;
        uint256 largest = _largest(added, twice);
        if (withdrawn.length != 0) {
            uint256 other = _largest(withdrawn, withdrawnTwice);
            if (other > largest) largest = other;
        }
        int256 exponent = ExactParts.rowExponent(largest);
        if (exponent == ExactParts.POISONED) return Float32.NAN;
        int256 total = _total(added, twice, exponent) - _total(withdrawn, withdrawnTwice, exponent);
        uint256 sum = ExactParts.finish(total, exponent - SUM_BITS);
        // Not above 2 * DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        return Float32.div(sum, Float32.fromInt64(int256(g.added + twice)));
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

    /// @dev Sum of the values in units of 2^(exponent - SUM_BITS), where the first `twice` are doubled.
    function _total(bytes calldata values, uint256 twice, int256 exponent)
        private
        pure
        returns (int256)
    {
        return Blocks.quantisedSum(values[:FLOAT_BYTES * twice], exponent - 1)
            + Blocks.quantisedSum(values[FLOAT_BYTES * twice:], exponent);
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
