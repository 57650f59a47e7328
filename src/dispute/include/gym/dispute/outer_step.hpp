#pragma once

#include <cstdint>

#include "gym/dispute/trace_program.hpp"

/// The outer step of one element: what program::aggregate_program() computes and the contract
/// OuterProofs decides.
namespace gym::dispute {

struct OuterElement {
    float base = 0;      ///< the parameter
    float momentum = 0;  ///< its momentum
};

/// mean = exact sum of the deltas / their number; m' = m * mu + mean; d = m' * mu + mean;
/// base' = d * rate + base: each an f32 op, the products fused.
/// @param header for rate and mu. @param deltas the element in every delta, `stride` apart;
/// 1 <= count <= program::kDeltasMax. @pre exact floating point (kernels::ExactFloatEnvironment).
[[nodiscard]] OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                                         const float* deltas, std::uint32_t count,
                                         std::int64_t stride = 1);

}  // namespace gym::dispute
