// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

/// @title Maxima, sums and dot products of a block of up to 1,024 elements
/// @notice Integer parts of exact sums and products (docs/NUMERICS.md, ops 64 to 72), straight from
/// the elements' little-endian bytes in calldata.
/// @dev A word is read at a time and worked on in lanes of 64 bits: four elements by one operation.
/// A block ends anywhere in its last word; what lies behind is replaced by what changes nothing.
library Blocks {
    uint256 private constant SIZE = 1024;
    /// 32-bit elements in four 64-bit lanes, and the bit above each.
    uint256 private constant LANES =
        0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff;
    uint256 private constant ABOVE =
        0x0000000100000000000000010000000000000001000000000000000100000000;
    uint256 private constant ONES =
        0x0000000000000001000000000000000100000000000000010000000000000001;

    /// @notice Elements of block `number` of rows of `length` elements, counted through all rows.
    /// @param length at least 1.
    function range(uint256 length, uint256 number)
        internal
        pure
        returns (uint256 first, uint256 count)
    {
        uint256 blocks = (length + SIZE - 1) / SIZE;
        uint256 begin = number % blocks * SIZE;
        count = length - begin < SIZE ? length - begin : SIZE;
        first = number / blocks * length + begin;
    }

    /// @notice sum of a[k] * b[k] for i16 elements.
    /// @param a 2 to 2,048 bytes. @param b as many.
    /// @dev With X = 2^64, the product of sum(a_j X^j) and sum(b_j X^(3-j)) over four elements has
    /// their dot product as its coefficient of X^3; higher ones leave the word. Coefficients are
    /// signed and below 2^42, so 2^191 more makes the lower ones' borrow vanish.
    function dot(bytes calldata a, bytes calldata b) internal pure returns (int256 total) {
        assembly ("memory-safe") {
            let end := add(a.offset, a.length)
            let distance := sub(b.offset, a.offset)
            for { let p := a.offset } lt(p, end) { p := add(p, 32) } {
                let x := calldataload(p)
                let y := calldataload(add(p, distance))
                if gt(add(p, 32), end) {
                    let beyond := shl(3, sub(add(p, 32), end))
                    x := shl(beyond, shr(beyond, x))
                    y := shl(beyond, shr(beyond, y))
                }
                // Bytes in order, and offset binary: a lane less 2^15 is the signed element.
                let low := 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff
                let bias := 0x8000800080008000800080008000800080008000800080008000800080008000
                x := xor(or(and(shr(8, x), low), shl(8, and(x, low))), bias)
                y := xor(or(and(shr(8, y), low), shl(8, and(y, low))), bias)
                // b's 64-bit units in reverse order.
                let middle := 0x0000000000000000ffffffffffffffff00000000000000000000000000000000
                y := or(
                    or(shl(192, y), shr(192, y)),
                    or(and(shl(64, y), middle), shr(64, and(y, middle)))
                )
                let lanes := 0x000000000000ffff000000000000ffff000000000000ffff000000000000ffff
                bias := and(bias, lanes)
                total := add(total, mul(sub(and(x, lanes), bias), sub(and(y, lanes), bias)))
                x := shr(16, x)
                y := shr(16, y)
                total := add(total, mul(sub(and(x, lanes), bias), sub(and(y, lanes), bias)))
                x := shr(16, x)
                y := shr(16, y)
                total := add(total, mul(sub(and(x, lanes), bias), sub(and(y, lanes), bias)))
                x := shr(16, x)
                y := shr(16, y)
                total := add(total, mul(sub(and(x, lanes), bias), sub(and(y, lanes), bias)))
            }
            total := sar(192, add(total, shl(191, 1)))
        }
    }

    /// @notice Sum of signed elements modulo 2^64.
    /// @param x 1 to 1,024 elements of `size` bytes. @param size 4 or 8.
    /// @dev Adds up bytes of equal place, 16 bits each: 256 words of 255 stay below 2^16.
    function sum(bytes calldata x, uint256 size) internal pure returns (uint256 total) {
        uint256 even;
        uint256 odd;
        assembly ("memory-safe") {
            // Turns the sign byte of an i32 into offset binary; an i64 wraps as it is.
            let flip :=
                mul(eq(size, 4), 0x0000008000000080000000800000008000000080000000800000008000000080)
            let mask := 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff
            let p := x.offset
            for { let end := add(p, x.length) } lt(p, end) { p := add(p, 32) } {
                let word := calldataload(p)
                if gt(add(p, 32), end) {
                    let beyond := shl(3, sub(add(p, 32), end))
                    word := shl(beyond, shr(beyond, word))
                }
                word := xor(word, flip)
                odd := add(odd, and(word, mask))
                even := add(even, and(shr(8, word), mask))
            }
            // Byte 2j of a word has its sum in `even`, byte 2j + 1 in `odd`.
            for { let j := 0 } lt(j, 16) { j := add(j, 1) } {
                let place := shl(3, mod(shl(1, j), size))
                let lane := sub(240, shl(4, j))
                let pair := add(and(shr(lane, even), 0xffff), shl(8, and(shr(lane, odd), 0xffff)))
                total := add(total, shl(place, pair))
            }
            // 2^31 too much in each of eight elements a word: 2^29 for each of its 32 bytes.
            if flip { total := sub(total, shl(29, sub(p, x.offset))) }
            total := and(total, 0xffffffffffffffff)
        }
    }

    /// @notice Sum, modulo 2^64, of the i32 elements of q at the places where low <= index <= high.
    /// @param q 4 to 4,096 bytes. @param indices as many: i32.
    function selectSum(bytes calldata q, bytes calldata indices, int256 low, int256 high)
        internal
        pure
        returns (uint256 total)
    {
        uint256 matches;
        uint256 lows;
        uint256 highs;
        unchecked {
            // Offset binary in all lanes: below 2^32. The bounds are i32.
            lows = uint256(low + 2 ** 31) * ONES;
            highs = uint256(high + 2 ** 31) * ONES | ABOVE;
        }
        uint256 words = (q.length + 31) / 32;
        for (uint256 i = 0; i < words; ++i) {
            uint256 x = _orderedWord(q, i, 0);
            uint256 index = _orderedWord(indices, i, 0);
            assembly ("memory-safe") {
                let bias := 0x8000000080000000800000008000000080000000800000008000000080000000
                x := xor(x, bias)
                index := xor(index, bias)
                // First the lower, then the upper element of each pair.
                let v := and(index, LANES)
                let hit := and(and(sub(or(v, ABOVE), lows), sub(highs, v)), ABOVE)
                matches := add(matches, hit)
                total := add(total, and(x, sub(hit, shr(32, hit))))
                v := and(shr(32, index), LANES)
                hit := and(and(sub(or(v, ABOVE), lows), sub(highs, v)), ABOVE)
                matches := add(matches, hit)
                total := add(total, and(shr(32, x), sub(hit, shr(32, hit))))
            }
        }
        unchecked {
            // A match carries 2^31 too much; what lies beyond the end is 0 there.
            return (_sumOfLanes(total) - (_sumOfLanes(matches >> 32) << 31)) & type(uint64).max;
        }
    }

    /// @notice Largest of the f32 elements' magnitudes, as bits.
    /// @param x 4 to 4,096 bytes.
    function largestMagnitude(bytes calldata x) internal pure returns (uint256) {
        return _largest(x, 0x7fffffff7fffffff7fffffff7fffffff7fffffff7fffffff7fffffff7fffffff, 0, 0);
    }

    /// @notice Largest of the i32 elements, plus 2^31.
    /// @param x 4 to 4,096 bytes.
    function largestInteger(bytes calldata x) internal pure returns (uint256) {
        return _largest(
            x,
            type(uint256).max,
            0x8000000080000000800000008000000080000000800000008000000080000000,
            0
        );
    }

    /// @notice Largest of the f32 elements in the order of Float32.orderKey(), as that key.
    /// @param x 4 to 4,096 bytes, no NaN.
    function largestKey(bytes calldata x) internal pure returns (uint256) {
        return _largest(
            x,
            type(uint256).max,
            0x8000000080000000800000008000000080000000800000008000000080000000,
            type(uint256).max
        );
    }

    /// @dev Largest of ((element & mask) ^ flip), all other bits flipped too where the element is
    /// negative and its bit of `negative` set.
    function _largest(bytes calldata x, uint256 mask, uint256 flip, uint256 negative)
        private
        pure
        returns (uint256)
    {
        uint256 best;
        uint256 words = (x.length + 31) / 32;
        // Elements beyond the end are the first one again.
        uint256 first;
        assembly ("memory-safe") {
            first := mul(
                shr(224, calldataload(x.offset)),
                0x0000000100000001000000010000000100000001000000010000000100000001
            )
        }
        for (uint256 i = 0; i < words; ++i) {
            uint256 word = _orderedWord(x, i, first);
            assembly ("memory-safe") {
                // Ones below the sign of what is negative.
                let sign :=
                    and(
                        shr(31, word),
                        0x0000000100000001000000010000000100000001000000010000000100000001
                    )
                let below := and(sub(shl(31, sign), sign), negative)
                word := xor(xor(and(word, mask), flip), below)
                let upper := and(shr(32, word), LANES)
                word := and(word, LANES)
                // The bit above stays where the left one is at least the right one.
                let keep := and(sub(or(upper, ABOVE), word), ABOVE)
                word := xor(word, and(xor(word, upper), sub(keep, shr(32, keep))))
                keep := and(sub(or(best, ABOVE), word), ABOVE)
                best := xor(word, and(xor(word, best), sub(keep, shr(32, keep))))
            }
        }
        uint256 result = best & 0xffffffff;
        for (uint256 lane = 64; lane < 256; lane += 64) {
            uint256 candidate = (best >> lane) & 0xffffffff;
            if (candidate > result) result = candidate;
        }
        return result;
    }

    /// @notice Sum of rint(x * 2^(30 - exponent)) over f32 elements, ties to even.
    /// @param x 0 to 4,096 bytes; every magnitude is below 2^exponent. @param exponent -126 to 128.
    function quantisedSum(bytes calldata x, int256 exponent) internal pure returns (int256) {
        uint256 total;
        uint256 words = (x.length + 31) / 32;
        unchecked {
            // Of f32 exponents: elements below it are less than half a unit.
            uint256 low = uint256(exponent + 88);
            for (uint256 i = 0; i < words; ++i) {
                uint256 word = _orderedWord(x, i, 0);
                total += _quantised(word & LANES, low) + _quantised((word >> 32) & LANES, low);
            }
            // Lanes are signed and below 2^38, so that 2^62 more makes borrows vanish.
            return int256(_sumOfLanes(total + (ONES << 62))) - 4 * 2 ** 62;
        }
    }

    /// @dev Of four f32 elements, one in each lane: the sum of rint(x * 2^(118 - low)) * 2^(64 * lane), modulo 2^256.
    /// @param low Such that no result is above 2^30; modulo 2^256.
    function _quantised(uint256 x, uint256 low) private pure returns (uint256 result) {
        assembly ("memory-safe") {
            let biased :=
                and(shr(23, x), 0x00000000000000ff00000000000000ff00000000000000ff00000000000000ff)
            let normal :=
                and(
                    shr(
                        8,
                        add(
                            biased,
                            0x00000000000000ff00000000000000ff00000000000000ff00000000000000ff
                        )
                    ),
                    ONES
                )
            let m :=
                or(
                    and(x, 0x00000000007fffff00000000007fffff00000000007fffff00000000007fffff),
                    shl(23, normal)
                )
            // Subnormals have the exponent of the smallest normal ones.
            biased := sub(add(biased, ONES), normal)
            // Every element with 32 bits behind the point. A shift by less than nothing is one by 2^255 and more, which leaves 0.
            let fixed_ := shl(sub(and(biased, 0xff), low), and(m, 0xffffff))
            fixed_ := or(
                fixed_,
                shl(sub(and(shr(64, biased), 0xff), low), and(m, 0xffffff0000000000000000))
            )
            fixed_ := or(
                fixed_,
                shl(
                    sub(and(shr(128, biased), 0xff), low),
                    and(m, 0xffffff00000000000000000000000000000000)
                )
            )
            fixed_ := or(
                fixed_,
                shl(
                    sub(shr(192, biased), low),
                    and(m, 0xffffff000000000000000000000000000000000000000000000000)
                )
            )
            // Half a unit, less one bit where the last place is even.
            let half :=
                add(
                    0x000000007fffffff000000007fffffff000000007fffffff000000007fffffff,
                    and(shr(32, fixed_), ONES)
                )
            result := and(shr(32, add(fixed_, half)), LANES)
            let negative := and(shr(31, x), ONES)
            result := sub(result, shl(1, and(result, sub(shl(32, negative), negative))))
        }
    }

    /// @notice Word `i` of 32-bit elements, each with its highest byte first.
    /// @param filling what stands beyond the end, before the bytes are turned.
    function _orderedWord(bytes calldata x, uint256 i, uint256 filling)
        private
        pure
        returns (uint256 word)
    {
        assembly ("memory-safe") {
            let from := shl(5, i)
            word := calldataload(add(x.offset, from))
            if gt(add(from, 32), x.length) {
                let beyond := shr(shl(3, sub(x.length, from)), not(0))
                word := or(and(word, not(beyond)), and(filling, beyond))
            }
            let m := 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff
            word := or(and(shr(8, word), m), shl(8, and(word, m)))
            m := 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff
            word := or(and(shr(16, word), m), shl(16, and(word, m)))
        }
    }

    function _sumOfLanes(uint256 x) private pure returns (uint256) {
        unchecked {
            return (x >> 192) + ((x >> 128) & type(uint64).max) + ((x >> 64) & type(uint64).max)
                + (x & type(uint64).max);
        }
    }
}
