#include "gym/kernels/vector_ops.hpp"

#include "cpu/maps.hpp"

namespace gym::kernels {

void map_unary(Isa isa, UnaryOp op, const float* x, float* y, int64_t count) {
    GYM_SELECT_KERNEL(isa, map_unary)(op, x, y, count);
}

void map_binary(Isa isa, BinaryOp op, const float* a, const float* b, float* y, int64_t count) {
    GYM_SELECT_KERNEL(isa, map_binary)(op, a, b, y, count);
}

void map_binary_scalar(Isa isa, BinaryOp op, const float* a, float b, float* y, int64_t count) {
    GYM_SELECT_KERNEL(isa, map_binary_scalar)(op, a, b, y, count);
}

void map_fma(Isa isa, const float* a, const float* b, const float* c, float* y, int64_t count) {
    GYM_SELECT_KERNEL(isa, map_fma)(a, b, c, y, count);
}

void map_fma_scalar(Isa isa, const float* a, float b, const float* c, float* y, int64_t count) {
    GYM_SELECT_KERNEL(isa, map_fma_scalar)(a, b, c, y, count);
}

void map_exp_shifted(Isa isa, const float* x, float shift, float* y, int64_t count) {
    GYM_SELECT_KERNEL(isa, map_exp_shifted)(x, shift, y, count);
}

float row_max(Isa isa, const float* x, int64_t count) {
    return GYM_SELECT_KERNEL(isa, row_max)(x, count);
}

float row_sum(Isa isa, const float* x, int64_t count) {
    return GYM_SELECT_KERNEL(isa, row_sum)(x, count);
}

float row_sum_with_exponent(Isa isa, const float* x, int64_t count, int32_t exponent) {
    return GYM_SELECT_KERNEL(isa, row_sum_with_exponent)(x, count, exponent);
}

float row_sum_of_products(Isa isa, const float* a, const float* b, int64_t count) {
    return GYM_SELECT_KERNEL(isa, row_sum_of_products)(a, b, count);
}

uint32_t row_magnitude_bits(Isa isa, const float* x, int64_t count) {
    return GYM_SELECT_KERNEL(isa, row_magnitude_bits)(x, count);
}

int64_t row_dot(Isa isa, const int16_t* a, const int16_t* b, int64_t count) {
    return GYM_SELECT_KERNEL(isa, row_dot)(a, b, count);
}

void column_sums(Isa isa, const float* x, int64_t rows, int64_t row_stride, ColumnRange columns,
                 float* y) {
    GYM_SELECT_KERNEL(isa, column_sums)(x, rows, row_stride, columns, y);
}

void outer_step(Isa isa, const float* sums, const OuterRates& rates, int64_t count, float* base,
                float* momentum) {
    GYM_SELECT_KERNEL(isa, outer_step)(sums, rates, count, base, momentum);
}

}  // namespace gym::kernels
