// The Q14 product with vector instructions: compiled for AVX2 and for AVX-512 (multiversion.hpp).
//
// The inner loop is multiply-add of i16 pairs into i32 and nothing else. |q| <= 2^13, so fifteen
// pairs (15 * 2^27) fit an i32; then the partial sum c goes into two i32 accumulators: `high` sums
// c >> 16, which is a multiply-add with (0, 1) of c's own halves, `low` sums c modulo 2^32. What
// the high halves leave of the whole, low - (high << 16), is a sum of at most 35 numbers below
// 2^16: no overflow, so 2^16 * high + that is the exact sum. One multiplication and an eighth per
// product, at twice the rate of f32.
#include "cpu/lanes.hpp"
#include "cpu/q14_tasks.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

// Panels quantised together along columns, so that whole cache lines of the source are used.
constexpr int kColumnGroup = 4;

struct BlockScale {
    Ints exponent;
    Floats scale;  // 2^(13 - exponent)
    Ints keep;     // zero where the vector is poisoned
};

/// Exponents and scales of sixteen vectors from the largest magnitude bits of each.
GYM_LANES BlockScale block_scale(const Q14Source& source, Ints amax) {
    BlockScale result;
    if (source.fixed) {
        const int32_t limit =
            static_cast<int32_t>(magnitude_bits(f32::scale2(1.0f, source.fixed_exponent)));
        const int32_t largest_finite = static_cast<int32_t>(f32::kInfinityBits) - 1;
        const Ints bad = greater(amax, splat(limit < largest_finite ? limit : largest_finite));
        result.exponent = select(bad, splat(kExponentPoisoned), splat(source.fixed_exponent));
    } else {
        const Ints bad = greater(amax, splat(static_cast<int32_t>(f32::kInfinityBits) - 1));
        const Ints exponent = max(shift_right<23>(amax) - splat(126), splat(kExponentMin));
        result.exponent = select(bad, splat(kExponentPoisoned), exponent);
    }
    result.keep = greater(splat(kExponentPoisoned), result.exponent);
    result.scale = floats(shift_left<23>(splat(kQ14FractionBits + 127) - result.exponent));
    return result;
}

GYM_LANES Ints magnitude(Floats x) {
    return bits(x) & splat(0x7FFFFFFF);
}

struct Panel {
    int16_t* q;
    int32_t* exponents;
};

GYM_LANES Panel panel_of(const Q14Operand& out, int64_t index) {
    return {out.q + index * out.pairs * kQ14PanelRow, out.exponents + index * kQ14Panel};
}

/// One block of one panel: rows of the source from x on.
GYM_LANES Ints quantise_row_block(const Q14Source& source, const float* x, int64_t rows,
                                  int64_t length, int16_t* q) {
    alignas(64) int32_t amax[kQ14Panel] = {};
    for (int64_t r = 0; r < rows; ++r) {
        const float* row = x + r * source.row_stride;
        Ints largest_yet = splat(0);
        int64_t k = 0;
        for (; k + 16 <= length; k += 16)
            largest_yet = max(largest_yet, magnitude(load(row + k)));
        if (k < length) {
            largest_yet = max(largest_yet, magnitude(load_first(row + k, length - k)));
        }
        amax[r] = largest(largest_yet);
    }
    const BlockScale scale = block_scale(source, load(amax));
    alignas(64) float factors[kQ14Panel];
    alignas(64) int32_t keep[kQ14Panel];
    store(factors, scale.scale);
    store(keep, scale.keep);
    const int64_t pairs = (length + 1) / 2;
    for (int64_t k = 0; k < length; k += 32) {
        Ints pair[kQ14Panel];
        for (int64_t r = 0; r < kQ14Panel; ++r) {
            pair[r] = splat(0);
            if (r >= rows) continue;
            const float* p = x + r * source.row_stride + k;
            const int64_t rest = length - k;
            const Floats low = rest >= 32 ? load(p) : load_first(p, rest);
            const Floats high = rest >= 32 ? load(p + 16) : load_first(p + 16, rest - 16);
            const Floats factor = splat(factors[r]);
            pair[r] = pack_neighbours(round(low * factor), round(high * factor)) & splat(keep[r]);
        }
        transpose(pair);
        const int64_t first = k / 2;
        for (int64_t i = 0; i < 16 && first + i < pairs; ++i) {
            store(q + (first + i) * kQ14PanelRow, pair[i]);
        }
    }
    return scale.exponent;
}

