// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

/// @title IEEE-754 binary32 in integers
/// @notice docs/NUMERICS.md, "Scalars": round to nearest even, subnormals kept, one NaN, a fused
/// multiply-add only where fma() is written. Bit for bit kernels/include/gym/kernels/f32.h.
/// @dev A number is its bit pattern in the low 32 bits of a word; all others are zero, and every
/// function keeps that. A finite number is unpacked to an integer `mantissa` below 2^24 and a
/// biased `exponent` of at least 1: it is mantissa * 2^(exponent - 150). Results are exact integers
/// of that form (or such with a last bit that stands for "and a bit more"), rounded once by
/// round(). All arithmetic is unchecked: the widths that make it safe stand at each place.
library Float32 {
    uint256 internal constant SIGN = 0x80000000;
    uint256 internal constant NAN = 0x7FC00000;
    uint256 internal constant INF = 0x7F800000;
    uint256 internal constant ONE = 0x3F800000;

    uint256 private constant MAGNITUDE = 0x7FFFFFFF;
    /// Exponents this far apart: the smaller operand of a sum cannot change the larger one.
    int256 private constant ADD_REACH = 60;
    int256 private constant FMA_REACH = 100;

    function isNaN(uint256 x) internal pure returns (bool) {
        return x & MAGNITUDE > INF;
    }

    /// @return x, or the one NaN.
    function canonical(uint256 x) internal pure returns (uint256) {
        return x & MAGNITUDE > INF ? NAN : x;
    }

    function neg(uint256 x) internal pure returns (uint256) {
        return canonical(x ^ SIGN);
    }

    function abs(uint256 x) internal pure returns (uint256) {
        return canonical(x & MAGNITUDE);
    }

    /// @return mantissa below 2^24, of an exponent of 255 without meaning.
    /// @return exponent 1 to 254; 255: a NaN or an infinity.
    function unpack(uint256 x) internal pure returns (uint256 mantissa, uint256 exponent) {
        assembly ("memory-safe") {
            exponent := and(shr(23, x), 0xff)
            let subnormal := iszero(exponent)
            mantissa := or(and(x, 0x7fffff), shl(23, iszero(subnormal)))
            exponent := add(exponent, subnormal)
        }
    }

    /// @notice The number nearest to mantissa * 2^(exponent - 150), ties to even.
    /// @param sign 0 or SIGN.
    /// @param mantissa below 2^254.
    function round(uint256 sign, uint256 mantissa, int256 exponent)
        internal
        pure
        returns (uint256)
    {
        if (mantissa == 0) return sign;
        unchecked {
            // Keeps 24 bits, fewer where the last would lie below 2^-149.
            int256 drop = int256(log2(mantissa)) - 23;
            if (drop + exponent < 1) drop = 1 - exponent;
            if (drop > 255) return sign;
            assembly ("memory-safe") {
                switch sgt(drop, 0)
                case 0 { mantissa := shl(sub(0, drop), mantissa) }
                default {
                    // Half a unit in the last place, less one if that place is even.
                    let half := sub(shl(sub(drop, 1), 1), 1)
                    half := add(half, and(shr(drop, mantissa), 1))
                    mantissa := shr(drop, add(mantissa, half))
                }
            }
            // The mantissa's 24th bit adds the missing 1 to the exponent field (not in subnormals),
            // and a carry out of the rounding another.
            uint256 bits = (uint256(drop + exponent - 1) << 23) + mantissa;
            return sign | (bits < INF ? bits : INF);
        }
    }

    /// @return r Position of the highest set bit; 0 for x = 0.
    function log2(uint256 x) internal pure returns (uint256 r) {
        assembly ("memory-safe") {
            if shr(64, x) {
                r := shl(7, gt(x, 0xffffffffffffffffffffffffffffffff))
                r := or(r, shl(6, gt(shr(r, x), 0xffffffffffffffff)))
            }
            r := or(r, shl(5, gt(shr(r, x), 0xffffffff)))
            r := or(r, shl(4, gt(shr(r, x), 0xffff)))
            r := or(r, shl(3, gt(shr(r, x), 0xff)))
            r := or(r, shl(2, gt(shr(r, x), 0xf)))
            // log2 of 0 to 15, two bits each.
            r := or(r, and(shr(shl(1, shr(r, x)), 0xffffaa50), 3))
        }
    }

    function add(uint256 a, uint256 b) internal pure returns (uint256) {
        (uint256 ma, uint256 ea) = unpack(a);
        (uint256 mb, uint256 eb) = unpack(b);
        if (ea == 255 || eb == 255) return _addSpecial(a, b);
        if (ea < eb) (a, ma, ea, b, mb, eb) = (b, mb, eb, a, ma, ea);
        unchecked {
            uint256 distance = ea - eb;
            // Then a is normal, and b below a quarter of the place after its last.
            if (distance > uint256(ADD_REACH)) return a;
            // At most 24 + 60 bits.
            int256 sum = _signed(a, ma << distance) + _signed(b, mb);
            // An exact zero is -0 only if both operands are.
            if (sum == 0) return a & b & SIGN;
            return _roundSigned(sum, int256(eb));
        }
    }

    function sub(uint256 a, uint256 b) internal pure returns (uint256) {
        return add(a, b ^ SIGN);
    }

    function mul(uint256 a, uint256 b) internal pure returns (uint256) {
        (uint256 ma, uint256 ea) = unpack(a);
        (uint256 mb, uint256 eb) = unpack(b);
        if (ea == 255 || eb == 255) return _mulSpecial(a, b);
        unchecked {
            return round((a ^ b) & SIGN, ma * mb, int256(ea + eb) - 150);
        }
    }

    function div(uint256 a, uint256 b) internal pure returns (uint256) {
        (uint256 ma, uint256 ea) = unpack(a);
        (uint256 mb, uint256 eb) = unpack(b);
        if (ea == 255 || eb == 255 || mb == 0) return _divSpecial(a, b);
        unchecked {
            // At least 26 bits of quotient, or 0; the last one says whether there is a remainder.
            uint256 quotient = (ma << 50) / mb;
            if (quotient * mb != ma << 50) quotient |= 1;
            return round((a ^ b) & SIGN, quotient, int256(ea) - int256(eb) + 100);
        }
    }

    /// @return a * b + c, rounded once.
    function fma(uint256 a, uint256 b, uint256 c) internal pure returns (uint256) {
        uint256 product;
        int256 exponent;
        {
            (uint256 ma, uint256 ea) = unpack(a);
            (uint256 mb, uint256 eb) = unpack(b);
            if (ea == 255 || eb == 255) return add(_mulSpecial(a, b), c);
            unchecked {
                product = ma * mb;
                exponent = int256(ea + eb) - 150;
            }
        }
        uint256 sign = (a ^ b) & SIGN;
        (uint256 mc, uint256 ec) = unpack(c);
        if (ec == 255) return canonical(c);
        if (product == 0) return add(sign, c);
        if (mc == 0) return round(sign, product, exponent);
        unchecked {
            int256 distance = exponent - int256(ec);
            int256 sum;
            if (distance > FMA_REACH) {
                // Far below the product: a trace of c decides ties and nothing else.
                sum = _signed(sign, product << 64) + _signed(c, 1);
                exponent -= 64;
            } else if (distance < -FMA_REACH) {
                sum = _signed(c, mc << 64) + _signed(sign, 1);
                exponent = int256(ec) - 64;
            } else if (distance > 0) {
                sum = _signed(sign, product << uint256(distance)) + _signed(c, mc);
                exponent = int256(ec);
            } else {
                sum = _signed(sign, product) + _signed(c, mc << uint256(-distance));
            }
            return sum == 0 ? 0 : _roundSigned(sum, exponent);
        }
    }

    /// @return NaN below zero, -0 for -0.
    function sqrt(uint256 x) internal pure returns (uint256) {
        if (x & MAGNITUDE == 0 || x == INF) return x;
        if (x > INF) return NAN;
        (uint256 mantissa, uint256 exponent) = unpack(x);
        unchecked {
            // An even exponent, and at least 60 bits: 30 of the root. At most 85.
            uint256 shift = 60 + (exponent & 1);
            uint256 n = mantissa << shift;
            uint256 root = _integerSqrt(n);
            if (root * root != n) root |= 1;
            return round(0, root, 75 + (int256(exponent) - int256(shift)) / 2);
        }
    }

    /// @return The nearest integer, ties to even; a zero keeps its sign.
    function rint(uint256 x) internal pure returns (uint256) {
        (uint256 mantissa, uint256 exponent) = unpack(x);
        if (exponent >= 150) return canonical(x);
        return round(x & SIGN, _shiftRoundingToEven(mantissa, 150 - exponent), 150);
    }

    /// @return The nearest integer; NaN and what is outside i32 give -2^31.
    function toInt32(uint256 x) internal pure returns (int256) {
        return _toInteger(x, 0x4F000000, type(int32).min);
    }

    /// @return The nearest integer; NaN and what is outside i64 give -2^63.
    function toInt64(uint256 x) internal pure returns (int256) {
        return _toInteger(x, 0x5F000000, type(int64).min);
    }

    /// @param x an i64 (or any integer of a magnitude below 2^254).
    function fromInt64(int256 x) internal pure returns (uint256) {
        return x == 0 ? 0 : _roundSigned(x, 150);
    }

    /// @return x * 2^n rounded once, |n| < 2^128.
    function scale2(uint256 x, int256 n) internal pure returns (uint256) {
        (uint256 mantissa, uint256 exponent) = unpack(x);
        if (exponent == 255) return canonical(x);
        unchecked {
            // 2^1024 times anything but 0 is too large, and more would leave the word.
            return round(x & SIGN, mantissa, int256(exponent) + (n > 1024 ? int256(1024) : n));
        }
    }

    /// @return NaN if either is; -0 is below +0.
    function max(uint256 a, uint256 b) internal pure returns (uint256) {
        if (isNaN(a) || isNaN(b)) return NAN;
        return orderKey(a) < orderKey(b) ? b : a;
    }

    /// @return NaN if either is; -0 is below +0.
    function min(uint256 a, uint256 b) internal pure returns (uint256) {
        if (isNaN(a) || isNaN(b)) return NAN;
        return orderKey(a) < orderKey(b) ? a : b;
    }

    /// @dev Comparisons with NaN are false.
    function lt(uint256 a, uint256 b) internal pure returns (bool) {
        if (isNaN(a) || isNaN(b) || (a | b) & MAGNITUDE == 0) return false;
        return orderKey(a) < orderKey(b);
    }

    function le(uint256 a, uint256 b) internal pure returns (bool) {
        if (isNaN(a) || isNaN(b)) return false;
        return (a | b) & MAGNITUDE == 0 || orderKey(a) <= orderKey(b);
    }

    function eq(uint256 a, uint256 b) internal pure returns (bool) {
        if (isNaN(a) || isNaN(b)) return false;
        return (a | b) & MAGNITUDE == 0 || a == b;
    }

    /// @return key 32 bits in the order of the numbers (no NaN), -0 just below +0.
    function orderKey(uint256 x) internal pure returns (uint256 key) {
        return x & SIGN == 0 ? x | SIGN : x ^ 0xFFFFFFFF;
    }

    function _addSpecial(uint256 a, uint256 b) private pure returns (uint256) {
        if (isNaN(a) || isNaN(b)) return NAN;
        if (a & MAGNITUDE != INF) return b;
        return b & MAGNITUDE == INF && a != b ? NAN : a;
    }

    function _mulSpecial(uint256 a, uint256 b) private pure returns (uint256) {
        if (isNaN(a) || isNaN(b) || a & MAGNITUDE == 0 || b & MAGNITUDE == 0) return NAN;
        return (a ^ b) & SIGN | INF;
    }

    function _divSpecial(uint256 a, uint256 b) private pure returns (uint256) {
        if (isNaN(a) || isNaN(b)) return NAN;
        uint256 sign = (a ^ b) & SIGN;
        (a, b) = (a & MAGNITUDE, b & MAGNITUDE);
        if (a == INF) return b == INF ? NAN : sign | INF;
        if (b == INF) return sign;
        return a == 0 ? NAN : sign | INF;
    }

    function _signed(uint256 sign, uint256 magnitude) private pure returns (int256) {
        unchecked {
            return sign & SIGN == 0 ? int256(magnitude) : -int256(magnitude);
        }
    }

    function _roundSigned(int256 value, int256 exponent) private pure returns (uint256) {
        unchecked {
            return
                value < 0
                    ? round(SIGN, uint256(-value), exponent)
                    : round(0, uint256(value), exponent);
        }
    }

    /// @param mantissa below 2^24. @param drop at least 1.
    function _shiftRoundingToEven(uint256 mantissa, uint256 drop) private pure returns (uint256) {
        if (drop > 25) return 0;
        unchecked {
            // forge-lint: disable-next-line(incorrect-shift)
            uint256 half = (1 << (drop - 1)) - 1 + ((mantissa >> drop) & 1);
            return (mantissa + half) >> drop;
        }
    }

    /// @param limit magnitude bits of the first power of two that does not fit.
    function _toInteger(uint256 x, uint256 limit, int256 outside) private pure returns (int256) {
        if (x & MAGNITUDE >= limit) return outside;
        (uint256 mantissa, uint256 exponent) = unpack(x);
        unchecked {
            uint256 integer = exponent >= 150
                ? mantissa << (exponent - 150)
                : _shiftRoundingToEven(mantissa, 150 - exponent);
            return _signed(x, integer);
        }
    }

    /// @notice floor(sqrt(n)), n from 1 to 2^86.
    /// @dev Newton from within a half of the root: 0.5, 0.09, 0.004, 1e-5, 1e-10, 1e-20 relative,
    /// and what it ends with is the root or one more.
    function _integerSqrt(uint256 n) private pure returns (uint256 root) {
        uint256 half = log2(n) >> 1;
        assembly ("memory-safe") {
            root := shr(1, shl(half, 3))
            root := shr(1, add(root, div(n, root)))
            root := shr(1, add(root, div(n, root)))
            root := shr(1, add(root, div(n, root)))
            root := shr(1, add(root, div(n, root)))
            root := shr(1, add(root, div(n, root)))
            root := sub(root, gt(root, div(n, root)))
        }
    }
}
