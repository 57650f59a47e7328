// What the dots of a product must come to, and what its results do in memory. With weights u of
// rows and v of columns, the sum over all results of u v dot is that over k of (sum over rows of u
// a) times (sum over columns of v b): exact modulo 2^64, like all that is compared here.
#include <algorithm>

#include "gym/kernels/cuda/scratch.hpp"
#include "gym/kernels/q14.h"
#include "product_tiles.cuh"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

static_assert(kTileN == kCheckedTileVectors, "memory_need() counts a sum a tile");
constexpr int kThreads = 64;
constexpr int kDigitsPerWord = 4;
constexpr int kDigitsPerBlock = kThreads * kDigitsPerWord;

/// Elements out of their digits, with an offset that makes every one positive: so its product with
/// a weight is one of two unsigned words.
struct ElementOfA {
    static constexpr uint32_t kOffset = 2 * kQ14Max;
    __device__ static uint32_t positive(uint32_t high, uint32_t low) {
        const int32_t h = static_cast<int8_t>(high), l = static_cast<int8_t>(low);
        return static_cast<uint32_t>(h * (1 << kQ14DigitBits) + l) + kOffset;
    }
};
struct ElementOfB {
    static constexpr uint32_t kOffset = kDigitOffset * (1 << kQ14DigitBits) + kDigitOffset;
    __device__ static uint32_t positive(uint32_t high, uint32_t low) {
        return (high & 0xFFu) * (1u << kQ14DigitBits) + (low & 0xFFu);
    }
};

/// Of four elements side by side.
template <typename Element>
struct FourSums {
    uint64_t value[kDigitsPerWord] = {};
    uint64_t weights = 0;

    __device__ void add(uint32_t high, uint32_t low, uint32_t weight) {
        weights += weight;
        GYM_UNROLL
        for (int i = 0; i < kDigitsPerWord; ++i)
            value[i] += uint64_t{Element::positive(high >> (8 * i), low >> (8 * i))} * weight;
    }
    __device__ uint64_t sum(int i) const { return value[i] - weights * Element::kOffset; }
};

/// Weighted sums of the vectors [first, end) of an item, at bytes `byte` to `byte` + 3.
/// @param weight_index the number of the first vector's weight.
template <typename Element>
__device__ FourSums<Element> sum_vectors(const Digits& digits, int64_t item, int64_t first,
                                         int64_t end, int64_t byte, int64_t weight_index) {
    FourSums<Element> sums;
    uint32_t weight = check_weight(weight_index);
    for (int64_t v = first; v < end; ++v, weight += check_weight_step(1)) {
        const int64_t at = (item * digits.vectors + v) * digits.pitch + byte;
        sums.add(*reinterpret_cast<const uint32_t*>(digits.high + at),
                 *reinterpret_cast<const uint32_t*>(digits.low + at), weight);
    }
    return sums;
}

/// sums[item, tile, k] of the vectors of a tile of b.
struct ColumnSums {
    Digits b;
    int64_t tiles;
    uint64_t* sums;

    __device__ void operator()() const {
        const int64_t byte =
            static_cast<int64_t>(blockIdx.x) * kDigitsPerBlock + threadIdx.x * kDigitsPerWord;
        if (byte >= b.pitch) return;
        const int64_t tile = blockIdx.y, item = blockIdx.z, first = tile * kTileN;
        const int64_t end = first + kTileN < b.vectors ? first + kTileN : b.vectors;
        const auto found = sum_vectors<ElementOfB>(b, item, first, end, byte, first);
        uint64_t* to = sums + (item * tiles + tile) * b.pitch + byte;
        GYM_UNROLL
        for (int i = 0; i < kDigitsPerWord; ++i)
            to[i] = found.sum(i);
    }
};

/// sums[item, tile, k] become those of the tile and all before it.
struct AddTilesElement {
    int64_t tiles;
    int64_t pitch;
    uint64_t* sums;

    __device__ void operator()(int64_t i) const {
        uint64_t* at = sums + i / pitch * tiles * pitch + i % pitch;
        uint64_t total = 0;
        for (int64_t tile = 0; tile < tiles; ++tile) {
            total += at[tile * pitch];
            at[tile * pitch] = total;
        }
    }
};

