#include "gym/dispute/outer_step.hpp"

#include <array>

#include "gym/kernels/rows.h"
#include "gym/program/train_program.hpp"

namespace gym::dispute {

namespace f = kernels::f32;
namespace {

float mean_of(const float* deltas, const DeltaCount& count, std::int64_t stride) {
    const program::DeltaWeights weights = program::weights_of(count.groups, count.all);
    if (weights.factors.empty())
        return f::div(kernels::exact_sum(deltas, count.all, stride), weights.divisor);
    std::array<float, program::kDeltasMax> weighted;
    for (std::uint32_t i = 0; i < count.all; ++i)
        weighted[i] = f::mul(deltas[i * stride], weights.factors[i]);
    return f::div(kernels::exact_sum(weighted.data(), count.all, 1), weights.divisor);
}

}  // namespace

OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                           const float* deltas, const DeltaCount& count, std::int64_t stride) {
    const float rate = f::from_bits(header.outer_learning_rate);
    const float mu = f::from_bits(header.outer_momentum);
    const float mean = mean_of(deltas, count, stride);
    const float momentum = f::fma(before.momentum, mu, mean);
    return {f::fma(f::fma(momentum, mu, mean), rate, before.base), momentum};
}

}  // namespace gym::dispute
