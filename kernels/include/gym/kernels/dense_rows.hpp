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

/// How often each |k| from 1 to 7 is among the 64 levels of a row, whatever bytes it has.
struct RowLevels {
    uint8_t of[kRowLevelMax + 1] = {};  ///< by |k|; of[0] is 0
};
[[nodiscard]] RowLevels dense_row_levels(Isa isa, const uint8_t* row);

inline constexpr int32_t kRowSumRowsMax = 8192;
/// exact_sum() keeps 30 bits below the largest element of a column, which has at most three bits
/// above its row's scale: so far below lies no bit that it would drop.
inline constexpr int32_t kRowSumSpreadMax = 27;

/// The same row of many deltas.
struct DenseRows {
    const uint8_t* const* rows = nullptr;  ///< (count, 33), each one that is_dense_row()
    int32_t count = 0;                     ///< 1 .. kRowSumRowsMax
    int32_t doubled = 0;                   ///< so many of the first count twice
};

/// sums[i] = what exact_sum() gives of element i of all rows, by integers alone and without
/// decoding them.
/// @param sums (64); those beyond the row's elements are +0.
/// @return false, and nothing is written, where scales lie more than kRowSumSpreadMax apart or
/// twice an element may be infinite.
[[nodiscard]] bool sum_dense_rows(Isa isa, const DenseRows& rows, float* sums);

}  // namespace gym::kernels
