// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Blocks} from "./Blocks.sol";
import {ExactParts} from "./ExactParts.sol";
import {Float32} from "./Float32.sol";

/// @notice What the deltas of an aggregate count, by the order in which they are listed: those of the round itself 2, held ones 1,
/// withdrawn ones -2, withdrawn ones that were held when they went in -1. `packed` is the number of held ones, 2^16 times that of all
/// withdrawn ones, and 2^24 times that of those among them that were held.
/// @param timely Of the round itself. @param twice So many of them count 2: all, or none where nothing is withdrawn and all deltas are of one
/// group. @param added Timely and held ones. @param single The first of the withdrawn ones that were held.
struct DeltaGroups {
    uint256 timely;
    uint256 twice;
    uint256 added;
    uint256 single;
}

/// @title One element of an aggregate
/// @notice The program of src/program/derived_programs.cpp's aggregate_program(): the exact mean of the deltas, then a step with
/// Nesterov momentum. All numbers are bits of f32.
library OuterStep {
    /// @notice Deltas at most.
    uint256 internal constant DELTAS_MAX = 8192;
    /// @notice Values that are posted at once: a block of an exact sum. Of more, what each part adds is posted first.
    uint256 internal constant PART = 1024;
    /// @notice Of what a part adds: its exponent plus EXPONENT_BIAS, then its sum, as an i64.
    uint256 internal constant PART_BYTES = 9;
    uint256 internal constant EXPONENT_BIAS = 100;
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
        if (packed != 0) g.twice = g.timely;
    }

    /// @notice Parts of a column of so many values: none where all are posted at once.
    function parts(uint256 count) internal pure returns (uint256) {
        return count > PART ? (count + PART - 1) / PART : 0;
    }

    /// @notice exact_sum of the values, times what each counts, divided by what those that are added count together. Where nothing is
    /// withdrawn and all are of one group, each counts 1.
    /// @param posted Up to PART little-endian f32, or what each part of more adds. @param count Values, 1 to DELTAS_MAX.
    /// @param packed Legal groups of so many.
    function mean(bytes calldata posted, uint256 count, uint256 packed)
        internal
        pure
        returns (uint256)
    {
        (DeltaGroups memory g,) = groups(count, packed);
        int256 exponent = count > PART ? largestExponent(posted) : partExponent(posted, 0, g);
        if (exponent >= ExactParts.POISONED) return Float32.NAN;
        int256 total = count > PART ? _sumOfParts(posted) : partSum(posted, 0, g, exponent);
        uint256 sum = ExactParts.finish(total, exponent - SUM_BITS);
        // Not above 2 * DELTAS_MAX.
        // forge-lint: disable-next-line(unsafe-typecast)
        return Float32.div(sum, Float32.fromInt64(int256(g.added + g.twice)));
    }

    /// @notice The exponent of an exact sum, from what each of its parts adds: the largest of theirs.
    function largestExponent(bytes calldata added) internal pure returns (int256) {
        uint256 largest = 0;
        for (uint256 i = 0; i < added.length; i += PART_BYTES) {
            uint256 biased = uint8(added[i]);
            if (biased > largest) largest = biased;
        }
        // A byte.
        // forge-lint: disable-next-line(unsafe-typecast)
        return int256(largest) - int256(EXPONENT_BIAS);
    }

    /// @notice The exponent of a part alone. @param values Of the part. @param first Of them among all.
    function partExponent(bytes calldata values, uint256 first, DeltaGroups memory g)
        internal
        pure
        returns (int256)
    {
        uint256 added = _within(values, first, g.added);
        uint256 largest = _largest(values[:added], _within(values, first, g.twice));
        if (added != values.length) {
            uint256 other = _largest(values[added:], _within(values, first, g.single) - added);
            if (other > largest) largest = other;
        }
        return ExactParts.rowExponent(largest);
    }

    /// @notice What a part adds, in units of 2^(exponent - 30); 0 to a sum of what is not finite. @param exponent Of all values, hence not
    /// below that of the part.
    function partSum(bytes calldata values, uint256 first, DeltaGroups memory g, int256 exponent)
        internal
        pure
        returns (int256)
    {
        if (exponent >= ExactParts.POISONED) return 0;
        uint256 added = _within(values, first, g.added);
        uint256 single = _within(values, first, g.single);
        return _total(values[:added], _within(values, first, g.twice), exponent)
            - _total(values[added:], single - added, exponent);
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

    /// @dev Of all parts together, modulo 2^64.
    function _sumOfParts(bytes calldata added) private pure returns (int256) {
        int256 total = 0;
        for (uint256 i = 0; i < added.length; i += PART_BYTES) {
            // Eight bytes.
            // forge-lint: disable-next-line(unsafe-typecast)
            total += int64(uint64(bytes8(added[i + 1:i + PART_BYTES])));
        }
        // forge-lint: disable-next-line(unsafe-typecast)
        return int64(total);
    }

    /// @dev Bytes of a part before value number `end` of all.
    function _within(bytes calldata values, uint256 first, uint256 end)
        private
        pure
        returns (uint256)
    {
        if (end <= first) return 0;
        uint256 size = FLOAT_BYTES * (end - first);
        return size < values.length ? size : values.length;
    }

    /// @dev Sum of the values in units of 2^(exponent - SUM_BITS), where the first `twice` bytes of them are doubled.
    function _total(bytes calldata values, uint256 twice, int256 exponent)
        private
        pure
        returns (int256)
    {
        return Blocks.quantisedSum(values[:twice], exponent - 1)
            + Blocks.quantisedSum(values[twice:], exponent);
    }

    /// @dev Bits of the largest magnitude where the first `twice` bytes of them are doubled; those of subnormals, as small, have any exponent
    /// that is far below ExactParts.rowExponent()'s least.
    function _largest(bytes calldata values, uint256 twice) private pure returns (uint256) {
        uint256 single = Blocks.largestMagnitude(values[twice:]);
        if (twice == 0) return single;
        uint256 doubled = Blocks.largestMagnitude(values[:twice]) + ONE_MORE;
        return doubled > single ? doubled : single;
    }
}
