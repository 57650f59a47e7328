#include "gym/plan/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gym/plan/units.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::plan {
namespace {

constexpr std::uint64_t kMinuteMs = 60'000;
constexpr std::uint64_t kRoundsMax = 1'000'000;  // of a job file
constexpr std::uint64_t kDeadlineMsMax = 30ULL * 24 * 3600 * 1000;
constexpr std::uint32_t kEvaluateWindowsMin = 16, kEvaluateWindowsMax = 256;
constexpr std::uint64_t kPriceTriesMax = 64;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
    return a / b + (a % b == 0 ? 0 : 1);
}

Error refused(std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
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

/// H by the length of a unit: about 100, of one to ten minutes.
std::uint32_t steps_by_length(double step_s) {
    const double seconds = step_s * kStepsDefault;
    if (seconds > kUnitSecondsMax)
        return static_cast<std::uint32_t>(std::max(1.0, std::floor(kUnitSecondsMax / step_s)));
    if (seconds >= kUnitSecondsMin) return kStepsDefault;
    const double wanted = std::ceil(kUnitSecondsMin / std::max(step_s, 1e-9));
    return static_cast<std::uint32_t>(std::min<double>(kStepsLongest, wanted));
}

/// Rounds and steps for so many slots. @errors kInvalidArgument.
Status choose_rounds(const Inputs& in, std::uint32_t slots, registry::JobTerms& terms) {
    terms.slots_max = slots;
    const std::uint32_t by_length = in.fixed.steps.value_or(steps_by_length(in.step_s()));
    if (!in.wishes.tokens) {
        if (!in.fixed.rounds)
            return refused(
                "how much to train is not said: name the training tokens (--tokens 1e9, "
                "or `tokens` in the job file), or `rounds`");
        terms.rounds = *in.fixed.rounds;
        terms.steps = by_length;
        return {};
    }
    const std::uint64_t needed = in.slot_steps(slots);
    if (in.fixed.rounds) {
        terms.rounds = *in.fixed.rounds;
        const std::uint64_t steps = in.fixed.steps.value_or(0) > 0 ? std::uint64_t{*in.fixed.steps}
                                                                   : ceil_div(needed, terms.rounds);
        if (steps > registry::kJobStepsMax || steps * terms.rounds < needed)
            return refused(fmt::format(
                "{} rounds of {} workers{} do not train {} tokens: that takes {} steps of each "
                "worker in all",
                terms.rounds, slots,
                in.fixed.steps ? fmt::format(" and {} steps", *in.fixed.steps) : "",
                count_text(*in.wishes.tokens), count_text(needed)));
        terms.steps = static_cast<std::uint32_t>(steps);
        return {};
    }
    const std::uint64_t most =
        in.fixed.steps ? by_length
                       : std::min<std::uint64_t>(by_length, ceil_div(needed, kRoundsWanted));
    terms.rounds = ceil_div(needed, most);
    if (terms.rounds > kRoundsMax)
        return refused(
            fmt::format("{} tokens take {} rounds of {} workers and {} steps, at most "
                        "{} are possible: ask for more nodes, or set steps_per_round",
                        count_text(*in.wishes.tokens), count_text(terms.rounds), slots, most,
                        count_text(kRoundsMax)));
    // As few steps as these rounds need: little is trained, and paid, beyond the tokens.
    terms.steps =
        in.fixed.steps.value_or(static_cast<std::uint32_t>(ceil_div(needed, terms.rounds)));
    return {};
}

std::int64_t deadline_ms(double unit_s, std::int64_t at_least) {
    const double wanted_ms = (static_cast<double>(kDeadlineFactor) * unit_s + 60) * 1000;
    const double minutes = std::ceil(wanted_ms / kMinuteMs);
    const double most = static_cast<double>(kDeadlineMsMax) / kMinuteMs;
    return std::max(at_least, static_cast<std::int64_t>(std::min(minutes, most)) *
                                  static_cast<std::int64_t>(kMinuteMs));
}

void choose_deadlines(const Inputs& in, registry::JobTerms& terms) {
    protocol::LifecycleParams& life = terms.lifecycle;
    const protocol::LifecycleParams usual;
    const double flops = static_cast<double>(in.work.flops_per_step) * terms.steps;
    life.unit_ms = in.fixed.unit_ms.value_or(deadline_ms(in.step_s() * terms.steps, usual.unit_ms));
    const auto verifier = slowest(in.facts.verifiers);
    const double verifier_s =
        verifier ? flops / static_cast<double>(*verifier) : in.step_s() * terms.steps;
    life.report_ms = in.fixed.report_ms.value_or(
        std::max(life.unit_ms, deadline_ms(verifier_s, usual.report_ms)));
}

/// All but the prices. @errors as choose_rounds().
Result<registry::JobTerms> schedule(const Inputs& in, std::uint32_t slots) {
    registry::JobTerms terms = in.fixed.rest;
    GYM_CHECK(choose_rounds(in, slots, terms));
    const auto live = static_cast<std::uint32_t>(
        std::min<std::size_t>(in.facts.workers.size(), registry::kJobSlotsMax));
    const std::uint32_t half = (slots + 1) / 2;
    terms.workers_min = in.fixed.workers_min.value_or(
        in.facts.unknown.empty() ? std::min(half, std::max<std::uint32_t>(live, 1)) : half);
    terms.checkpoint_every =
        in.fixed.checkpoint_every.value_or(std::min(terms.steps, kStepsDefault));
    terms.evaluate_windows =
        in.fixed.evaluate_windows.value_or(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
            ceil_div(kEvaluateTokens, in.work.context), kEvaluateWindowsMin, kEvaluateWindowsMax)));
    choose_deadlines(in, terms);
    return terms;
}

