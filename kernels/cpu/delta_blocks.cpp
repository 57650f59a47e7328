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

int32_t residual_block(Isa isa, const int32_t* y, int64_t count, int8_t* levels) {
    return GYM_SELECT_KERNEL(isa, residual_block)(y, count, levels);
}

}  // namespace gym::kernels
