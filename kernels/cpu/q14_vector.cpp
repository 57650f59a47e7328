// The Q14 product with vector instructions: compiled for AVX2 and for AVX-512 (multiversion.hpp).
//
// Sums of pairs are in q14_registers.hpp. A tile's sums lie in memory (first-level cache): for
// every slice of pairs, a few vectors of `a` at a time take theirs into registers, so a slice of
// `b` is fetched once a tile, not once a register block.
#include "cpu/q14_registers.hpp"
#include "cpu/q14_tasks.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

constexpr int kTileGroups = kQ14TileRows / kRegisterRows;
constexpr int kGroupsInPanel = kQ14Panel / kRegisterRows;

/// The sums of kQ14TileRows vectors of `a` with `Panels` panels of b: [group][row][panel].
template <int Panels>
struct TileSums {
    Sums group[kTileGroups][kRegisterRows * Panels];
    [[nodiscard]] const Sums& at(int row, int panel) const {
        return group[row / kRegisterRows][row % kRegisterRows * Panels + panel];
    }
};

/// Panels of one operand from some pair on.
struct Panels {
    const int16_t* q;
    int64_t stride;
};

/// The first row of a register block of the tile at `a`, from pair `first` on.
GYM_LANES const int16_t* rows_of_group(Panels a, int group, int64_t first) {
    const int64_t panel = group / kGroupsInPanel,
                  row = int64_t{group % kGroupsInPanel} * kRegisterRows;
    return a.q + panel * a.stride + row * 2 + first * kQ14PanelRow;
}

/// Pairs first <= p < end, counted from the beginning of a block.
struct PairRange {
    int64_t first, end;
};

/// How a range of pairs is cut: into slices that the first-level cache holds, and those into
/// intervals after each of which there is a carry.
struct Cuts {
    int64_t slice;
    int64_t interval;
    bool groups;  // intervals are made of the groups that energies speak of, or parts of those
};

/// Intervals as long as the panels' energies allow: the dot product of any part of one, together
/// with a carry, fits an i32.
GYM_LANES Cuts cuts(const uint32_t* a, int64_t a_panels, const uint32_t* b, int64_t b_panels) {
    constexpr uint64_t kSumMax = (uint64_t{INT32_MAX} - 65535) / 8;
    uint64_t a_energy = 1, b_energy = 1;
    for (int64_t p = 0; p < a_panels; ++p)
        a_energy = a[p] > a_energy ? a[p] : a_energy;
    for (int64_t p = 0; p < b_panels; ++p)
        b_energy = b[p] > b_energy ? b[p] : b_energy;
    const auto fit = [energy = a_energy * b_energy](uint64_t groups) {
        return energy <= kSumMax * kSumMax / (groups * groups);
    };
    constexpr int64_t kGroup = kQ14GroupPairs;
    if (!fit(1)) return {16 * kExactPairs, kExactPairs, false};
    if (fit(8)) return {8 * kGroup, 8 * kGroup, true};
    if (fit(4)) return {4 * kGroup, 4 * kGroup, true};
    if (fit(3)) return {3 * kGroup, 3 * kGroup, true};
    return {4 * kGroup, (fit(2) ? 2 : 1) * kGroup, true};
}

/// a and b point at pair 0 of a block. @pre the range is not empty.
template <int N>
GYM_LANES void dot_tile(Panels a, Panels b, int groups, PairRange range, Cuts cuts,
                        TileSums<N>& sums) {
    for (int64_t first = range.first; first < range.end;) {
        const int64_t inside_group = cuts.groups ? first % cuts.interval : 0;
        const int64_t next =
            inside_group > 0 ? first - inside_group + cuts.interval : first + cuts.slice;
        const int64_t end = next < range.end ? next : range.end;
        for (int g = 0; g < groups; ++g) {
            add_products<N>(rows_of_group(a, g, first), b.q + first * kQ14PanelRow, b.stride,
                            end - first, cuts.interval, first == range.first, sums.group[g]);
        }
        first = end;
    }
}

