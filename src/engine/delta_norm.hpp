#pragma once

#include <array>
#include <cstdint>

#include "gym/engine/delta.hpp"
#include "gym/kernels/dense_row.h"

namespace gym::engine {

/// The norm of a delta by parts of its bytes, in any order: bits of sqrt of the exact sum of the
/// f32 squares of all elements, the same for all ways to divide it. Norms of ranges add up.
///
/// Of codec 1 one pass counts the levels of each scale, since these say all squares: elements of
/// one level and scale are equal. An exact sum of f32 has to know its largest term first, so codec
/// 0 takes two passes, measure() over all parts and add_terms() over all again.
/// @pre The caller's thread rounds to nearest even (kernels::ExactFloatEnvironment).
class DeltaNorm {
  public:
    void measure(const DeltaLayout& layout, const DeltaBytes& piece);
    /// Whether there is a second pass.
    [[nodiscard]] static bool needs_terms(program::DeltaCodec codec);
    /// @pre All parts were measured.
    void add_terms(const DeltaLayout& layout, const DeltaBytes& piece);
    /// Adds what another one found in other parts, in the same pass.
    void add(const DeltaNorm& other);
    [[nodiscard]] std::uint32_t bits(program::DeltaCodec codec) const;

  private:
    void count_levels(const DeltaLayout& layout, const DeltaBytes& piece,
                      const ParameterPart& part);
    [[nodiscard]] std::uint32_t bits_of_levels() const;

    std::array<std::array<std::uint64_t, kernels::kRowLevelMax + 1>, 256> levels_{};  ///< by scale
    std::uint32_t largest_ = 0;  ///< magnitude bits of the largest square
    std::int64_t terms_ = 0;
};

}  // namespace gym::engine
