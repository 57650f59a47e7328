#include "gym/protocol/incentives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gym/protocol/sampling.hpp"
#include "incentive_terms.hpp"

namespace gym::protocol {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Of tokens, seconds and reports: far above anything real, and sums of products stay exact enough.
constexpr double kRealMax = 1e15;
constexpr std::uint64_t kGasMax = 1'000'000'000;
constexpr std::uint64_t kVerifiersMax = 1'000'000;
constexpr std::uint64_t kProversMax = 1'000;
/// The least that Stake.sol burns: a party that plays against itself loses it.
constexpr std::uint32_t kBurnedPpmMin = 500'000;
constexpr std::uint64_t kDrawsMax = 1'000;  // of a job

struct NamedReal {
    const char* name;
    double value;
};
struct NamedCount {
    const char* name;
    std::uint64_t value, min, max;
};

Error out_of_range(const char* name, const std::string& expected) {
    return fail(ErrorCode::kInvalidArgument, std::string(name) + " must be " + expected);
}

Status validate_reals(const IncentiveParams& p) {
    for (const NamedReal& one : std::to_array<NamedReal>({
             {"worker.stake", p.worker.stake_tokens},
             {"worker.unit_reward", p.worker.unit_reward_tokens},
             {"worker.unit_cost", p.worker.unit_cost_tokens},
             {"worker.outside_gain", p.worker.outside_gain_tokens},
             {"worker.unit_seconds", p.worker.unit_seconds},
             {"challenge.bond", p.challenge.bond_tokens},
             {"challenge.gas_price_gwei", p.challenge.gas_price_gwei},
             {"challenge.ether_price", p.challenge.ether_price_tokens},
             {"verifier.unit_cost", p.verifier.unit_cost_tokens},
             {"verifier.report_reward", p.verifier.report_reward_tokens},
             {"verifier.stake", p.verifier.stake_tokens},
             {"verifier.report_stake", p.verifier.report_stake_tokens},
             {"verifier.false_report_gain", p.verifier.false_report_gain_tokens},
             {"verifier.reports_ahead", p.verifier.reports_ahead},
             {"times.window_s", p.times.window_seconds},
             {"times.clock_s", p.times.clock_seconds},
             {"times.settling_s", p.times.settling_seconds},
             {"times.thaw_s", p.times.thaw_seconds},
             {"times.forced_inclusion_s", p.times.forced_inclusion_seconds},
             {"times.slowest_verifier_s", p.times.slowest_verifier_seconds},
             {"times.report_s", p.times.report_seconds},
             {"times.reveal_s", p.times.reveal_seconds},
         }))
        if (!(one.value >= 0 && one.value <= kRealMax))
            return out_of_range(one.name, "a number from 0 to 10^15");
    if (p.worker.unit_reward_tokens == 0)
        return out_of_range("worker.unit_reward", "more than nothing");
    return {};
}

Status validate_counts(const IncentiveParams& p) {
    for (const NamedCount& one : std::to_array<NamedCount>({
             {"worker.bonus_ppm", p.worker.bonus_ppm, 0, kPpm},
             {"worker.open_units_max", p.worker.open_units_max, 1, kOpenUnitsLimit},
             {"sampling.floor_ppm", p.sampling.floor_ppm, 0, kPpm},
             {"sampling.verifiers", p.sampling.verifiers, 1, kVerifiersMax},
             {"sampling.colluding_ppm", p.sampling.colluding_ppm, 0, kPpm},
             {"slash.burned_ppm", p.slash.burned_ppm, kBurnedPpmMin, kPpm},
             {"slash.compensation_ppm", p.slash.compensation_ppm, 0, kPpm - p.slash.burned_ppm},
             {"slash.missed_clock_ppm", p.slash.missed_clock_ppm, 1, kPpm},
             {"challenge.provers", p.challenge.provers, 1, kProversMax},
             {"challenge.outage_ppm", p.challenge.outage_ppm, 0, kPpm},
             {"challenge.challenger_gas", p.challenge.challenger_gas, 0, kGasMax},
             {"challenge.defender_gas", p.challenge.defender_gas, 0, kGasMax},
             {"challenge.escrow_gas", p.challenge.escrow_gas, 0, kGasMax},
             {"times.draws_max", p.times.draws_max, 1, kDrawsMax},
             {"verifier.reports_pending_max", p.verifier.reports_pending_max, 1, kOpenUnitsLimit},
             {"verifier.traced_ppm", p.verifier.traced_ppm, 0, kPpm},
             {"verifier.audit_ppm", p.verifier.audit_ppm, 0, kPpm},
             {"verifier.double_ppm", p.verifier.double_ppm, 0, kPpm},
             {"verifier.canary_ppm", p.verifier.canary_ppm, 0, kPpm},
             {"capital_cost_ppm", p.capital_cost_ppm, 0, kPpm},
         }))
        if (one.value < one.min || one.value > one.max)
            return out_of_range(
                one.name, "from " + std::to_string(one.min) + " to " + std::to_string(one.max));
    return {};
}

/// The number of units or reports at once at which a strategy has the most gain for its loss.
template <class At>
Strategy best_of(std::uint64_t count_max, const At& at) {
    Strategy best = at(std::uint64_t{1});
    for (std::uint64_t count = 2; count <= count_max; ++count) {
        const Strategy one = at(count);
        if (one.gain_tokens * best.loss_tokens > best.gain_tokens * one.loss_tokens) best = one;
    }
    return best;
}

Strategy cheat_with(const IncentiveParams& p, double rate, std::uint64_t count) {
    const auto units = static_cast<double>(count);
    const double p_caught = caught(rate, count);
    return {
        count,
        units * (paid_share(p, rate, p_caught) * paid_per_unit(p) + p.worker.outside_gain_tokens),
        p_caught * lost_by_cheat(p)};
}

/// `saved_tokens` a report, found out with `rate`: then all pending reports and the name are lost.
Strategy best_lazy(const IncentiveParams& p, double rate, double saved_tokens) {
    return best_of(p.verifier.reports_pending_max, [&](std::uint64_t count) {
        const auto reports = static_cast<double>(count);
        return Strategy{
            count, reports * saved_tokens,
            caught(rate, count) * (reports * p.verifier.report_reward_tokens + name_worth(p))};
    });
}

IncentiveParams with_stake_of_one(const IncentiveParams& p) {
    IncentiveParams one = p;
    one.worker.stake_tokens = 1;
    return one;
}

double least_against_cheats(const IncentiveParams& p) {
    const Strategy cheat = best_cheat(with_stake_of_one(p));
    return quotient(cheat.gain_tokens, cheat.loss_tokens);
}

double least_stake(const IncentiveParams& p) {
    return std::max(least_against_cheats(p),
                    quotient(challenge_cost(p), challenge_reward(with_stake_of_one(p))));
}

double largest_reward(const IncentiveParams& p) {
    const double rate = detection_rate(p.sampling);
    double largest = kInfinite;
    for (std::uint64_t count = 1; count <= p.worker.open_units_max; ++count) {
        const auto units = static_cast<double>(count);
        const double p_caught = caught(rate, count);
        const double room = p_caught * lost_by_cheat(p) - units * p.worker.outside_gain_tokens;
        if (room <= 0) return 0;
        largest = std::min(largest,
                           quotient(room, units * paid_share(p, rate, p_caught) * with_bonus(p)));
    }
    return largest;
}

std::uint64_t largest_open_units(const IncentiveParams& p) {
    const double rate = detection_rate(p.sampling);
    // Where all is void when one is caught, one unit pays best and decides for any number.
    const bool all_void = p.worker.credits_wait && p.worker.outside_gain_tokens == 0;
    for (std::uint64_t count = 1; count <= (all_void ? 1 : kOpenUnitsLimit); ++count) {
        const Strategy one = cheat_with(p, rate, count);
        if (!exceeds(one.loss_tokens, one.gain_tokens)) return count - 1;
    }
    return kOpenUnitsLimit;
}

}  // namespace

