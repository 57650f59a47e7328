// The Q14 product on int8 tensor cores.
//
// A block of threads makes a tile of 64 x 128 results, a warp one of 32 x 32. Digits come through
// shared memory in stages of 64 bytes a vector, two stages in flight. With hh, ll and ss the exact
// dot products of the high digits, of the low digits and of their sums (which fit a byte: high +
// low is in [-128, 127]),
//     dot = 2^14 hh + 2^7 (ss - hh - ll) + ll,
// so three products do the work of four. At the end of every block of 1,024 elements the dots
// become terms.
#include "gym/kernels/cuda/block_finish.hpp"
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/q14.h"
#include "launch.cuh"
#include "product_tiles.cuh"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kStageBytes = 64;
constexpr int kWarpsM = 2, kWarpsN = 4;
constexpr int kThreads = kWarpsM * kWarpsN * kWarpSize;
constexpr int kFragmentsM = kTileM / kWarpsM / 16;  // of 16 rows
constexpr int kFragmentsN = kTileN / kWarpsN / 8;   // of 8 columns
constexpr int kStages = 2;
constexpr int kStagesPerBlock = static_cast<int>(kQ14BlockLength) / kStageBytes;
constexpr int kChunk = 16;  // bytes that are copied at once
constexpr int kChunksPerRow = kStageBytes / kChunk;
constexpr int kFragmentBytes = 32;  // of the length, in one tensor-core product

/// One stage in shared memory. Chunk c of row r lies at c ^ (r / 2 % 4), so that the eight rows
/// that a warp reads at once lie in different banks.
struct alignas(kChunk) Stage {
    uint8_t a[2][kTileM][kStageBytes];  // high, low
    uint8_t b[2][kTileN][kStageBytes];
};

__device__ inline int swizzled(int row, int byte) {
    return ((byte / kChunk) ^ (row / 2 % kChunksPerRow)) * kChunk + byte % kChunk;
}

template <int kRows>
__device__ inline uint32_t word_at(const uint8_t (&rows)[kRows][kStageBytes], int row, int byte) {
    return *reinterpret_cast<const uint32_t*>(&rows[row][swizzled(row, byte)]);
}

struct Accumulators {
    int32_t high[kFragmentsM][kFragmentsN][4] = {};
    int32_t low[kFragmentsM][kFragmentsN][4] = {};
    int32_t sum[kFragmentsM][kFragmentsN][4] = {};

