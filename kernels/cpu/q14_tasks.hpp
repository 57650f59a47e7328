// Per-level entry points of q14_product.hpp. Plain structures only: these are passed to sources
// that are compiled for one instruction set (multiversion.hpp).
#pragma once

#include <cstdint>

#include "cpu/multiversion.hpp"
#include "gym/kernels/q14_product.hpp"

namespace gym::kernels {

/// Vectors in a panel of QuantisedMatrix.
inline constexpr int64_t kQ14Panel = 16;
/// Elements of a panel's row: a pair of elements of each vector.
inline constexpr int64_t kQ14PanelRow = 2 * kQ14Panel;
inline constexpr int64_t kQ14BlockPairs = 512;

/// A quantised operand (layout: QuantisedMatrix).
struct Q14Operand {
    int16_t* q;  // (panels, pairs, 16, 2)
    int32_t*
        exponents;  // (blocks + 1, padded_vectors); the last row holds the maxima over the blocks
    uint32_t* energies;  // (blocks, panels), see kQ14EnergyUnknown
    int64_t vectors;
    int64_t padded_vectors;
    int64_t length;
    int64_t pairs;
    int64_t blocks;
};

/// Pairs whose sum of squares bounds their dot products.
inline constexpr int64_t kQ14GroupPairs = 64;
/// The energy of a panel's block: an eighth (rounded up) of the largest sum of squares over any
/// aligned group of kQ14GroupPairs of any of its vectors, or kQ14EnergyUnknown. No part of a
/// group's dot product exceeds 8 * sqrt(energy * energy) (Cauchy and Schwarz).
inline constexpr uint32_t kQ14EnergyUnknown = UINT32_MAX;

struct Q14Source {
    const float* data;
    int64_t row_stride;
    bool fixed;
    int32_t fixed_exponent;
    Q14Zeros zeros;  // what these leave out is neither read nor written
};

/// Output rows of the panels m_begin <= m < m_end against the panels n <= p < n_end of b.
struct Q14Tile {
    int64_t m_begin;
    int64_t m_end;
    int64_t n;
    int64_t n_end;
    Q14Zeros zeros = Q14Zeros::kNone;
    bool past_caches = false;  // they would not hold the output, and need not fetch the old one
};

/// Rows of `a` whose sums are in work at the same time; a multiple of the panel.
inline constexpr int64_t kQ14TileRows = 32;

/// Elements of the vectors of panel `panel` that products with the same `zeros` read.
struct Q14Elements {
    int64_t begin;
    int64_t end;
};
// Kernels take a's vectors by the tile, so the diagonal is crossed in steps of a tile. (static: one
// copy a level, see multiversion.hpp.)
static inline Q14Elements q14_elements(Q14Zeros zeros, int64_t panel, int64_t length) {
    const int64_t tile = panel * kQ14Panel / kQ14TileRows * kQ14TileRows;
    const int64_t begin = tile < length ? tile : length;
    const int64_t end = tile + kQ14TileRows < length ? tile + kQ14TileRows : length;
    if (zeros == Q14Zeros::kRightOfDiagonal) return {0, end};
    if (zeros == Q14Zeros::kLeftOfDiagonal) return {begin, length};
    return {0, length};
}

/// Exponents and digits of the panels begin <= p < end of vectors that are rows of the source.
GYM_DECLARE_KERNEL(void q14_quantise_rows(const Q14Source& source, const Q14Operand& out,
                                          int64_t begin, int64_t end))
/// The same for vectors that are columns of the source.
GYM_DECLARE_KERNEL(void q14_quantise_columns(const Q14Source& source, const Q14Operand& out,
                                             int64_t begin, int64_t end))

/// @pre at least one block.
GYM_DECLARE_KERNEL(void q14_tile(const Q14Operand& a, const Q14Operand& b, Q14Tile tile, float* out,
                                 int64_t out_stride))

}  // namespace gym::kernels
