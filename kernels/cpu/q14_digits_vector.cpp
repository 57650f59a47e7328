// Digits in and dot products out of an int8 matrix multiplication, sixteen at a time: compiled for
// AVX2 and for AVX-512 (multiversion.hpp). Elements left over at the ends are done one by one.
#include "cpu/q14_digits.hpp"
#include "cpu/q14_lanes.hpp"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

/// Vectors that a panel has, counted from `first`.
GYM_LANES int64_t vectors_of_panel(const Q14BlockRange& range, int64_t first) {
    const int64_t left = range.first_vector + range.count - first;
    return left < kQ14Panel ? left : kQ14Panel;
}

/// Where the digits of one vector go.
struct DigitRow {
    int8_t* high;
    int8_t* low;
    int8_t* sum;
};

/// Digits of elements k ... k + 31 of the vectors of a panel.
GYM_LANES void unpack_columns(const int16_t* q, int64_t vectors, int64_t length, int64_t k,
                              DigitRow first) {
    Ints pair[kQ14Panel];
    for (int64_t i = 0; i < kQ14Panel; ++i)
        pair[i] = load(reinterpret_cast<const int32_t*>(q + (k / 2 + i) * kQ14PanelRow));
    transpose(pair);
    for (int64_t v = 0; v < vectors; ++v) {
        const int64_t at = v * length + k;
        store_digits(pair[v], first.high + at, first.low + at, first.sum + at);
    }
}

GYM_LANES void unpack_one(const int16_t* q, int64_t v, int64_t length, int64_t k, DigitRow first) {
    const int32_t value = q[k / 2 * kQ14PanelRow + 2 * v + k % 2];
    const int32_t high = q14_high_digit(value), low = q14_low_digit(value);
    first.high[v * length + k] = static_cast<int8_t>(high);
    first.low[v * length + k] = static_cast<int8_t>(low);
    first.sum[v * length + k] = static_cast<int8_t>(high + low);
}

/// Sixteen dot products as 2^16 * high + low, |low| < 2^23.
struct Dots {
    Ints high, low;
};

GYM_LANES Dots dots(const Q14DigitProducts& products, int64_t at) {
    const Ints high = load(products.high_high + at), low = load(products.low_low + at);
    const Ints mixed = load(products.mixed + at);
    const Ints middle = products.karatsuba ? mixed - high - low : mixed;
    const Ints upper = shift_left<7>(high) + middle;  // below 2^30
    return {shift_right_signed<9>(upper), shift_left<7>(upper & splat(511)) + low};
}

}  // namespace

void q14_unpack_digits(const Q14Operand& operand, Q14BlockRange range, const Q14Digits& out) {
    const int64_t begin = range.block * kQ14BlockLength;
    const int64_t length = q14_block_end(begin, operand.length) - begin;
    // Ranges begin with a panel: kRowsMax of the callers is a multiple of it.
    for (int64_t first = range.first_vector; first < range.first_vector + range.count;
         first += kQ14Panel) {
        const int64_t vectors = vectors_of_panel(range, first);
        const int16_t* q =
            operand.q + (first / kQ14Panel * operand.pairs + begin / 2) * kQ14PanelRow;
        const int64_t row = (first - range.first_vector) * length;
        const DigitRow digits{out.high + row, out.low + row, out.sum + row};
        int64_t k = 0;
        for (; k + 2 * kQ14Panel <= length; k += 2 * kQ14Panel)
            unpack_columns(q, vectors, length, k, digits);
        for (; k < length; ++k) {
            for (int64_t v = 0; v < vectors; ++v)
                unpack_one(q, v, length, k, digits);
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
        for (int64_t n = 0; n < b.vectors; n += kQ14Panel) {
            const int64_t at = i * b.vectors + n;
            const Ints shift = load(b_maximum + n) - load(b_exponent + n) + splat(a_shift);
            if (n + kQ14Panel <= b.vectors && largest(shift) <= 16) {
                const Dots sum = dots(products, at);
                store(totals + at,
                      load_longs(totals + at) + shifted(sum.high, sum.low, splat(16) - shift));
                continue;
            }
            for (int64_t j = 0; j < kQ14Panel && n + j < b.vectors; ++j) {
                totals[at + j] += q14_block_term(q14_digit_dot(products, at + j),
                                                 a_shift + b_maximum[n + j] - b_exponent[n + j]);
            }
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
        alignas(64) RowScale scale[kQ14Panel];
        store_row_scales(scale, splat(a_maximum[m]));
        int64_t n = 0;
        for (; n + kQ14Panel <= b.vectors; n += kQ14Panel) {
            const Scaler columns = scaler(load(b_maximum + n), 42);
            store(row + n,
                  scaled(rounded(load_longs(totals + i * b.vectors + n)), scale[0], columns));
        }
        for (; n < b.vectors; ++n)
            row[n] = q14_finish(totals[i * b.vectors + n], a_maximum[m], b_maximum[n]);
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
