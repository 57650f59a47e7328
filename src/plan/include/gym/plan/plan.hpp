#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/plan/estimate.hpp"
#include "gym/plan/facts.hpp"
#include "gym/registry/jobs.hpp"

/// From what an owner wants (tokens, nodes, money, time) to the terms of a job (docs/JOBS.md, "The
/// plan"). A pure function: the command line and Python plan the same job.
namespace gym::plan {

inline constexpr std::uint32_t kNodesDefault = 8;      ///< at most, without a wish
inline constexpr std::uint32_t kStepsDefault = 100;    ///< H
inline constexpr std::uint32_t kStepsLongest = 500;    ///< of units that would be short
inline constexpr std::uint64_t kUnitSecondsMin = 60;   ///< shorter units get more steps
inline constexpr std::uint64_t kUnitSecondsMax = 600;  ///< longer ones fewer
inline constexpr std::uint32_t kRoundsWanted = 4;      ///< so that deltas are averaged at all
inline constexpr std::uint64_t kDeadlineFactor = 3;    ///< of a unit's time on the slowest worker
inline constexpr std::uint64_t kEvaluateTokens = 65'536;  ///< of a round's validation
/// Speed that deadlines are made for where no worker is live: a small CPU machine.
inline constexpr std::uint64_t kAssumedFlopsPerSecond = 20'000'000'000;

/// What the owner asks for. Absent: the rules decide.
struct Wishes {
    std::optional<std::uint64_t> tokens;    ///< to train on, repetitions counted
    std::optional<std::uint32_t> nodes;     ///< workers of a round
    std::optional<Amount> max_cost_wei;     ///< never more is locked
    std::optional<std::uint64_t> within_s;  ///< the slow end of the estimate must not be later

    [[nodiscard]] bool any() const { return tokens || nodes || max_cost_wei || within_s; }
};

/// Terms that the owner wrote: they win over every rule.
struct FixedTerms {
    std::optional<std::uint64_t> rounds;
    std::optional<std::uint32_t> slots, workers_min, steps, checkpoint_every, evaluate_windows;
    std::optional<Amount> price_wei_per_pflop, budget_wei;
    std::optional<std::int64_t> unit_ms, report_ms;
    registry::JobTerms rest;  ///< sampling, the other deadlines, delta_norm_max

    /// Whether every term is here that a job file must have.
    [[nodiscard]] bool complete() const {
        return rounds && slots && steps && price_wei_per_pflop && budget_wei;
    }
};

/// A term of the plan and the rule that made it.
struct Reason {
    std::string term;  ///< a job file's key
    std::string value;
    std::string why;
};

struct Plan {
    registry::JobTerms terms;
    Amount budget_wei;
    Estimate estimate;
    std::string equation;            ///< "1.0e9 tokens = 153 rounds x 8 workers x 100 steps x ..."
    std::vector<Reason> reasons;     ///< in the order of a job file
    std::vector<std::string> notes;  ///< sentences that the owner should read before paying
};

/// The plan's guarantees: rounds * slots * steps * tokens per step >= wishes.tokens, and less than
/// one step of every slot of every round more; budget <= max_cost, and enough for a round; the
/// expected cost is within the budget; unit_ms holds kDeadlineFactor units of the slowest live
/// worker. Deterministic.
/// @errors kInvalidArgument saying which wish or term stands against which, with the number that
/// would do; kOutOfRange for amounts beyond 256 bits.
[[nodiscard]] Result<Plan> make_plan(const Wishes& wishes, const FixedTerms& fixed,
                                     const ModelWork& work, const Facts& facts);

}  // namespace gym::plan
