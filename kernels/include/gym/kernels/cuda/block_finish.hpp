// Results of products whose vectors have a single block, without 64-bit conversions.
#pragma once

#include "gym/kernels/q14.h"

namespace gym::kernels::cuda {

/// q14_finish(q14_block_term(dot, 0), exponent_a, exponent_b). f32(dot * 2^16) is f32(dot) * 2^16
/// exactly, so that one scaling does. dot = 2^24 high + low with |high| <= 2^12 and
/// 0 <= low < 2^24; f32 has both exactly, and the fma rounds 2^24 high + low once, to nearest even:
/// that is f32(dot). Of dot = 0 it is +0, as f32(0) is.
/// @param dot |dot| <= 2^36.
GYM_HD float finish_block(int64_t dot, int32_t exponent_a, int32_t exponent_b) {
    const bool poisoned = exponent_a == kExponentPoisoned || exponent_b == kExponentPoisoned;
    const float high = f32::from_i32(static_cast<int32_t>(dot >> 24));
    const float low = f32::from_i32(static_cast<int32_t>(dot & 0xFF'FFFF));
    const float value = f32::scale2(f32::fma(high, 0x1p24f, low), exponent_a + exponent_b - 26);
    return poisoned ? f32::from_bits(f32::kNanBits) : value;
}

}  // namespace gym::kernels::cuda