/// The weighted rows of a tile of a, times the columns that are made in it.
struct RowDots {
    Digits a;
    int64_t columns;
    Q14Zeros zeros;
    int64_t tiles;
    const uint64_t* column_sums;
    unsigned long long* sum;

    __device__ void operator()() const {
        const int64_t byte =
            static_cast<int64_t>(blockIdx.x) * kDigitsPerBlock + threadIdx.x * kDigitsPerWord;
        const int64_t tile = blockIdx.y, item = blockIdx.z, first = tile * kTileM;
        uint64_t total = 0;
        if (byte < a.pitch) {
            const int64_t end = first + kTileM < a.vectors ? first + kTileM : a.vectors;
            const auto rows =
                sum_vectors<ElementOfA>(a, item, first, end, byte, item * a.vectors + first);
            const int64_t made = computed_columns(tile, columns, zeros);
            const int64_t last = (made + kTileN - 1) / kTileN - 1;
            const uint64_t* of_columns = column_sums + (item * tiles + last) * a.pitch + byte;
            GYM_UNROLL
            for (int i = 0; i < kDigitsPerWord; ++i)
                total += rows.sum(i) * of_columns[i];
        }
        total = static_cast<uint64_t>(block_reduce<kThreads>(static_cast<int64_t>(total), Sum()));
        if (threadIdx.x == 0)
            atomicAdd(sum + (blockIdx.x + blockIdx.y) % Checks::kSpread,
                      static_cast<unsigned long long>(total));
    }
};

constexpr int kResultThreads = 256;
constexpr int kResultWarps = kResultThreads / kWarpSize;

/// Results as they lie in memory, a row a warp.
struct SumResults {
    ProductResults results;
    const uint32_t* bits;
    unsigned long long* sum;

    __device__ void operator()() const {
        const int64_t row = static_cast<int64_t>(blockIdx.x) * kResultWarps + warp_index();
        const int64_t item = blockIdx.z;
        uint64_t total = 0;
        if (row < results.rows) {
            const Batch& batch = results.batch;
            const uint32_t* from = bits + item / batch.inner_count * batch.outer +
                                   item % batch.inner_count * batch.inner +
                                   row * results.out.row_stride;
            const int64_t end = computed_columns(row / kTileM, results.columns, results.zeros);
            uint32_t weight = check_weight(lane_index());
            for (int64_t column = lane_index(); column < end; column += kWarpSize) {
                total += uint64_t{from[column]} * weight;
                weight += check_weight_step(kWarpSize);
            }
            total *= check_weight(item * results.rows + row);
        }
        total =
            static_cast<uint64_t>(block_reduce<kResultThreads>(static_cast<int64_t>(total), Sum()));
        if (threadIdx.x == 0)
            atomicAdd(sum + blockIdx.x % Checks::kSpread, static_cast<unsigned long long>(total));
    }
};

}  // namespace

void expect_dots(Device& device, const Digits& a, const Digits& b, Q14Zeros zeros,
                 unsigned long long* sum) {
    const int64_t tiles = (b.vectors + kTileN - 1) / kTileN;
    const int64_t parts = (b.pitch + kDigitsPerBlock - 1) / kDigitsPerBlock;
    auto* const sums = device.scratch_of<uint64_t>(kScratchCheck, b.items * tiles * b.pitch);
    launch<kThreads>(device, {parts, tiles, b.items}, ColumnSums{b, tiles, sums});
    for_each(device, b.items * b.pitch, AddTilesElement{tiles, b.pitch, sums});
    launch<kThreads>(device, {parts, (a.vectors + kTileM - 1) / kTileM, a.items},
                     RowDots{a, b.vectors, zeros, tiles, sums, sum});
}

Checks::Sum Checks::sum_results(const ProductResults& results, const float* data) {
    const Cells cells = reserve(1);
    launch<kResultThreads>(
        device_, {(results.rows + kResultWarps - 1) / kResultWarps, 1, results.items},
        SumResults{results, reinterpret_cast<const uint32_t*>(data), cells.words});
    return cells.first;
}

}  // namespace gym::kernels::cuda
