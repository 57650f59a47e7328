// The order in which blocks of threads make the tiles of a product.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "product_tiles.cuh"

namespace gym::kernels::cuda {
namespace {

std::vector<Tile> order_of(Tile tiles) {
    std::vector<Tile> out;
    for (unsigned i = 0; i < tiles.row * tiles.column; ++i)
        out.push_back(tile_of(i, tiles));
    return out;
}

TEST(TileOrder, HasEachTileOnce) {
    for (const unsigned rows : {1U, 2U, 15U, 16U, 17U, 32U, 40U, 65'535U}) {
        for (const unsigned columns : {1U, 2U, 7U, 33U}) {
            std::vector<bool> seen(std::size_t{rows} * columns);
            for (const Tile tile : order_of({rows, columns})) {
                ASSERT_LT(tile.row, rows);
                ASSERT_LT(tile.column, columns);
                const std::size_t at = std::size_t{tile.row} * columns + tile.column;
                ASSERT_FALSE(seen[at]) << rows << " x " << columns;
                seen[at] = true;
            }
        }
    }
}

/// 256 blocks of threads in a row that read few operands; row by row they would read 34 columns.
TEST(TileOrder, HasNeighboursInASquare) {
    const std::vector<Tile> order = order_of({40, 34});
    std::set<unsigned> rows, columns;
    for (std::size_t i = 0; i < 256; ++i) {
        rows.insert(order[i].row);
        columns.insert(order[i].column);
    }
    EXPECT_EQ(rows.size(), 16U);
    EXPECT_EQ(columns.size(), 16U);
}

TEST(TileOrder, ComesToAColumnOnceAGroup) {
    unsigned visits = 0, column = ~0U;
    for (const Tile tile : order_of({40, 30})) {
        if (tile.column != column) ++visits;
        column = tile.column;
    }
    EXPECT_EQ(visits, 3U * 30U);
}

}  // namespace
}  // namespace gym::kernels::cuda