Status validate(const IncentiveParams& params) {
    GYM_CHECK(validate_reals(params));
    return validate_counts(params);
}

std::uint64_t colluding_verifiers(const SamplingTerms& sampling) {
    return (sampling.verifiers * sampling.colluding_ppm + kPpm - 1) / kPpm;
}

double detection_rate(const SamplingTerms& sampling) {
    const auto honest = static_cast<double>(sampling.verifiers - colluding_verifiers(sampling));
    return share(sampling.floor_ppm) * honest / static_cast<double>(sampling.verifiers);
}

double caught(double rate, std::uint64_t count) {
    if (rate <= 0) return 0;
    if (rate >= 1) return 1;
    return -std::expm1(static_cast<double>(count) * std::log1p(-rate));
}

double copy_detection_rate(const IncentiveParams& p) {
    const double honest_partner = 1 - static_cast<double>(colluding_verifiers(p.sampling)) /
                                          static_cast<double>(p.sampling.verifiers);
    return 1 - (1 - share(p.verifier.audit_ppm)) * (1 - share(p.verifier.canary_ppm)) *
                   (1 - share(p.verifier.double_ppm) * honest_partner);
}

double early_stop_detection_rate(const IncentiveParams& p) {
    return share(p.verifier.canary_ppm) * (1 - share(p.verifier.traced_ppm));
}

Strategy best_cheat(const IncentiveParams& p) {
    const double rate = detection_rate(p.sampling);
    return best_of(p.worker.open_units_max,
                   [&](std::uint64_t count) { return cheat_with(p, rate, count); });
}

Strategy best_copying(const IncentiveParams& p) {
    return best_lazy(p, copy_detection_rate(p), p.verifier.unit_cost_tokens);
}

Strategy best_early_stop(const IncentiveParams& p) {
    return best_lazy(p, early_stop_detection_rate(p),
                     p.verifier.unit_cost_tokens * (1 - share(p.verifier.traced_ppm)));
}

SafeBounds safe_bounds(const IncentiveParams& params) {
    return {least_stake(params), least_against_cheats(params) / params.worker.unit_reward_tokens,
            largest_reward(params), largest_open_units(params)};
}

}  // namespace gym::protocol
