// Operands of Q14 products as digits.
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/kernels/q14.h"
#include "product_tiles.cuh"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int64_t kBlockLength = kQ14BlockLength;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kBytesPerWord = 4;

struct Source {
    const float* data;
    int64_t vector_stride;
    int64_t element_stride;
    Batch batch;
    bool fixed;
    int32_t fixed_exponent;

    __device__ const float* item(int64_t index) const {
        return data + index / batch.inner_count * batch.outer +
               index % batch.inner_count * batch.inner;
    }
    /// An element's contribution to the maximum that exponent() takes.
    __device__ uint32_t measure(float x) const {
        if (!fixed) return magnitude_bits(x);
        return q14_fits(x, fixed_exponent) ? 0u : 1u;
    }
    __device__ int32_t exponent(uint32_t maximum) const {
        if (!fixed) return row_exponent_from_bits(maximum);
        return maximum != 0 ? kExponentPoisoned : fixed_exponent;
    }
};

/// Four digits of each kind, packed.
struct Packed {
    uint32_t high = 0;
    uint32_t low = 0;

    /// @param sum a's elements are added to it.
    __device__ void put(int at, float x, int32_t exponent, bool is_a, int32_t& sum) {
        const int32_t q = q14_quantise(x, exponent);
        if (!is_a) {
            put_b(at, q);
            return;
        }
        sum += q;
        high |= (static_cast<uint32_t>(q14_high_digit(q)) & 0xFFu) << (8 * at);
        low |= (static_cast<uint32_t>(q14_low_digit(q)) & 0xFFu) << (8 * at);
    }
    /// kDigitOffset is half of a low digit's range, so it also rounds the high one.
    __device__ void put_b(int at, int32_t q) {
        constexpr uint32_t low_digits = (1u << kQ14DigitBits) - 1;
        const auto sum =
            static_cast<uint32_t>(q + kDigitOffset * (1 << kQ14DigitBits) + kDigitOffset);
        high |= (sum >> kQ14DigitBits) << (8 * at);
        low |= (sum & low_digits) << (8 * at);
    }
};
static_assert(2 * kDigitOffset == 1 << kQ14DigitBits);

/// Elements of a vector side by side: one warp for each block of a vector.
struct QuantiseRows {
    Source from;
    Digits to;

    __device__ void operator()() const {
        const int64_t vector = static_cast<int64_t>(blockIdx.x) * kWarps + warp_index();
        const int64_t block = blockIdx.y, item = blockIdx.z;
        if (vector >= to.vectors) return;  // a whole warp
        const int64_t begin = block * kBlockLength;
        const float* x = from.item(item) + vector * from.vector_stride + begin;
        const int length = static_cast<int>(q14_block_end(begin, to.length) - begin);
        uint32_t maximum = 0;
        for (int k = lane_index(); k < length; k += kWarpSize)
            maximum = Maximum()(maximum, from.measure(x[k]));
        const int32_t exponent = from.exponent(warp_reduce(maximum, Maximum()));
        if (lane_index() == 0) {
            to.block_exponents[(item * to.blocks + block) * to.vectors + vector] = exponent;
        }
        const int64_t row = (item * to.vectors + vector) * to.pitch + begin;
        const int64_t left = to.pitch - begin;
        const int padded = static_cast<int>(left < kBlockLength ? left : kBlockLength);
        int32_t sum = 0;
        const bool is_a = to.block_sums != nullptr;
        for (int k = kBytesPerWord * lane_index(); k < padded; k += kBytesPerWord * kWarpSize) {
            Packed packed;
            for (int i = 0; i < kBytesPerWord; ++i) {
                if (k + i < length) packed.put(i, x[k + i], exponent, is_a, sum);
            }
            *reinterpret_cast<uint32_t*>(to.high + row + k) = packed.high;
            *reinterpret_cast<uint32_t*>(to.low + row + k) = packed.low;
        }
        if (!is_a) return;  // the whole grid
        sum = warp_reduce(sum, Sum());
        if (lane_index() == 0)
            to.block_sums[(item * to.blocks + block) * to.vectors + vector] = sum;
    }
};

/// Vectors side by side (a transposed operand): 32 vectors and one block of each a block of
/// threads. Tiles of 128 elements are turned in shared memory, so that reads and writes are both of
/// neighbours.
struct QuantiseColumns {
    static constexpr int kTileWords = 32;
    static constexpr int kTileLength = kTileWords * kBytesPerWord;

    Source from;
    Digits to;

