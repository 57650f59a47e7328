#pragma once

#include <cstdint>

#include "gym/common/result.hpp"

namespace gym::quality {

/// Validation losses as the exact evaluation program gives them: the bits of an IEEE 754 binary32.
struct LossBits {
    std::uint32_t before = 0;    ///< of the base state
    std::uint32_t after = 0;     ///< of that state after training on the dataset
    std::uint32_t baseline = 0;  ///< of that state after the same steps on the reference dataset
};

/// The part of the reference's drop in loss that the dataset reaches:
/// floor(10^6 * (before - after) / (before - baseline)), within [0, 10^6]. Without a drop 0; with
/// one where the reference has none, 10^6. It never grows with `after` and never shrinks with
/// `before` or `baseline`.
///
/// The losses are taken as whole multiples of 2^-149, which every finite binary32 is: nothing is
/// rounded but the quotient, down.
/// @errors kInvalidArgument for NaN or infinity, kOutOfRange for a negative loss; both name it.
[[nodiscard]] Result<std::uint32_t> usefulness_ppm(const LossBits& losses);

/// floor(novelty * usefulness / 10^6), what a data credit is multiplied by.
/// @errors kOutOfRange for a part above 10^6.
[[nodiscard]] Result<std::uint32_t> quality_ppm(std::uint32_t novelty_ppm,
                                                std::uint32_t usefulness_ppm);

}  // namespace gym::quality
