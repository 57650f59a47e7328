// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

import {Float32 as F} from "./Float32.sol";

/// @title exp, log, tanh, sigmoid, silu, gelu and rsqrt
/// @notice The named straight-line programs, operation by operation those of
/// kernels/include/gym/kernels/programs.h, where their coefficients and errors are explained; the
/// results are bit for bit the same. `high` and `low` stand for their exact sum.
/// @dev NaN is answered first, so that no intermediate has to carry one.
library Float32Programs {
    uint256 private constant MAGNITUDE = 0x7FFFFFFF;
    uint256 private constant TWO = 0x40000000;
    uint256 private constant HALF = 0x3F000000;
    uint256 private constant NEGATIVE_ZERO = 0x80000000;
    /// 2 sqrt(2/pi), and that times 0.044715, each in two floats.
    uint256 private constant GELU_LINEAR = 0x3FCC422A;
    uint256 private constant GELU_LINEAR_LOW = 0xB342BC9B;
    uint256 private constant GELU_CUBIC = 0x3D922279;
    uint256 private constant GELU_CUBIC_LOW = 0x3124D8B5;

    /// @notice exp(high + low) = fraction * 2^exponent.
    /// @param high in [-200, 90]. @param low below about one ulp of it.
    function _expParts(uint256 high, uint256 low)
        private
        pure
        returns (uint256 fraction, int256 exponent)
    {
        // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
        uint256 shifted = F.fma(high, 0x3FB8AA3B, 0x4B400000);
        uint256 n = F.sub(shifted, 0x4B400000);
        uint256 rHigh = F.fma(n, 0xBF317218, high);
        low = F.fma(n, 0x3102E308, low);
        uint256 r = F.add(rHigh, low);
        uint256 rLow = F.add(F.sub(rHigh, r), low);
        uint256 q = F.fma(0x3950929F, r, 0x3AB6A1BD);
        q = F.fma(q, r, 0x3C088870);
        q = F.fma(q, r, 0x3D2AAA74);
        q = F.fma(q, r, 0x3E2AAAAB);
        q = F.fma(q, r, HALF);
        uint256 tail = F.fma(F.mul(r, r), q, rLow);
        uint256 sum = F.add(F.ONE, r);
        uint256 sumLow = F.sub(r, F.sub(sum, F.ONE));
        fraction = F.add(sum, F.add(sumLow, tail));
        unchecked {
            exponent = int256(shifted) - 0x4B400000; // both below 2^32
        }
    }

    function _clamp(uint256 x, uint256 low, uint256 high) private pure returns (uint256) {
        if (F.lt(x, low)) return low;
        return F.lt(high, x) ? high : x;
    }

    function exp(uint256 x) internal pure returns (uint256) {
        if (F.isNaN(x)) return F.NAN;
        (uint256 fraction, int256 exponent) = _expParts(_clamp(x, 0xC2DC0000, 0x42B40000), 0);
        return F.scale2(fraction, exponent);
    }

    /// @return NaN below zero, -Inf at both zeros.
    function log(uint256 x) internal pure returns (uint256) {
        if (x == F.INF) return x;
        if (x & MAGNITUDE == 0) return F.SIGN | F.INF;
        if (x > F.INF) return F.NAN;
        unchecked {
            // Of a subnormal, the 2^23-fold; the fraction is then in [0.7071, 1.4142).
            int256 lift = x < 0x00800000 ? int256(23) : int256(0);
            uint256 scaled = F.scale2(x, lift);
            int256 exponent = (int256(scaled) - 0x3F3504F3) >> 23;
            uint256 fraction = uint256(int256(scaled) - (exponent << 23));
            return _logOf(F.sub(fraction, F.ONE), F.fromInt64(exponent - lift));
        }
    }

    /// @return log((1 + f) * 2^n).
    function _logOf(uint256 f, uint256 n) private pure returns (uint256) {
        uint256 p = F.fma(0x3D8EC7B0, f, 0xBDEB1B68);
        p = F.fma(p, f, 0x3DEF5160);
        p = F.fma(p, f, 0xBDFE7A54);
        p = F.fma(p, f, 0x3E11E90A);
        p = F.fma(p, f, 0xBE2AADA5);
        p = F.fma(p, f, 0x3E4CCEAD);
        p = F.fma(p, f, 0xBE7FFFFE);
        p = F.fma(p, f, 0x3EAAAAAA);
        uint256 halfSquare = F.mul(F.mul(HALF, f), f);
        uint256 cubic = F.fma(F.mul(f, f), F.mul(f, p), F.mul(n, 0x35BFBE8E));
        return F.fma(n, 0x3F317200, F.sub(f, F.sub(halfSquare, cubic)));
    }

    function tanh(uint256 x) internal pure returns (uint256) {
        if (F.isNaN(x)) return F.NAN;
        uint256 magnitude = x & MAGNITUDE;
        uint256 result = magnitude < 0x3F200000 ? _tanhSmall(magnitude) : _tanhLarge(magnitude);
        return result | x & F.SIGN;
    }

    function _tanhSmall(uint256 x) private pure returns (uint256) {
        uint256 z = F.mul(x, x);
        uint256 p = F.fma(0x3B163EBC, z, 0xBC08B45A);
        p = F.fma(p, z, 0x3CB254A0);
        p = F.fma(p, z, 0xBD5D0461);
        p = F.fma(p, z, 0x3E088875);
        p = F.fma(p, z, 0xBEAAAAAB);
        return F.fma(F.mul(z, x), p, x);
    }

    function _tanhLarge(uint256 x) private pure returns (uint256) {
        (uint256 fraction, int256 exponent) = _expParts(_clamp(F.add(x, x), 0, 0x42B40000), 0);
        uint256 grown = F.scale2(fraction, exponent);
        return F.sub(F.ONE, F.div(TWO, F.add(grown, F.ONE)));
    }

    /// @return (high + low) / (1 + e), e <= 1.
    function _divideByOnePlus(uint256 high, uint256 low, uint256 e) private pure returns (uint256) {
        uint256 divisor = F.add(F.ONE, e);
        uint256 divisorLow = F.sub(e, F.sub(divisor, F.ONE));
        uint256 inverse = F.div(F.ONE, divisor);
        uint256 quotient = F.mul(high, inverse);
        uint256 negated = quotient ^ F.SIGN;
        uint256 residual = F.add(F.fma(negated, divisor, high), F.fma(negated, divisorLow, low));
        return F.fma(residual, inverse, quotient);
    }

    /// @notice factor * sigmoid(w) with high + low = -|w|; `negative`: w < 0.
    function _timesSigmoid(uint256 factor, uint256 high, uint256 low, bool negative)
        private
        pure
        returns (uint256)
    {
        if (F.lt(high, 0xC3480000)) (high, low) = (0xC3480000, 0); // -200: the result is 0
        (uint256 fraction, int256 power) = _expParts(high, low);
        uint256 e = F.scale2(fraction, power);
        (uint256 unit, int256 exponent) = _split(factor);
        (high, low) = (unit, 0);
        if (negative) {
            high = F.mul(unit, fraction);
            low = F.fma(unit, fraction, high ^ F.SIGN);
            unchecked {
                exponent += power; // both below 2^10
            }
        }
        uint256 quotient = _divideByOnePlus(high, low, e);
        return F.scale2(high & MAGNITUDE == 0 ? high : quotient, exponent);
    }

    /// @return unit the factor with its exponent taken out (zero and infinity: as they are), so that
    /// products and residuals stay normal. @return exponent what was taken.
    function _split(uint256 factor) private pure returns (uint256 unit, int256 exponent) {
        if (factor & MAGNITUDE == 0 || factor & MAGNITUDE == F.INF) return (factor, 0);
        unchecked {
            int256 lift = factor & F.INF == 0 ? int256(23) : int256(0);
            uint256 lifted = F.scale2(factor, lift);
            unit = (lifted & 0x807FFFFF) | F.ONE;
            exponent = int256((lifted >> 23) & 0xFF) - 127 - lift;
        }
    }

    function sigmoid(uint256 x) internal pure returns (uint256) {
        if (F.isNaN(x)) return F.NAN;
        return _timesSigmoid(F.ONE, x | F.SIGN, 0, F.lt(x, 0));
    }

    /// @return x * sigmoid(x); -0 at -Inf.
    function silu(uint256 x) internal pure returns (uint256) {
        if (F.isNaN(x)) return F.NAN;
        if (x & MAGNITUDE == F.INF) return x == F.INF ? x : NEGATIVE_ZERO;
        return _timesSigmoid(x, x | F.SIGN, 0, F.lt(x, 0));
    }

    /// @notice -(2 sqrt(2/pi) (x + 0.044715 x^3)) of x >= 0, in two floats.
    function _geluArgument(uint256 x) private pure returns (uint256 high, uint256 low) {
        (uint256 sum, uint256 sumLow) = _geluFactor(x);
        high = F.mul(x, sum);
        low = F.add(F.fma(x, sum, high ^ F.SIGN), F.mul(x, sumLow)) ^ F.SIGN;
        high ^= F.SIGN;
    }

    /// @notice 2 sqrt(2/pi) (1 + 0.044715 x^2), in two floats.
    function _geluFactor(uint256 x) private pure returns (uint256 sum, uint256 sumLow) {
        uint256 product;
        uint256 productLow;
        {
            uint256 square = F.mul(x, x);
            uint256 squareLow = F.fma(x, x, square ^ F.SIGN);
            product = F.mul(GELU_CUBIC, square);
            productLow = F.add(
                F.fma(GELU_CUBIC, square, product ^ F.SIGN),
                F.fma(GELU_CUBIC, squareLow, F.mul(GELU_CUBIC_LOW, square))
            );
        }
        sum = F.add(GELU_LINEAR, product);
        uint256 back = F.sub(sum, GELU_LINEAR);
        sumLow = F.add(
            F.add(F.sub(GELU_LINEAR, F.sub(sum, back)), F.sub(product, back)),
            F.add(productLow, GELU_LINEAR_LOW)
        );
    }

    /// @return x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)); -0 at -Inf.
    function gelu(uint256 x) internal pure returns (uint256) {
        if (F.isNaN(x)) return F.NAN;
        uint256 magnitude = x & MAGNITUDE;
        if (magnitude == F.INF) return x == F.INF ? x : NEGATIVE_ZERO;
        // Above 16 the exponential is 0 long since.
        (uint256 high, uint256 low) = _geluArgument(magnitude < 0x41800000 ? magnitude : 0x41800000);
        return _timesSigmoid(x, high, low, F.lt(x, 0));
    }

    /// @return 1 / sqrt(x): +-Inf at +-0, NaN below.
    function rsqrt(uint256 x) internal pure returns (uint256) {
        return F.div(F.ONE, F.sqrt(x));
    }
}