/// One block of `Group` neighbouring panels: columns of the source from x on. `columns` may end
/// inside the last panel.
template <int Group>
GYM_LANES void quantise_column_block(const Q14Source& source, const float* x, int64_t columns,
                                     int64_t length, const Panel panel[Group], int64_t pair_offset,
                                     Ints exponent[Group]) {
    const auto read = [&](int64_t k, int g) __attribute__((always_inline)) {
        const float* p = x + k * source.row_stride + g * kQ14Panel;
        return Group > 1 ? load(p) : load_first(p, columns);
    };
    Ints amax[Group];
    for (int g = 0; g < Group; ++g)
        amax[g] = splat(0);
    for (int64_t k = 0; k < length; ++k) {
        for (int g = 0; g < Group; ++g)
            amax[g] = max(amax[g], magnitude(read(k, g)));
    }
    BlockScale scale[Group];
    for (int g = 0; g < Group; ++g) {
        scale[g] = block_scale(source, amax[g]);
        exponent[g] = scale[g].exponent;
    }
    const Ints low_half = splat(0xFFFF);
    for (int64_t k = 0; k < length; k += 2) {
        for (int g = 0; g < Group; ++g) {
            const Ints even = round(read(k, g) * scale[g].scale);
            const Ints odd = k + 1 < length ? round(read(k + 1, g) * scale[g].scale) : splat(0);
            const Ints pair = ((even & low_half) | shift_left<16>(odd)) & scale[g].keep;
            store(panel[g].q + (pair_offset + k / 2) * kQ14PanelRow, pair);
        }
    }
}

template <int Group>
GYM_LANES void quantise_column_group(const Q14Source& source, const Q14Operand& out,
                                     int64_t first_panel) {
    Panel panel[Group];
    Ints maximum[Group];
    for (int g = 0; g < Group; ++g) {
        panel[g] = panel_of(out, first_panel + g);
        maximum[g] = splat(kExponentMin);
    }
    const int64_t column = first_panel * kQ14Panel;
    for (int64_t block = 0; block < out.blocks; ++block) {
        const int64_t begin = block * kQ14BlockLength;
        const int64_t end = q14_block_end(begin, out.length);
        Ints exponent[Group];
        quantise_column_block<Group>(source, source.data + begin * source.row_stride + column,
                                     out.vectors - column, end - begin, panel, begin / 2, exponent);
        for (int g = 0; g < Group; ++g) {
            store(panel[g].exponents + block * out.padded_vectors, exponent[g]);
            maximum[g] = max(maximum[g], exponent[g]);
        }
    }
    for (int g = 0; g < Group; ++g) {
        store(panel[g].exponents + out.blocks * out.padded_vectors, maximum[g]);
    }
}

/// Pairs whose dot product fits an i32.
constexpr int64_t kExactPairs = 15;
static_assert(kExactPairs * 2 * kQ14Max * kQ14Max <= INT32_MAX);

#if GYM_KERNEL_LEVEL >= 2

constexpr int kTileRows = 8;

/// sum += b[2i] x[2i] + b[2i+1] x[2i+1] in each lane.
GYM_LANES void add_pair_products(__m512i& sum, __m512i b, __m512i x) {
#if defined(__GNUC__) && !defined(__clang__)
    // As an intrinsic, GCC 12 copies every accumulator twice an iteration: more copies than
    // products.
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(b), "v"(x));
#else
    sum = _mm512_dpwssd_epi32(sum, b, x);
