#pragma once

#include <cstdint>

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

}  // namespace gym::dispute
