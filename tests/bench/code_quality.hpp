// How well codes keep the deltas of one round, without residuals: explains what runs of
// network_rounds.hpp measure, at the price of one round.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gym/codec/sparse_code.hpp"

namespace gym::bench {

/// The f32 elements of a delta, tensor by tensor.
using DeltaTensors = std::vector<std::vector<float>>;

struct CodeQuality {
    double energy = 0;  ///< part of the deltas' squared norms that their codes keep
    double cosine = 0;  ///< between the mean of the decoded deltas and the mean of the deltas
};

/// @param code "1" and "2" are the codecs, others as parse_trial_code().
/// @param grids of the tensors, for codec 2.
[[nodiscard]] CodeQuality quality_of(const std::string& code,
                                     std::span<const codec::TensorGrid> grids,
                                     std::span<const DeltaTensors> deltas, std::uint64_t round);

/// What a code's integers stand for.
[[nodiscard]] std::vector<float> decoded(const codec::SparseCode& code);

}  // namespace gym::bench