    __device__ int64_t dot(int m, int n, int c) const {
        const int64_t hh = high[m][n][c], ll = low[m][n][c], ss = sum[m][n][c];
        return hh * 16384 + (ss - hh - ll) * 128 + ll;
    }
    /// Another computation of the dot, of which the compiler does not know that it is the same.
    __device__ int64_t dot_again(int m, int n, int c) const {
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
    unsigned long long* sums;

    template <int kRows>
    __device__ void load_rows(uint8_t (&to)[2][kRows][kStageBytes], const Digits& from,
                              int64_t first, int64_t byte) const {
        const int64_t item = blockIdx.z;
        constexpr int kPasses = 2 * kRows * kChunksPerRow / kThreads;
        static_assert(kPasses * kThreads == 2 * kRows * kChunksPerRow);
        GYM_UNROLL
        for (int pass = 0; pass < kPasses; ++pass) {
            const int i = pass * kThreads + static_cast<int>(threadIdx.x);
            const int digit = i / (kRows * kChunksPerRow);
            const int row = i / kChunksPerRow % kRows, chunk = i % kChunksPerRow;
            const bool valid = first + row < from.vectors;
            const int64_t at = (item * from.vectors + (valid ? first + row : 0)) * from.pitch +
                               byte + chunk * kChunk;
            copy_16_bytes(&to[digit][row][swizzled(row, chunk * kChunk)],
                          (digit == 0 ? from.high : from.low) + at, valid);
        }
    }

    __device__ void multiply_stage(const Stage& stage, Accumulators& acc) const {
        const int lane = lane_index(), warp = warp_index();
        const int row0 = warp / kWarpsN * (kTileM / kWarpsM) + lane / 4;
        const int column0 = warp % kWarpsN * (kTileN / kWarpsN) + lane / 4;
        GYM_UNROLL
        for (int k = 0; k < kStageBytes; k += kFragmentBytes) {
            const int byte = k + lane % 4 * 4;
            uint32_t ah[kFragmentsM][4], al[kFragmentsM][4], as[kFragmentsM][4];
            GYM_UNROLL
            for (int m = 0; m < kFragmentsM; ++m) {
                GYM_UNROLL
                for (int r = 0; r < 4; ++r) {
                    const int row = row0 + m * 16 + r % 2 * 8, at = byte + r / 2 * 16;
                    ah[m][r] = word_at(stage.a[0], row, at);
                    al[m][r] = word_at(stage.a[1], row, at);
                    as[m][r] = add_bytes(ah[m][r], al[m][r]);
                }
            }
            GYM_UNROLL
            for (int n = 0; n < kFragmentsN; ++n) {
                uint32_t bh[2], bl[2], bs[2];
                GYM_UNROLL
                for (int r = 0; r < 2; ++r) {
                    bh[r] = word_at(stage.b[0], column0 + n * 8, byte + r * 16);
                    bl[r] = word_at(stage.b[1], column0 + n * 8, byte + r * 16);
                    bs[r] = add_bytes(bh[r], bl[r]);
                }
                GYM_UNROLL
                for (int m = 0; m < kFragmentsM; ++m) {
                    multiply_bytes(acc.high[m][n], ah[m], bh);
                    multiply_bytes(acc.low[m][n], al[m], bl);
                    multiply_bytes(acc.sum[m][n], as[m], bs);
                }
            }
        }
    }

    /// Where result (m, n, c) of this thread's fragments is.
    struct Cell {
        int64_t row, column;
        __device__ Cell(int m, int n, int c) {
            const int thread = computed_here(static_cast<int>(threadIdx.x));
            const int lane = thread % kWarpSize, warp = thread / kWarpSize;
            row = static_cast<int64_t>(blockIdx.y) * kTileM + warp / kWarpsN * (kTileM / kWarpsM) +
                  m * 16 + lane / 4 + c / 2 * 8;
            column = static_cast<int64_t>(blockIdx.x) * kTileN +
                     warp % kWarpsN * (kTileN / kWarpsN) + n * 8 + lane % 4 * 2 + c % 2;
        }
    };

    __device__ int32_t block_shift(int64_t row, int64_t column, int64_t block) const {
        const int64_t item = blockIdx.z;
        const int64_t a_row = item * a.vectors + row, b_row = item * b.vectors + column;
        const int32_t a_block = a.block_exponents[(item * a.blocks + block) * a.vectors + row];
        const int32_t b_block = b.block_exponents[(item * b.blocks + block) * b.vectors + column];
        return (a.exponents[a_row] - a_block) + (b.exponents[b_row] - b_block);
    }

    /// The block's dots become terms of the totals; the next block begins at zero.
    __device__ void end_block(Accumulators& acc, Totals<true>& totals, int64_t block) const {
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            GYM_UNROLL
            for (int n = 0; n < kFragmentsN; ++n) {
                GYM_UNROLL
                for (int c = 0; c < 4; ++c) {
                    const Cell cell(m, n, c);
                    if (cell.row >= a.vectors || cell.column >= b.vectors) continue;
                    totals.value[m][n][c] +=
                        q14_block_term(acc.dot(m, n, c), block_shift(cell.row, cell.column, block));
                }
            }
        }
        acc = Accumulators();
    }

    /// For two sums.
    struct Two {
        uint64_t first, second;
    };

    /// Adds what value(m, n, c, row, column) gives, weighted, for all results of the tile to two
    /// sums. Every thread of the warp comes here. Places and weights of a thread's results follow
    /// from its first one's.
    template <typename Value>
    __device__ void add_weighted(ProductSum to_first, ProductSum to_second,
                                 const Value& value) const {
        const Cell first(0, 0, 0);
        const uint32_t row_weight = check_weight(blockIdx.z * a.vectors + first.row);
        const uint32_t column_weight = check_weight(first.column);
        Two total{};
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            GYM_UNROLL
            for (int half = 0; half < 2; ++half) {
                const int row = m * 16 + half * 8;
                if (first.row + row >= a.vectors) continue;
                Two of_row{};
                GYM_UNROLL
                for (int n = 0; n < kFragmentsN; ++n) {
                    GYM_UNROLL
                    for (int odd = 0; odd < 2; ++odd) {
                        const int column = n * 8 + odd;
                        if (first.column + column >= b.vectors) continue;
                        const uint32_t weight = column_weight + check_weight_step(column);
                        const Two found =
                            value(m, n, half * 2 + odd, first.row + row, first.column + column);
                        of_row.first += found.first * weight;
                        of_row.second += found.second * weight;
                    }
                }
                const uint32_t weight = row_weight + check_weight_step(row);
                total.first += of_row.first * weight;
                total.second += of_row.second * weight;
            }
        }
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
    __device__ void check_block(const Accumulators& acc, int64_t block) const {
        add_weighted(kDots, kTerms, [&](int m, int n, int c, int64_t row, int64_t column) {
            const int64_t dot = acc.dot_again(m, n, c);
            const int64_t term = q14_block_term(dot, block_shift(row, column, block));
            return Two{static_cast<uint64_t>(dot), static_cast<uint64_t>(term)};
        });
    }

