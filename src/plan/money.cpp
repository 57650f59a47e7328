#include "money.hpp"

#include <algorithm>

#include "gym/plan/units.hpp"
#include "gym/protocol/price_floor.hpp"

namespace gym::plan {
namespace {

constexpr std::uint64_t kPriceTriesMax = 320;  // halvings of 256 bits, and 20 more for the digits
constexpr std::uint64_t kPricePrecision = 10'000'000;

/// Without a price, of the two sums that an owner can name the smaller one.
std::optional<Amount> money_of(const Wishes& wishes, const FixedTerms& fixed) {
    if (!fixed.budget_wei) return wishes.max_cost_wei;
    return std::min(*fixed.budget_wei, wishes.max_cost_wei.value_or(*fixed.budget_wei));
}

/// What a job at the network's least price would need.
Error pays_too_little(const Amount& money, const Amount& least, const CostAt& cost_at) {
    const auto costs = cost_at(least);
    if (!costs.ok()) return costs.error();
    return fail(ErrorCode::kInvalidArgument,
                money_text(money, Rounding::kDown) + " pays for less than the least price of " +
                    money_text(least) + " that this network takes: allow --max-cost " +
                    money_number(safe_money(*costs), Rounding::kUp) + ", or train fewer tokens");
}

}  // namespace

PriceChoice reference_price(const Facts& facts) {
    PriceChoice out;
    if (facts.usual_price) {
        out.wei_per_pflop = facts.usual_price->wei_per_pflop;
        out.source = PriceSource::kMedianJob;
        out.job = facts.usual_price->job;
        out.why = "the median of what the network's jobs paid";
        if (out.job) out.why += ", that of " + out.job->hex().substr(0, 10);
        return out;
    }
    out.wei_per_pflop = default_price_wei_per_pflop();
    out.source = PriceSource::kDefault;
    out.why = "the default: no job of the network has trained yet";
    return out;
}

Amount default_price_wei_per_pflop() {
    constexpr std::uint64_t kGymWei = 1'000'000'000'000'000'000;
    return Amount(kDefaultPriceGym * kGymWei);
}

std::string_view to_string(PriceSource source) noexcept {
    switch (source) {
        case PriceSource::kOwner:
            return "owner";
        case PriceSource::kMedianJob:
            return "median job";
        case PriceSource::kDefault:
            return "default";
    }
    return "owner";
}

Amount least_money(const Estimate& costs) {
    return std::max(costs.expected_wei, costs.round_wei.value_or(Amount()));
}

Amount safe_money(const Estimate& costs) {
    return std::max(least_money(costs), costs.most_wei.value_or(Amount()));
}

Result<Amount> price_within(const CostAt& cost_at, const Amount& price_max, const Amount& money,
                            Amount (*needs)(const Estimate&)) {
    Amount low, high = price_max;
    {
        GYM_TRY(const Estimate costs, cost_at(high));
        if (needs(costs) <= money) return rounded_money(high, Rounding::kDown);
    }
    for (std::uint64_t i = 0; i < kPriceTriesMax; ++i) {
        GYM_TRY(const Amount width, high.minus(low));
        GYM_TRY(const Amount fine, low.mul_div(Amount(1), Amount(kPricePrecision)));
        if (width <= fine || width <= Amount(1)) break;
        GYM_TRY(const Amount half, width.mul_div(Amount(1), Amount(2)));
        GYM_TRY(const Amount middle, low.plus(half));
        GYM_TRY(const Estimate costs, cost_at(middle));
        (needs(costs) <= money ? low : high) = middle;
    }
    return rounded_money(low, Rounding::kDown);
}

Result<PriceChoice> choose_price(const Wishes& wishes, const FixedTerms& fixed, const Facts& facts,
                                 const CostAt& cost_at) {
    if (fixed.price_wei_per_pflop) {
        const std::string low =
            protocol::below_floor(*fixed.price_wei_per_pflop, facts.least_price);
        if (!low.empty()) return fail(ErrorCode::kInvalidArgument, low);
        return PriceChoice{.wei_per_pflop = *fixed.price_wei_per_pflop, .why = "as you say"};
    }
    if (!facts.unknown.empty())
        return fail(facts.unknown_code,
                    "the network's prices are not known: " + facts.unknown +
                        "; try again, or say what you pay for 10^15 operations (--price, or "
                        "`price_per_pflop`)");
    PriceChoice out = reference_price(facts);
    if (out.wei_per_pflop < facts.least_price) {
        out.why = "the least that the network takes; " + out.why + " is " +
                  money_number(out.wei_per_pflop);
        out.wei_per_pflop = facts.least_price;
    }
    const auto money = money_of(wishes, fixed);
    if (!money) return out;
    GYM_TRY(const Estimate costs, cost_at(out.wei_per_pflop));
    const Amount safe = safe_money(costs);
    if (safe <= *money) return out;
    GYM_TRY(const Amount lower, price_within(cost_at, out.wei_per_pflop, *money, safe_money));
    if (lower < facts.least_price) return pays_too_little(*money, facts.least_price, cost_at);
    const std::string enough = money_number(safe, Rounding::kUp);
    GYM_TRY(const Estimate lowered, cost_at(lower));
    if (lowered.unit_wei.is_zero())
        return fail(ErrorCode::kInvalidArgument,
                    money_text(*money, Rounding::kDown) +
                        " pays for none of this job's work: allow --max-cost " + enough +
                        " for the price of " + money_text(out.wei_per_pflop) +
                        ", or train fewer tokens");
    out.lowered_from_wei = out.wei_per_pflop;
    out.why = "lowered to what your money pays for sure from " + money_number(out.wei_per_pflop) +
              ", " + out.why;
    out.wei_per_pflop = lower;
    out.enough_wei = safe;
    return out;
}

Result<BudgetChoice> choose_budget(const Wishes& wishes, const FixedTerms& fixed,
                                   const Facts& facts, const Estimate& costs,
                                   const Advice& advice) {
    const auto& most_money = wishes.max_cost_wei;
    BudgetChoice out;
    if (fixed.budget_wei) {
        out = {*fixed.budget_wei, "as you say"};
    } else if (costs.most_wei && (!most_money || safe_money(costs) <= *most_money)) {
        out = {safe_money(costs), "the most that the job can cost"};
    } else if (most_money) {
        out = {*most_money, "the most money that you allow"};
    } else {
        return fail(facts.unknown.empty() ? ErrorCode::kInvalidArgument : facts.unknown_code,
                    "what the job costs at most is not known: " +
                        (facts.unknown.empty() ? "the network has not published its rates"
                                               : facts.unknown) +
                        "; say what it may cost (--max-cost, or `budget`)");
    }
    if (most_money && out.wei > *most_money)
        return fail(ErrorCode::kInvalidArgument,
                    "the budget of " + money_text(out.wei) + " is more than the " +
                        money_text(*most_money, Rounding::kDown) +
                        " that the job may cost: lower `budget`, or leave it out");
    const Amount least = least_money(costs);
    if (least <= out.wei) return out;
    const bool one_round = costs.expected_wei <= out.wei;
    return fail(ErrorCode::kInvalidArgument,
                (one_round ? "one round may cost " : "the job costs about ") +
                    money_text(one_round ? least : costs.expected_wei) + ", more than " +
                    money_text(out.wei, Rounding::kDown) + ": allow --max-cost " +
                    money_number(least, Rounding::kUp) + advice(out.wei));
}

}  // namespace gym::plan
