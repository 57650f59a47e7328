#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/dispute/trace_program.hpp"
#include "gym/program/delta_groups.hpp"

/// The outer step of one element: what program::aggregate_program() computes and the contract
/// OuterProofs decides.
namespace gym::dispute {

/// Deltas of an aggregate.
struct DeltaCount {
    std::uint32_t all = 0;        ///< 1 to program::kDeltasMax
    program::DeltaGroups groups;  ///< are_legal()
};

/// An element of up to so many deltas is looked at as a whole; of more, in parts of so many.
inline constexpr std::uint32_t kColumnPart = 1024;

/// Parts of an element of so many deltas; 0: it is looked at as a whole.
[[nodiscard]] constexpr std::uint64_t column_parts(std::uint64_t deltas) {
    return deltas > kColumnPart ? 1 + (deltas - 1) / kColumnPart : 0;
}

/// What a part adds to the exact sum of a weighted element.
struct ColumnPart {
    std::int32_t exponent = 0;  ///< kernels::row_exponent() of the part's weighted values alone
    std::int64_t sum = 0;  ///< in units of 2^(e - 30), e the largest exponent of all parts; 0 where
                           ///< that is kernels::kExponentPoisoned or more
    friend bool operator==(const ColumnPart&, const ColumnPart&) = default;
};

/// Of the part that begins at value number `first`.
/// @param values of the part alone. @pre exact floating point.
[[nodiscard]] std::int32_t part_exponent(std::span<const float> values, std::uint32_t first,
                                         const DeltaCount& count);
/// @param exponent of all parts, hence not below that of this one. @pre exact floating point.
[[nodiscard]] std::int64_t part_sum(std::span<const float> values, std::uint32_t first,
                                    const DeltaCount& count, std::int32_t exponent);
/// Of a whole element. @param values count.all. @pre exact floating point.
[[nodiscard]] std::vector<ColumnPart> column_parts_of(std::span<const float> values,
                                                      const DeltaCount& count);
/// The largest.
[[nodiscard]] std::int32_t exponent_of(std::span<const ColumnPart> parts);

struct OuterElement {
    float base = 0;      ///< the parameter
    float momentum = 0;  ///< its momentum
};

/// mean = exact sum of the deltas / their number; m' = m * mu + mean; d = m' * mu + mean;
/// base' = d * rate + base: each an f32 op, the products fused. What each delta counts, and what
/// stands for their number, is weights_of()'s.
/// @param header for rate and mu. @param deltas the element in every delta, `stride` apart.
/// @pre exact floating point (kernels::ExactFloatEnvironment).
[[nodiscard]] OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                                         const float* deltas, const DeltaCount& count,
                                         std::int64_t stride = 1);
/// The same of what its parts add.
[[nodiscard]] OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                                         std::span<const ColumnPart> parts,
                                         const DeltaCount& count);

}  // namespace gym::dispute
