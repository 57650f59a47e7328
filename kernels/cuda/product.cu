// The Q14 product on int8 tensor cores.
//
// A block of threads makes a tile of 64 x 128 results, a warp one of 32 x 32. Digits come through
// shared memory in stages of 32 bytes a vector, three of them under way. With hh, ll and ss the
// exact dot products of the high digits, of the low digits and of their sums (which fit a byte),
//     dot = 2^14 hh + 2^7 (ss - hh - ll) + ll,
// so three products do the work of four. At the end of every block of 1,024 elements the dots
// become terms.
//
// Digits of b have 64 added, and no sign: high in [0, 128], low in [0, 127], both together at most
// 255, so that nothing carries where words of them are added. Each element of b is then too large
// by 64 * 129, and dot by as much times s, the sum of a's elements of the block. Of dot, ss is
// counted 128 times and ll -127 times, and 64 * 129 = 128 * 128 - 127 * 64: so the accumulators of
// ss begin at -128 s, those of ll at -64 s. No partial sum leaves 32 bits (static_assert below).
// What a triangle leaves out of a dot is zero in a, so that s is the same without it; it is not
// zero in b.
#include <type_traits>

#include "gym/kernels/cuda/block_finish.hpp"
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/q14.h"
#include "launch.cuh"
#include "product_exponents.cuh"
#include "product_tiles.cuh"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kStageBytes = 32;  // of the length, in one tensor-core product
constexpr int kWarpsM = 2, kWarpsN = 4;
constexpr int kThreads = kWarpsM * kWarpsN * kWarpSize;
constexpr int kWarpTileM = kTileM / kWarpsM, kWarpTileN = kTileN / kWarpsN;
constexpr int kFragmentsM = kWarpTileM / 16;  // of 16 rows
constexpr int kFragmentsN = kWarpTileN / 8;   // of 8 columns
constexpr int kStages = 4;
constexpr int kStagesPerBlock = static_cast<int>(kQ14BlockLength) / kStageBytes;
constexpr int kChunk = 16;  // bytes that are copied at once
constexpr int kChunksPerRow = kStageBytes / kChunk;
constexpr int kRows = kTileM + kTileN;
constexpr int kDigitBytes = kRows * kStageBytes;

/// One stage in shared memory: rows of a, then those of b.
struct alignas(kChunk) Stage {
    uint8_t rows[2][kRows][kStageBytes];  // high, low
};
static_assert(kStages * sizeof(Stage) == 48 * 1024, "what a block has without asking for more");

/// Where a chunk of a row lies among the rows of a digit. The eight rows that ldmatrix reads at
/// once, and the four that eight threads copy, lie in different banks.
__device__ inline int place_of(int row, int chunk) {
    return row * kStageBytes + (chunk ^ (row / 4 % kChunksPerRow)) * kChunk;
}

/// Where a stage lies in the ring of stages.
__device__ inline int ring_offset(int stage) {
    return static_cast<int>(static_cast<unsigned>(stage) % kStages * sizeof(Stage));
}

/// What the accumulators begin at, times the sum of a's elements in the block.
constexpr int32_t kLowStart = -64, kSumStart = -128;
static_assert(kSumStart * 128 - kLowStart * 127 == -kDigitOffset * 129);
/// The largest magnitudes: of that sum, and of what the products of a block add to it.
constexpr int64_t kElementSumMax = kQ14BlockLength * kQ14Max;
constexpr int64_t kLowMax = kQ14BlockLength * 64 * 127, kSumMax = kQ14BlockLength * 128 * 255;
static_assert(-kLowStart * kElementSumMax + kLowMax <= INT32_MAX);
static_assert(-kSumStart * kElementSumMax + kSumMax <= INT32_MAX);
constexpr int64_t kHighMax = kQ14BlockLength * 64 * 128;
static_assert(kHighMax + (-kLowStart - kSumStart) * kElementSumMax + kLowMax + kSumMax <=
                  INT32_MAX - (1 << 25),
              "as block_dot() wants it");

