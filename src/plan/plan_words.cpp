#include "plan_words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "deadlines.hpp"
#include "gym/common/duration_text.hpp"
#include "gym/common/memory.hpp"
#include "gym/common/plural.hpp"
#include "gym/plan/units.hpp"
#include "gym/program/delta_codec.hpp"
#include "gym/program/update_codec.hpp"

namespace gym::plan {
namespace {

std::string with_minutes(const std::optional<SecondsRange>& seconds) {
    return seconds ? duration_text(seconds->low, seconds->high) : "unknown time";
}

std::string unit_length(const Inputs& in, const registry::JobTerms& terms) {
    return "a unit takes " + duration_text(in.step_s() * terms.steps) +
           (slowest(in.facts.workers) ? " on the slowest live worker"
                                      : " on a small machine; no worker is live");
}

/// What today's workers train, if they are fewer than the slots.
std::string few_workers(const registry::JobTerms& terms, const Estimate& estimate,
                        const Facts& facts) {
    const std::size_t live = facts.workers.size();
    if (!estimate.tokens_today || live >= terms.slots_max) return {};
    const std::string few = fmt::format("{} of the {} {} live now", live, terms.slots_max,
                                        plural(terms.slots_max, "worker is", "workers are"));
    if (live < terms.workers_min)
        return few + fmt::format("; a round waits until {} {}", terms.workers_min,
                                 terms.workers_min == 1 ? "is" : "are");
    return few + fmt::format(
                     "; with today's {}: {} of {} tokens. A round of fewer workers trains "
                     "fewer tokens and costs less; --tokens {} --nodes {} plans for these workers",
                     counted(live, "worker"), count_text(*estimate.tokens_today),
                     count_text(estimate.tokens), estimate.tokens, live);
}

/// About other jobs that need the same workers.
std::string shared_workers(const registry::JobTerms& terms, const Facts& facts) {
    const std::uint64_t live = facts.workers.size();
    const std::uint64_t asked = facts.running_slots + terms.slots_max;
    if (facts.running_jobs == 0 || live == 0 || asked <= live) return {};
    return fmt::format(
        "{} now, with {}, and {}: the jobs take turns. A round waits for its workers, so that no "
        "tokens are lost, and this one takes longer than the time that is shown: up to about "
        "{:.1f} "
        "times as long",
        counted(facts.running_jobs, "other job runs", "other jobs run"),
        counted(facts.running_slots, "slot"), counted(live, "worker is live", "workers are live"),
        static_cast<double>(asked) / static_cast<double>(live));
}

/// About workers that lend less memory than the model takes.
std::string small_workers(const Estimate& estimate, const Facts& facts) {
    std::size_t small = 0;
    std::uint64_t most = 0;
    for (const Machine& worker : facts.workers) {
        most = std::max(most, worker.memory_bytes);
        if (worker.memory_bytes != 0 && worker.memory_bytes < estimate.memory.on(worker.device))
            ++small;
    }
    if (small == 0) return {};
    const std::size_t live = facts.workers.size();
    const std::string need = "for this model a worker needs " + need_text(estimate.memory) + "; ";
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

std::string shortage_text(const Plan& plan) {
    const std::uint32_t live = plan.terms.slots_max;
    const std::uint32_t wanted = plan.shortage->wanted;
    return fmt::format(
        "{0} of the {1} workers that you want {2} live: the plan is for {0}, so that "
        "it trains all {3} tokens. It takes {4}; with {1} workers it would take {5}: "
        "start the others, or wait for them, and submit then. `slots: {1}` in the "
        "job file, or --set slots={1} in the place of --nodes, plans for {1} now; "
        "until they are live, its rounds train fewer tokens",
        live, wanted, live == 1 ? "is" : "are", count_text(plan.estimate.tokens),
        with_minutes(plan.estimate.seconds), with_minutes(plan.shortage->seconds));
}

std::string equation_of(const Inputs& in, const registry::JobTerms& terms) {
    const std::uint64_t tokens =
        std::uint64_t{terms.slots_max} * terms.steps * terms.rounds * in.work.tokens_per_step;
    const auto factor = [](std::uint64_t count, std::string_view noun) {
        return count_text(count) + " " + plural(count, noun);
    };
    return fmt::format("{} tokens = {} x {} x {} x {}", count_text(tokens),
                       factor(terms.rounds, "round"), factor(terms.slots_max, "worker"),
                       factor(terms.steps, "step"), factor(in.work.tokens_per_step, "token"));
}

namespace {

std::vector<Reason> elastic_reasons(const registry::JobTerms& terms) {
    const auto term = [](const char* name) { return kElasticTerms + std::string(name); };
    return {{term("quorum_ppm"), std::to_string(terms.elastic.quorum_ppm),
             "once so much of a round's steps is there, the other units have grace_ms left: one "
             "silent worker leaves more"},
            {term("grace_ms"), std::to_string(terms.lifecycle.grace_ms),
             "a twentieth of a unit of the slowest live worker, at least 15 s"},
            {term("adapt_steps"), "true", "slow workers do fewer steps of a round"},
            {term("hold_drawn"), "true",
             "units that are still verified go in one round later, and the next round begins"},
            {term("accept_late"), "true", "so do units that come too late"}};
}

}  // namespace

std::vector<Reason> reasons_of(const Inputs& in, const Plan& plan, const BudgetChoice& budget) {
    const FixedTerms& fixed = in.fixed;
    const registry::JobTerms& terms = plan.terms;
    const std::string given = "as you say";
    const auto why = [&](bool is_fixed, const std::string& rule) {
        return is_fixed ? given : rule;
    };
    const std::string length = unit_length(in, terms);
    std::string nodes =
        in.facts.workers.empty()
            ? std::string("the default where no worker is known")
            : counted(in.facts.workers.size(), "worker is live", "workers are live");
    if (in.wishes.within_s) nodes = "the fewest that are done in time";
    if (in.wishes.nodes) nodes = "the nodes that you want";
    if (plan.shortage)
        nodes = fmt::format("the live ones of the {} nodes that you want", plan.shortage->wanted);
    std::vector<Reason> out{
        {"rounds", std::to_string(terms.rounds),
         why(fixed.rounds.has_value(), "tokens / (workers x steps x tokens of a step)")},
        {"slots", std::to_string(terms.slots_max), why(fixed.slots.has_value(), nodes)},
        {"workers_min", std::to_string(terms.workers_min),
         why(fixed.workers_min.has_value(), "half of them, of those that are live")},
        {"steps_per_round", std::to_string(terms.steps), why(fixed.steps.has_value(), length)},
        {"checkpoint_every", std::to_string(terms.checkpoint_every),
         why(fixed.checkpoint_every.has_value(),
             terms.steps < kStepsDefault
                 ? fmt::format("the end of a unit, which is before its step {}", kStepsDefault)
                 : fmt::format("each {} steps", kStepsDefault))},
        {"evaluate_windows", std::to_string(terms.evaluate_windows),
         why(fixed.evaluate_windows.has_value(), "about 65,536 tokens, at most a unit's work")},
    };
    std::ranges::move(deadline_reasons(in, terms), std::back_inserter(out));
    std::vector<Reason> rest{
        {"delta_norm_factor", fmt::format("{}", terms.delta_norm_factor.value_or(kDeltaNormFactor)),
         why(fixed.rest.delta_norm_factor.has_value(),
             "a delta that is larger than so many medians is a mistake or an attack")},
        {"price_per_pflop", terms.price_wei_per_pflop.to_tokens(), plan.price.why},
        {"budget", plan.budget_wei.to_tokens(), budget.why},
    };
    std::ranges::move(rest, std::back_inserter(out));
    if (!fixed.elastic) std::ranges::move(elastic_reasons(terms), std::back_inserter(out));
    if (plan.outer) {
        const std::string rule =
            terms.elastic.overlap != 0
                ? "rounds overlap: with larger ones such jobs do not converge"
                : fmt::format("fewer than {} rounds: a larger one overshoots", kOuterRounds);
        out.push_back({kOuterRateTerm, fmt::format("{}", plan.outer->learning_rate), rule});
        out.push_back({kOuterMomentumTerm, fmt::format("{}", plan.outer->momentum), rule});
    }
    if (in.work.compression_chosen)
        out.push_back({kCompressionTerm, std::string(program::name_of(program::DeltaCodec::kDense)),
                       "workers send 0.52 bytes a parameter instead of 4; --set "
                       "model.compression=none sends them whole"});
    if (in.work.update_chosen)
        out.push_back({kUpdateTerm, std::string(program::name_of(program::UpdateCodec::kDense)),
                       "workers fetch 0.52 bytes a parameter a round instead of 4; --set "
                       "model.update=none sends each base state whole"});
    return out;
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
            fmt::format("the learning rate's schedule ends after {} {}, the job makes "
                        "{}: --set model.optimizer.total_steps={} makes them agree",
                        count_text(in.work.schedule_steps), plural(in.work.schedule_steps, "step"),
                        count_text(steps), steps));
    const auto few =
        terms.elastic.overlap == 0 ? outer_step(terms.rounds) : std::optional<OuterStep>();
    if (few && in.work.outer_momentum.value_or(0) > few->momentum)
        out.push_back(fmt::format(
            "the model's outer momentum of {} is made for hundreds of rounds, the job has {}: its "
            "losses may rise from one round to the next. --set model.outer.momentum={} "
            "--set model.outer.learning_rate={} avoids that",
            *in.work.outer_momentum, count_text(terms.rounds), few->momentum, few->learning_rate));
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

std::vector<std::string> worker_warnings(const registry::JobTerms& terms, const Estimate& estimate,
                                         const Facts& facts) {
    std::vector<std::string> out;
    for (std::string text : {few_workers(terms, estimate, facts), shared_workers(terms, facts),
                             small_workers(estimate, facts)})
        if (!text.empty()) out.push_back(std::move(text));
    return out;
}

std::vector<std::string> overlap_warnings(const registry::JobTerms& terms, const ModelWork& work) {
    if (terms.elastic.overlap == 0) return {};
    std::vector<std::string> out{
        "rounds overlap (`elastic: {overlap: 1}`): at equal tokens such jobs learn less. In the "
        "network's own runs of 40 rounds the loss ended 20 % higher with it, at 2.10 instead of "
        "1.75; without it 15 rounds got further. Units of twice the length save as much "
        "communication, and ended 3.9 % higher: leave the overlap out unless lines are slow and "
        "units cannot be longer"};
    const double momentum = work.outer_momentum.value_or(0);
    if (work.outer_momentum && !(work.outer_rate <= kOverlapReachMax * (1 - momentum)))
        out.push_back(fmt::format(
            "the model's outer step (learning_rate {}, momentum {}) is too large where rounds "
            "overlap: the losses of such jobs rose or stayed high. --set "
            "model.outer.learning_rate={} --set model.outer.momentum={} is what a plan takes",
            work.outer_rate, momentum, kOverlapOuter.learning_rate, kOverlapOuter.momentum));
    return out;
}

}  // namespace gym::plan
