// Pieces of the product by int8 digits, per level: what surrounds a foreign int8 matrix
// multiplication.
#pragma once

#include <cstdint>

#include "cpu/q14_tasks.hpp"

namespace gym::kernels {

/// Digits of one block of an operand, row-major (vectors, length): q = 128 * high + low.
struct Q14Digits {
    int8_t* high;
    int8_t* low;
    int8_t* sum;  // high + low, in [-128, 127]
};

/// Products of the digits of one block, row-major (rows, columns).
struct Q14DigitProducts {
    const int32_t* high_high;
    const int32_t* low_low;
    /// Karatsuba: (high + low) (high + low). Otherwise high * low + low * high.
    const int32_t* mixed;
    bool karatsuba;
};

/// The dot product of element `at`. (static: one copy a level, see multiversion.hpp.)
static inline int64_t q14_digit_dot(const Q14DigitProducts& products, int64_t at) {
    const int64_t high = products.high_high[at], low = products.low_low[at];
    const int64_t middle = products.mixed[at] - (products.karatsuba ? high + low : 0);
    return (high * 128 + middle) * 128 + low;
}

struct Q14BlockRange {
    int64_t block;
    int64_t first_vector;
    int64_t count;
};

/// The largest high + low is 64 + 63: q = 128 * 64 + 63 cannot occur, since |q| <= 8192 leaves low
/// = 0 beside high = 64; so the sum fits an int8.
GYM_DECLARE_KERNEL(void q14_unpack_digits(const Q14Operand& operand, Q14BlockRange range,
                                          const Q14Digits& out))

/// Adds T_b of the block's dots to totals (range.count, b.vectors).
GYM_DECLARE_KERNEL(void q14_add_products(const Q14Operand& a, const Q14Operand& b,
                                         Q14BlockRange range, const Q14DigitProducts& products,
                                         int64_t* totals))

/// out rows range.first_vector... from totals.
GYM_DECLARE_KERNEL(void q14_finish_totals(const Q14Operand& a, const Q14Operand& b,
                                          Q14BlockRange range, const int64_t* totals, float* out,
                                          int64_t out_stride))

}  // namespace gym::kernels
