#include "gym/plan/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "gym/common/memory.hpp"
#include "gym/plan/units.hpp"
#include "gym/registry/job_spec.hpp"
#include "money.hpp"

namespace gym::plan {
namespace {

constexpr std::uint64_t kMinuteMs = 60'000;
constexpr std::uint64_t kRoundsMax = 1'000'000;  // of a job file
constexpr std::uint64_t kDeadlineMsMax = 30ULL * 24 * 3600 * 1000;
constexpr std::uint32_t kEvaluateWindowsMin = 16, kEvaluateWindowsMax = 256;

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
    return fail(in.facts.unknown.empty() ? ErrorCode::kInvalidArgument : in.facts.unknown_code,
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

std::vector<Reason> reasons_of(const Inputs& in, const Plan& plan, const BudgetChoice& budget) {
    const FixedTerms& fixed = in.fixed;
    const registry::JobTerms& terms = plan.terms;
    const std::string given = "as you say";
    const auto why = [&](bool is_fixed, const std::string& rule) {
        return is_fixed ? given : rule;
    };
    const std::string length = unit_length(in, terms);
    std::string nodes = in.facts.workers.empty()
                            ? std::string("the default where no worker is known")
                            : fmt::format("{} workers are live", in.facts.workers.size());
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
        {"price_per_pflop", terms.price_wei_per_pflop.to_tokens(), plan.price.why},
        {"budget", plan.budget_wei.to_tokens(), budget.why},
    };
}

std::vector<std::string> notes_of(const Inputs& in, const Plan& plan) {
    const registry::JobTerms& terms = plan.terms;
    std::vector<std::string> out;
    if (!in.facts.unknown.empty())
        out.push_back("the network's workers and rates are unknown: " + in.facts.unknown);
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
    if (plan.price.lowered_from_wei)
        out.push_back("at " + money_text(plan.price.wei_per_pflop) +
                      " for 10^15 operations workers earn less than at the usual " +
                      money_number(*plan.price.lowered_from_wei) + ": --max-cost " +
                      money_number(plan.price.enough_wei, Rounding::kUp) + " pays that price");
    if (plan.estimate.most_wei && *plan.estimate.most_wei > plan.budget_wei)
        out.push_back("if everything is verified the job can cost " +
                      money_text(*plan.estimate.most_wei, Rounding::kUp) +
                      ": it then pauses when the budget is used up (`gym job fund` continues it)");
    return out;
}

/// Without counting the same aggregate at every price.
ModelWork remembered(const ModelWork& work) {
    ModelWork out = work;
    out.aggregate_flops = [count = work.aggregate_flops,
                           known = std::make_shared<std::map<std::uint32_t, std::uint64_t>>()](
                              std::uint32_t slots) -> Result<std::uint64_t> {
        if (const auto found = known->find(slots); found != known->end()) return found->second;
        GYM_TRY(const std::uint64_t flops, count(slots));
        known->emplace(slots, flops);
        return flops;
    };
    return out;
}

Result<Plan> plan_once(const Inputs& in, bool advise);

/// The price and the tokens that the money pays for, each tried before it is told.
std::string advice_for(const Inputs& in, const CostAt& cost_at, const Amount& money) {
    std::string out;
    if (in.fixed.price_wei_per_pflop) {
        const auto price = price_within(cost_at, *in.fixed.price_wei_per_pflop, money, least_money);
        if (price.ok() && !price->is_zero()) out = ", pay --price " + price->to_tokens();
    }
    const auto at_price = cost_at(in.fixed.price_wei_per_pflop.value_or(Amount()));
    if (!in.wishes.tokens || !at_price.ok() || least_money(*at_price).is_zero()) return out;
    const auto share = Amount(*in.wishes.tokens).mul_div(money, least_money(*at_price));
    const auto most = share.ok() ? share->to_u64() : share.error();
    constexpr std::uint64_t kTriesMax = 10;
    for (std::uint64_t i = 0; most.ok() && i < kTriesMax; ++i) {
        Wishes fewer = in.wishes;
        const std::string text = count_option(*most >> i);
        const auto count = parse_count(text);
        if (!count.ok()) break;
        fewer.tokens = *count;
        if (plan_once({fewer, in.fixed, in.work, in.facts}, false).ok())
            return out.append(", or train --tokens ").append(text);
    }
    return out;
}

Result<Plan> plan_once(const Inputs& in, bool advise) {
    Plan plan;
    GYM_TRY(plan.terms, choose_terms(in));
    const CostAt cost_at = [&in, terms = plan.terms](const Amount& price) {
        registry::JobTerms priced = terms;
        priced.price_wei_per_pflop = price;
        return estimate(priced, in.work, in.facts);
    };
    GYM_TRY(plan.price, choose_price(in.wishes, in.fixed, in.facts, cost_at));
    plan.terms.price_wei_per_pflop = plan.price.wei_per_pflop;
    GYM_TRY(plan.estimate, cost_at(plan.price.wei_per_pflop));
    const Advice advice = [&](const Amount& money) {
        return advise ? advice_for(in, cost_at, money) : std::string();
    };
    GYM_TRY(const BudgetChoice budget,
            choose_budget(in.wishes, in.fixed, in.facts, plan.estimate, advice));
    plan.budget_wei = budget.wei;
    plan.equation = equation_of(in, plan.terms);
    plan.reasons = reasons_of(in, plan, budget);
    plan.notes = notes_of(in, plan);
    plan.warnings = worker_warnings(plan.terms, plan.estimate, in.facts);
    return plan;
}

/// What today's workers train, if they are fewer than the slots.
std::string few_workers(const registry::JobTerms& terms, const Estimate& estimate,
                        const Facts& facts) {
    const std::size_t live = facts.workers.size();
    if (!estimate.tokens_today || live >= terms.slots_max) return {};
    const std::string few = fmt::format("{} of the {} workers are live now", live, terms.slots_max);
    if (live < terms.workers_min)
        return few + fmt::format("; a round waits until {} {}", terms.workers_min,
                                 terms.workers_min == 1 ? "is" : "are");
    return few + fmt::format(
                     "; with today's {} worker{}: {} of {} tokens. A round of fewer workers trains "
                     "fewer tokens and costs less; --tokens {} --nodes {} plans for these workers",
                     live, live == 1 ? "" : "s", count_text(*estimate.tokens_today),
                     count_text(estimate.tokens), estimate.tokens, live);
}

/// About workers that lend less memory than the model takes.
std::string small_workers(const Estimate& estimate, const Facts& facts) {
    std::size_t small = 0;
    std::uint64_t most = 0;
    for (const Machine& worker : facts.workers) {
        most = std::max(most, worker.memory_bytes);
        if (worker.memory_bytes != 0 && worker.memory_bytes < estimate.memory_bytes) ++small;
    }
    if (small == 0) return {};
    const std::size_t live = facts.workers.size();
    const std::string need =
        "a worker needs " + memory_text(estimate.memory_bytes) + " of memory for this model; ";
    if (small == live)
        return need + fmt::format(
                          "no live worker lends so much ({} at most), so that no unit is trained "
                          "until one does: take a smaller model, `batch` or `context`, or more "
                          "`micro_batches`",
                          memory_text(most));
    return need + fmt::format("{} of the {} live workers lend{} less, and train no unit of it",
                              small, live, small == 1 ? "s" : "");
}

}  // namespace

std::vector<std::string> worker_warnings(const registry::JobTerms& terms, const Estimate& estimate,
                                         const Facts& facts) {
    std::vector<std::string> out;
    for (std::string text : {few_workers(terms, estimate, facts), small_workers(estimate, facts)})
        if (!text.empty()) out.push_back(std::move(text));
    return out;
}

Result<Plan> make_plan(const Wishes& wishes, const FixedTerms& fixed, const ModelWork& work,
                       const Facts& facts) {
    const ModelWork counted = remembered(work);
    return plan_once({wishes, fixed, counted, facts}, true);
}

}  // namespace gym::plan
