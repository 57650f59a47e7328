// The Q14 product without vector instructions: the reference for the other levels' kernels.
#include "cpu/q14_tasks.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels::scalar {

namespace {

struct Strides {
    int64_t vector;
    int64_t element;
};

int32_t block_exponent(const Q14Source& source, const float* x, int64_t count, int64_t stride) {
    if (!source.fixed) return row_exponent(x, count, stride);
    for (int64_t i = 0; i < count; ++i) {
        if (!q14_fits(x[i * stride], source.fixed_exponent)) return kExponentPoisoned;
    }
    return source.fixed_exponent;
}

void quantise_vector(const Q14Source& source, const Q14Operand& out, int64_t vector,
                     Strides strides) {
    int16_t* q = out.q + (vector / kQ14Panel * out.pairs * kQ14Panel + vector % kQ14Panel) * 2;
    const bool exists = vector < out.vectors;
    const float* x = exists ? source.data + vector * strides.vector : nullptr;
    int32_t maximum = kExponentMin;
    for (int64_t block = 0; block < out.blocks; ++block) {
        const int64_t first = block * kQ14BlockLength;
        const int64_t last = q14_block_end(first, out.length);
        const int32_t exponent = exists ? block_exponent(source, x + first * strides.element,
                                                         last - first, strides.element)
                                        : kExponentMin;
        out.exponents[block * out.padded_vectors + vector] = exponent;
        maximum = exponent > maximum ? exponent : maximum;
        for (int64_t k = first; k < (last + 1) / 2 * 2; ++k) {
            const bool present = exists && k < out.length;
            q[k / 2 * kQ14PanelRow + k % 2] =
                static_cast<int16_t>(present ? q14_quantise(x[k * strides.element], exponent) : 0);
        }
    }
    out.exponents[out.blocks * out.padded_vectors + vector] = maximum;
}

constexpr int kTileM = 2, kTileN = 4;

// Dot products of kTileM vectors of one panel with kTileN of another over `pairs` pairs.
void dot_tile(const int16_t* a, const int16_t* b, int64_t pairs, int64_t sum[kTileM][kTileN]) {
    for (int64_t p = 0; p < pairs; ++p, a += kQ14PanelRow, b += kQ14PanelRow) {
        for (int m = 0; m < kTileM; ++m) {
            for (int n = 0; n < kTileN; ++n) {
                // A product is at most 2^26, so a pair's sum fits an i32.
                sum[m][n] += a[2 * m] * b[2 * n] + a[2 * m + 1] * b[2 * n + 1];
            }
        }
    }
}

struct Position {
    int64_t m;
    int64_t n;
};

void product_tile(const Q14Operand& a, const Q14Operand& b, Position at, float* out,
                  int64_t out_stride) {
    const int16_t* a_panel = a.q + (at.m / kQ14Panel * a.pairs * kQ14Panel + at.m % kQ14Panel) * 2;
    const int16_t* b_panel = b.q + (at.n / kQ14Panel * b.pairs * kQ14Panel + at.n % kQ14Panel) * 2;
    const int32_t* a_maxima = a.exponents + a.blocks * a.padded_vectors;
    const int32_t* b_maxima = b.exponents + b.blocks * b.padded_vectors;
    int64_t total[kTileM][kTileN] = {};
    for (int64_t block = 0; block < a.blocks; ++block) {
        const int64_t first = block * kQ14BlockPairs;
        const int64_t rest = a.pairs - first;
        int64_t sum[kTileM][kTileN] = {};
        dot_tile(a_panel + first * kQ14PanelRow, b_panel + first * kQ14PanelRow,
                 rest < kQ14BlockPairs ? rest : kQ14BlockPairs, sum);
        for (int m = 0; m < kTileM; ++m) {
            for (int n = 0; n < kTileN; ++n) {
                const int32_t shift =
                    a_maxima[at.m + m] - a.exponents[block * a.padded_vectors + at.m + m] +
                    b_maxima[at.n + n] - b.exponents[block * b.padded_vectors + at.n + n];
                total[m][n] += q14_block_term(sum[m][n], shift);
            }
        }
    }
    for (int m = 0; m < kTileM && at.m + m < a.vectors; ++m) {
        for (int n = 0; n < kTileN && at.n + n < b.vectors; ++n) {
            out[(at.m + m) * out_stride + at.n + n] =
                q14_finish(total[m][n], a_maxima[at.m + m], b_maxima[at.n + n]);
        }
    }
}

}  // namespace

namespace {

void forget_energies(const Q14Operand& out, int64_t begin, int64_t end) {
    const int64_t panels = out.padded_vectors / kQ14Panel;
    for (int64_t block = 0; block < out.blocks; ++block) {
        for (int64_t p = begin; p < end; ++p)
            out.energies[block * panels + p] = kQ14EnergyUnknown;
    }
}

}  // namespace

void q14_quantise_rows(const Q14Source& source, const Q14Operand& out, int64_t begin, int64_t end) {
    forget_energies(out, begin, end);
    for (int64_t v = begin * kQ14Panel; v < end * kQ14Panel; ++v) {
        quantise_vector(source, out, v, {source.row_stride, 1});
    }
}

void q14_quantise_columns(const Q14Source& source, const Q14Operand& out, int64_t begin,
                          int64_t end) {
    forget_energies(out, begin, end);
    for (int64_t v = begin * kQ14Panel; v < end * kQ14Panel; ++v) {
        quantise_vector(source, out, v, {1, source.row_stride});
    }
}

void q14_tile(const Q14Operand& a, const Q14Operand& b, Q14Tile tile, float* out,
              int64_t out_stride) {
    for (int64_t m = tile.m_begin * kQ14Panel; m < tile.m_end * kQ14Panel && m < a.vectors;
         m += kTileM) {
        for (int64_t n = tile.n * kQ14Panel; n < tile.n_end * kQ14Panel && n < b.vectors;
             n += kTileN) {
            product_tile(a, b, {m, n}, out, out_stride);
        }
    }
}

}  // namespace gym::kernels::scalar