/// The sums of four high and four low digits of a, in [-128, 127]. With 0x80 in each byte,
/// x ^ 0x80 is x + 128: once 128 is taken off, a byte has a sum of 0 to 255, and nothing carries.
__device__ inline uint32_t add_digits(uint32_t high, uint32_t low) {
    constexpr uint32_t k128 = 0x80808080u;
    return ((high ^ k128) + (low ^ k128) - k128) ^ k128;
}

struct Accumulators {
    int32_t high[kFragmentsM][kFragmentsN][4];
    int32_t low[kFragmentsM][kFragmentsN][4];
    int32_t sum[kFragmentsM][kFragmentsN][4];

    /// Of a row's results of a block. @param half 0: rows 0 to 7 of fragment m, 1: the others.
    __device__ void begin_row(int m, int half, int32_t element_sum) {
        GYM_UNROLL
        for (int n = 0; n < kFragmentsN; ++n) {
            GYM_UNROLL
            for (int c = half * 2; c < half * 2 + 2; ++c) {
                high[m][n][c] = 0;
                low[m][n][c] = kLowStart * element_sum;
                sum[m][n][c] = kSumStart * element_sum;
            }
        }
    }

    // From values that the compiler does not know, so that it computes nothing of a dot in the loop
    // of stages, and what is computed twice is.
    __device__ BlockDot dot(int m, int n, int c) const {
        return block_dot(computed_here(high[m][n][c]), computed_here(low[m][n][c]),
                         computed_here(sum[m][n][c]));
    }
    __device__ int64_t wide_dot(int m, int n, int c) const {
        const int64_t hh = computed_here(high[m][n][c]), ll = computed_here(low[m][n][c]),
                      ss = computed_here(sum[m][n][c]);
        return hh * 16256 + ss * 128 - ll * 127;
    }
};

/// Sums of the blocks' terms; nothing where there is a single block.
template <bool kManyBlocks>
struct Totals {
    int64_t value[kFragmentsM][kFragmentsN][4] = {};
};
template <>
struct Totals<false> {};

/// As computed_here().
__device__ inline int64_t hidden(int64_t value) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(value));
#endif
    return value;
}

/// @tparam kManyBlocks vectors are longer than one block, so terms are added up.
/// @tparam kChecked what is computed is summed a second time (product_tiles.cuh).
template <bool kManyBlocks, bool kChecked>
struct Product {
    Digits a;
    Digits b;
    float* out;
    int64_t out_stride;
    Batch out_batch;
    Q14Zeros zeros;
    uint32_t nothing;  ///< 0, which ptxas does not know
    unsigned long long* sums;
    ForCheck<kChecked> for_check;

    /// The same value, of which ptxas computes nothing together with that of another place.
    __device__ int64_t computed_alone(int64_t value) const { return value ^ nothing; }

    /// What a thread copies of each stage: a chunk of a row of a and of two rows of b, of one
    /// digit.
    struct Copies {
        const uint8_t* from[3];
        bool valid[3];
        SharedAddress to;  ///< in the first stage of the ring

