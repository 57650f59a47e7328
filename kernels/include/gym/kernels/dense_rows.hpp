// Rows of codec 1 on the instruction set asked for; every one gives the bits of dense_row.h. Pure;
// thread-safe. The caller's thread must round to nearest even (float_environment.hpp).
#pragma once

#include "gym/kernels/dense_row.h"
#include "gym/kernels/dispatch.hpp"

namespace gym::kernels {

/// The row of end[i] - begin[i] for i < count.
/// @param count 1 .. 64. @param row (33), all of it is written.
void encode_dense_row(Isa isa, const float* end, const float* begin, int32_t count, uint8_t* row);

/// x[i] = element i of the row for i < count; total: see row_value().
void decode_dense_row(Isa isa, const uint8_t* row, int32_t count, float* x);

/// Whether encode_dense_row() writes such a row for some `count` elements: the only bytes of what
/// they decode to.
[[nodiscard]] bool is_dense_row(Isa isa, const uint8_t* row, int32_t count);

}  // namespace gym::kernels
