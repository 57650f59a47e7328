#include "gym/plan/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "deadlines.hpp"
#include "gym/common/duration_text.hpp"
#include "gym/common/memory.hpp"
#include "gym/common/plural.hpp"
#include "gym/plan/units.hpp"
#include "gym/registry/evaluation_bound.hpp"
#include "gym/registry/job_spec.hpp"
#include "money.hpp"
#include "plan_words.hpp"

namespace gym::plan {
namespace {

constexpr std::uint64_t kRoundsMax = 1'000'000;  // of a job file
constexpr std::uint64_t kDeadlineMsMax = 30ULL * 24 * 3600 * 1000;
constexpr std::uint32_t kEvaluateWindowsMin = 16, kEvaluateWindowsMax = 256;

Error refused(std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// H by the length of a unit: about 100, of one to ten minutes.
std::uint32_t steps_by_length(double step_s) {
    const double seconds = step_s * kStepsDefault;
    if (seconds > kUnitSecondsMax)
        return static_cast<std::uint32_t>(std::max(1.0, std::floor(kUnitSecondsMax / step_s)));
    if (seconds >= kUnitSecondsMin) return kStepsDefault;
    const double wanted = std::ceil(kUnitSecondsMin / std::max(step_s, 1e-9));
    return static_cast<std::uint32_t>(std::min<double>(kStepsLongest, wanted));
}

/// How a plan for so many slots gets more of them.
std::string more_workers(const Inputs& in, std::uint32_t slots) {
    const std::uint64_t wanted = in.wishes.nodes.value_or(0);
    if (wanted <= slots) return "ask for more nodes";
    return fmt::format(
        "{} of the {} workers that you want {} live; start the others, plan for all of "
        "them with --set slots={}",
        slots, wanted, plural(slots, "is", "are"), wanted);
}

/// Rounds and steps for so many slots. @errors kInvalidArgument.
Status choose_rounds(const Inputs& in, std::uint32_t slots, registry::JobTerms& terms) {
    terms.slots_max = slots;
    const auto within = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(steps_within_window(in), 1, registry::kJobStepsMax));
    const std::uint32_t by_length =
        in.fixed.steps.value_or(std::min(within, steps_by_length(in.step_s())));
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
                "{} of {}{} {} not train {} tokens: that takes {} {} of each worker in all",
                counted(terms.rounds, "round"), counted(slots, "worker"),
                in.fixed.steps ? " and " + counted(*in.fixed.steps, "step") : "",
                plural(terms.rounds, "does", "do"), count_text(*in.wishes.tokens),
                count_text(needed), plural(needed, "step")));
        terms.steps = static_cast<std::uint32_t>(steps);
        return {};
    }
    const std::uint64_t most =
        in.fixed.steps ? by_length
                       : std::min<std::uint64_t>(by_length, ceil_div(needed, kRoundsWanted));
    terms.rounds = ceil_div(needed, most);
    if (terms.rounds > kRoundsMax)
        return refused(fmt::format(
            "{} tokens take {} rounds of {} and {}, and at most {} are possible: {}, or set "
            "steps_per_round",
            count_text(*in.wishes.tokens), count_text(terms.rounds), counted(slots, "worker"),
            counted(most, "step"), count_text(kRoundsMax), more_workers(in, slots)));
    // As few steps as these rounds need: little is trained, and paid, beyond the tokens.
    terms.steps =
        in.fixed.steps.value_or(static_cast<std::uint32_t>(ceil_div(needed, terms.rounds)));
    return {};
}

/// About kEvaluateTokens, and no more than gym-api takes. @errors as registry::check_evaluation().
Status choose_evaluation(const Inputs& in, registry::JobTerms& terms) {
    const registry::EvaluationWork work{static_cast<double>(in.work.flops_per_step),
                                        in.work.evaluation_flops};
    if (in.fixed.evaluate_windows) {
        terms.evaluate_windows = *in.fixed.evaluate_windows;
        return registry::check_evaluation(terms, work);
    }
    const auto wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        ceil_div(kEvaluateTokens, in.work.context), kEvaluateWindowsMin, kEvaluateWindowsMax));
    const std::uint32_t bound = registry::evaluate_windows_bound(terms, work);
    terms.evaluate_windows = std::clamp<std::uint32_t>(bound, 1, wanted);
    return {};
}

/// All but the price, of which the reference stands there until it is chosen. @errors as
/// choose_rounds() and choose_evaluation().
Result<registry::JobTerms> schedule(const Inputs& in, std::uint32_t slots) {
    registry::JobTerms terms = in.fixed.rest;
    terms.price_wei_per_pflop =
        in.fixed.price_wei_per_pflop.value_or(reference_price(in.facts).wei_per_pflop);
    if (!terms.delta_norm_factor) terms.delta_norm_factor = kDeltaNormFactor;
    GYM_CHECK(choose_rounds(in, slots, terms));
    const auto live = static_cast<std::uint32_t>(
        std::min<std::size_t>(in.facts.workers.size(), registry::kJobSlotsMax));
    const std::uint32_t half = (slots + 1) / 2;
    terms.workers_min = in.fixed.workers_min.value_or(
        in.facts.unknown.empty() ? std::min(half, std::max<std::uint32_t>(live, 1)) : half);
    terms.checkpoint_every =
        in.fixed.checkpoint_every.value_or(std::min(terms.steps, kStepsDefault));
    GYM_CHECK(choose_evaluation(in, terms));
    GYM_CHECK(choose_deadlines(in, terms));
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
    if (times) return job_seconds(terms, *times).high;
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
        fmt::format("with the {} this takes up to {}, longer than {}: ask "
                    "for fewer tokens, or for more time",
                    counted(live, "live worker"), duration_text(best),
                    duration_text(static_cast<double>(within_s))));
}

