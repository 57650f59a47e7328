// Per-level entry points of q14_product.hpp. Plain structures only: these are passed to sources
// that are compiled for one instruction set (multiversion.hpp).
#pragma once

#include <cstdint>

#include "cpu/multiversion.hpp"

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
    int64_t vectors;
    int64_t padded_vectors;
    int64_t length;
    int64_t pairs;
    int64_t blocks;
};

struct Q14Source {
    const float* data;
    int64_t row_stride;
    bool fixed;
    int32_t fixed_exponent;
};

/// Output rows of the panels m_begin <= m < m_end against one panel n of b.
struct Q14Tile {
    int64_t m_begin;
    int64_t m_end;
    int64_t n;
};

/// Panels of `a` in one tile, so that a tile's partial sums stay in the second-level cache.
inline constexpr int64_t kQ14TilePanels = 32;
/// What q14_tile needs besides its operands: partial sums of a tile.
inline constexpr int64_t kQ14ScratchBytes = kQ14TilePanels * kQ14Panel * kQ14Panel * 8;

/// Exponents and digits of the panels begin <= p < end of vectors that are rows of the source.
GYM_DECLARE_KERNEL(void q14_quantise_rows(const Q14Source& source, const Q14Operand& out,
                                          int64_t begin, int64_t end))
/// The same for vectors that are columns of the source.
GYM_DECLARE_KERNEL(void q14_quantise_columns(const Q14Source& source, const Q14Operand& out,
                                             int64_t begin, int64_t end))

/// @param scratch kQ14ScratchBytes, aligned to 64. @pre at least one block.
GYM_DECLARE_KERNEL(void q14_tile(const Q14Operand& a, const Q14Operand& b, Q14Tile tile, float* out,
                                 int64_t out_stride, void* scratch))

}  // namespace gym::kernels
