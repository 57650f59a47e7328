// Blocks of 1,024 elements of a delta of codec 2, on the instruction set asked for; every one gives
// the bits of delta_code.h. Pure; thread-safe. The caller's thread must round to nearest even
// (float_environment.hpp) when it calls fixed_block().
#pragma once

#include <cstdint>

#include "gym/kernels/delta_code.h"
#include "gym/kernels/dispatch.hpp"

namespace gym::kernels {

/// What a block of a residual is stored as: `count` levels and their scale.
struct ResidualBlock {
    const int8_t* levels = nullptr;  ///< nullptr: zero
    int32_t scale = 0;
};

/// y[i] = fixed_point(x[i], grid) + residual[i] for i < count, 0 up to 1,024.
/// @param x (count), 1 <= count <= 1,024. @param y (1,024).
void fixed_block(Isa isa, const float* x, int64_t count, int32_t grid,
                 const ResidualBlock& residual, int32_t* y);

/// The elements of one block that a sparse code sends, in ascending order of their indices.
struct SparseBlock {
    int32_t scale = 0;  ///< s
    int32_t count = 0;  ///< 0 .. 16
    uint16_t index[kSparseKept];
    int8_t level[kSparseKept];  ///< -6, -3, 3 or 6
};
/// The first 16 of the block by ranks_before() whose sparse_level() is not 0; none: scale 0.
/// @param y (1,024).
[[nodiscard]] SparseBlock sparse_block(Isa isa, const int32_t* y);

/// The residual of y: levels into `levels` (count), their scale returned.
/// @param y (1,024), zero from `count` on.
[[nodiscard]] int32_t residual_block(Isa isa, const int32_t* y, int64_t count, int8_t* levels);

}  // namespace gym::kernels