        /// @param stage the first one to copy.
        __device__ Copies(const Product& product, Stage& ring, Tile tile, int stage) {
            static_assert(kThreads == 2 * kTileM * kChunksPerRow && kTileN == 2 * kTileM);
            const int thread = static_cast<int>(threadIdx.x);
            const int digit = thread / (kThreads / 2), chunk = thread % kChunksPerRow;
            const int first = thread / kChunksPerRow % kTileM;
            const int64_t byte = static_cast<int64_t>(stage) * kStageBytes + chunk * kChunk;
            const int64_t row = static_cast<int64_t>(tile.row) * kTileM + first;
            const int64_t column = static_cast<int64_t>(tile.column) * kTileN + first;
            take(0, product.a, digit, row, byte);
            take(1, product.b, digit, column, byte);
            take(2, product.b, digit, column + kTileM, byte);
            to = shared_address(&ring) + digit * kDigitBytes + place_of(first, chunk);
        }
        __device__ void take(int i, const Digits& digits, int digit, int64_t vector, int64_t byte) {
            valid[i] = vector < digits.vectors;
            const int64_t row = blockIdx.z * digits.vectors + (valid[i] ? vector : 0);
            from[i] = (digit == 0 ? digits.high : digits.low) + row * digits.pitch + byte;
        }
        /// Starts the copies of the next stage.
        __device__ void start(int offset) {
            GYM_UNROLL
            for (int i = 0; i < 3; ++i) {
                copy_16_bytes(to + offset + i * kTileM * kStageBytes, from[i], valid[i]);
                from[i] += kStageBytes;
            }
        }
    };

    /// The rows that this lane names to ldmatrix, of the first fragments of a warp, high digits, in
    /// the first stage of the ring. A fragment of 16 rows of a: rows 0 to 7 and 8 to 15 of the
    /// first chunk, then of the second. Two fragments of 8 columns of b: both chunks of the one,
    /// then of the other.
    struct LaneRows {
        SharedAddress a, b;

        __device__ explicit LaneRows(Stage& ring) {
            const int lane = lane_index(), warp = warp_index();
            const int row = warp / kWarpsN * kWarpTileM + lane % 16;
            const int column = kTileM + warp % kWarpsN * kWarpTileN + lane / 16 * 8 + lane % 8;
            a = shared_address(&ring) + place_of(row, lane / 16);
            b = shared_address(&ring) + place_of(column, lane / 8 % 2);
        }
    };

