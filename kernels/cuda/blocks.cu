// Primitives over blocks of 1,024 elements: one warp a block.
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/kernels/q14.h"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int64_t kBlockLength = kQ14BlockLength;
constexpr int kWarpsPerBlock = 8;

int64_t blocks_of(int64_t length) {
    return q14_block_count(length);
}

// Each reduction: what an element contributes, how contributions combine, what the block's value
// is.
struct MaxF32 {
    using Out = float;
    using Value = float;
    using Combine = F32Maximum;
    __device__ float identity() const { return -f32::from_bits(f32::kInfinityBits); }
    __device__ float element(float x) const { return x; }
    __device__ float finish(float value) const { return value; }
};

struct MaxI32 {
    using Out = int32_t;
    using Value = int32_t;
    using Combine = Maximum;
    __device__ int32_t identity() const { return INT32_MIN; }
    __device__ int32_t element(int32_t x) const { return x; }
    __device__ int32_t finish(int32_t value) const { return value; }
};

struct Exponent {
    using Out = int32_t;
    using Value = uint32_t;
    using Combine = Maximum;
    __device__ uint32_t identity() const { return 0; }
    __device__ uint32_t element(float x) const { return magnitude_bits(x); }
    __device__ int32_t finish(uint32_t value) const { return row_exponent_from_bits(value); }
};

struct ConstantExponent {
    using Out = int32_t;
    using Value = int32_t;
    using Combine = Maximum;
    int32_t exponent;
    __device__ int32_t identity() const { return 0; }
    __device__ int32_t element(float x) const { return q14_fits(x, exponent) ? 0 : 1; }
    __device__ int32_t finish(int32_t misfit) const {
        return misfit != 0 ? kExponentPoisoned : exponent;
    }
};

struct Total {
    using Out = int64_t;
    using Value = int64_t;
    using Combine = Sum;
    __device__ int64_t identity() const { return 0; }
    __device__ int64_t element(int64_t x) const { return x; }
    __device__ int64_t finish(int64_t value) const { return value; }
};

template <typename In, typename Reduction>
struct BlockReduction {
    const In* x;
    Rows shape;
    int64_t blocks;
    typename Reduction::Out* out;
    Reduction reduction;

    __device__ void operator()() const {
        const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarpsPerBlock + warp_index();
        if (index >= shape.count * blocks) return;  // a whole warp
        const int64_t first = index % blocks * kBlockLength;
        const int64_t end = q14_block_end(first, shape.length);
        const In* row = x + index / blocks * shape.length;
        auto value = reduction.identity();
        const typename Reduction::Combine combine;
        for (int64_t i = first + lane_index(); i < end; i += kWarpSize)
            value = combine(value, reduction.element(row[i]));
        value = warp_reduce(value, combine);
        if (lane_index() == 0) out[index] = reduction.finish(value);
    }
};

template <typename In, typename Reduction>
void reduce_blocks(Device& device, const In* x, Rows shape, typename Reduction::Out* out,
                   Reduction reduction = {}) {
    const int64_t blocks = blocks_of(shape.length);
    const int64_t grid = (shape.count * blocks + kWarpsPerBlock - 1) / kWarpsPerBlock;
    launch<kWarpsPerBlock * kWarpSize>(
        device, {grid}, BlockReduction<In, Reduction>{x, shape, blocks, out, reduction});
}

template <typename Integer>
struct QuantiseElement {
    const float* x;
    const int32_t* exponents;
    int64_t length;
    int64_t exponents_per_row;
    Integer* q;

    __device__ void operator()(int64_t i) const {
        const int64_t block = exponents_per_row == 1 ? 0 : i % length / kBlockLength;
        const int32_t exponent =
            bounded_exponent(exponents[i / length * exponents_per_row + block]);
        if constexpr (sizeof(Integer) == sizeof(int32_t))
            q[i] = sum_term(x[i], exponent);
        else
            q[i] = static_cast<Integer>(q14_quantise(x[i], exponent));
    }
};

struct SelectSumElement {
    const int32_t* q;
    const int32_t* indices;
    int64_t columns;
    int64_t length;
    int64_t vocabulary;
    int64_t blocks;
    unsigned long long* out;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i / length, row = i % length;
        const int64_t low = indices[row] < 0 ? 0 : indices[row];
        const int64_t id = low < vocabulary ? low : vocabulary - 1;
        const auto term = static_cast<unsigned long long>(static_cast<int64_t>(q[i]));
        atomicAdd(out + (id * columns + column) * blocks + row / kBlockLength, term);
    }
};

struct BlockDotElement {
    const int16_t* a;
    const int16_t* b;
    ProductParts shape;
    int64_t blocks;
    int64_t* out;

