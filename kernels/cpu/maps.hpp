// Per-level entry points of vector_ops.hpp.
#pragma once

#include <cstdint>

#include "cpu/multiversion.hpp"
#include "gym/kernels/vector_ops.hpp"

namespace gym::kernels {

GYM_DECLARE_KERNEL(void map_unary(UnaryOp op, const float* x, float* y, int64_t count))
GYM_DECLARE_KERNEL(void map_binary(BinaryOp op, const float* a, const float* b, float* y,
                                   int64_t count))
GYM_DECLARE_KERNEL(void map_binary_scalar(BinaryOp op, const float* a, float b, float* y,
                                          int64_t count))
GYM_DECLARE_KERNEL(void map_fma(const float* a, const float* b, const float* c, float* y,
                                int64_t count))
GYM_DECLARE_KERNEL(void map_fma_scalar(const float* a, float b, const float* c, float* y,
                                       int64_t count))
GYM_DECLARE_KERNEL(void map_exp_shifted(const float* x, float shift, float* y, int64_t count))
GYM_DECLARE_KERNEL(float row_max(const float* x, int64_t count))
GYM_DECLARE_KERNEL(float row_sum(const float* x, int64_t count))
GYM_DECLARE_KERNEL(float row_sum_with_exponent(const float* x, int64_t count, int32_t exponent))
GYM_DECLARE_KERNEL(float row_sum_of_products(const float* a, const float* b, int64_t count))
GYM_DECLARE_KERNEL(uint32_t row_magnitude_bits(const float* x, int64_t count))
GYM_DECLARE_KERNEL(int64_t row_dot(const int16_t* a, const int16_t* b, int64_t count))
GYM_DECLARE_KERNEL(void column_sums(const float* x, int64_t rows, int64_t row_stride,
                                    ColumnRange columns, float* y))
GYM_DECLARE_KERNEL(void outer_step(const float* sums, const OuterRates& rates, int64_t count,
                                   float* base, float* momentum))

}  // namespace gym::kernels
