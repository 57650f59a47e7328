#include "dense_norm.hpp"

#include <algorithm>
#include <array>

#include "gym/codec/row_layout.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/rows.h"

namespace gym::engine {
namespace {

using kernels::RowLevels;

// Between these scales k * k * 2^(2 (s - 127)) is a normal f32 for every k in 1 .. 7.
constexpr int kScaleMin = 64, kScaleMax = 187;
constexpr int kTermBits = 30;  // of exact_sum()

template <class Take>
void for_each_row(const Delta& delta, const Take& take) {
    for (std::size_t parameter = 0; parameter < delta.parameters(); ++parameter)
        for (std::uint64_t row = 0; row < codec::rows_of(delta.elements(parameter)); ++row)
            take(delta.dense_row(parameter, row));
}

float square_of(int level, int scale) {
    const float value = kernels::row_value(level, scale);
    return kernels::f32::mul(value, value);
}

/// Largest level of the rows of each scale.
std::array<std::int32_t, 256> tops_of(const Delta& delta, kernels::Isa isa) {
    std::array<std::int32_t, 256> tops{};
    for_each_row(delta, [&](const std::uint8_t* row) {
        std::int32_t& top = tops[row[0]];
        if (top < kernels::kRowLevelMax)
            top = std::max(top, kernels::dense_row_levels(isa, row).top);
    });
    return tops;
}

/// Exponent of the largest square; nothing where a square may not be a normal number.
std::optional<std::int32_t> exponent_of(const std::array<std::int32_t, 256>& tops) {
    float largest = 0;
    for (int s = 1; s < static_cast<int>(tops.size()); ++s) {
        const std::int32_t top = tops[static_cast<std::size_t>(s)];
        if (top == 0) continue;
        if (s < kScaleMin || s > kScaleMax) return std::nullopt;
        largest = std::max(largest, square_of(top, s));
    }
    return kernels::row_exponent(&largest, 1);
}

/// The row's terms of exact_sum(), one by one.
std::int64_t sum_of_terms(const std::uint8_t* row, std::int32_t exponent) {
    std::int64_t total = 0;
    for (std::int32_t i = 0; i < kernels::kRowElements; ++i)
        total += kernels::sum_term(square_of(kernels::row_level_at(row, i), row[0]), exponent);
    return total;
}

}  // namespace

std::optional<std::uint32_t> dense_norm_bits(const Delta& delta) {
    const kernels::Isa isa = kernels::detect_isa();
    const auto exponent = exponent_of(tops_of(delta, isa));
    if (!exponent) return std::nullopt;
    std::int64_t total = 0;
    for_each_row(delta, [&](const std::uint8_t* row) {
        if (row[0] == 0) return;
        const int shift = 2 * (row[0] - kernels::kRowScaleBias) + kTermBits - *exponent;
        // A row far below the largest: its terms are rounded each.
        total += shift < 0 ? sum_of_terms(row, *exponent)
                           : std::int64_t{kernels::dense_row_levels(isa, row).squares} << shift;
    });
    return kernels::f32::to_bits(kernels::f32::sqrt(kernels::sum_finish(total, *exponent)));
}

}  // namespace gym::engine