/// Shared by the results of a panel of b.
struct OutputColumns {
    Scaler scaler;
    int64_t count;
};

struct Output {
    float* data;
    int64_t stride;
    bool stream;  // past the caches
};

GYM_LANES void store_row(const Output& out, float* at, Floats x, int64_t count) {
    if (count < kQ14Panel) {
        store_first(at, x, count);
    } else if (out.stream) {
        store_past_caches(at, x);
    } else {
        store(at, x);
    }
}

/// Where a tile lies: kQ14TileRows rows (fewer at the end) from m, N panels from panel n.
struct Position {
    int64_t m;
    int64_t rows;
    int64_t n;
};

/// Pairs of one block that can contribute to a tile.
GYM_LANES PairRange pairs_of_block(const Q14Operand& a, Q14Zeros zeros, int64_t block,
                                   Position at) {
    const int64_t begin = block * kQ14BlockPairs, rest = a.pairs - begin;
    PairRange range{0, rest < kQ14BlockPairs ? rest : kQ14BlockPairs};
    if (zeros == Q14Zeros::kRightOfDiagonal) {
        const int64_t end = (at.m + at.rows + 1) / 2 - begin;
        if (range.end > end) range.end = end;
    } else if (zeros == Q14Zeros::kLeftOfDiagonal) {
        if (range.first < at.m / 2 - begin) range.first = at.m / 2 - begin;
    }
    if (range.first > range.end) range.first = range.end;  // more vectors than elements
    return range;
}

/// Operands of a tile's sums over one block.
struct BlockTile {
    Panels a, b;  // at pair 0 of the block
    int groups;   // register blocks of rows
    Cuts cuts;
};

template <int N>
GYM_LANES BlockTile block_tile(const Q14Operand& a, const Q14Operand& b, int64_t block,
                               Position at) {
    const int64_t a_stride = a.pairs * kQ14PanelRow, b_stride = b.pairs * kQ14PanelRow;
    const int64_t skip = block * kQ14BlockPairs * kQ14PanelRow;
    const int64_t panel = at.m / kQ14Panel;
    const uint32_t* a_energies = a.energies + block * (a.padded_vectors / kQ14Panel) + panel;
    const uint32_t* b_energies = b.energies + block * (b.padded_vectors / kQ14Panel) + at.n;
    const int64_t a_panels = (at.rows + kQ14Panel - 1) / kQ14Panel;
    return {{a.q + panel * a_stride + skip, a_stride},
            {b.q + at.n * b_stride + skip, b_stride},
            static_cast<int>((at.rows + kRegisterRows - 1) / kRegisterRows),
            cuts(a_energies, a_panels, b_energies, N)};
}

template <int N>
GYM_LANES void columns_of(const Q14Operand& b, int64_t n, int32_t bias, OutputColumns columns[N]) {
    const int32_t* maxima = b.exponents + b.blocks * b.padded_vectors;
    for (int j = 0; j < N; ++j) {
        columns[j].scaler = scaler(load(maxima + (n + j) * kQ14Panel), bias);
        columns[j].count = b.vectors - (n + j) * kQ14Panel;
    }
}

/// Scales of a tile's rows from the exponents of its first one on.
struct TileRows {
    alignas(64) RowScale scale[kQ14TileRows];

    GYM_LANES_MEMBER TileRows(const int32_t* exponents, Position at) {
        for (int64_t r = 0; r < at.rows; r += kQ14Panel)
            store_row_scales(scale + r, load(exponents + r));
    }
};

