// Digits in and dot products out of an int8 matrix multiplication, without vector instructions: the
// reference for q14_digits_vector.cpp.
#include "cpu/q14_digits.hpp"

#include "gym/kernels/q14.h"

namespace gym::kernels::scalar {

void q14_unpack_digits(const Q14Operand& operand, Q14BlockRange range, const Q14Digits& out) {
    const int64_t begin = range.block * kQ14BlockLength;
    const int64_t length = q14_block_end(begin, operand.length) - begin;
    for (int64_t i = 0; i < range.count; ++i) {
        const int64_t vector = range.first_vector + i;
        const int16_t* q =
            operand.q +
            ((vector / kQ14Panel * operand.pairs + begin / 2) * kQ14Panel + vector % kQ14Panel) * 2;
        const int64_t row = i * length;
        for (int64_t k = 0; k < length; ++k) {
            const int32_t value = q[k / 2 * kQ14PanelRow + k % 2];
            const int32_t high = q14_high_digit(value), low = q14_low_digit(value);
            out.high[row + k] = static_cast<int8_t>(high);
            out.low[row + k] = static_cast<int8_t>(low);
            out.sum[row + k] = static_cast<int8_t>(high + low);
        }
    }
}

void q14_add_products(const Q14Operand& a, const Q14Operand& b, Q14BlockRange range,
                      const Q14DigitProducts& products, int64_t* totals) {
    const int32_t* a_exponent = a.exponents + range.block * a.padded_vectors;
    const int32_t* a_maximum = a.exponents + a.blocks * a.padded_vectors;
    const int32_t* b_exponent = b.exponents + range.block * b.padded_vectors;
    const int32_t* b_maximum = b.exponents + b.blocks * b.padded_vectors;
    for (int64_t i = 0; i < range.count; ++i) {
        const int64_t m = range.first_vector + i;
        const int32_t a_shift = a_maximum[m] - a_exponent[m];
        for (int64_t n = 0; n < b.vectors; ++n) {
            const int64_t at = i * b.vectors + n;
            totals[at] +=
                q14_block_term(q14_digit_dot(products, at), a_shift + b_maximum[n] - b_exponent[n]);
        }
    }
}

void q14_finish_totals(const Q14Operand& a, const Q14Operand& b, Q14BlockRange range,
                       const int64_t* totals, float* out, int64_t out_stride) {
    const int32_t* a_maximum = a.exponents + a.blocks * a.padded_vectors;
    const int32_t* b_maximum = b.exponents + b.blocks * b.padded_vectors;
    for (int64_t i = 0; i < range.count; ++i) {
        const int64_t m = range.first_vector + i;
        float* row = out + m * out_stride;
        for (int64_t n = 0; n < b.vectors; ++n) {
            row[n] = q14_finish(totals[i * b.vectors + n], a_maximum[m], b_maximum[n]);
        }
    }
}

}  // namespace gym::kernels::scalar
