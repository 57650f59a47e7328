// Exact sums of rows, of columns, of squares.
#include "gym/kernels/cuda/column_parts.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

using Total = unsigned long long;  // what atomicAdd takes; wraps like an i64

struct RowSum {
    const float* x;
    int64_t length;
    float* out;

    __device__ void operator()() const {
        const int64_t row = blockIdx.x;
        const float* from = x + row * length;
        const float sum = block_exact_sum(length, [&](int64_t i) { return from[i]; });
        if (threadIdx.x == 0) out[row] = sum;
    }
};

// A block of threads takes 32 columns and a part of the rows; a warp reads 32 neighbours at a time.
constexpr int kColumnThreads = 256;
constexpr int kColumnWarps = kColumnThreads / kWarpSize;

struct ColumnPart {
    const float* x;
    int64_t rows;
    int64_t columns;
    int64_t rows_per_part;
    uint32_t* maxima;
    Total* totals;

    __device__ int64_t column() const {
        return static_cast<int64_t>(blockIdx.x) * kWarpSize + lane_index();
    }
    /// Calls visit(x) for the thread's elements of its column.
    template <typename Visit>
    __device__ void each(const Visit& visit) const {
        if (column() >= columns) return;
        const int64_t begin = static_cast<int64_t>(blockIdx.y) * rows_per_part;
        const int64_t end = begin + rows_per_part < rows ? begin + rows_per_part : rows;
        for (int64_t r = begin + warp_index(); r < end; r += kColumnWarps)
            visit(x[r * columns + column()]);
    }
};

struct ColumnMaximum : ColumnPart {
    __device__ void operator()() const {
        uint32_t maximum = 0;
        each([&](float value) { maximum = Maximum()(maximum, magnitude_bits(value)); });
        if (column() < columns) atomicMax(maxima + column(), maximum);
    }
};

struct ColumnTotal : ColumnPart {
    __device__ void operator()() const {
        __shared__ int64_t partial[kColumnWarps][kWarpSize];
        const int32_t exponent =
            column() < columns ? row_exponent_from_bits(maxima[column()]) : kExponentMin;
        int64_t total = 0;
        each([&](float value) { total += sum_term(value, exponent); });
        partial[warp_index()][lane_index()] = total;
        __syncthreads();
        if (warp_index() != 0 || column() >= columns) return;
        for (int w = 1; w < kColumnWarps; ++w)
            total += partial[w][lane_index()];
        atomicAdd(totals + column(), static_cast<Total>(total));
    }
};

struct FinishColumn {
    const uint32_t* maxima;
    const Total* totals;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] = sum_finish(static_cast<int64_t>(totals[i]), row_exponent_from_bits(maxima[i]));
    }
};

constexpr int64_t kSquaresPerBlock = 64 * kRowThreads;

struct SquaresMaximum {
    const float* x;
    int64_t count;
    uint32_t* maximum;

    __device__ void operator()() const {
        uint32_t best = 0;
        const int64_t begin = static_cast<int64_t>(blockIdx.x) * kSquaresPerBlock;
        const int64_t end = begin + kSquaresPerBlock < count ? begin + kSquaresPerBlock : count;
        for (int64_t i = begin + threadIdx.x; i < end; i += kRowThreads)
            best = Maximum()(best, magnitude_bits(f32::mul(x[i], x[i])));
        best = block_reduce<kRowThreads>(best, Maximum());
        if (threadIdx.x == 0) atomicMax(maximum, best);
    }
};

struct SquaresTotal {
    const float* x;
    int64_t count;
    const uint32_t* maximum;
    Total* total;

    __device__ void operator()() const {
        const int32_t exponent = row_exponent_from_bits(*maximum);
        int64_t sum = 0;
        const int64_t begin = static_cast<int64_t>(blockIdx.x) * kSquaresPerBlock;
        const int64_t end = begin + kSquaresPerBlock < count ? begin + kSquaresPerBlock : count;
        for (int64_t i = begin + threadIdx.x; i < end; i += kRowThreads)
            sum += sum_term(f32::mul(x[i], x[i]), exponent);
        sum = block_reduce<kRowThreads>(sum, Sum());
        if (threadIdx.x == 0) atomicAdd(total, static_cast<Total>(sum));
    }
};

struct Accumulators {
    uint32_t* maxima;
    Total* totals;
};

Accumulators cleared_accumulators(Device& device, int64_t count) {
    const Accumulators a{device.scratch_of<uint32_t>(kScratchColumnMaxima, count),
                         device.scratch_of<Total>(kScratchColumnTotals, count)};
    device.clear(a.maxima, static_cast<size_t>(count) * sizeof(uint32_t));
    device.clear(a.totals, static_cast<size_t>(count) * sizeof(Total));
    return a;
}

struct SumTensorsElement {
    TensorSum call;

    __device__ void operator()(int64_t i) const { call.out[i] = sum_of_element(call, i); }
};

}  // namespace

void macro_sum_tensors(Device& device, const TensorSum& call) {
    for_each(device, call.count, SumTensorsElement{call});
}

void macro_row_sum(Device& device, const float* x, Rows shape, float* out) {
    launch<kRowThreads>(device, {shape.count}, RowSum{x, shape.length, out});
}

void macro_column_sum(Device& device, const float* x, int64_t rows, int64_t columns, float* out) {
    const Accumulators a = cleared_accumulators(device, columns);
    const int64_t part = column_part_rows(rows);
    const Grid grid{(columns + kWarpSize - 1) / kWarpSize, (rows + part - 1) / part};
    const ColumnPart columns_of_x{x, rows, columns, part, a.maxima, a.totals};
    launch<kColumnThreads>(device, grid, ColumnMaximum{columns_of_x});
    launch<kColumnThreads>(device, grid, ColumnTotal{columns_of_x});
    for_each(device, columns, FinishColumn{a.maxima, a.totals, out});
}

void macro_sum_squares(Device& device, const float* x, int64_t count, float* out) {
    const Accumulators a = cleared_accumulators(device, 1);
    const Grid grid{(count + kSquaresPerBlock - 1) / kSquaresPerBlock};
    launch<kRowThreads>(device, grid, SquaresMaximum{x, count, a.maxima});
    launch<kRowThreads>(device, grid, SquaresTotal{x, count, a.maxima, a.totals});
    for_each(device, 1, FinishColumn{a.maxima, a.totals, out});
}

}  // namespace gym::kernels::cuda
