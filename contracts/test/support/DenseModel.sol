// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// Rows of codec 1 by comparisons of exact integers, written independently of src/numerics/DenseRow.sol: no rounding, no tricks with bits.
library DenseModel {
    uint256 internal constant ROW = 33;
    uint256 private constant INF = 0x7F800000;

    /// @param x Up to 64 elements, as bits.
    function encode(uint256[] memory x) internal pure returns (bytes memory row) {
        row = new bytes(ROW);
        uint256 largest = 0;
        for (uint256 i = 0; i < x.length; ++i) {
            uint256 m = x[i] & 0x7FFFFFFF;
            if (m <= INF && m > largest) largest = m;
        }
        uint256 s = 1;
        while (s < 252 && !_isBelow(largest, 15, s)) ++s;
        bool any = false;
        for (uint256 i = 0; i < x.length; ++i) {
            uint256 k = _level(x[i] & 0x7FFFFFFF, s);
            any = any || k != 0;
            if (x[i] >> 31 == 1 && k != 0) k = 16 - k;
            row[1 + i / 2] |= bytes1(uint8(i % 2 == 0 ? k : 16 * k));
        }
        if (any) row[0] = bytes1(uint8(s));
    }

    /// The bits of element `i` of any 33 bytes.
    function decode(bytes memory row, uint256 i) internal pure returns (uint256) {
        uint256 s = uint8(row[0]);
        uint256 k = i % 2 == 0 ? uint8(row[1 + i / 2]) & 15 : uint8(row[1 + i / 2]) / 16;
        if (s < 1 || s > 252 || k == 8 || k == 0) return 0;
        uint256 sign = k > 8 ? 2 ** 31 : 0;
        if (k > 8) k = 16 - k;
        // The leading bit is not written.
        uint256 bit = k >= 4 ? 2 : k >= 2 ? 1 : 0;
        return sign + (s + bit) * 2 ** 23 + (k - 2 ** bit) * 2 ** (23 - bit);
    }

    /// The bytes of a delta of these rows, of which the first is the head.
    function join(bytes[] memory rows) internal pure returns (bytes memory delta) {
        for (uint256 r = 0; r < rows.length; ++r) {
            delta = abi.encodePacked(delta, rows[r]);
            if (r % 31 == 30) delta = abi.encodePacked(delta, uint8(0));
        }
    }

    function head(uint32 parameters) internal pure returns (bytes memory) {
        return abi.encodePacked("GYMDLTA1", uint32(1), parameters, new bytes(17));
    }

    /// Levels below it, 0 to 6, that |x| is nearer to the next of, or as near and the next one is even.
    function _level(uint256 m, uint256 s) private pure returns (uint256 k) {
        if (m > INF) return 0;
        while (k < 7) {
            bool above = !_isBelow(m, 2 * k + 1, s);
            bool tie = above && _isAtMost(m, 2 * k + 1, s);
            if (!above || (tie && k % 2 == 0)) break;
            ++k;
        }
    }

    /// |x| < halves / 2 * 2^(s - 127).
    function _isBelow(uint256 m, uint256 halves, uint256 s) private pure returns (bool) {
        if (m == INF) return false;
        (uint256 left, uint256 right) = _both(m, halves, s);
        return left < right;
    }

    function _isAtMost(uint256 m, uint256 halves, uint256 s) private pure returns (bool) {
        if (m == INF) return false;
        (uint256 left, uint256 right) = _both(m, halves, s);
        return left <= right;
    }

    /// Twice |x| and `halves` * 2^(s - 127), both in units of the smaller one of two exponents.
    function _both(uint256 m, uint256 halves, uint256 s)
        private
        pure
        returns (uint256 left, uint256 right)
    {
        uint256 exponent = m / 2 ** 23;
        uint256 mantissa = m % 2 ** 23 + (exponent == 0 ? 0 : 2 ** 23);
        if (exponent == 0) exponent = 1;
        // mantissa * 2^(exponent - 150) and halves * 2^(s - 127): 2^100 and more is out of the other's reach.
        (left, right) = (2 * mantissa, halves);
        uint256 up = s + 23 > exponent ? s + 23 - exponent : 0;
        uint256 down = exponent > s + 23 ? exponent - s - 23 : 0;
        right *= 2 ** (up < 100 ? up : 100);
        left *= 2 ** (down < 100 ? down : 100);
    }
}
