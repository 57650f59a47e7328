#pragma once

#include <cstdint>

#include "gym/common/result.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::registry {

/// What training and validation of a job's model take, in FLOPs.
struct EvaluationWork {
    double step = 0;    ///< of training
    double window = 0;  ///< of validation
};

/// The coordinator evaluates every round, and nobody pays it for that; a verifier that evaluates
/// again is paid, and has the time for it that units have. So it may not be more work than a unit,
/// but for models that are so small that it does not matter.
/// @return the most validation windows of a round; may be 0.
[[nodiscard]] std::uint32_t evaluate_windows_bound(const JobTerms& terms,
                                                   const EvaluationWork& work);
/// @errors kInvalidArgument naming the bound.
[[nodiscard]] Status check_evaluation(const JobTerms& terms, const EvaluationWork& work);

}  // namespace gym::registry