    __device__ void operator()() const {
        __shared__ uint32_t maxima[kWarps][kWarpSize];
        __shared__ uint32_t high[kWarpSize][kTileWords + 1];
        __shared__ uint32_t low[kWarpSize][kTileWords + 1];
        __shared__ int32_t sums[kWarps][kWarpSize];
        const int lane = lane_index(), warp = warp_index();
        const int64_t first = static_cast<int64_t>(blockIdx.x) * kWarpSize;
        const int64_t vector = first + lane;
        const bool inside = vector < to.vectors;
        const int64_t block = blockIdx.y, item = blockIdx.z;
        const float* x = from.item(item) + vector;
        const int64_t begin = block * kBlockLength, end = q14_block_end(begin, to.length);

        uint32_t maximum = 0;
        for (int64_t k = begin + warp; inside && k < end; k += kWarps)
            maximum = Maximum()(maximum, from.measure(x[k * from.element_stride]));
        maxima[warp][lane] = maximum;
        __syncthreads();
        for (int w = 0; w < kWarps; ++w)
            maximum = Maximum()(maximum, maxima[w][lane]);
        const int32_t exponent = from.exponent(maximum);
        if (inside && warp == 0) {
            to.block_exponents[(item * to.blocks + block) * to.vectors + vector] = exponent;
        }
        const int64_t padded = begin + kBlockLength < to.pitch ? begin + kBlockLength : to.pitch;
        int32_t sum = 0;
        const bool is_a = to.block_sums != nullptr;
        for (int64_t tile = begin; tile < padded; tile += kTileLength) {
            for (int word = warp; word < kTileWords; word += kWarps) {
                Packed packed;
                for (int i = 0; i < kBytesPerWord; ++i) {
                    const int64_t k = tile + word * kBytesPerWord + i;
                    if (inside && k < end)
                        packed.put(i, x[k * from.element_stride], exponent, is_a, sum);
                }
                high[lane][word] = packed.high;
                low[lane][word] = packed.low;
            }
            __syncthreads();
            // Unrolled, it needs more registers than there are.
            GYM_KEEP_LOOP
            for (int v = warp; v < kWarpSize; v += kWarps) {
                const int64_t k = tile + lane * kBytesPerWord;
                if (first + v >= to.vectors || k >= padded) continue;
                const int64_t at = (item * to.vectors + first + v) * to.pitch + k;
                *reinterpret_cast<uint32_t*>(to.high + at) = high[v][lane];
                *reinterpret_cast<uint32_t*>(to.low + at) = low[v][lane];
            }
            __syncthreads();
        }
        if (!is_a) return;  // the whole grid
        sums[warp][lane] = sum;
        __syncthreads();
        if (!inside || warp != 0) return;
        for (int w = 1; w < kWarps; ++w)
            sum += sums[w][lane];
        to.block_sums[(item * to.blocks + block) * to.vectors + vector] = sum;
    }
};

struct RowExponentElement {
    Digits digits;

    __device__ void operator()(int64_t i) const {
        const int64_t item = i / digits.vectors, vector = i % digits.vectors;
        int32_t maximum = kExponentMin;
        for (int64_t b = 0; b < digits.blocks; ++b) {
            const int32_t e =
                digits.block_exponents[(item * digits.blocks + b) * digits.vectors + vector];
            maximum = e > maximum ? e : maximum;
        }
        digits.exponents[i] = maximum;
    }
};

Digits reserve(Device& device, OperandPlace place, int64_t items, int64_t vectors, int64_t length) {
    const bool is_a = place == OperandPlace::kA;
    const int first = is_a ? kScratchA : kScratchB;
    Digits digits{};
    digits.items = items;
    digits.vectors = vectors;
    digits.length = length;
    digits.pitch = digit_pitch(length);
    digits.blocks = q14_block_count(length);
    digits.high = device.scratch_of<uint8_t>(first, items * vectors * digits.pitch);
    digits.low = device.scratch_of<uint8_t>(first + 1, items * vectors * digits.pitch);
    const int64_t blocks = items * vectors * digits.blocks;
    digits.block_exponents = device.scratch_of<int32_t>(first + 2, is_a ? 2 * blocks : blocks);
    if (is_a) digits.block_sums = digits.block_exponents + blocks;
    digits.exponents = device.scratch_of<int32_t>(first + 3, items * vectors);
    return digits;
}

}  // namespace

Digits quantise(Device& device, OperandPlace place, MatrixView view, Along along, Batch batch,
                std::optional<int32_t> fixed_exponent) {
    const bool rows = along == Along::kRows;
    const int64_t vectors = rows ? view.rows : view.columns;
    const int64_t length = rows ? view.columns : view.rows;
    Digits digits = reserve(device, place, batch.count, vectors, length);
    const Source source{view.data, rows ? view.row_stride : 1, rows ? 1 : view.row_stride,
                        batch,     fixed_exponent.has_value(), fixed_exponent.value_or(0)};
    const int64_t group = rows ? kWarps : kWarpSize;
    const Grid grid{(vectors + group - 1) / group, digits.blocks, digits.items};
    const auto run = [&] {
        if (rows)
            launch<kThreads>(device, grid, QuantiseRows{source, digits});
        else
            launch<kThreads>(device, grid, QuantiseColumns{source, digits});
        for_each(device, digits.items * digits.vectors, RowExponentElement{digits});
    };
    if (Checks* const checks = device.checks())
        digits.first_sum =
            checks->twice([&] { return checks->sums(buffers_of(digits)); }, run).front();
    else
        run();
    return digits;
}

}  // namespace gym::kernels::cuda
