#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/plan/plan.hpp"
#include "money.hpp"

/// A plan in words: what the owner reads before paying.
namespace gym::plan {

[[nodiscard]] constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
    return a / b + (a % b == 0 ? 0 : 1);
}

/// All that the rules look at.
struct Inputs {
    const Wishes& wishes;
    const FixedTerms& fixed;
    const ModelWork& work;
    const Facts& facts;

    /// Seconds of one step on the slowest live worker.
    [[nodiscard]] double step_s() const {
        return static_cast<double>(work.flops_per_step) /
               static_cast<double>(slowest(facts.workers).value_or(kAssumedFlopsPerSecond));
    }
    /// Steps of each slot over the whole job.
    [[nodiscard]] std::uint64_t slot_steps(std::uint32_t slots) const {
        return ceil_div(ceil_div(wishes.tokens.value_or(0), work.tokens_per_step), slots);
    }
};

/// "1.0e9 tokens = 125 rounds x 8 workers x 123 steps x 8,192 tokens"
[[nodiscard]] std::string equation_of(const Inputs& in, const registry::JobTerms& terms);
[[nodiscard]] std::vector<Reason> reasons_of(const Inputs& in, const Plan& plan,
                                             const BudgetChoice& budget);
[[nodiscard]] std::vector<std::string> notes_of(const Inputs& in, const Plan& plan);
/// Precondition: the plan has a shortage.
[[nodiscard]] std::string shortage_text(const Plan& plan);

}  // namespace gym::plan
