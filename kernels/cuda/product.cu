// The Q14 product on int8 tensor cores.
//
// A block of threads makes a tile of 64 x 128 results, a warp one of 32 x 32. Digits come through
// shared memory in stages of 64 bytes a vector, two stages in flight. With hh, ll and ss the exact
// dot products of the high digits, of the low digits and of their sums (which fit a byte: high +
// low is in [-128, 127]),
//     dot = 2^14 hh + 2^7 (ss - hh - ll) + ll,
// so three products do the work of four. At the end of every block of 1,024 elements the dots
// become terms.
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/q14.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kTileM = 64, kTileN = 128, kStageBytes = 64;
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
};

/// Sums of the blocks' terms; nothing where there is a single block.
template <bool kManyBlocks>
struct Totals {
    int64_t value[kFragmentsM][kFragmentsN][4] = {};
};
template <>
struct Totals<false> {};

/// @tparam kManyBlocks vectors are longer than one block, so terms are added up.
template <bool kManyBlocks>
struct Product {
    Digits a;
    Digits b;
    float* out;
    int64_t out_stride;
    Batch out_batch;
    Q14Zeros zeros;

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

    __device__ int32_t block_shift(const Cell& cell, int64_t block) const {
        const int64_t item = blockIdx.z;
        const int64_t a_row = item * a.vectors + cell.row, b_row = item * b.vectors + cell.column;
        const int32_t a_block = a.block_exponents[(item * a.blocks + block) * a.vectors + cell.row];
        const int32_t b_block =
            b.block_exponents[(item * b.blocks + block) * b.vectors + cell.column];
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
                        q14_block_term(acc.dot(m, n, c), block_shift(cell, block));
                }
            }
        }
        acc = Accumulators();
    }

    __device__ void store(int m, int n, int c, int64_t total) const {
        const Cell cell(m, n, c);
        if (cell.row >= a.vectors || cell.column >= b.vectors) return;
        const int64_t item = blockIdx.z;
        float* to = out + item / out_batch.inner_count * out_batch.outer +
                    item % out_batch.inner_count * out_batch.inner;
        to[cell.row * out_stride + cell.column] =
            q14_finish(total, a.exponents[item * a.vectors + cell.row],
                       b.exponents[item * b.vectors + cell.column]);
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
                if (block_ends) end_block(acc, totals, stage / kStagesPerBlock);
            }
        }
        GYM_UNROLL
        for (int m = 0; m < kFragmentsM; ++m) {
            GYM_UNROLL
            for (int n = 0; n < kFragmentsN; ++n) {
                GYM_UNROLL
                for (int c = 0; c < 4; ++c) {
                    if constexpr (kManyBlocks)
                        store(m, n, c, totals.value[m][n][c]);
                    else
                        store(m, n, c, q14_block_term(acc.dot(m, n, c), 0));
                }
            }
        }
    }
};

template <bool kManyBlocks>
void multiply_with(Device& device, const Digits& a, const Digits& b, MutableMatrixView out,
                   Batch out_batch, Q14Zeros zeros) {
    const Grid grid{(b.vectors + kTileN - 1) / kTileN, (a.vectors + kTileM - 1) / kTileM, a.items};
    launch<kThreads>(device, grid,
                     Product<kManyBlocks>{a, b, out.data, out.row_stride, out_batch, zeros});
}

}  // namespace

void multiply(Device& device, const Digits& a, const Digits& b, MutableMatrixView out,
              Batch out_batch, Q14Zeros zeros) {
    if (a.blocks > 1)
        multiply_with<true>(device, a, b, out, out_batch, zeros);
    else
        multiply_with<false>(device, a, b, out, out_batch, zeros);
}

}  // namespace gym::kernels::cuda
