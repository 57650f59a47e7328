#include "gym/dispute/outer_step.hpp"

#include <array>

#include "gym/kernels/rows.h"
#include "gym/program/train_program.hpp"

namespace gym::dispute {

namespace f = kernels::f32;
namespace {

/// Those of the round itself count twice where some are of the round before.
float mean_of(const float* deltas, DeltaCount count, std::int64_t stride) {
    const std::uint32_t timely = count.all - count.held;
    if (count.held == 0 || timely == 0)
        return f::div(kernels::exact_sum(deltas, count.all, stride), static_cast<float>(count.all));
    std::array<float, program::kDeltasMax> weighted;
    for (std::uint32_t i = 0; i < count.all; ++i)
        weighted[i] = f::mul(deltas[i * stride], i < timely ? 2.0F : 1.0F);
    return f::div(kernels::exact_sum(weighted.data(), count.all, 1),
                  static_cast<float>(count.all + timely));
}

}  // namespace

OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                           const float* deltas, DeltaCount count, std::int64_t stride) {
    const float rate = f::from_bits(header.outer_learning_rate);
    const float mu = f::from_bits(header.outer_momentum);
    const float mean = mean_of(deltas, count, stride);
    const float momentum = f::fma(before.momentum, mu, mean);
    return {f::fma(f::fma(momentum, mu, mean), rate, before.base), momentum};
}

}  // namespace gym::dispute
