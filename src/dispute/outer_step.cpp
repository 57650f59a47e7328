#include "gym/dispute/outer_step.hpp"

#include <algorithm>

#include "gym/kernels/rows.h"
#include "gym/program/train_program.hpp"

namespace gym::dispute {

namespace f = kernels::f32;
namespace {

float mean_of(const float* deltas, const DeltaCount& count, std::int64_t stride) {
    const program::DeltaWeights weights = program::weights_of(count.groups, count.all);
    if (weights.factors.empty())
        return f::div(kernels::exact_sum(deltas, count.all, stride), weights.divisor);
    std::vector<float> weighted(count.all);
    for (std::uint32_t i = 0; i < count.all; ++i)
        weighted[i] = f::mul(deltas[i * stride], weights.factors[i]);
    return f::div(kernels::exact_sum(weighted.data(), count.all, 1), weights.divisor);
}

/// Values of a part, times what their deltas count.
std::vector<float> weighted(std::span<const float> values, std::uint32_t first,
                            const DeltaCount& count) {
    const program::DeltaWeights weights = program::weights_of(count.groups, count.all);
    std::vector<float> out(values.begin(), values.end());
    for (std::size_t i = 0; i < out.size() && !weights.factors.empty(); ++i)
        out[i] = f::mul(out[i], weights.factors[first + i]);
    return out;
}

OuterElement moved(const TraceHeader& header, const OuterElement& before, float mean) {
    const float rate = f::from_bits(header.outer_learning_rate);
    const float mu = f::from_bits(header.outer_momentum);
    const float momentum = f::fma(before.momentum, mu, mean);
    return {f::fma(f::fma(momentum, mu, mean), rate, before.base), momentum};
}

}  // namespace

std::int32_t part_exponent(std::span<const float> values, std::uint32_t first,
                           const DeltaCount& count) {
    const std::vector<float> terms = weighted(values, first, count);
    return kernels::row_exponent(terms.data(), static_cast<std::int64_t>(terms.size()), 1);
}

std::int64_t part_sum(std::span<const float> values, std::uint32_t first, const DeltaCount& count,
                      std::int32_t exponent) {
    if (exponent >= kernels::kExponentPoisoned) return 0;
    std::int64_t total = 0;
    for (const float term : weighted(values, first, count))
        total += kernels::sum_term(term, exponent);
    return total;
}

std::vector<ColumnPart> column_parts_of(std::span<const float> values, const DeltaCount& count) {
    std::vector<ColumnPart> parts(column_parts(count.all));
    const auto values_of = [&](std::size_t part) {
        const std::size_t first = part * kColumnPart;
        return values.subspan(first, std::min<std::size_t>(kColumnPart, values.size() - first));
    };
    for (std::uint32_t i = 0; i < parts.size(); ++i)
        parts[i].exponent = part_exponent(values_of(i), i * kColumnPart, count);
    const std::int32_t exponent = exponent_of(parts);
    for (std::uint32_t i = 0; i < parts.size(); ++i)
        parts[i].sum = part_sum(values_of(i), i * kColumnPart, count, exponent);
    return parts;
}

std::int32_t exponent_of(std::span<const ColumnPart> parts) {
    return std::ranges::max_element(parts, {}, &ColumnPart::exponent)->exponent;
}

OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                           const float* deltas, const DeltaCount& count, std::int64_t stride) {
    return moved(header, before, mean_of(deltas, count, stride));
}

OuterElement outer_element(const TraceHeader& header, const OuterElement& before,
                           std::span<const ColumnPart> parts, const DeltaCount& count) {
    // Modulo 2^64: whoever posted the parts may have said anything.
    std::uint64_t total = 0;
    for (const ColumnPart& part : parts)
        total += static_cast<std::uint64_t>(part.sum);
    const std::int32_t exponent = std::min(exponent_of(parts), kernels::kExponentPoisoned);
    const program::DeltaWeights weights = program::weights_of(count.groups, count.all);
    return moved(
        header, before,
        f::div(kernels::sum_finish(static_cast<std::int64_t>(total), exponent), weights.divisor));
}

}  // namespace gym::dispute