    __device__ void multiply_stage(const LaneRows& rows, int offset, Accumulators& acc) const {
        constexpr int kFragmentBytes = 16 * kStageBytes;  // of one of a, of two of b
        uint32_t ah[kFragmentsM][4], al[kFragmentsM][4], as[kFragmentsM][4];
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            load_matrices(ah[m], rows.a + offset + m * kFragmentBytes);
            load_matrices(al[m], rows.a + offset + m * kFragmentBytes + kDigitBytes);
            GYM_UNROLL
            for (int r = 0; r < 4; ++r)
                as[m][r] = add_digits(ah[m][r], al[m][r]);
        }
        GYM_UNROLL
        for (int pair = 0; pair < kFragmentsN / 2; ++pair) {
            uint32_t high[4], low[4];
            load_matrices(high, rows.b + offset + pair * kFragmentBytes);
            load_matrices(low, rows.b + offset + pair * kFragmentBytes + kDigitBytes);
            GYM_UNROLL
            for (int half = 0; half < 2; ++half) {
                const uint32_t bh[2] = {high[half * 2], high[half * 2 + 1]};
                const uint32_t bl[2] = {low[half * 2], low[half * 2 + 1]};
                const uint32_t bs[2] = {bh[0] + bl[0], bh[1] + bl[1]};
                const int n = pair * 2 + half;
                GYM_UNROLL
                for (int m = 0; m < kFragmentsM; ++m) {
                    multiply_bytes(acc.high[m][n], ah[m], bh);
                    multiply_bytes(acc.low[m][n], al[m], bl);
                    multiply_bytes(acc.sum[m][n], as[m], bs);
                }
            }
        }
    }

    /// Where this thread's results are: rows and columns of the product from the first one on.
    struct Place {
        int64_t item, row, column;
        int rows, columns;  ///< how many there are from there, as far as this warp's go; not
                            ///< positive beyond the border

        __device__ Place(const Product& product, Tile tile) {
            const int thread = computed_here(static_cast<int>(threadIdx.x));
            const int lane = thread % kWarpSize, warp = thread / kWarpSize;
            item = computed_here(static_cast<int>(blockIdx.z));
            row = static_cast<int64_t>(tile.row) * kTileM + warp / kWarpsN * kWarpTileM + lane / 4;
            column = static_cast<int64_t>(tile.column) * kTileN + warp % kWarpsN * kWarpTileN +
                     lane % 4 * 2;
            rows = left(product.a.vectors - row, kWarpTileM);
            columns = left(product.b.vectors - column, kWarpTileN);
        }
    };
    static __device__ int left(int64_t all, int most) {
        return all < most ? static_cast<int>(all) : most;
    }
    /// Of the rows and columns of a thread, from the first one on.
    static __device__ constexpr int row_of(int m, int half) { return m * 16 + half * 8; }
    static __device__ constexpr int column_of(int n, int odd) { return n * 8 + odd; }

    /// Something of each column of a thread; nothing of those beyond the border.
    template <typename Value>
    struct PerColumn {
        Value value[kFragmentsN][2];

        template <typename Of>
        __device__ PerColumn(const Place& place, const Of& of) {
            GYM_UNROLL
            for (int n = 0; n < kFragmentsN; ++n) {
                GYM_UNROLL
                for (int odd = 0; odd < 2; ++odd)
                    value[n][odd] =
                        column_of(n, odd) < place.columns ? of(column_of(n, odd)) : Value{};
            }
        }
    };

    /// each(m, half) for a thread's rows within the border. The branch keeps what each row needs
    /// from being computed, and held in registers, before the row's turn.
    template <typename Each>
    static __device__ void for_rows(const Place& place, const Each& each) {
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            if (row_of(m, 0) < place.rows) each(m, 0);
            if (row_of(m, 1) < place.rows) each(m, 1);
        }
    }
    /// each(n, odd) for a thread's columns.
    template <typename Each>
    static __device__ void for_columns(const Each& each) {
        GYM_UNROLL
        for (int n = 0; n < kFragmentsN; ++n) {
            each(n, 0);
            each(n, 1);
        }
    }

    template <For kFor>
    static __device__ int32_t exponent(const int32_t* at) {
        if constexpr (kFor == For::kCheck)
            return load_past_l1(at);
        else
            return *at;
    }
    template <For kFor>
    __device__ Exponents exponents_of_a() const {
        if constexpr (kFor == For::kCheck)
            return for_check.a;
        else
            return {a.exponents, a.block_exponents, a.vectors, a.blocks};
    }
    template <For kFor>
    __device__ Exponents exponents_of_b() const {
        if constexpr (kFor == For::kCheck)
            return for_check.b;
        else
            return {b.exponents, b.block_exponents, b.vectors, b.blocks};
    }

    /// Factors of a thread's results: for their columns, and for a row.
    static constexpr int32_t kLess = kManyBlocks ? kTotalLess : kDotLess;
    template <For kFor>
    __device__ PerColumn<uint32_t> column_scales(const Place& place) const {
        const Exponents of = exponents_of_b<kFor>();
        const int32_t* const exponents = of.of_vectors + place.item * of.vectors + place.column;
        return {place, [&](int i) { return scale_bits(exponent<kFor>(exponents + i), kLess); }};
    }
    template <For kFor>
    __device__ uint32_t row_scale(const Place& place, int row) const {
        const Exponents of = exponents_of_a<kFor>();
        const int64_t at = place.item * of.vectors + place.row + row;
        return scale_bits(exponent<kFor>(of.of_vectors + at), kLess);
    }

    /// How far a block's exponents lie below those of a thread's columns, and of a row.
    template <For kFor>
    __device__ PerColumn<int32_t> column_shifts(const Place& place, int64_t block) const {
        const Exponents of = exponents_of_b<kFor>();
        const int32_t* const exponents = of.of_vectors + place.item * of.vectors + place.column;
        const int32_t* const of_block =
            of.of_blocks + (place.item * of.blocks + block) * of.vectors + place.column;
        return {place, [&](int i) {
                    return exponent<kFor>(exponents + i) - exponent<kFor>(of_block + i);
                }};
    }
    template <For kFor>
    __device__ int32_t row_shift(const Place& place, int64_t block, int row) const {
        const Exponents of = exponents_of_a<kFor>();
        const int64_t first = place.row + row;
        return exponent<kFor>(of.of_vectors + place.item * of.vectors + first) -
               exponent<kFor>(of.of_blocks + (place.item * of.blocks + block) * of.vectors + first);
    }

    /// The accumulators of a block before its first stage. @param block may be one after the last.
    __device__ void begin_block(Tile tile, Accumulators& acc, int64_t block) const {
        const Place place(*this, tile);
        const int32_t* const sums_of_rows =
            a.block_sums + (place.item * a.blocks + block) * a.vectors + place.row;
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            GYM_UNROLL
            for (int half = 0; half < 2; ++half) {
                const bool inside = block < a.blocks && row_of(m, half) < place.rows;
                acc.begin_row(m, half, inside ? sums_of_rows[row_of(m, half)] : 0);
            }
        }
    }

    /// The block's dots become terms of the totals; beyond the border of columns they are no dots,
    /// and nobody uses the totals.
    __device__ void end_block(Tile tile, const Accumulators& acc, Totals<true>& totals,
                              int64_t block) const {
        const Place place(*this, tile);
        const PerColumn<int32_t> shifts = column_shifts<For::kResult>(place, block);
        for_rows(place, [&](int m, int half) {
            const int32_t shift = row_shift<For::kResult>(place, block, row_of(m, half));
            for_columns([&](int n, int odd) {
                const int c = half * 2 + odd;
                totals.value[m][n][c] +=
                    block_term(acc.wide_dot(m, n, c), shift + shifts.value[n][odd]);
            });
        });
    }

    /// For two sums.
    struct Two {
        uint64_t first, second;
    };

    /// Adds what of_row(m, half)(n, odd) gives, weighted, for all results of the tile to two sums.
    /// Every thread of the warp comes here.
    template <typename OfRow>
    __device__ void add_weighted(const Place& place, ProductSum to_first, ProductSum to_second,
                                 const OfRow& of_row) const {
        const uint32_t first_column = check_weight(place.column);
        Two total{};
        for_rows(place, [&](int m, int half) {
            const auto value = of_row(m, half);
            Two sum{};
            for_columns([&](int n, int odd) {
                if (column_of(n, odd) >= place.columns) return;
                const uint32_t weight = first_column + check_weight_step(column_of(n, odd));
                const Two found = value(n, odd);
                sum.first += found.first * weight;
                sum.second += found.second * weight;
            });
            const uint32_t weight =
                check_weight(place.item * a.vectors + place.row + row_of(m, half));
            total.first += sum.first * weight;
            total.second += sum.second * weight;
        });
        add_over_warp(to_first, total.first);
        add_over_warp(to_second, total.second);
    }

    __device__ void add_over_warp(ProductSum to, uint64_t value) const {
        const int64_t sum = warp_reduce(static_cast<int64_t>(value), Sum());
        if (lane_index() == 0)
            atomicAdd(sums + to * Checks::kSpread +
                          (blockIdx.x + static_cast<unsigned>(warp_index())) % Checks::kSpread,
                      static_cast<unsigned long long>(sum));
    }

    /// Of many blocks: the dots of one, and its terms, before anything is made of them.
    __device__ void check_block(Tile tile, const Accumulators& acc, int64_t block) const {
        const Place place(*this, tile);
        const PerColumn<int32_t> shifts = column_shifts<For::kCheck>(place, block);
        add_weighted(place, kDots, kTerms, [&](int m, int half) {
            const int32_t shift = row_shift<For::kCheck>(place, block, row_of(m, half));
            return [&, m, half, shift](int n, int odd) {
                const int64_t dot = computed_alone(acc.wide_dot(m, n, half * 2 + odd));
                const int64_t term = block_term(dot, shift + shifts.value[n][odd]);
                return Two{static_cast<uint64_t>(dot), static_cast<uint64_t>(term)};
            };
        });
    }

    /// The totals of many blocks or the dots of a single one, and the bits of the results.
    __device__ void check_results(Tile tile, const Accumulators& acc,
                                  const Totals<kManyBlocks>& totals) const {
        const Place place(*this, tile);
        const PerColumn<uint32_t> scales = column_scales<For::kCheck>(place);
        add_weighted(place, kManyBlocks ? kTotals : kDots, kStored, [&](int m, int half) {
            const uint32_t scale = row_scale<For::kCheck>(place, row_of(m, half));
            return [&, m, half, scale](int n, int odd) {
                const int c = half * 2 + odd;
                if constexpr (kManyBlocks) {
                    const int64_t total = computed_alone(hidden(totals.value[m][n][c]));
                    const float result = finish_total(total, scale, scales.value[n][odd]);
                    return Two{static_cast<uint64_t>(total), f32::to_bits(result)};
                } else {
                    const int64_t dot = acc.wide_dot(m, n, c);
                    const float result = finish_block(narrow(dot), scale, scales.value[n][odd]);
                    return Two{static_cast<uint64_t>(dot), f32::to_bits(result)};
                }
            };
        });
    }

    /// Where the results of this block's item begin. A grid has at most 65,535 of them, so their
    /// division needs 32 bits.
    __device__ float* item_results() const {
        const auto inner = static_cast<unsigned>(out_batch.inner_count);
        return out + int64_t{blockIdx.z / inner} * out_batch.outer +
               int64_t{blockIdx.z % inner} * out_batch.inner;
    }

    __device__ void store_results(Tile tile, const Accumulators& acc,
                                  const Totals<kManyBlocks>& totals) const {
        const Place place(*this, tile);
        const PerColumn<uint32_t> scales = column_scales<For::kResult>(place);
        float* const first = item_results() + place.row * out_stride + place.column;
        for_rows(place, [&](int m, int half) {
            const uint32_t scale = row_scale<For::kResult>(place, row_of(m, half));
            float* const row = first + row_of(m, half) * out_stride;
            for_columns([&](int n, int odd) {
                if (column_of(n, odd) >= place.columns) return;
                const int c = half * 2 + odd;
                if constexpr (kManyBlocks)
                    row[column_of(n, odd)] =
                        finish_total(totals.value[m][n][c], scale, scales.value[n][odd]);
                else
                    row[column_of(n, odd)] =
                        finish_block(acc.dot(m, n, c), scale, scales.value[n][odd]);
            });
        });
    }

    /// The stages that this tile needs.
    struct Stages {
        int begin, end;
    };
    __device__ Stages stages_of(Tile tile) const {
        const int64_t row = static_cast<int64_t>(tile.row) * kTileM;
        int64_t begin = 0, end = a.pitch / kStageBytes;
        if (zeros == Q14Zeros::kRightOfDiagonal) {
            const int64_t last = (row + kTileM) / kStageBytes;
            end = last < end ? last : end;
        }
        if (zeros == Q14Zeros::kLeftOfDiagonal) begin = row / kStageBytes;
        return {static_cast<int>(begin), static_cast<int>(end)};
    }

    /// The stages of a tile, kStages - 1 of which are under way while one is multiplied.
    __device__ void multiply_stages(Tile tile, Accumulators& acc,
                                    Totals<kManyBlocks>& totals) const {
        __shared__ Stage ring[kStages];
        constexpr int kAhead = kStages - 1;
        const auto [begin, end] = stages_of(tile);
        Copies copies(*this, ring[0], tile, begin);
        const LaneRows rows(ring[0]);
        for (int stage = begin; stage < begin + kAhead; ++stage) {
            if (stage < end) copies.start(ring_offset(stage));
            commit_copies();
        }
        begin_block(tile, acc, begin / kStagesPerBlock);
        GYM_KEEP_LOOP
        for (int stage = begin; stage < end; ++stage) {
            wait_for_copies<kAhead - 1>();
            // The copies of all threads have arrived, and the stage before has been read.
            __syncthreads();
            if (stage + kAhead < end) copies.start(ring_offset(stage + kAhead));
            commit_copies();
            multiply_stage(rows, ring_offset(stage), acc);
            if constexpr (kManyBlocks) {
                const bool block_ends = (stage + 1) % kStagesPerBlock == 0 || stage + 1 == end;
                if (!block_ends) continue;
                const int block = computed_here(stage) / kStagesPerBlock;
                if constexpr (kChecked) check_block(tile, acc, block);
                end_block(tile, acc, totals, block);
                begin_block(tile, acc, block + 1);
            }
        }
    }

    __device__ void operator()() const {
        const Tile tile = tile_of(blockIdx.y * gridDim.x + blockIdx.x, {gridDim.y, gridDim.x});
        const int64_t row = static_cast<int64_t>(tile.row) * kTileM;
        const int64_t column = static_cast<int64_t>(tile.column) * kTileN;
        if (zeros == Q14Zeros::kOutputRightOfDiagonal && column >= row + kTileM) return;
        Accumulators acc;
        Totals<kManyBlocks> totals;
        multiply_stages(tile, acc, totals);
        if constexpr (kChecked) check_results(tile, acc, totals);
        store_results(tile, acc, totals);
    }
};

