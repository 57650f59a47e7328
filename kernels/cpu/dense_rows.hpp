// Per-level entry points of dense_rows.hpp.
#pragma once

#include "cpu/multiversion.hpp"
#include "gym/kernels/dense_rows.hpp"

namespace gym::kernels {

GYM_DECLARE_KERNEL(void encode_dense_row(const float* end, const float* begin, int32_t count,
                                         uint8_t* row))
GYM_DECLARE_KERNEL(void decode_dense_row(const uint8_t* row, int32_t count, float* x))
GYM_DECLARE_KERNEL(bool is_dense_row(const uint8_t* row, int32_t count))
GYM_DECLARE_KERNEL(RowLevels dense_row_levels(const uint8_t* row))
GYM_DECLARE_KERNEL(bool sum_dense_rows(const DenseRows& rows, float* sums))

}  // namespace gym::kernels