/// A block's dot products that stay below 2^31 throughout: registers hold them.
template <int N>
GYM_LANES void short_tile(const BlockTile& tile, PairRange range, const TileRows& rows,
                          const OutputColumns* columns, Position at, const Output& out) {
    for (int g = 0; g < tile.groups; ++g) {
        RegisterSums<N> sums;
        clear(sums);
        const int16_t* a = rows_of_group(tile.a, g, range.first);
        const int16_t* b = tile.b.q + range.first * kQ14PanelRow;
        add_many_pairs(a, b, tile.b.stride, range.end - range.first, sums);
        for_each_sum<N>([&](auto row, auto panel) __attribute__((always_inline)) {
            const int64_t r = g * kRegisterRows + row.value;
            if (r >= at.rows) return;
            store_row(out, out.data + (at.m + r) * out.stride + (at.n + panel.value) * kQ14Panel,
                      scaled(to_floats(sums.at[row.value * N + panel.value]), rows.scale[r],
                             columns[panel.value].scaler),
                      columns[panel.value].count);
        });
    }
}

/// One block is the whole sum: no shift, and T = S * 2^16 only moves the exponent.
template <int N>
GYM_LANES void single_block_tile(const Q14Operand& a, const Q14Operand& b, Q14Zeros zeros,
                                 Position at, const Output& out) {
    const PairRange range = pairs_of_block(a, zeros, 0, at);
    const BlockTile tile = block_tile<N>(a, b, 0, at);
    OutputColumns columns[N];
    columns_of<N>(b, at.n, 26, columns);
    const TileRows rows(a.exponents + at.m, at);
    const int64_t group = tile.cuts.interval;
    if (range.end - range.first <= kExactPairs ||
        (tile.cuts.groups && range.first / group == (range.end - 1) / group)) {
        short_tile<N>(tile, range, rows, columns, at, out);
        return;
    }
    TileSums<N> sums;
    dot_tile<N>(tile.a, tile.b, tile.groups, range, tile.cuts, sums);
    for (int r = 0; r < at.rows; ++r) {
        float* row = out.data + (at.m + r) * out.stride + at.n * kQ14Panel;
        for (int j = 0; j < N; ++j) {
            const Sums& sum = sums.at(r, j);
            store_row(out, row + j * kQ14Panel,
                      scaled(join_halves(sum.high, sum.low), rows.scale[r], columns[j].scaler),
                      columns[j].count);
        }
    }
}

/// Exponents of one block of N panels of b, as far as T_b needs them.
template <int N>
struct BlockShifts {
    alignas(64) int32_t shift[N][kQ14Panel];
    int32_t largest[N];
};

template <int N>
GYM_LANES BlockShifts<N> block_shifts(const Q14Operand& b, int64_t block, int64_t n) {
    BlockShifts<N> result;
    const int32_t* exponents = b.exponents + block * b.padded_vectors;
    const int32_t* maxima = b.exponents + b.blocks * b.padded_vectors;
    for (int j = 0; j < N; ++j) {
        const int64_t first = (n + j) * kQ14Panel;
        const Ints shift = load(maxima + first) - load(exponents + first);
        store(result.shift[j], shift);
        result.largest[j] = largest(shift);
    }
    return result;
}

/// Where a tile's totals stand when a block's terms come.
struct Progress {
    bool first, last;  // of the blocks that count
};

/// Adds the terms of one block to the totals, or, if it is the last one, stores the results.
template <int N>
GYM_LANES void add_block(const Q14Operand& a, const Q14Operand& b, int64_t block, Position at,
                         Progress progress, const TileSums<N>& sums, Longs totals[][N],
                         const Output& out) {
    const int32_t* a_exponent = a.exponents + block * a.padded_vectors + at.m;
    const int32_t* a_maximum = a.exponents + a.blocks * a.padded_vectors + at.m;
    const BlockShifts<N> b_shifts = block_shifts<N>(b, block, at.n);
    OutputColumns columns[N];
    columns_of<N>(b, at.n, 42, columns);
    const TileRows rows(a_maximum, at);
    for (int r = 0; r < at.rows; ++r) {
        const int32_t a_shift = a_maximum[r] - a_exponent[r];
        float* row = out.data + (at.m + r) * out.stride + at.n * kQ14Panel;
        for (int j = 0; j < N; ++j) {
            const Sums& sum = sums.at(r, j);
            // Up to a shift of 16, T is a multiple of S: nothing to round.
            Longs total =
                a_shift + b_shifts.largest[j] <= 16
                    ? shifted(sum.high, sum.low, splat(16 - a_shift) - load(b_shifts.shift[j]))
                    : rounded_terms(sum.high, sum.low, a_shift, b_shifts.shift[j]);
            if (!progress.first) total = total + totals[r][j];
            if (progress.last) {
                store_row(out, row + j * kQ14Panel,
                          scaled(rounded(total), rows.scale[r], columns[j].scaler),
                          columns[j].count);
            } else {
                totals[r][j] = total;
            }
        }
    }
}

