#include "gym/kernels/delta_blocks.hpp"

#include "cpu/delta_levels.hpp"

namespace gym::kernels {

void fixed_block(Isa isa, const float* x, int64_t count, int32_t grid,
                 const ResidualBlock& residual, int32_t* y) {
    GYM_SELECT_KERNEL(isa, fixed_block)(x, count, grid, residual, y);
}

SparseBlock sparse_block(Isa isa, const int32_t* y) {
    return GYM_SELECT_KERNEL(isa, sparse_block)(y);
}

void dense_block(Isa isa, const int32_t* y, uint8_t* levels, uint8_t* scales) {
    GYM_SELECT_KERNEL(isa, dense_block)(y, levels, scales);
}

void subtract_dense(Isa isa, const uint8_t* levels, const uint8_t* scales, int32_t weight,
                    int32_t* y) {
    GYM_SELECT_KERNEL(isa, subtract_dense)(levels, scales, weight, y);
}

int32_t residual_block(Isa isa, const int32_t* y, int64_t count, int8_t* levels) {
    return GYM_SELECT_KERNEL(isa, residual_block)(y, count, levels);
}

void add_dense(Isa isa, const uint8_t* levels, const uint8_t* scales, int64_t weight, int64_t count,
               int64_t* sum) {
    GYM_SELECT_KERNEL(isa, add_dense)(levels, scales, weight, count, sum);
}

}  // namespace gym::kernels
