#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

/// Part of a parameter that an aggregate program treats as a tensor of its own. The outer step of
/// an element needs no other element, so that parts change no bit of it.
struct AggregatePart {
    std::uint32_t parameter = 0;  ///< number among the train program's params
    std::string name;             ///< of the param's slot in the aggregate program
    Dims dims;
    std::uint64_t first = 0;  ///< element of the parameter that it begins with
};

/// Every parameter is one part, with its own name and dims, unless its values in all deltas are
/// more elements than a tensor may have: then as many parts of one dim as it takes.
/// @param elements_max of a tensor. @pre 1 <= deltas <= elements_max.
[[nodiscard]] std::vector<AggregatePart> aggregate_parts(const Program& train, std::uint32_t deltas,
                                                         std::uint64_t elements_max);

/// The constants of a train program that its outer step goes by.
struct OuterRates {
    float learning_rate = 0;
    float momentum = 0;
};
/// @errors kInvalidArgument: not a train program, naming the constant that it lacks.
[[nodiscard]] Result<OuterRates> outer_rates(const Program& train);

}  // namespace gym::program
