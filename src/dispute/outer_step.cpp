#include "gym/dispute/outer_step.hpp"

#include "gym/kernels/rows.h"

namespace gym::dispute {

namespace f = kernels::f32;

OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                           const float* deltas, std::uint32_t count, std::int64_t stride) {
    const float rate = f::from_bits(header.outer_learning_rate);
    const float mu = f::from_bits(header.outer_momentum);
    const float mean = f::div(kernels::exact_sum(deltas, count, stride), static_cast<float>(count));
    const float momentum = f::fma(before.momentum, mu, mean);
    return {f::fma(f::fma(momentum, mu, mean), rate, before.base), momentum};
}

}  // namespace gym::dispute