template <bool kManyBlocks, bool kChecked>
void multiply_with(Device& device, const Digits& a, const Digits& b, const ProductResults& results,
                   unsigned long long* sums) {
    const Grid grid{(b.vectors + kTileN - 1) / kTileN, (a.vectors + kTileM - 1) / kTileM, a.items};
    Product<kManyBlocks, kChecked> product{
        a, b, results.out.data, results.out.row_stride, results.batch, results.zeros, 0, sums, {}};
    if constexpr (kChecked) {
        static_assert(std::has_unique_object_representations_v<Product<kManyBlocks, true>>,
                      "it is too large for clear_padding()");
        product.for_check = {exponents_of(a), exponents_of(b)};
    }
    launch<kThreads>(device, grid, product);
}

/// Four sums, one a buffer.
void expect_unchanged(Checks& checks, const Digits& digits) {
    const auto sums = checks.sums(buffers_of(digits));
    for (std::size_t i = 0; i < sums.size(); ++i)
        checks.expect_equal(sums[i], digits.first_sum + static_cast<Checks::Sum>(i),
                            "an operand's digits changed");
}

Checks::Sum multiply_checked(Device& device, const Digits& a, const Digits& b,
                             const ProductResults& results) {
    Checks& checks = *device.checks();
    const Checks::Cells cells = checks.reserve(kProductSums);
    if (a.blocks > 1)
        multiply_with<true, true>(device, a, b, results, cells.words);
    else
        multiply_with<false, true>(device, a, b, results, cells.words);
    expect_dots(device, a, b, results.zeros, cells.words + kExpectedDots * Checks::kSpread);
    checks.expect_equal(cells.first + kDots, cells.first + kExpectedDots, "a product is wrong");
    checks.expect_equal(cells.first + kTerms, cells.first + kTotals,
                        "a product's terms do not add up to its totals");
    expect_unchanged(checks, a);
    expect_unchanged(checks, b);
    return cells.first + kStored;
}

}  // namespace

ProductResults multiply(Device& device, const Digits& a, const Digits& b, MutableMatrixView out,
                        Batch out_batch, Q14Zeros zeros) {
    ProductResults results{out, out_batch, a.items, a.vectors, b.vectors, zeros, 0};
    if (device.checks() != nullptr)
        results.sum = multiply_checked(device, a, b, results);
    else if (a.blocks > 1)
        multiply_with<true, false>(device, a, b, results, nullptr);
    else
        multiply_with<false, false>(device, a, b, results, nullptr);
    return results;
}

}  // namespace gym::kernels::cuda
