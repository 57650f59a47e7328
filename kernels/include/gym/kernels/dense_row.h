// Rows of codec 1, the dense code of deltas, in scalar form (docs/PROTOCOL.md, "Rows of codec 1";
// docs/adr/0013-delta-codes-in-units.md): 64 elements in 33 bytes, a scale s and 64 levels k of 4
// bits; an element is k * 2^(s - 127). Every multiplication here is by a power of two and exact but
// for what rint() drops, so all machines agree.
#pragma once

#include "gym/kernels/f32.h"

namespace gym::kernels {

inline constexpr int32_t kRowElements = 64;
inline constexpr int32_t kRowBytes = 1 + kRowElements / 2;
inline constexpr int32_t kRowLevelMax = 7;
inline constexpr int32_t kRowScaleMin = 1, kRowScaleMax = 252;  // 7 * 2^(252-127) is finite
inline constexpr int32_t kRowScaleBias = 127;

/// The bits of |x|; 0 for NaN. Bits compare as the magnitudes do.
GYM_HD uint32_t row_magnitude(float x) {
    const uint32_t bits = f32::to_bits(x) & 0x7FFFFFFFU;
    return bits > 0x7F800000U ? 0 : bits;
}

/// The smallest s with amax < 7.5 * 2^(s-127), within 1 .. 252.
/// @param amax largest row_magnitude() of the row.
GYM_HD int32_t row_scale(uint32_t amax) {
    // From a fraction of 7/8 on, the sum carries into the exponent.
    const int32_t s = static_cast<int32_t>((amax + 0x00100000U) >> 23) - 2;
    return s < kRowScaleMin ? kRowScaleMin : s > kRowScaleMax ? kRowScaleMax : s;
}

/// k: rint(x * inverse) within +-7; 0 for NaN.
/// @param inverse 2^(127-s).
GYM_HD int32_t row_level(float x, float inverse) {
    constexpr auto kMax = static_cast<float>(kRowLevelMax);
    const float scaled = x * inverse;
    const float below = scaled > kMax ? kMax : scaled;
    const float within = below < -kMax ? -kMax : below;
    const float number = within == within ? within : 0.0f;
    return static_cast<int32_t>(f32::raw_rint(number));
}

/// The level of element i of a row's bytes: -8 .. 7.
GYM_HD int32_t row_level_at(const uint8_t* row, int32_t i) {
    const uint8_t byte = row[1 + i / 2];
    return i % 2 == 0 ? static_cast<int8_t>(static_cast<uint8_t>(byte << 4)) >> 4
                      : static_cast<int8_t>(byte) >> 4;
}

/// The element of a level, of any row of bytes: +0 where no encoder writes such a scale or level.
GYM_HD float row_value(int32_t level, int32_t s) {
    const bool is_code = level >= -kRowLevelMax && s >= kRowScaleMin && s <= kRowScaleMax;
    return is_code ? static_cast<float>(level) * f32::power_of_two(s - kRowScaleBias) : 0.0f;
}

}  // namespace gym::kernels
