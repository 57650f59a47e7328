#include "gym/plan/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "gym/common/ppm.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/memory.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/update_codec.hpp"
#include "gym/protocol/delta_size.hpp"
#include "gym/protocol/price_floor.hpp"
#include "gym/protocol/stake_rule.hpp"

namespace gym::plan {
namespace {

constexpr std::uint64_t kMtoken = 1'000'000;
/// Transactions, a beacon's block, transfers and the aggregate: on a private chain, on a busy one.
constexpr double kRoundOverheadLowS = 2;
constexpr double kRoundOverheadHighS = 60;

double unit_flops(const registry::JobTerms& terms, const ModelWork& work) {
    return static_cast<double>(work.flops_per_step) * terms.steps;
}

/// Live workers that are drawn in a round.
double share_drawn(const registry::JobTerms& terms, const Facts& facts) {
    const auto live = static_cast<double>(facts.workers.size());
    return live <= terms.slots_max ? 1.0 : terms.slots_max / live;
}

/// Without a worker, of one that nobody knows yet.
double mean_over_workers(const registry::JobTerms& terms, const ModelWork& work, const Facts& facts,
                         double lag) {
    const double participation = share_drawn(terms, facts);
    const auto one = [&](std::uint64_t valid_units) {
        return mean_sampling_ppm(terms.sampling, valid_units, terms.rounds, lag, participation);
    };
    if (facts.workers.empty()) return one(0);
    const Amount unit =
        protocol::unit_value({terms.price_wei_per_pflop, work.flops_per_step, terms.steps})
            .value_or(Amount());
    double sum = 0;
    for (const Machine& worker : facts.workers)
        sum += one(protocol::units_worth(worker.valid_value, unit));
    return sum / static_cast<double>(facts.workers.size());
}

/// Rounds until a unit is final and counts for its worker.
double lag_of(const registry::JobTerms& terms, double unit_s) {
    return 1 + std::floor(static_cast<double>(terms.lifecycle.challenge_ms) / 1000 /
                          (unit_s + kRoundOverheadLowS));
}

/// @param rest of a round: its transfers, verification and aggregate. Where rounds overlap, that of
/// one is done before the round after the next begins.
double round_seconds(const registry::JobTerms& terms, double unit_s, double rest_s) {
    if (terms.elastic.overlap == 0) return unit_s + rest_s;
    return std::max(unit_s, (unit_s + rest_s) / 2);
}

struct Speeds {
    double fast = 0, slow = 0;
};

/// Of the machines that run `units` units at a time.
std::optional<Speeds> speeds_of(const std::vector<Machine>& machines, std::uint64_t units) {
    const auto fast = slowest_of_fastest(machines, units);
    if (!fast) return std::nullopt;
    return Speeds{static_cast<double>(*fast), static_cast<double>(*slowest(machines))};
}

Result<Amount> multiplied(const Amount& amount, std::uint64_t factor) {
    return amount.mul_div(Amount(factor), Amount(1));
}

Result<Amount> share_of(const Amount& amount, std::uint64_t ppm) {
    return amount.mul_div(Amount(ppm), Amount(kPpm));
}

/// Of a round's evaluation, at most; one batch at least.
double evaluation_flops(const registry::JobTerms& terms, const ModelWork& work) {
    const std::uint64_t batch = work.tokens_per_step / std::max<std::uint64_t>(work.context, 1);
    return work.evaluation_flops *
           static_cast<double>(std::max<std::uint64_t>(terms.evaluate_windows, batch));
}

/// The share of a round's aggregate and evaluation, which their verification costs beside that of
/// the units.
Result<double> own_share(const registry::JobTerms& terms, const ModelWork& work) {
    GYM_TRY(const std::uint64_t aggregate, work.aggregate_flops({terms.slots_max, 0}));
    const double flops = static_cast<double>(aggregate) + evaluation_flops(terms, work);
    return flops / (unit_flops(terms, work) * terms.slots_max) * terms.sampling.aggregate_ppm /
           kPpm;
}

Result<VerificationShare> verification(const registry::JobTerms& terms, const ModelWork& work,
                                       const Facts& facts) {
    GYM_TRY(const double own, own_share(terms, work));
    const auto share = [&](double rate_ppm) {
        return static_cast<std::uint64_t>(
            std::ceil((rate_ppm / kPpm + own) * facts.verification_premium_ppm));
    };
    const auto known = times_of(terms, work, facts);
    const double expected =
        known ? known->mean_sampling_ppm : mean_over_workers(terms, work, facts, 1.0);
    return VerificationShare{share(kPpm), share(terms.sampling.floor_ppm), share(expected)};
}

/// Compute, verification and uptime bonus, data, and the fee on all of them.
Result<Amount> expected_cost(const Estimate& costs, const Facts& facts) {
    GYM_TRY(const Amount verification,
            share_of(costs.compute_wei, costs.verification.expected_ppm));
    GYM_TRY(const Amount bonus, share_of(costs.compute_wei, facts.uptime_bonus_max_ppm));
    GYM_TRY(Amount sum, costs.compute_wei.plus(verification));
    GYM_TRY(sum, sum.plus(bonus));
    GYM_TRY(sum, sum.plus(costs.data_wei));
    GYM_TRY(const Amount fee, share_of(sum, facts.fee_ppm));
    return sum.plus(fee);
}

Status add_bounds(const registry::JobTerms& terms, const ModelWork& work, const Facts& facts,
                  Estimate& out) {
    if (!facts.bound) return {};
    const protocol::WorkPrice price{terms.price_wei_per_pflop, work.flops_per_step,
                                    work.tokens_per_step, facts.data_price_wei_per_mtoken,
                                    facts.data_quality_ppm};
    GYM_TRY(const std::uint64_t aggregate,
            work.aggregate_flops(registry::largest_aggregate(terms)));
    const auto evaluation = static_cast<std::uint64_t>(std::ceil(evaluation_flops(terms, work)));
    const protocol::RoundShape shape{terms.slots_max, terms.steps, aggregate + evaluation,
                                     terms.elastic.overlap != 0 ? evaluation : 0};
    GYM_TRY(out.most_wei, protocol::rounds_bound(price, *facts.bound, shape, terms.rounds));
    GYM_TRY(out.round_wei, protocol::rounds_bound(price, *facts.bound, shape, 1));
    return {};
}

}  // namespace

Result<ModelWork> model_work(const program::TrainConfig& config) {
    GYM_TRY(auto train, program::train_program(config));
    ModelWork out;
    out.flops_per_step = program::flops_per_step(train);
    out.tokens_per_step = std::uint64_t{config.batch} * config.model.context;
    GYM_TRY(const auto evaluation, program::evaluation_program(train));
    out.evaluation_flops = static_cast<double>(program::flops_per_step(evaluation)) / config.batch;
    out.parameters = program::parameter_count(train);
    GYM_TRY(out.delta_bytes, engine::delta_bytes(train));
    GYM_TRY(out.state_bytes, engine::state_bytes_max(train));
    GYM_TRY(const program::UpdateCodec update, program::update_codec(train));
    out.fetched_bytes = update == program::UpdateCodec::kNone
                            ? protocol::plain_delta_bytes(out.parameters)
                            : out.delta_bytes;
    GYM_TRY(const engine::DeviceNeeds needs, engine::device_needs(train));
    out.memory = {needs.cpu.total(), needs.gpu.total()};
    out.context = config.model.context;
    out.schedule_steps = config.optimizer.total_steps;
    out.outer_momentum = config.outer.momentum;
    out.outer_rate = config.outer.learning_rate;
    // Shared by the copies of the work.
    const auto shared = std::make_shared<const program::Program>(std::move(train));
    out.aggregate_flops = [shared](const registry::AggregateSize& size) -> Result<std::uint64_t> {
        GYM_TRY(const auto aggregate,
                program::aggregate_program(*shared, size.deltas, {size.held, size.withdrawn, 0}));
        return program::flops_per_step(aggregate);
    };
    return out;
}

double mean_sampling_ppm(const protocol::SamplingPolicy& policy, std::uint64_t valid_units,
                         std::uint64_t rounds, double lag, double participation) {
    const auto all = static_cast<double>(rounds);
    double left = all, sum = 0, wait = lag;
    // At most kPpm / floor streaks have a rate above the floor.
    for (std::uint64_t streak = valid_units; left > 0; ++streak) {
        const std::uint32_t rate = protocol::sampling_rate_ppm(streak, policy);
        const double here =
            rate <= policy.floor_ppm ? left : std::min(left, wait + 1 / participation);
        sum += here * rate;
        left -= here;
        wait = 0;
    }
    return all > 0 ? sum / all : 0;
}

std::optional<Times> times_of(const registry::JobTerms& terms, const ModelWork& work,
                              const Facts& facts) {
    const auto workers = speeds_of(facts.workers, terms.slots_max);
    if (!workers) return std::nullopt;
    const double flops = unit_flops(terms, work);
    Times out;
    out.unit_s = {flops / workers->fast, flops / workers->slow};
    out.mean_sampling_ppm = mean_over_workers(terms, work, facts, lag_of(terms, out.unit_s.low));
    const double units =
        std::min<double>(terms.slots_max, static_cast<double>(facts.workers.size()));
    // Without a verifier's speed: one that is like the workers.
    const Speeds verifiers = speeds_of(facts.verifiers, facts.verifiers.size()).value_or(*workers);
    const double at_once = std::max<double>(1, static_cast<double>(facts.verifiers.size()));
    const double fastest =
        static_cast<double>(slowest_of_fastest(facts.verifiers, 1)
                                .value_or(static_cast<std::uint64_t>(verifiers.fast)));
    double verified_s = units * out.mean_sampling_ppm / kPpm / at_once * flops / fastest;
    // Then the next round does not wait for those that are drawn.
    if (terms.elastic.hold_drawn && out.mean_sampling_ppm <= kPpm / 2.0) verified_s = 0;
    const SecondsRange rest{
        kRoundOverheadLowS + verified_s,
        kRoundOverheadHighS + std::ceil(units / at_once) * flops / verifiers.slow};
    out.round_s = {round_seconds(terms, out.unit_s.low, rest.low),
                   round_seconds(terms, out.unit_s.high, rest.high)};
    return out;
}

SecondsRange job_seconds(const registry::JobTerms& terms, const Times& times) {
    const auto rounds = static_cast<double>(terms.rounds + terms.elastic.overlap);
    return {times.round_s.low * rounds, times.round_s.high * rounds};
}

Result<Estimate> estimate(const registry::JobTerms& terms, const ModelWork& work,
                          const Facts& facts) {
    Estimate out;
    out.memory = work.memory;
    out.delta_bytes = work.delta_bytes;
    out.fetched_bytes = work.fetched_bytes;
    GYM_TRY(const Amount unit, multiplied(Amount(work.flops_per_step), terms.steps));
    GYM_TRY(const Amount round, multiplied(unit, terms.slots_max));
    GYM_TRY(const Amount flops, multiplied(round, terms.rounds));
    GYM_TRY(out.compute_wei,
            flops.mul_div(terms.price_wei_per_pflop, Amount(protocol::kFlopsPerPflop)));
    GYM_TRY(out.unit_wei,
            unit.mul_div(terms.price_wei_per_pflop, Amount(protocol::kFlopsPerPflop)));
    const double steps =
        static_cast<double>(terms.rounds) * terms.slots_max * static_cast<double>(terms.steps);
    out.flops = steps * static_cast<double>(work.flops_per_step);
    GYM_TRY(const Amount all_steps,
            multiplied(Amount(std::uint64_t{terms.slots_max} * terms.steps), terms.rounds));
    GYM_TRY(const Amount tokens, multiplied(all_steps, work.tokens_per_step));
    GYM_TRY(out.tokens, tokens.to_u64());
    if (facts.unknown.empty())
        out.tokens_today = out.tokens / terms.slots_max *
                           std::min<std::uint64_t>(facts.workers.size(), terms.slots_max);
    GYM_TRY(const Amount weighted, multiplied(tokens, facts.data_quality_ppm));
    GYM_TRY(out.data_wei,
            weighted.mul_div(facts.data_price_wei_per_mtoken, Amount(kPpm * kMtoken)));
    GYM_TRY(out.verification, verification(terms, work, facts));
    GYM_TRY(out.expected_wei, expected_cost(out, facts));
    GYM_CHECK(add_bounds(terms, work, facts, out));
    if (const auto times = times_of(terms, work, facts)) {
        out.unit_s = times->unit_s;
        out.seconds = job_seconds(terms, *times);
    }
    return out;
}

}  // namespace gym::plan
