// Elementwise maps and exact sums over arrays, with run-time dispatch. Bits equal those of the
// functions of the same name in f32.h, programs.h and rows.h. Single threaded: callers split the
// range (ThreadPool::parallel_for) and pass their part. Outputs may be the same array as an input,
// but must not overlap one otherwise.
#pragma once

#include <cstdint>

#include "gym/kernels/dispatch.hpp"

namespace gym::kernels {

enum class UnaryOp { kNeg, kAbs, kSqrt, kExp, kLog, kTanh, kSigmoid, kSilu, kGelu, kRsqrt };
enum class BinaryOp { kAdd, kSub, kMul, kDiv, kMax, kMin, kLessEqual };

/// y[i] = op(x[i]); x, y (count).
void map_unary(Isa isa, UnaryOp op, const float* x, float* y, int64_t count);

/// y[i] = op(a[i], b[i]); a, b, y (count).
void map_binary(Isa isa, BinaryOp op, const float* a, const float* b, float* y, int64_t count);

/// y[i] = op(a[i], b); a, y (count).
void map_binary_scalar(Isa isa, BinaryOp op, const float* a, float b, float* y, int64_t count);

/// y[i] = fma(a[i], b[i], c[i]); a, b, c, y (count).
void map_fma(Isa isa, const float* a, const float* b, const float* c, float* y, int64_t count);

/// y[i] = fma(a[i], b, c[i]); a, c, y (count).
void map_fma_scalar(Isa isa, const float* a, float b, const float* c, float* y, int64_t count);

/// y[i] = exp(x[i] - shift): softmax numerators. x, y (count).
void map_exp_shifted(Isa isa, const float* x, float shift, float* y, int64_t count);

/// Maximum in the order of f32::max; -Inf if empty. x (count).
[[nodiscard]] float row_max(Isa isa, const float* x, int64_t count);

/// Exact sum of a row (exact_sum). x (count).
[[nodiscard]] float row_sum(Isa isa, const float* x, int64_t count);

/// exact_sum_with_exponent. x (count).
[[nodiscard]] float row_sum_with_exponent(Isa isa, const float* x, int64_t count, int32_t exponent);

/// Exact sum of the rounded products a[i] * b[i]. a, b (count).
[[nodiscard]] float row_sum_of_products(Isa isa, const float* a, const float* b, int64_t count);

/// Magnitude bits of the largest element (rows.h): row_exponent_from_bits() of it is the row
/// exponent.
[[nodiscard]] uint32_t row_magnitude_bits(Isa isa, const float* x, int64_t count);

/// Exact dot product of integers. a, b (count), count < 2^32.
[[nodiscard]] int64_t row_dot(Isa isa, const int16_t* a, const int16_t* b, int64_t count);

/// Exact sums of columns begin <= c < end of x (rows, row_stride >= end), each the sum of `rows`
/// elements: y[c]. Columns may be split over threads. y (end).
struct ColumnRange {
    int64_t begin;
    int64_t end;
};
void column_sums(Isa isa, const float* x, int64_t rows, int64_t row_stride, ColumnRange columns,
                 float* y);

/// The outer step of `count` elements, in place: mean = sums / divisor, momentum = momentum * mu +
/// mean, base = (momentum * mu + mean) * rate + base, each operation that of f32.h.
struct OuterRates {
    float divisor;
    float momentum;
    float rate;
};
void outer_step(Isa isa, const float* sums, const OuterRates& rates, int64_t count, float* base,
                float* momentum);

}  // namespace gym::kernels
