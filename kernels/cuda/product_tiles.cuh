// Which results of a product a block of threads makes, for the product and for its check.
#pragma once

#include <array>

#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/product.hpp"
#include "launch.cuh"

namespace gym::kernels::cuda {

inline constexpr int kTileM = 64, kTileN = 128;

/// Of the tiles of a product: which one, or how many.
struct Tile {
    unsigned row, column;
};

/// Blocks of threads that run at the same time make tiles of this many rows of tiles, so that they
/// read few different rows of both operands, and b goes through the cache once a group, not once a
/// row of tiles.
inline constexpr unsigned kGroupTileRows = 16;

/// Which tile the block of threads `index` makes: groups of rows one after the other, in each the
/// columns, in these the rows.
/// @param tiles of the product, less than 2^32 together.
GYM_HD Tile tile_of(unsigned index, Tile tiles) {
    const unsigned group = index / (kGroupTileRows * tiles.column);
    const unsigned within = index % (kGroupTileRows * tiles.column);
    const unsigned first = group * kGroupTileRows, left = tiles.row - first;
    const unsigned rows = left < kGroupTileRows ? left : kGroupTileRows;
    return {first + within % rows, within / rows};
}

/// How many columns of results are made in the rows of a tile.
GYM_HD int64_t computed_columns(int64_t tile_row, int64_t columns, Q14Zeros zeros) {
    if (zeros != Q14Zeros::kOutputRightOfDiagonal) return columns;
    const int64_t end = (tile_row * kTileM + kTileM + kTileN - 1) / kTileN * kTileN;
    return end < columns ? end : columns;
}

/// The sums of a checked product, by number: what the product adds to, and from kExpectedDots on
/// what its check does. Each result (item, row, column) counts with the weight of item * rows + row
/// times that of its column.
enum ProductSum : int {
    kDots,    ///< the exact dots of all blocks of 1,024
    kTerms,   ///< the blocks' terms, when they are added to the totals
    kTotals,  ///< the totals in the end
    kStored,  ///< the results' bits
    kExpectedDots,
    kProductSums,
};

/// What of an operand lies in memory.
inline std::array<Region, 4> buffers_of(const Digits& digits) {
    constexpr int64_t kWordBytes = 4;
    const int64_t vectors = digits.items * digits.vectors, bytes = vectors * digits.pitch;
    const int64_t words_a_block = digits.block_sums == nullptr ? 1 : 2;
    return {Region{digits.high, bytes}, Region{digits.low, bytes},
            Region{digits.block_exponents, vectors * digits.blocks * words_a_block * kWordBytes},
            Region{digits.exponents, vectors * kWordBytes}};
}

/// Adds to kExpectedDots what the dots of a * b^T come to: the weighted columns of a, times those
/// of b, in about (M + N) * K steps.
void expect_dots(Device& device, const Digits& a, const Digits& b, Q14Zeros zeros,
                 unsigned long long* sum);

}  // namespace gym::kernels::cuda