    /// The totals of many blocks or the dots of a single one, and the bits of the results.
    __device__ void check_results(const Accumulators& acc,
                                  const Totals<kManyBlocks>& totals) const {
        constexpr ProductSum kBefore = kManyBlocks ? kTotals : kDots;
        add_weighted(kBefore, kStored, [&](int m, int n, int c, int64_t row, int64_t column) {
            int64_t sum = 0;
            if constexpr (kManyBlocks)
                sum = hidden(totals.value[m][n][c]);
            else
                sum = acc.dot_again(m, n, c);
            const uint64_t bits = f32::to_bits(result_of(sum, row, column));
            return Two{static_cast<uint64_t>(sum), bits};
        });
    }

    /// Where the results of this block's item begin. A grid has at most 65,535 of them, so their
    /// division needs 32 bits.
    __device__ float* item_results() const {
        const auto inner = static_cast<unsigned>(out_batch.inner_count);
        return out + int64_t{blockIdx.z / inner} * out_batch.outer +
               int64_t{blockIdx.z % inner} * out_batch.inner;
    }

    /// @param sum the dot of a single block, or the total of several blocks' terms.
    __device__ float result_of(int64_t sum, int64_t row, int64_t column) const {
        const int64_t item = blockIdx.z;
        const int32_t a_exponent = a.exponents[item * a.vectors + row],
                      b_exponent = b.exponents[item * b.vectors + column];
        return kManyBlocks ? q14_finish(sum, a_exponent, b_exponent)
                           : finish_block(sum, a_exponent, b_exponent);
    }

    __device__ void store(float* to, int m, int n, int c, int64_t sum) const {
        const Cell cell(m, n, c);
        if (cell.row >= a.vectors || cell.column >= b.vectors) return;
        to[cell.row * out_stride + cell.column] = result_of(sum, cell.row, cell.column);
    }

    /// The stages that this tile needs: first and one past the last.
    __device__ void stage_range(int64_t& begin, int64_t& end) const {
        const int64_t row = static_cast<int64_t>(blockIdx.y) * kTileM;
        begin = 0;
        end = a.pitch / kStageBytes;
        if (zeros == Q14Zeros::kRightOfDiagonal) {
            const int64_t last = (row + kTileM + kStageBytes - 1) / kStageBytes;
            end = last < end ? last : end;
        }
        if (zeros == Q14Zeros::kLeftOfDiagonal) begin = row / kStageBytes;
    }

    __device__ void operator()() const {
        __shared__ Stage stages[kStages];
        const int64_t row = static_cast<int64_t>(blockIdx.y) * kTileM;
        const int64_t column = static_cast<int64_t>(blockIdx.x) * kTileN;
        if (zeros == Q14Zeros::kOutputRightOfDiagonal && column >= row + kTileM) return;
        int64_t begin, end;
        stage_range(begin, end);
        const auto load = [&](int64_t stage) {
            if (stage < end) {
                Stage& to = stages[(stage - begin) % kStages];
                load_rows(to.a, a, row, stage * kStageBytes);
                load_rows(to.b, b, column, stage * kStageBytes);
            }
            commit_copies();
        };
        Accumulators acc;
        Totals<kManyBlocks> totals;
        load(begin);
        for (int64_t stage = begin; stage < end; ++stage) {
            load(stage + 1);
            wait_for_copies<1>();
            __syncthreads();
            multiply_stage(stages[(stage - begin) % kStages], acc);
            __syncthreads();
            if constexpr (kManyBlocks) {
                const bool block_ends = (stage + 1) % kStagesPerBlock == 0 || stage + 1 == end;
                if constexpr (kChecked)
                    if (block_ends) check_block(acc, stage / kStagesPerBlock);
                if (block_ends) end_block(acc, totals, stage / kStagesPerBlock);
            }
        }
        if constexpr (kChecked) check_results(acc, totals);
        float* const to = item_results();
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            GYM_UNROLL
            for (int n = 0; n < kFragmentsN; ++n) {
                GYM_UNROLL
                for (int c = 0; c < 4; ++c) {
                    if constexpr (kManyBlocks)
                        store(to, m, n, c, totals.value[m][n][c]);
                    else
                        store(to, m, n, c, acc.dot(m, n, c));
                }
            }
        }
    }
};

template <bool kManyBlocks, bool kChecked>
void multiply_with(Device& device, const Digits& a, const Digits& b, const ProductResults& results,
                   unsigned long long* sums) {
    const Grid grid{(b.vectors + kTileN - 1) / kTileN, (a.vectors + kTileM - 1) / kTileM, a.items};
    launch<kThreads>(device, grid,
                     Product<kManyBlocks, kChecked>{a, b, results.out.data, results.out.row_stride,
                                                    results.batch, results.zeros, sums});
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