    __device__ void operator()(int64_t i) const {
        const int64_t begin = i % blocks * kBlockLength;
        const int64_t end = q14_block_end(begin, shape.length);
        const int64_t cell = i / blocks;
        const int64_t a_row = cell / shape.n;
        const int64_t b_row = a_row / shape.m * shape.n + cell % shape.n;
        int64_t dot = 0;
        for (int64_t k = begin; k < end; ++k) {
            dot += static_cast<int64_t>(a[a_row * shape.length + k]) * b[b_row * shape.length + k];
        }
        out[i] = dot;
    }
};

struct RescaleElement {
    const int64_t* dots;
    ProductExponents e;
    ProductParts shape;
    int64_t blocks;
    int64_t* out;

    __device__ void operator()(int64_t i) const {
        const int64_t block = i % blocks, cell = i / blocks;
        const int64_t a_row = cell / shape.n;
        const int64_t b_row = a_row / shape.m * shape.n + cell % shape.n;
        const int64_t shift = int64_t{e.a_rows[a_row]} - e.a_blocks[a_row * blocks + block] +
                              e.b_rows[b_row] - e.b_blocks[b_row * blocks + block];
        out[i] = q14_block_term(dots[i], shift);
    }
};

struct FinishProductElement {
    const int64_t* totals;
    const int32_t* a_rows;
    const int32_t* b_rows;
    ProductParts shape;
    float* out;

    __device__ void operator()(int64_t i) const {
        const int64_t a_row = i / shape.n;
        const int64_t b_row = a_row / shape.m * shape.n + i % shape.n;
        out[i] = q14_finish_any(totals[i], a_rows[a_row], b_rows[b_row]);
    }
};

}  // namespace

void block_max(Device& device, const float* x, Rows shape, float* out) {
    reduce_blocks<float, MaxF32>(device, x, shape, out);
}
void block_max(Device& device, const int32_t* x, Rows shape, int32_t* out) {
    reduce_blocks<int32_t, MaxI32>(device, x, shape, out);
}
void block_exponent(Device& device, const float* x, Rows shape, int32_t* out) {
    reduce_blocks<float, Exponent>(device, x, shape, out);
}
void constant_exponent(Device& device, const float* x, Rows shape, int32_t exponent, int32_t* out) {
    reduce_blocks<float, ConstantExponent>(device, x, shape, out, {exponent});
}
void block_sum(Device& device, const int32_t* x, Rows shape, int64_t* out) {
    reduce_blocks<int32_t, Total>(device, x, shape, out);
}
void block_sum(Device& device, const int64_t* x, Rows shape, int64_t* out) {
    reduce_blocks<int64_t, Total>(device, x, shape, out);
}

void quantise_i32(Device& device, const float* x, Rows shape, const int32_t* exponents,
                  int64_t exponents_per_row, int32_t* q) {
    for_each(device, shape.count * shape.length,
             QuantiseElement<int32_t>{x, exponents, shape.length, exponents_per_row, q});
}

void quantise_i16(Device& device, const float* x, Rows shape, const int32_t* exponents,
                  int64_t exponents_per_row, int16_t* q) {
    for_each(device, shape.count * shape.length,
             QuantiseElement<int16_t>{x, exponents, shape.length, exponents_per_row, q});
}

void select_sum(Device& device, const int32_t* q, Rows shape, const int32_t* indices,
                int64_t vocabulary, int64_t* out) {
    const int64_t blocks = blocks_of(shape.length);
    device.clear(out, static_cast<size_t>(vocabulary * shape.count * blocks) * sizeof(int64_t));
    for_each(device, shape.count * shape.length,
             SelectSumElement{q, indices, shape.count, shape.length, vocabulary, blocks,
                              reinterpret_cast<unsigned long long*>(out)});
}

void block_dot(Device& device, const int16_t* a, const int16_t* b, ProductParts shape,
               int64_t* out) {
    const int64_t blocks = blocks_of(shape.length);
    for_each(device, shape.batches * shape.m * shape.n * blocks,
             BlockDotElement{a, b, shape, blocks, out});
}

void rescale_dot(Device& device, const int64_t* dots, const ProductExponents& exponents,
                 ProductParts shape, int64_t* out) {
    const int64_t blocks = blocks_of(shape.length);
    for_each(device, shape.batches * shape.m * shape.n * blocks,
             RescaleElement{dots, exponents, shape, blocks, out});
}

void finish_product(Device& device, const int64_t* totals, const int32_t* a_rows,
                    const int32_t* b_rows, ProductParts shape, float* out) {
    for_each(device, shape.batches * shape.m * shape.n,
             FinishProductElement{totals, a_rows, b_rows, shape, out});
}

}  // namespace gym::kernels::cuda
