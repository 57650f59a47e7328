#pragma once

#include <cstdint>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/program/train_program.hpp"

namespace gym::testing {

/// The rounds of a job, all of whose workers are here.
struct LocalRounds {
    std::uint64_t rounds = 1;
    std::uint32_t slots = 1;
    std::uint32_t steps = 1;  ///< of each slot and round
    std::uint32_t evaluate_windows = 64;
    Digest seed;
    unsigned threads = 1;
};

/// Trains as a network does: units from the round's base, their mean, the outer step, evaluation
/// of the new base.
/// @return the validation loss before the first round and after each. @errors of the engine.
[[nodiscard]] Result<std::vector<double>> train_rounds(const program::TrainConfig& config,
                                                       const blob::Dataset& dataset,
                                                       const LocalRounds& job);

}  // namespace gym::testing