std::uint32_t nodes_by_default(const Facts& facts) {
    const auto live =
        static_cast<std::uint32_t>(std::min<std::size_t>(facts.workers.size(), kNodesDefault));
    return live == 0 ? kNodesDefault : live;
}

/// Seconds until the last round, by the slow end of the estimate.
Result<double> slow_seconds(const Inputs& in, const registry::JobTerms& terms) {
    const auto times = times_of(terms, in.work, in.facts);
    if (times) return times->round_s.high * static_cast<double>(terms.rounds);
    return refused(
        "no worker is live that measured its speed, so that nothing can be planned "
        "within a time: leave it out" +
        (in.facts.unknown.empty() ? "" : " (" + in.facts.unknown + ")"));
}

/// The fewest slots that are done in time.
Result<registry::JobTerms> schedule_within(const Inputs& in, std::uint64_t within_s) {
    const auto live = static_cast<std::uint32_t>(
        std::min<std::size_t>(in.facts.workers.size(), registry::kJobSlotsMax));
    double best = 0;
    for (std::uint32_t slots = 1; slots <= std::max<std::uint32_t>(live, 1); ++slots) {
        GYM_TRY(const registry::JobTerms terms, schedule(in, slots));
        GYM_TRY(const double seconds, slow_seconds(in, terms));
        if (seconds <= static_cast<double>(within_s)) return terms;
        best = best == 0 ? seconds : std::min(best, seconds);
    }
    return refused(
        fmt::format("with the {} live workers this takes up to {}, longer than {}: ask "
                    "for fewer tokens, or for more time",
                    live, duration_text(best), duration_text(static_cast<double>(within_s))));
}

Result<registry::JobTerms> choose_terms(const Inputs& in) {
    const auto nodes = in.fixed.slots ? in.fixed.slots : in.wishes.nodes;
    if (nodes && (*nodes == 0 || *nodes > registry::kJobSlotsMax))
        return refused(fmt::format("{} nodes are not possible: at least 1, at most {}", *nodes,
                                   registry::kJobSlotsMax));
    if (!in.wishes.within_s) return schedule(in, nodes.value_or(nodes_by_default(in.facts)));
    if (!nodes) return schedule_within(in, *in.wishes.within_s);
    GYM_TRY(const registry::JobTerms terms, schedule(in, *nodes));
    GYM_TRY(const double seconds, slow_seconds(in, terms));
    if (seconds <= static_cast<double>(*in.wishes.within_s)) return terms;
    return refused(fmt::format(
        "with {} nodes this takes up to {}, longer than {}: leave --nodes "
        "out to plan for as many as it takes, or ask for more time",
        *nodes, duration_text(seconds), duration_text(static_cast<double>(*in.wishes.within_s))));
}

// Money.

Result<Estimate> estimate_at(const Inputs& in, registry::JobTerms& terms, const Amount& price) {
    terms.price_wei_per_pflop = price;
    return estimate(terms, in.work, in.facts);
}

