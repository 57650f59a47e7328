#pragma once

#include <cstdint>
#include <vector>

#include "gym/plan/plan.hpp"
#include "plan_words.hpp"

/// Deadlines of planned jobs: usual ones, and shorter ones where the network's window for disputes
/// demands it.
namespace gym::plan {

/// Of a job file: the terms that a short window changes beside unit_ms and report_ms.
inline constexpr const char* kRevealTerm = "reveal_ms";
inline constexpr const char* kDrawsTerm = "sampling.draws_max";

/// The most steps of a unit that workers and verifiers are done with kDeadlineFactor times within
/// the deadlines that the window leaves, of those that are not fixed. No bound without a window.
[[nodiscard]] std::uint64_t steps_within_window(const Inputs& in);

/// Chooses the deadlines that the owner did not fix, for the chosen steps.
/// @errors kInvalidArgument if no deadlines fit the window, or the slowest node could not be done
/// by them once.
Status choose_deadlines(const Inputs& in, registry::JobTerms& terms);

[[nodiscard]] std::vector<Reason> deadline_reasons(const Inputs& in,
                                                   const registry::JobTerms& terms);

}  // namespace gym::plan
