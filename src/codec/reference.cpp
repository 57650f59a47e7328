#include "gym/codec/reference.hpp"

#include <algorithm>

namespace gym::codec::reference {
namespace {

using kernels::magnitude;

std::int32_t largest(std::span<const std::int32_t> y) {
    std::int32_t most = 0;
    for (const std::int32_t value : y)
        most = std::max(most, magnitude(value));
    return most;
}

}  // namespace

std::int32_t fine_value(float x, std::int32_t grid, std::int32_t level, std::int32_t scale) {
    const float scaled = kernels::f32::scale2(x, kernels::kDeltaFraction - grid);
    std::int32_t fine = 0;
    if (scaled >= static_cast<float>(kernels::kFixedPointMax))
        fine = kernels::kFixedPointMax;
    else if (scaled <= -static_cast<float>(kernels::kFixedPointMax))
        fine = -kernels::kFixedPointMax;
    else if (!kernels::f32::is_nan(scaled))
        fine = kernels::f32::to_i32(scaled);
    return fine + level * (1 << scale);
}

std::uint32_t rank(std::span<const std::int32_t> y, std::uint32_t i) {
    std::uint32_t before = 0;
    for (std::uint32_t j = 0; j < y.size(); ++j)
        before += kernels::ranks_before(magnitude(y[j]), static_cast<std::int32_t>(j),
                                        magnitude(y[i]), static_cast<std::int32_t>(i))
                      ? 1
                      : 0;
    return before;
}

std::int32_t sparse_value(std::span<const std::int32_t> y, std::uint32_t i) {
    if (rank(y, i) >= kernels::kSparseKept) return 0;
    const std::int32_t scale = kernels::sparse_scale(largest(y));
    return kernels::with_sign_of(y[i],
                                 kernels::sparse_level(magnitude(y[i]), scale) * (1 << scale));
}

std::vector<std::uint32_t> sparse_indices(std::span<const std::int32_t> y) {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < y.size(); ++i)
        if (sparse_value(y, i) != 0) indices.push_back(i);
    return indices;
}

std::uint8_t sparse_byte(std::span<const std::int32_t> y, std::span<const std::uint32_t> indices,
                         std::uint32_t byte) {
    const std::int32_t scale = kernels::sparse_scale(largest(y));
    if (byte == 24)
        return indices.empty()
                   ? std::uint8_t{0}
                   : static_cast<std::uint8_t>(16 * (scale + 1) +
                                               static_cast<std::int32_t>(indices.size()) - 1);
    std::uint8_t value = 0;
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
        const std::uint32_t at = 8 * byte + bit;
        const bool of_index = byte < 20;
        const std::uint32_t entry = of_index ? at / 10 : (at - 160) / 2;
        if (entry >= indices.size()) continue;
        const std::int32_t value_at = y[indices[entry]];
        const bool high = kernels::sparse_level(magnitude(value_at), scale) == kernels::kSparseHigh;
        const bool set =
            of_index ? (indices[entry] >> (at % 10) & 1) != 0 : (at % 2 == 0 ? high : value_at < 0);
        value = static_cast<std::uint8_t>(value | (set ? 1U << bit : 0U));
    }
    return value;
}

std::uint8_t residual_scale(std::span<const std::int32_t> left) {
    return static_cast<std::uint8_t>(kernels::residual_scale(largest(left)));
}

std::int8_t residual_level(std::span<const std::int32_t> left, std::uint32_t i) {
    return static_cast<std::int8_t>(
        kernels::residual_level(left[i], kernels::residual_scale(largest(left))));
}

}  // namespace gym::codec::reference