/// The highest price at which the job costs at most `money`.
Result<Amount> price_within(const Inputs& in, registry::JobTerms terms, const Amount& money) {
    Amount low, high(1);
    for (std::uint64_t i = 0; i < 4 * kPriceTriesMax; ++i) {  // doubles: 256 bits at the most
        GYM_TRY(const Estimate costs, estimate_at(in, terms, high));
        if (*costs.most_wei > money) break;
        low = high;
        GYM_TRY(high, high.plus(high));
    }
    if (low.is_zero())
        return refused(money.to_tokens() +
                       " tokens of money pay no price above zero for this job: "
                       "raise --max-cost, or ask for fewer tokens");
    // Halves the interval until price and bound agree to 1 part in 10^6: nobody pays finer.
    for (std::uint64_t i = 0; i < kPriceTriesMax; ++i) {
        GYM_TRY(const Amount width, high.minus(low));
        GYM_TRY(const Amount fine, low.mul_div(Amount(1), Amount(1'000'000)));
        if (width <= fine || width <= Amount(1)) break;
        GYM_TRY(const Amount half, width.mul_div(Amount(1), Amount(2)));
        GYM_TRY(const Amount middle, low.plus(half));
        GYM_TRY(const Estimate costs, estimate_at(in, terms, middle));
        (*costs.most_wei <= money ? low : high) = middle;
    }
    return low;
}

struct Priced {
    Amount wei_per_pflop;
    std::string why;
};

Result<Priced> choose_price(const Inputs& in, const registry::JobTerms& terms) {
    if (in.fixed.price_wei_per_pflop) return Priced{*in.fixed.price_wei_per_pflop, "as you say"};
    if (in.facts.market_wei_per_pflop)
        return Priced{
            *in.facts.market_wei_per_pflop,
            fmt::format("the median of the network's {} newest jobs", in.facts.market_jobs)};
    if (in.wishes.max_cost_wei && in.facts.bound) {
        GYM_TRY(const Amount price, price_within(in, terms, *in.wishes.max_cost_wei));
        return Priced{price, "what the money pays at most: the network has no job to compare with"};
    }
    return refused("no price is known" +
                   (in.facts.unknown.empty() ? " and the network has no job to compare with"
                                             : " (" + in.facts.unknown + ")") +
                   ": say what you pay for 10^15 operations (--price, or `price_per_pflop`)");
}

/// Tokens that the money lasts for, of those wished.
std::string affordable(const Inputs& in, const Estimate& costs, const Amount& money) {
    const auto tokens = Amount(costs.tokens).mul_div(money, costs.expected_wei);
    if (!in.wishes.tokens || !tokens.ok()) return "";
    const auto count = tokens->to_u64();
    return count.ok() && *count > 0 ? ", or ask for " + count_text(*count) + " tokens" : "";
}

struct Budgeted {
    Amount wei;
    std::string why;
};

Result<Budgeted> choose_budget(const Inputs& in, const Estimate& costs) {
    const auto& most_money = in.wishes.max_cost_wei;
    Budgeted out;
    if (in.fixed.budget_wei) {
        out = {*in.fixed.budget_wei, "as you say"};
    } else if (costs.most_wei && (!most_money || *costs.most_wei <= *most_money)) {
        out = {*costs.most_wei, "the most that the job can cost"};
    } else if (most_money) {
        out = {*most_money, "the most money that you allow"};
    } else {
        return refused("what the job costs at most is not known" +
                       (in.facts.unknown.empty() ? "" : " (" + in.facts.unknown + ")") +
                       ": say what it may cost (--max-cost, or `budget`)");
    }
    if (most_money && out.wei > *most_money)
        return refused("the budget of " + out.wei.to_tokens() + " is more than the " +
                       most_money->to_tokens() + " that the job may cost");
    if (costs.expected_wei > out.wei)
        return refused("the job costs about " + costs.expected_wei.to_tokens() +
                       " tokens of money, more than " + out.wei.to_tokens() +
                       ": allow more (--max-cost), pay less for the work (--price)" +
                       affordable(in, costs, out.wei));
    if (costs.round_wei && *costs.round_wei > out.wei)
        return refused("one round may cost " + costs.round_wei->to_tokens() +
                       " tokens of money, more than " + out.wei.to_tokens() +
                       ": allow more (--max-cost), or ask for fewer nodes or steps_per_round");
    return out;
}

// Words.

std::string equation_of(const Inputs& in, const registry::JobTerms& terms) {
    const std::uint64_t tokens =
        std::uint64_t{terms.slots_max} * terms.steps * terms.rounds * in.work.tokens_per_step;
    return fmt::format("{} tokens = {} rounds x {} workers x {} steps x {} tokens",
                       count_text(tokens), count_text(terms.rounds), terms.slots_max, terms.steps,
                       count_text(in.work.tokens_per_step));
}

std::string unit_length(const Inputs& in, const registry::JobTerms& terms) {
    return "a unit takes " + duration_text(in.step_s() * terms.steps) +
           (slowest(in.facts.workers) ? " on the slowest live worker"
                                      : " on a small machine; no worker is live");
}

