// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

// Widths stand at each place; casts between them are the arithmetic itself.
// forge-lint: disable-start(unsafe-typecast)

import {Float32} from "./Float32.sol";

/// @title Scalar steps of exact sums and Q14 products
/// @notice Bit for bit kernels/include/gym/kernels/{rows,q14}.h; exponents are i32.
library ExactParts {
    /// Exponent of a row that holds a NaN or an infinity.
    int256 internal constant POISONED = 129;

    int256 private constant EXPONENT_MIN = -100;

    /// @return e with 2^(e-1) <= amax < 2^e, at least -100; POISONED for an infinity or NaN.
    /// @param amaxBits largest magnitude of the row, as bits.
    function rowExponent(uint256 amaxBits) internal pure returns (int256) {
        if (amaxBits >= Float32.INF) return POISONED;
        unchecked {
            int256 exponent = int256(amaxBits >> 23) - 126;
            return exponent < EXPONENT_MIN ? EXPONENT_MIN : exponent;
        }
    }

    /// @return rint(x * 2^(bits - exponent)) as i32, 0 in a poisoned row.
    function quantise(uint256 x, int256 exponent, int256 bits) internal pure returns (int256) {
        if (exponent == POISONED) return 0;
        unchecked {
            return Float32.toInt32(Float32.scale2(x, bits - exponent)); // both are i32
        }
    }

    /// @return total * 2^exponent as an f32: the total is rounded first, then the product.
    function finish(int256 total, int256 exponent) internal pure returns (uint256) {
        return Float32.scale2(Float32.fromInt64(total), exponent);
    }

    /// @return RNE(dot * 2^(16 - shift)), an i64.
    /// @param shift how far the block's exponents lie below the rows'.
    function blockTerm(int256 dot, int256 shift) internal pure returns (int256) {
        unchecked {
            if (shift <= 16) return int64(dot << uint256(16 - shift)); // wraps as the reference does
            uint256 right = uint256(shift) - 16;
            if (right >= 40) return 0;
            int256 quotient = dot >> right;
            int256 rest = dot - (quotient << right);
            int256 half = int256(1) << (right - 1);
            return rest > half || (rest == half && quotient & 1 != 0) ? quotient + 1 : quotient;
        }
    }
}
