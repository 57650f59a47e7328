// Codec 2, sparse deltas, in scalar form: what every encoder of this project computes, element by
// element (docs/adr/0010-compressed-deltas.md). All arithmetic is on integers once fixed_point()
// has placed a float on its tensor's grid; there is no rounding that another machine could do
// otherwise.
//
// A tensor has a grid exponent g, fixed in the round record. Two units of length:
//   2^g      the grid: decoded deltas are integers in it
//   2^(g-8)  fine: what an encoder computes in, so that a clip weight in 1/256 keeps it exact
// Elements meet only in blocks of 1,024, and every element of a result is a function of one block
// and of scalars.
#pragma once

#include "gym/kernels/f32.h"

namespace gym::kernels {

inline constexpr int32_t kDeltaBlock = 1024;
inline constexpr int32_t kDeltaFraction = 8;  // fine bits below the grid
inline constexpr int32_t kDeltaGridMin = -100, kDeltaGridMax = 27;
inline constexpr int32_t kFixedPointMax = 1 << 26;  // |fine value| of an input
inline constexpr int32_t kDeltaScaleMax = 14;       // largest s of a level k * 2^s

/// rint(x * 2^(8-grid)), saturated to +-2^26; NaN gives 0.
/// @param grid kDeltaGridMin .. kDeltaGridMax: then one multiplication by a power of two rounds
/// once, as scale2() would.
GYM_HD int32_t fixed_point(float x, int32_t grid) {
    constexpr auto kMax = static_cast<float>(kFixedPointMax);
    const float scaled = x * f32::power_of_two(kDeltaFraction - grid);
    const float below = scaled > kMax ? kMax : scaled;
    const float within = below < -kMax ? -kMax : below;
    const float number = within == within ? within : 0.0f;
    return static_cast<int32_t>(f32::raw_rint(number));
}

GYM_HD int32_t magnitude(int32_t fine) {
    return fine < 0 ? -fine : fine;
}

/// `value` with the sign of `fine`.
GYM_HD int32_t with_sign_of(int32_t fine, int32_t value) {
    return fine < 0 ? -value : value;
}

// ---------------------------------------------------------------------------------------------
// Sparse codes: +-3 * 2^s or +-6 * 2^s for at most 16 elements of 1,024.

inline constexpr int32_t kSparseKept = 16;
inline constexpr int32_t kSparseLow = 3, kSparseHigh = 6;

/// Whether element j comes before element i: |y_j| > |y_i|, or equal and j < i. The rank of i is
/// the number of elements before it.
GYM_HD bool ranks_before(int32_t magnitude_j, int32_t j, int32_t magnitude_i, int32_t i) {
    return magnitude_j > magnitude_i || (magnitude_j == magnitude_i && j < i);
}

/// The smallest s in 0 .. 14 with amax < 9 * 2^s grid units (9 is half way from 6 to 12); 14 if
/// there is none.
/// @param amax largest fine magnitude of the block.
GYM_HD int32_t sparse_scale(int32_t amax) {
    int32_t s = 0;
    while (s < kDeltaScaleMax && int64_t{amax} >= int64_t{9} << (s + kDeltaFraction))
        ++s;
    return s;
}

/// 0, 3 or 6, whichever is nearest to |fine| / 2^(s+8) (halves up): 0 means that an element of the
/// first 16 ranks is not sent.
GYM_HD int32_t sparse_level(int32_t fine_magnitude, int32_t s) {
    const int64_t twice = 2 * int64_t{fine_magnitude};
    const int64_t unit = int64_t{1} << (s + kDeltaFraction);
    if (twice < 3 * unit) return 0;
    return twice < 9 * unit ? kSparseLow : kSparseHigh;
}

// ---------------------------------------------------------------------------------------------
// Residuals: q * 2^t fine units with -127 <= q <= 127, one t for 1,024 elements.

inline constexpr int32_t kResidualLevelMax = 127;
inline constexpr int32_t kResidualScaleMax = 19;  // 127 * 2^19 < 2^26

/// The smallest t in 0 .. 19 with amax < 127.5 * 2^t; 19 if there is none, and then levels
/// saturate.
GYM_HD int32_t residual_scale(int32_t amax) {
    int32_t t = 0;
    while (t < kResidualScaleMax && 2 * int64_t{amax} >= int64_t{255} << t)
        ++t;
    return t;
}

/// q: fine / 2^t to the nearest, halves away from zero, within +-127.
GYM_HD int32_t residual_level(int32_t fine, int32_t t) {
    const int32_t half = (1 << t) >> 1;
    const int32_t rounded = (magnitude(fine) + half) >> t;
    return with_sign_of(fine, rounded > kResidualLevelMax ? kResidualLevelMax : rounded);
}

// ---------------------------------------------------------------------------------------------
// Clipping: a decoded delta d of squared norm Q counts w * d / 256.

inline constexpr int32_t kClipOne = 256;

/// The largest w in 0 .. 256 with w^2 * norm <= 256^2 * bound, where both are squared norms in grid
/// units: the clipped delta's squared norm is at most `bound`, and at most 1/256 of its length is
/// given away.
GYM_HD int32_t clip_weight(uint64_t norm, uint64_t bound) {
    if (norm <= bound) return kClipOne;
    __extension__ using Wide = unsigned __int128;
    const Wide most = (Wide{bound} << 16) / norm;  // < 2^16
    int32_t w = 0;
    for (int32_t bit = kClipOne / 2; bit > 0; bit /= 2)
        if (Wide{static_cast<uint64_t>(w + bit)} * static_cast<uint64_t>(w + bit) <= most) w += bit;
    return w;
}

// ---------------------------------------------------------------------------------------------
// Sums of deltas: integers in units of 2^(g-9), since a delta in time counts 2 * w, a late one w.

/// f32(sum) * 2^(g-9) / (shares / 2): conversion, scaling and division round once each.
/// @param shares of all deltas in the sum, 2 for one in time and 1 for a late one; at least 1.
GYM_HD float delta_mean(int64_t sum, int32_t grid, int64_t shares) {
    const float total = f32::scale2(f32::from_i64(sum), grid - kDeltaFraction - 1);
    return f32::div(total, f32::scale2(f32::from_i64(shares), -1));
}

}  // namespace gym::kernels
