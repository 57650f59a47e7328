// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Float32} from "./Float32.sol";

// Levels are below 2^4; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

/// @title A row of codec 1: 64 elements in a scale s and 64 levels k of 4 bits
/// @notice docs/PROTOCOL.md, "Rows of codec 1": an element is k * 2^(s - 127). Byte for byte kernels/include/gym/kernels/dense_row.h.
/// Elements are bits of f32.
library DenseRow {
    uint256 internal constant ELEMENTS = 64;
    /// @notice The scale, then two levels a byte, the first one in the lower half.
    uint256 internal constant BYTES = 33;
    uint256 private constant SCALE_MAX = 252;
    uint256 private constant LEVEL_MAX = 7;
    /// @dev Half of the unit 2^-126 that the smallest scale has: what is not larger rounds to level 0.
    uint256 private constant HALF_OF_LEAST = 0x00400000;
    /// @dev From a fraction of 7/8 on (0x700000), the sum carries into the exponent.
    uint256 private constant CARRY = 0x00100000;
    uint256 private constant MAGNITUDE = 0x7FFFFFFF;
    /// @dev 7.0.
    uint256 private constant SEVEN = 0x40E00000;
    /// @dev Not a level: -8 in two's complement.
    uint256 private constant NO_LEVEL = 8;

    /// @notice One byte of the row. @param x ELEMENTS of them, 0 behind the parameter's last one. @param place Below BYTES.
    function encoded(uint256[] memory x, uint256 place) internal pure returns (uint256) {
        uint256 s = scale(x);
        if (place == 0 || s == 0) return s;
        uint256 first = 2 * (place - 1);
        return _level(x[first], s) | (_level(x[first + 1], s) << 4);
    }

    /// @notice The smallest s with all magnitudes below 7.5 * 2^(s - 127), held to 1 to SCALE_MAX; 0 where all levels are 0.
    function scale(uint256[] memory x) internal pure returns (uint256) {
        uint256 largest = 0;
        for (uint256 i = 0; i < x.length; ++i) {
            uint256 bits = _magnitude(x[i]);
            if (bits > largest) largest = bits;
        }
        if (largest <= HALF_OF_LEAST) return 0;
        uint256 exponent = (largest + CARRY) >> 23;
        if (exponent <= 2) return 1;
        return exponent - 2 < SCALE_MAX ? exponent - 2 : SCALE_MAX;
    }

    /// @notice Element `i` of a row of any BYTES bytes; +0 where no encoder writes such a scale or level.
    function element(bytes memory row, uint256 i) internal pure returns (uint256) {
        uint256 s = uint8(row[0]);
        uint256 k = (uint256(uint8(row[1 + i / 2])) >> (4 * (i % 2))) % 16;
        if (s == 0 || s > SCALE_MAX || k == 0 || k == NO_LEVEL) return 0;
        // k * 2^(s - 127), as round() wants it.
        int256 exponent = int256(s) + 23;
        return k < NO_LEVEL
            ? Float32.round(0, k, exponent)
            : Float32.round(Float32.SIGN, 16 - k, exponent);
    }

    /// @dev rint(x * 2^(127 - s)), held to -7 to 7, as four bits; 0 for NaN. `s` is 1 to SCALE_MAX.
    function _level(uint256 x, uint256 s) private pure returns (uint256) {
        // Exact, but where the product is subnormal, and then it rounds to 0 as well.
        uint256 scaled = Float32.scale2(_magnitude(x), 127 - int256(s));
        uint256 k = scaled < SEVEN ? uint256(Float32.toInt32(scaled)) : LEVEL_MAX;
        return x & Float32.SIGN == 0 ? k : (16 - k) % 16;
    }

    /// @dev Bits without the sign, which compare as the magnitudes do; 0 for NaN.
    function _magnitude(uint256 x) private pure returns (uint256) {
        return Float32.isNaN(x) ? 0 : x & MAGNITUDE;
    }
}
