// Per-level entry points of delta_blocks.hpp.
#pragma once

#include "cpu/multiversion.hpp"
#include "gym/kernels/delta_blocks.hpp"

namespace gym::kernels {

GYM_DECLARE_KERNEL(void fixed_block(const float* x, int64_t count, int32_t grid,
                                    const ResidualBlock& residual, int32_t* y))
GYM_DECLARE_KERNEL(SparseBlock sparse_block(const int32_t* y))
GYM_DECLARE_KERNEL(int32_t residual_block(const int32_t* y, int64_t count, int8_t* levels))

}  // namespace gym::kernels
