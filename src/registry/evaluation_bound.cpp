#include "gym/registry/evaluation_bound.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace gym::registry {

std::uint32_t evaluate_windows_bound(const JobTerms& terms, const EvaluationWork& work) {
    constexpr double kFree = 1e11;  // FLOPs: seconds on any machine
    constexpr double kAny = std::numeric_limits<std::uint32_t>::max();
    const double unit = work.step * terms.steps;
    const double most = std::max(kFree, unit) / std::max(work.window, 1.0);
    return static_cast<std::uint32_t>(std::min(most, kAny));
}

Status check_evaluation(const JobTerms& terms, const EvaluationWork& work) {
    const std::uint32_t most = evaluate_windows_bound(terms, work);
    if (terms.evaluate_windows <= most) return {};
    return fail(ErrorCode::kInvalidArgument, "'evaluate_windows' is " +
                                                 std::to_string(terms.evaluate_windows) +
                                                 ": that is more work than a unit; at most " +
                                                 std::to_string(most) + " are possible here");
}

}  // namespace gym::registry
