// Per-level entry points of macros.hpp: parts of a macro that one thread runs.
#pragma once

#include "cpu/multiversion.hpp"
#include "gym/kernels/macros.hpp"

namespace gym::kernels {

/// Rows or elements begin <= i < end.
struct MacroRange {
    int64_t begin;
    int64_t end;
};

/// @param scratch (width)
GYM_DECLARE_KERNEL(void layernorm_rows(const LayernormForward& call, MacroRange rows,
                                       float* scratch))
/// dx; the largest magnitude bits of the columns of dy * n, then of dy, join those in `magnitudes`
/// (2 * width). @param scratch (2 * width)
GYM_DECLARE_KERNEL(void layernorm_grad_rows(const LayernormBackward& call, MacroRange rows,
                                            uint32_t* magnitudes, float* scratch))
/// 2^(30 - e) as two normal factors, a column each (2 * width); both 0 for a poisoned column.
struct ColumnScales {
    float* first;
    float* second;
};
/// Adds the exact sums' terms of the columns of dy * n, then of dy, to `totals` (2 * width).
GYM_DECLARE_KERNEL(void layernorm_grad_columns(const LayernormBackward& call, MacroRange rows,
                                               const ColumnScales& scales, int64_t* totals))
GYM_DECLARE_KERNEL(void gelu_grad_range(const float* x, const float* dy, float* dx,
                                        MacroRange range))
GYM_DECLARE_KERNEL(void sum_tensors_range(const TensorSum& call, MacroRange range))
GYM_DECLARE_KERNEL(void rmsnorm_rows(const RmsnormForward& call, MacroRange rows))
/// dx, and dy * n into `products` (rows, width). @param scratch (2 * width)
GYM_DECLARE_KERNEL(void rmsnorm_grad_rows(const RmsnormBackward& call, MacroRange rows,
                                          float* products, float* scratch))
GYM_DECLARE_KERNEL(void rope_rows(const Rotation& call, MacroRange rows))
GYM_DECLARE_KERNEL(void swiglu_range(const float* gate, const float* up, float* y,
                                     MacroRange range))
GYM_DECLARE_KERNEL(void swiglu_grad_range(const SwigluBackward& call, MacroRange range))
GYM_DECLARE_KERNEL(void adamw_range(const AdamwStep& call, MacroRange range))

/// The old values, NaNs canonical.
GYM_DECLARE_KERNEL(void adamw_kept_range(const AdamwStep& call, MacroRange range))
/// Blocks of four elements; the last may reach past `count`, which is not written.
GYM_DECLARE_KERNEL(void random_mask_blocks(const int32_t* position, const RandomMask& mask,
                                           float* out, int64_t count, MacroRange blocks))

/// The scores (T, T) of one head: of causal ones those above the diagonal count for nothing. With
/// `documents` (T), (i, j) counts only if documents[i] <= documents[j].
struct ScoresShape {
    int64_t length;
    bool causal;
    const float* documents = nullptr;
};
/// Scores of one head into numerators: what counts for nothing becomes +0, row i's maximum and sum
/// go to m[i] and l[i].
GYM_DECLARE_KERNEL(void softmax_rows(float* scores, ScoresShape shape, float* m, float* l))
/// The same with given maxima, and no sums.
GYM_DECLARE_KERNEL(void numerator_rows(float* scores, ScoresShape shape, const float* m))
/// d_scores[i, j] = numerators[i, j] * (d_scores[i, j] - delta[i]), +0 where the score counts for
/// nothing.
GYM_DECLARE_KERNEL(void scores_grad_rows(const float* numerators, const float* delta,
                                         ScoresShape shape, float* d_scores))

/// numerators[i, j] *= scales[j], where the score counts.
GYM_DECLARE_KERNEL(void weigh_rows(float* numerators, const float* scales, ScoresShape shape))

/// A block of a matrix inside a larger one.
struct MacroBlock {
    int64_t rows;
    int64_t columns;
    int64_t from_stride;
    int64_t to_stride;
};
/// to = from * factor, element by element.
GYM_DECLARE_KERNEL(void scale_block(const float* from, float factor, float* to, MacroBlock block))
/// to = from / divisors[row].
GYM_DECLARE_KERNEL(void divide_block(const float* from, const float* divisors, float* to,
                                     MacroBlock block))
/// powers[row] = power_of_two() of the row.
GYM_DECLARE_KERNEL(void row_powers(const float* from, MacroBlock block, float* powers))
/// delta[i] = exact sum over a row of g[i, k] * o[i, k]; g is (rows, columns) with from_stride, o
/// with to_stride. @param scratch (columns)
GYM_DECLARE_KERNEL(void row_dots(const float* g, const float* o, MacroBlock block, float* delta))

/// m, l and the rows' losses. @param scratch (V)
GYM_DECLARE_KERNEL(void cross_entropy_rows(const CrossEntropyForward& call, MacroRange rows,
                                           float* losses, float* scratch))
GYM_DECLARE_KERNEL(void cross_entropy_grad_rows(const CrossEntropyBackward& call, MacroRange rows))

/// Row exponents of the columns: exponents[c] for c in `columns`.
GYM_DECLARE_KERNEL(void column_exponents(const float* x, int64_t rows, int64_t row_stride,
                                         MacroRange columns, int32_t* exponents))
/// The rows of dy that belong to each id: order[starts[v]] .. order[starts[v + 1] - 1].
struct EmbeddingOrder {
    const int32_t* order;
    const int32_t* starts;
    const int32_t* exponents;  // (D)
};
GYM_DECLARE_KERNEL(void embedding_grad_columns(const EmbeddingBackward& call,
                                               const EmbeddingOrder& order, MacroRange columns))

/// Magnitude bits of the largest x[i] * x[i].
GYM_DECLARE_KERNEL(uint32_t squares_magnitude(const float* x, MacroRange range))
/// Sum of the terms of x[i] * x[i] at `exponent` (not poisoned).
GYM_DECLARE_KERNEL(int64_t squares_total(const float* x, MacroRange range, int32_t exponent))

}  // namespace gym::kernels