#endif
}

/// Dot products of kTileRows vectors of a panel (a points at the first one's first pair) with the
/// sixteen of another panel, over `pairs` pairs: 2^16 * high + low.
GYM_LANES void dot_tile(const int16_t* a, const int16_t* b, int64_t pairs, Ints high[kTileRows],
                        Ints low[kTileRows]) {
    const __m512i upper = _mm512_set1_epi32(0x00010000);
    for (int r = 0; r < kTileRows; ++r)
        high[r] = low[r] = splat(0);
    for (int64_t first = 0; first < pairs; first += kExactPairs) {
        const int64_t end = first + kExactPairs < pairs ? first + kExactPairs : pairs;
        __m512i sum[kTileRows];
        for (int r = 0; r < kTileRows; ++r)
            sum[r] = _mm512_setzero_si512();
        for (int64_t p = first; p < end; ++p) {
            const __m512i y = _mm512_load_si512(b + p * kQ14PanelRow);
            const int32_t* pair = reinterpret_cast<const int32_t*>(a + p * kQ14PanelRow);
            for (int r = 0; r < kTileRows; ++r)
                add_pair_products(sum[r], y, _mm512_set1_epi32(pair[r]));
        }
        for (int r = 0; r < kTileRows; ++r) {
            add_pair_products(high[r].v, sum[r], upper);
            low[r].v = _mm512_add_epi32(low[r].v, sum[r]);
        }
    }
    for (int r = 0; r < kTileRows; ++r)
        low[r] = low[r] - shift_left<16>(high[r]);
}

#else

constexpr int kTileRows = 4;

/// One half of the lanes of dot_tile().
GYM_LANES void dot_half(const int16_t* a, const int16_t* b, int64_t pairs, __m256i high[kTileRows],
                        __m256i low[kTileRows]) {
    const __m256i upper = _mm256_set1_epi32(0x00010000);
    for (int r = 0; r < kTileRows; ++r)
        high[r] = low[r] = _mm256_setzero_si256();
    for (int64_t first = 0; first < pairs; first += kExactPairs) {
        const int64_t end = first + kExactPairs < pairs ? first + kExactPairs : pairs;
        __m256i sum[kTileRows];
        for (int r = 0; r < kTileRows; ++r)
            sum[r] = _mm256_setzero_si256();
        for (int64_t p = first; p < end; ++p) {
            const __m256i y =
                _mm256_load_si256(reinterpret_cast<const __m256i*>(b + p * kQ14PanelRow));
            const int32_t* pair = reinterpret_cast<const int32_t*>(a + p * kQ14PanelRow);
            for (int r = 0; r < kTileRows; ++r) {
                const __m256i x = _mm256_set1_epi32(pair[r]);
                sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(y, x));
            }
        }
        for (int r = 0; r < kTileRows; ++r) {
            high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(sum[r], upper));
            low[r] = _mm256_add_epi32(low[r], sum[r]);
        }
    }
    for (int r = 0; r < kTileRows; ++r)
        low[r] = _mm256_sub_epi32(low[r], _mm256_slli_epi32(high[r], 16));
}

/// Dot products of kTileRows vectors of a panel (a points at the first one's first pair) with the
/// sixteen of another panel, over `pairs` pairs: 2^16 * high + low.
GYM_LANES void dot_tile(const int16_t* a, const int16_t* b, int64_t pairs, Ints high[kTileRows],
                        Ints low[kTileRows]) {
    __m256i h[2][kTileRows], l[2][kTileRows];
    for (int half = 0; half < 2; ++half)
        dot_half(a, b + half * kQ14Panel, pairs, h[half], l[half]);
    for (int r = 0; r < kTileRows; ++r) {
        high[r] = {h[0][r], h[1][r]};
        low[r] = {l[0][r], l[1][r]};
    }
}