/// Whether not all nodes that the owner wants are live, and more rounds or steps can make up for
/// it: the tokens are promised, and rounds of fewer workers than slots would train fewer. Where no
/// worker is live, all may still come.
bool is_short(const Inputs& in) {
    const std::size_t live = in.facts.workers.size();
    const bool can_make_up = in.wishes.tokens && !(in.fixed.rounds && in.fixed.steps);
    return can_make_up && !in.fixed.slots && in.wishes.nodes && live > 0 && live < *in.wishes.nodes;
}

Result<registry::JobTerms> choose_terms(const Inputs& in) {
    auto nodes = in.fixed.slots ? in.fixed.slots : in.wishes.nodes;
    if (nodes && (*nodes == 0 || *nodes > registry::kJobSlotsMax))
        return refused(fmt::format("{} nodes are not possible: at least 1, at most {}", *nodes,
                                   registry::kJobSlotsMax));
    if (is_short(in)) nodes = static_cast<std::uint32_t>(in.facts.workers.size());
    if (!in.wishes.within_s) return schedule(in, nodes.value_or(nodes_by_default(in.facts)));
    if (!nodes) return schedule_within(in, *in.wishes.within_s);
    GYM_TRY(const registry::JobTerms terms, schedule(in, *nodes));
    GYM_TRY(const double seconds, slow_seconds(in, terms));
    if (seconds <= static_cast<double>(*in.wishes.within_s)) return terms;
    return refused(
        fmt::format("with {} this takes up to {}, longer than {}: leave --nodes "
                    "out to plan for as many as it takes, or ask for more time",
                    counted(*nodes, "node"), duration_text(seconds),
                    duration_text(static_cast<double>(*in.wishes.within_s))));
}

/// What the same job would take if the missing workers came, each like the slowest live one.
Result<Shortage> shortage_of(const Inputs& in) {
    Shortage out{*in.wishes.nodes, std::nullopt};
    Facts all = in.facts;
    all.workers.resize(out.wanted, {slowest(in.facts.workers).value_or(0), {}});
    const Inputs whole{in.wishes, in.fixed, in.work, all};
    GYM_TRY(const registry::JobTerms terms, schedule(whole, out.wanted));
    if (const auto times = times_of(terms, in.work, all)) out.seconds = job_seconds(terms, *times);
    return out;
}

/// Without counting the same aggregate at every price.
ModelWork remembered(const ModelWork& work) {
    ModelWork out = work;
    out.aggregate_flops =
        [count = work.aggregate_flops,
         known = std::make_shared<std::map<registry::AggregateSize, std::uint64_t>>()](
            const registry::AggregateSize& size) -> Result<std::uint64_t> {
        if (const auto found = known->find(size); found != known->end()) return found->second;
        GYM_TRY(const std::uint64_t flops, count(size));
        known->emplace(size, flops);
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
        if (price.ok() && !price->is_zero() && *price >= in.facts.least_price)
            out = ", pay --price " + price->to_tokens();
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
    GYM_CHECK(check_sizes(plan.terms, in.work, in.facts));
    if (!in.work.outer_momentum) plan.outer = outer_step_of(plan.terms);
    if (is_short(in)) {
        GYM_TRY(plan.shortage, shortage_of(in));
    }
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
    if (plan.shortage) plan.warnings.push_back(shortage_text(plan));
    for (std::string& text : worker_warnings(plan.terms, plan.estimate, in.facts))
        plan.warnings.push_back(std::move(text));
    for (std::string& text : overlap_warnings(plan.terms, in.work))
        plan.warnings.push_back(std::move(text));
    return plan;
}

}  // namespace

std::optional<OuterStep> outer_step(std::uint64_t rounds) {
    if (rounds >= kOuterRounds) return std::nullopt;
    constexpr std::uint64_t kShortest = 40, kMemory = 10;
    const std::uint64_t momentum =
        std::max(kShortest, 100 - 100 * kMemory / std::max(rounds, kMemory));
    const std::uint64_t rate = std::min<std::uint64_t>(70, 10'000 / (100 + momentum));
    return OuterStep{static_cast<double>(rate) / 100, static_cast<double>(momentum) / 100};
}

registry::Elasticity elasticity_of(std::uint32_t slots) {
    registry::Elasticity out;
    out.quorum_ppm = slots >= 20 ? 900'000 : slots >= 4 ? 750'000 : 500'000;
    out.adapt_steps = out.hold_drawn = out.accept_late = true;
    return out;
}

std::optional<OuterStep> outer_step_of(const registry::JobTerms& terms) {
    if (terms.elastic.overlap != 0) return kOverlapOuter;
    return outer_step(terms.rounds);
}

std::int64_t grace_ms_of(double unit_s) {
    constexpr double kShare = 20, kLeastS = 15;
    const double most_s = static_cast<double>(kDeadlineMsMax) / 1'000;
    return static_cast<std::int64_t>(1'000 *
                                     std::clamp(std::ceil(unit_s / kShare), kLeastS, most_s));
}

Status check_sizes(const registry::JobTerms& terms, const ModelWork& work, const Facts& facts) {
    if (!facts.sizes) return {};
    const std::string why =
        protocol::too_large({work.delta_bytes, work.state_bytes}, terms.workers_min, *facts.sizes);
    return why.empty() ? Status() : Status(refused(why));
}

Result<Plan> make_plan(const Wishes& wishes, const FixedTerms& fixed, const ModelWork& work,
                       const Facts& facts) {
    const ModelWork counted = remembered(work);
    return plan_once({wishes, fixed, counted, facts}, true);
}

}  // namespace gym::plan