/// Blocks first <= b < end; never empty.
struct BlockRange {
    int64_t first, end;
};

/// Those that can contribute to a tile.
GYM_LANES BlockRange blocks_of_tile(const Q14Operand& a, Q14Zeros zeros, Position at) {
    BlockRange range{0, a.blocks};
    if (zeros == Q14Zeros::kRightOfDiagonal) {
        const int64_t end = (at.m + at.rows - 1) / kQ14BlockLength + 1;
        if (range.end > end) range.end = end;
    } else if (zeros == Q14Zeros::kLeftOfDiagonal) {
        const int64_t first = at.m / kQ14BlockLength;
        range.first = first < a.blocks ? first : a.blocks - 1;
    }
    return range;
}

template <int N>
GYM_LANES void many_block_tile(const Q14Operand& a, const Q14Operand& b, Q14Zeros zeros,
                               Position at, const Output& out) {
    TileSums<N> sums;
    Longs totals[kQ14TileRows][N];
    const BlockRange blocks = blocks_of_tile(a, zeros, at);
    for (int64_t block = blocks.first; block < blocks.end; ++block) {
        const PairRange pairs = pairs_of_block(a, zeros, block, at);
        if (pairs.first < pairs.end) {
            const BlockTile tile = block_tile<N>(a, b, block, at);
            dot_tile<N>(tile.a, tile.b, tile.groups, pairs, tile.cuts, sums);
        } else {
            sums = TileSums<N>();
        }
        add_block<N>(a, b, block, at, {block == blocks.first, block == blocks.end - 1}, sums,
                     totals, out);
    }
}

template <int N>
GYM_LANES void tile_rows(const Q14Operand& a, const Q14Operand& b, Q14Tile tile,
                         const Output& out) {
    const int64_t last = tile.m_end * kQ14Panel < a.vectors ? tile.m_end * kQ14Panel : a.vectors;
    for (int64_t m = tile.m_begin * kQ14Panel; m < last; m += kQ14TileRows) {
        const Position at{m, m + kQ14TileRows < last ? kQ14TileRows : last - m, tile.n};
        if (tile.zeros == Q14Zeros::kOutputRightOfDiagonal && at.n * kQ14Panel >= at.m + at.rows) {
            continue;
        }
        if (a.blocks == 1) {
            single_block_tile<N>(a, b, tile.zeros, at, out);
        } else {
            many_block_tile<N>(a, b, tile.zeros, at, out);
        }
    }
}

}  // namespace

void q14_tile(const Q14Operand& a, const Q14Operand& b, Q14Tile tile, float* out,
              int64_t out_stride) {
    const bool aligned = reinterpret_cast<uintptr_t>(out) % 64 == 0 && out_stride % kQ14Panel == 0;
    const Output output{out, out_stride, aligned && tile.past_caches};
    for (; tile.n < tile.n_end; tile.n += kRegisterPanels) {
        if (tile.n + kRegisterPanels <= tile.n_end) {
            tile_rows<kRegisterPanels>(a, b, tile, output);
        } else {
            tile_rows<1>(a, b, tile, output);
        }
    }
    if (output.stream) end_stores_past_caches();
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