#endif

/// What the results of a panel of b have in common.
struct OutputColumns {
    Ints exponents;
    Ints poisoned;
    int64_t count;
};

/// value * 2^(a + b - bias), one rounding: value is zero or an integer's f32, at least 1, so the
/// first factor leaves it normal (or overflows, and so does the result).
GYM_LANES Floats finish(Floats value, int32_t a_exponent, const OutputColumns& columns,
                        int32_t bias) {
    const Ints n = columns.exponents + splat(a_exponent - bias);
    const Ints first = min(max(n, splat(-126)), splat(127));
    const Ints one = splat(127);
    const Floats scaled =
        value * floats(shift_left<23>(first + one)) * floats(shift_left<23>(n - first + one));
    const Ints nan = splat(static_cast<int32_t>(f32::kNanBits));
    const Ints a_poisoned = splat(a_exponent == kExponentPoisoned ? -1 : 0);
    return floats(select(columns.poisoned | a_poisoned, nan, bits(scaled)));
}

GYM_LANES void store_row(float* out, Floats x, int64_t count) {
    if (count >= kQ14Panel) {
        store(out, x);
    } else {
        store_first(out, x, count);
    }
}

/// One block is the whole sum: no shift, and T = S * 2^16 only moves the exponent.
GYM_LANES void single_block_tile(const Q14Operand& a, Q14Tile tile, const int16_t* b_panel,
                                 const OutputColumns& columns, float* out, int64_t out_stride) {
    for (int64_t m = tile.m_begin * kQ14Panel; m < tile.m_end * kQ14Panel && m < a.vectors;
         m += kTileRows) {
        const int16_t* rows = a.q + (m / kQ14Panel * a.pairs * kQ14Panel + m % kQ14Panel) * 2;
        Ints high[kTileRows], low[kTileRows];
        dot_tile(rows, b_panel, a.pairs, high, low);
        const int32_t* exponents = a.exponents + m;
        for (int r = 0; r < kTileRows; ++r) {
            if (m + r >= a.vectors) break;
            const Floats sum = to_floats(join_halves(high[r], low[r]));
            store_row(out + (m + r) * out_stride, finish(sum, exponents[r], columns, 26),
                      columns.count);
        }
    }
}

/// Adds the terms of one block to `totals` (rows of the tile, 16).
GYM_LANES void add_block(const Q14Operand& a, const Q14Operand& b, Q14Tile tile, int64_t block,
                         const int16_t* b_panel, int64_t* totals) {
    const int64_t first = block * kQ14BlockPairs;
    const int64_t rest = a.pairs - first;
    const int32_t* a_exponent = a.exponents + block * a.padded_vectors;
    const int32_t* a_maximum = a.exponents + a.blocks * a.padded_vectors;
    const int32_t* b_exponent = b.exponents + block * b.padded_vectors + tile.n * kQ14Panel;
    const int32_t* b_maximum = b.exponents + b.blocks * b.padded_vectors + tile.n * kQ14Panel;
    int32_t b_shift[kQ14Panel];
    for (int64_t n = 0; n < kQ14Panel; ++n)
        b_shift[n] = b_maximum[n] - b_exponent[n];
    for (int64_t m = tile.m_begin * kQ14Panel; m < tile.m_end * kQ14Panel && m < a.vectors;
         m += kTileRows) {
        const int16_t* rows =
            a.q + ((m / kQ14Panel * a.pairs + first) * kQ14Panel + m % kQ14Panel) * 2;
        Ints high[kTileRows], low[kTileRows];
        dot_tile(rows, b_panel + first * kQ14PanelRow,
                 rest < kQ14BlockPairs ? rest : kQ14BlockPairs, high, low);
        for (int r = 0; r < kTileRows; ++r) {
            alignas(64) int32_t h[kQ14Panel], l[kQ14Panel];
            store(h, high[r]);
            store(l, low[r]);
            const int32_t a_shift = a_maximum[m + r] - a_exponent[m + r];
            int64_t* total = totals + (m - tile.m_begin * kQ14Panel + r) * kQ14Panel;
            for (int64_t n = 0; n < kQ14Panel; ++n) {
                const int64_t dot = static_cast<int64_t>(h[n]) * 65536 + l[n];
                total[n] += q14_block_term(dot, a_shift + b_shift[n]);
            }
        }
    }
}

