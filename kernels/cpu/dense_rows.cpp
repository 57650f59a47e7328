#include "cpu/dense_rows.hpp"

namespace gym::kernels {

void encode_dense_row(Isa isa, const float* end, const float* begin, int32_t count, uint8_t* row) {
    GYM_SELECT_KERNEL(isa, encode_dense_row)(end, begin, count, row);
}

void decode_dense_row(Isa isa, const uint8_t* row, int32_t count, float* x) {
    GYM_SELECT_KERNEL(isa, decode_dense_row)(row, count, x);
}

bool is_dense_row(Isa isa, const uint8_t* row, int32_t count) {
    return GYM_SELECT_KERNEL(isa, is_dense_row)(row, count);
}

RowLevels dense_row_levels(Isa isa, const uint8_t* row) {
    return GYM_SELECT_KERNEL(isa, dense_row_levels)(row);
}

bool sum_dense_rows(Isa isa, const DenseRows& rows, float* sums) {
    return GYM_SELECT_KERNEL(isa, sum_dense_rows)(rows, sums);
}

}  // namespace gym::kernels
