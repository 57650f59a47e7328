#include "cpu/dense_rows.hpp"

namespace gym::kernels::GYM_KERNEL_ISA {
namespace {

constexpr int32_t kPairs = kRowElements / 2;
// A level is summed as level + 8, four bits without a sign: 16 of them fit a byte.
constexpr int32_t kBias = 8, kBiasedInByte = 16;
constexpr int32_t kNone = -1;
/// Rows of one weight whose levels, of at most 7 each, an i16 can sum: 7 * 4,096 < 2^15. A longer
/// list is summed in several parts.
constexpr int32_t kLevelRowsMax = 4096;
/// The shift up to which sums of so many rows fit an i32, whose levels are shifted by at most that.
constexpr int32_t kFewRows = 1024;
constexpr int32_t kNarrowSpread = 15, kNarrowSpreadOfFew = 18;
static_assert(kRowLevelMax * int64_t{kRowSumRowsMax} << kNarrowSpread < int64_t{1} << 31);
static_assert(kRowLevelMax * int64_t{kFewRows} << kNarrowSpreadOfFew < int64_t{1} << 31);
static_assert(kRowLevelMax * kLevelRowsMax < 1 << 15);

/// The rows of equal weight, as lists through `next`.
struct ByScale {
    int32_t lowest = 0, highest = 0;  ///< 0: every row is zero
    int32_t first[kRowSumSpreadMax + 1];
    int32_t next[kRowSumRowsMax];
};

/// The exponent of row i's weight; 0 for a row of zeros.
int32_t weight_of(const DenseRows& rows, int32_t i) {
    const int32_t s = rows.rows[i][0];
    return s > 0 && i < rows.doubled ? s + 1 : s;
}

/// @return whether the weights lie near enough to each other.
bool sort(const DenseRows& rows, ByScale& out) {
    int32_t lowest = INT32_MAX, highest = 0;
    for (int32_t i = 0; i < rows.count; ++i) {
        const int32_t weight = weight_of(rows, i);
        if (weight == 0) continue;
        lowest = weight < lowest ? weight : lowest;
        highest = weight > highest ? weight : highest;
    }
    out.lowest = highest == 0 ? 0 : lowest;
    out.highest = highest;
    // Twice an element beyond the largest scale can be infinite, which no integer says.
    const bool is_doubled_finite = rows.doubled == 0 || highest <= kRowScaleMax;
    if (highest - out.lowest > kRowSumSpreadMax || !is_doubled_finite) return false;
    for (int32_t& first : out.first)
        first = kNone;
    for (int32_t i = 0; i < rows.count; ++i) {
        const int32_t weight = weight_of(rows, i);
        if (weight == 0) continue;
        out.next[i] = out.first[weight - out.lowest];
        out.first[weight - out.lowest] = i;
    }
    return true;
}

/// levels[i] = sum of the levels of element i over the first kLevelRowsMax rows of the list that
/// begins with `row`. @return the row behind them, or kNone at the list's end.
int32_t sum_levels(const DenseRows& rows, const ByScale& lists, int32_t row, int16_t* levels) {
    for (int32_t i = 0; i < kRowElements; ++i)
        levels[i] = 0;
    for (int32_t summed = 0; row != kNone && summed < kLevelRowsMax; summed += kBiasedInByte) {
        uint8_t even[kPairs] = {}, odd[kPairs] = {};
        int32_t taken = 0;
        for (; row != kNone && taken < kBiasedInByte; row = lists.next[row], ++taken) {
            const uint8_t* pairs = rows.rows[row] + 1;
            GYM_VECTOR_LOOP
            for (int32_t i = 0; i < kPairs; ++i) {
                const auto biased = static_cast<uint8_t>(pairs[i] ^ 0x88U);
                even[i] = static_cast<uint8_t>(even[i] + (biased & 15U));
                odd[i] = static_cast<uint8_t>(odd[i] + (biased >> 4));
            }
        }
        const int32_t bias = kBias * taken;
        GYM_VECTOR_LOOP
        for (int32_t i = 0; i < kPairs; ++i) {
            levels[i] = static_cast<int16_t>(levels[i] + even[i] - bias);
            levels[kPairs + i] = static_cast<int16_t>(levels[kPairs + i] + odd[i] - bias);
        }
    }
    return row;
}

/// Sums as integers of the lowest weight, then as floats: rounded once, for the product with a
/// power of two is exact or overflows as the sum itself does.
template <typename Integer>
void sum_lists(const DenseRows& rows, const ByScale& lists, float* sums) {
    Integer totals[kRowElements] = {};
    int16_t levels[kRowElements];
    for (int32_t shift = 0; shift <= lists.highest - lists.lowest; ++shift) {
        for (int32_t row = lists.first[shift]; row != kNone;) {
            row = sum_levels(rows, lists, row, levels);
            GYM_VECTOR_LOOP
            for (int32_t i = 0; i < kRowElements; ++i)
                totals[i] += static_cast<Integer>(levels[i]) * (Integer{1} << shift);
        }
    }
    const float unit = f32::power_of_two(lists.lowest - kRowScaleBias);
    GYM_VECTOR_LOOP
    for (int32_t i = 0; i < kPairs; ++i) {
        const int32_t even = 2 * i;
        sums[even] = static_cast<float>(totals[i]) * unit;
        sums[even + 1] = static_cast<float>(totals[kPairs + i]) * unit;
    }
}

}  // namespace

bool sum_dense_rows(const DenseRows& rows, float* sums) {
    const int32_t narrow = rows.count <= kFewRows ? kNarrowSpreadOfFew : kNarrowSpread;
    ByScale lists;
    if (!sort(rows, lists)) return false;
    if (lists.highest == 0) {
        for (int32_t i = 0; i < kRowElements; ++i)
            sums[i] = 0.0f;
        return true;
    }
    if (lists.highest - lists.lowest <= narrow)
        sum_lists<int32_t>(rows, lists, sums);
    else
        sum_lists<int64_t>(rows, lists, sums);
    return true;
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