std::vector<Reason> reasons_of(const Inputs& in, const Plan& plan, const Priced& price,
                               const Budgeted& budget) {
    const FixedTerms& fixed = in.fixed;
    const registry::JobTerms& terms = plan.terms;
    const std::string given = "as you say";
    const auto why = [&](bool is_fixed, const std::string& rule) {
        return is_fixed ? given : rule;
    };
    const std::string length = unit_length(in, terms);
    std::string nodes = fmt::format("{} workers are live", in.facts.workers.size());
    if (in.wishes.within_s) nodes = "the fewest that are done in time";
    if (in.wishes.nodes) nodes = "the nodes that you want";
    const std::string deadline =
        fmt::format("{} units of the slowest live worker, at least 10 min", kDeadlineFactor);
    return {
        {"rounds", std::to_string(terms.rounds),
         why(fixed.rounds.has_value(), "tokens / (workers x steps x tokens of a step)")},
        {"slots", std::to_string(terms.slots_max), why(fixed.slots.has_value(), nodes)},
        {"workers_min", std::to_string(terms.workers_min),
         why(fixed.workers_min.has_value(), "half of them, of those that are live")},
        {"steps_per_round", std::to_string(terms.steps), why(fixed.steps.has_value(), length)},
        {"checkpoint_every", std::to_string(terms.checkpoint_every),
         why(fixed.checkpoint_every.has_value(), "each 100 steps")},
        {"evaluate_windows", std::to_string(terms.evaluate_windows),
         why(fixed.evaluate_windows.has_value(), "about 65,536 tokens a round")},
        {"unit_ms", std::to_string(terms.lifecycle.unit_ms),
         why(fixed.unit_ms.has_value(), deadline)},
        {"report_ms", std::to_string(terms.lifecycle.report_ms),
         why(fixed.report_ms.has_value(), "the same of the slowest live verifier")},
        {"price_per_pflop", terms.price_wei_per_pflop.to_tokens(), price.why},
        {"budget", plan.budget_wei.to_tokens(), budget.why},
    };
}

std::vector<std::string> notes_of(const Inputs& in, const Plan& plan) {
    const registry::JobTerms& terms = plan.terms;
    std::vector<std::string> out;
    const std::size_t live = in.facts.workers.size();
    if (!in.facts.unknown.empty())
        out.push_back("the network's workers and rates are unknown: " + in.facts.unknown);
    else if (live < terms.slots_max)
        out.push_back(
            fmt::format("{} of the {} workers are live now: a round of fewer workers "
                        "trains fewer tokens, and costs less",
                        live, terms.slots_max));
    if (in.facts.unknown.empty() && in.facts.verifiers.empty())
        out.emplace_back("no verifier is live: rounds wait until one is");
    if (in.fixed.unit_ms &&
        static_cast<double>(*in.fixed.unit_ms) < 1000 * in.step_s() * terms.steps)
        out.push_back("unit_ms is too short: " + unit_length(in, terms));
    const std::uint64_t steps = terms.rounds * terms.steps;
    if (in.work.schedule_steps > 0 && in.work.schedule_steps != steps)
        out.push_back(
            fmt::format("the learning rate's schedule ends after {} steps, the job makes "
                        "{}: --set model.optimizer.total_steps={} makes them agree",
                        count_text(in.work.schedule_steps), count_text(steps), steps));
    if (plan.estimate.most_wei && *plan.estimate.most_wei > plan.budget_wei)
        out.push_back("if everything is verified the job can cost " +
                      plan.estimate.most_wei->to_tokens() +
                      ": it then pauses when the budget is used up (`gym job fund` continues it)");
    return out;
}

}  // namespace

Result<Plan> make_plan(const Wishes& wishes, const FixedTerms& fixed, const ModelWork& work,
                       const Facts& facts) {
    const Inputs in{wishes, fixed, work, facts};
    Plan plan;
    GYM_TRY(plan.terms, choose_terms(in));
    GYM_TRY(const Priced price, choose_price(in, plan.terms));
    GYM_TRY(plan.estimate, estimate_at(in, plan.terms, price.wei_per_pflop));
    GYM_TRY(const Budgeted budget, choose_budget(in, plan.estimate));
    plan.budget_wei = budget.wei;
    plan.equation = equation_of(in, plan.terms);
    plan.reasons = reasons_of(in, plan, price, budget);
    plan.notes = notes_of(in, plan);
    return plan;
}

}  // namespace gym::plan