GYM_LANES void store_totals(const Q14Operand& a, Q14Tile tile, const int64_t* totals,
                            const OutputColumns& columns, float* out, int64_t out_stride) {
    const int32_t* a_maximum = a.exponents + a.blocks * a.padded_vectors;
    const int64_t first = tile.m_begin * kQ14Panel;
    for (int64_t m = first; m < tile.m_end * kQ14Panel && m < a.vectors; ++m) {
        alignas(64) float value[kQ14Panel];
        for (int64_t n = 0; n < kQ14Panel; ++n) {
            value[n] = f32::from_i64(totals[(m - first) * kQ14Panel + n]);
        }
        store_row(out + m * out_stride, finish(load(value), a_maximum[m], columns, 42),
                  columns.count);
    }
}

}  // namespace

void q14_quantise_rows(const Q14Source& source, const Q14Operand& out, int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
        const Panel panel = panel_of(out, index);
        const int64_t first_row = index * kQ14Panel;
        const int64_t left = out.vectors - first_row;
        Ints maximum = splat(kExponentMin);
        for (int64_t block = 0; block < out.blocks; ++block) {
            const int64_t k = block * kQ14BlockLength;
            const Ints exponent = quantise_row_block(
                source, source.data + first_row * source.row_stride + k,
                left < kQ14Panel ? left : kQ14Panel, q14_block_end(k, out.length) - k,
                panel.q + k / 2 * kQ14PanelRow);
            store(panel.exponents + block * out.padded_vectors, exponent);
            maximum = max(maximum, exponent);
        }
        store(panel.exponents + out.blocks * out.padded_vectors, maximum);
    }
}

void q14_quantise_columns(const Q14Source& source, const Q14Operand& out, int64_t begin,
                          int64_t end) {
    int64_t index = begin;
    while (index < end) {
        const bool whole_group =
            index + kColumnGroup <= end && (index + kColumnGroup) * kQ14Panel <= out.vectors;
        if (whole_group) {
            quantise_column_group<kColumnGroup>(source, out, index);
        } else {
            quantise_column_group<1>(source, out, index);
        }
        index += whole_group ? kColumnGroup : 1;
    }
}

void q14_tile(const Q14Operand& a, const Q14Operand& b, Q14Tile tile, float* out,
              int64_t out_stride, void* scratch) {
    const int16_t* b_panel = b.q + tile.n * b.pairs * kQ14PanelRow;
    const int32_t* b_maxima = b.exponents + b.blocks * b.padded_vectors + tile.n * kQ14Panel;
    OutputColumns columns;
    columns.exponents = load(b_maxima);
    columns.poisoned = greater(columns.exponents, splat(kExponentMax));
    columns.count = b.vectors - tile.n * kQ14Panel;
    float* out_columns = out + tile.n * kQ14Panel;
    if (b.blocks == 1) {
        single_block_tile(a, tile, b_panel, columns, out_columns, out_stride);
        return;
    }
    int64_t* totals = static_cast<int64_t*>(scratch);
    for (int64_t i = 0; i < (tile.m_end - tile.m_begin) * kQ14Panel * kQ14Panel; ++i)
        totals[i] = 0;
    for (int64_t block = 0; block < b.blocks; ++block)
        add_block(a, b, tile, block, b_panel, totals);
    store_totals(a, tile, totals, columns, out_columns, out_stride);
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
