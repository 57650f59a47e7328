// The primitives of docs/NUMERICS.md on a device: every output element by the scalar semantics of
// the shared headers. All pointers are device memory. Calls return at once; Device::error() has the
// outcome.
#pragma once

#include <cstdint>

#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/philox.h"
#include "gym/kernels/vector_ops.hpp"

namespace gym::kernels::cuda {

/// An operand of an elementwise op: output element i reads data[(i / divisor) % period].
struct Operand {
    const float* data = nullptr;
    int64_t divisor = 1;
    int64_t period = 1;
};

/// y (count) of operands that are repeated over it.
void map_unary(Device& device, UnaryOp op, Operand x, float* y, int64_t count);
void map_binary(Device& device, BinaryOp op, Operand a, Operand b, float* y, int64_t count);
void map_fma(Device& device, Operand a, Operand b, Operand c, float* y, int64_t count);
void select(Device& device, Operand c, Operand a, Operand b, float* y, int64_t count);
void fill(Device& device, uint32_t bits, float* y, int64_t count);

/// out, of the given dims (at most 5), row-major: element `at` is x[offset + sum at[d] *
/// strides[d]].
struct StridedLayout {
    static constexpr int kRankMax = 5;
    int rank;
    int64_t dims[kRankMax];
    int64_t strides[kRankMax];
    int64_t offset;
};
/// @param element_bytes 2, 4 or 8.
void strided_copy(Device& device, const void* x, const StridedLayout& layout, int element_bytes,
                  void* out);

/// out[r * pitch + i] = x[r * bytes + i] for rows r and bytes i: one operand of a concatenation,
/// whose out begins at its first byte. Row lengths in bytes, multiples of 2.
struct RowCopy {
    int64_t rows;
    int64_t bytes;
    int64_t pitch;
};
void copy_rows(Device& device, const void* x, RowCopy shape, void* out);

struct Rows {
    int64_t count;
    int64_t length;
};
/// Indices are clamped into the range that they select from.
void gather_rows(Device& device, const float* table, Rows table_shape, const int32_t* indices,
                 int64_t count, float* out);
void pick(Device& device, const float* x, Rows shape, const int32_t* indices, float* out);
/// @param position (5) on the device: what random_mask reads (philox.h).
void random_mask(Device& device, const int32_t* position, RandomMask mask, float* out,
                 int64_t count);
void one_hot(Device& device, const int32_t* indices, Rows out_shape, float* out);
/// Element j of row r stays if j <= r % length, else becomes the value.
void causal_fill(Device& device, const float* x, Rows shape, uint32_t value_bits, float* out);

// Over blocks of 1,024 along each row of x (rows, length); out (rows, blocks).
void block_max(Device& device, const float* x, Rows shape, float* out);
void block_max(Device& device, const int32_t* x, Rows shape, int32_t* out);
void block_exponent(Device& device, const float* x, Rows shape, int32_t* out);
void constant_exponent(Device& device, const float* x, Rows shape, int32_t exponent, int32_t* out);
void block_sum(Device& device, const int32_t* x, Rows shape, int64_t* out);
void block_sum(Device& device, const int64_t* x, Rows shape, int64_t* out);

/// `exponents` has one a row, or one a block of 1,024 of each row.
void quantise_i32(Device& device, const float* x, Rows shape, const int32_t* exponents,
                  int64_t exponents_per_row, int32_t* q);
void quantise_i16(Device& device, const float* x, Rows shape, const int32_t* exponents,
                  int64_t exponents_per_row, int16_t* q);

/// out (vocabulary, q.count, blocks): sums of q (columns, rows) over the rows of each id.
void select_sum(Device& device, const int32_t* q, Rows shape, const int32_t* indices,
                int64_t vocabulary, int64_t* out);

/// out[i] = sum_finish(totals[i], exponents[i % exponent_count]).
void finish_sum(Device& device, const int64_t* totals, const int32_t* exponents,
                int64_t exponent_count, float* out, int64_t count);

/// The parts of a Q14 product over `batches` pairs of operands: a (batches, m, length),
/// b (batches, n, length).
struct ProductParts {
    int64_t batches;
    int64_t m;
    int64_t n;
    int64_t length;
};
/// out (batches, m, n, blocks).
void block_dot(Device& device, const int16_t* a, const int16_t* b, ProductParts shape,
               int64_t* out);
struct ProductExponents {
    const int32_t* a_blocks;  // (batches, m, blocks)
    const int32_t* a_rows;    // (batches, m)
    const int32_t* b_blocks;  // (batches, n, blocks)
    const int32_t* b_rows;    // (batches, n)
};
/// out (batches, m, n, blocks).
void rescale_dot(Device& device, const int64_t* dots, const ProductExponents& exponents,
                 ProductParts shape, int64_t* out);
/// out (batches, m, n).
void finish_product(Device& device, const int64_t* totals, const int32_t* a_rows,
                    const int32_t* b_rows, ProductParts shape, float* out);

}  // namespace gym::kernels::cuda
