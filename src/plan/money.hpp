#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/plan/estimate.hpp"
#include "gym/plan/facts.hpp"
#include "gym/plan/plan.hpp"

/// The price of a job's work and its budget: the rules of docs/JOBS.md, "The price".
namespace gym::plan {

/// What jobs pay that say nothing: what the network's jobs paid, or the default.
[[nodiscard]] PriceChoice reference_price(const Facts& facts);

/// What the job costs at a price; it grows with it.
using CostAt = std::function<Result<Estimate>(const Amount& price_wei_per_pflop)>;

/// What a job needs to be accepted: the expected cost, and whatever one round may cost.
[[nodiscard]] Amount least_money(const Estimate& costs);
/// What it needs so that it cannot pause for want of money, as far as rates are known.
[[nodiscard]] Amount safe_money(const Estimate& costs);

/// @errors kInvalidArgument if the money pays for no work, naming the amount that does; the facts'
/// `unknown_code` without a price while the network's are unknown.
[[nodiscard]] Result<PriceChoice> choose_price(const Wishes& wishes, const FixedTerms& fixed,
                                               const Facts& facts, const CostAt& cost_at);

struct BudgetChoice {
    Amount wei;
    std::string why;
};
/// What else an owner of too little money can do; empty: nothing. The text begins with ", ".
using Advice = std::function<std::string(const Amount& money)>;

/// @errors kInvalidArgument for too little money, naming the `--max-cost` that is enough at this
/// price; the facts' `unknown_code` if neither the most nor the money is known.
[[nodiscard]] Result<BudgetChoice> choose_budget(const Wishes& wishes, const FixedTerms& fixed,
                                                 const Facts& facts, const Estimate& costs,
                                                 const Advice& advice);

/// The highest price up to `price_max` at which the job needs no more than `money`, rounded down to
/// what people read; zero: none. @param needs least_money or safe_money.
[[nodiscard]] Result<Amount> price_within(const CostAt& cost_at, const Amount& price_max,
                                          const Amount& money, Amount (*needs)(const Estimate&));

}  // namespace gym::plan
