// The inequalities of docs/REWARDS.md, with what to change where one does not hold.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "gym/protocol/incentives.hpp"
#include "gym/protocol/sampling.hpp"
#include "incentive_terms.hpp"

namespace gym::protocol {
namespace {

constexpr double kSecondsPerYear = 365.0 * 86'400;
/// The window covers the slowest verifier's work so many times over: it may be drawn late, be
/// interrupted, and begin again.
constexpr double kWindowWorks = 5;

/// Five significant digits, rounded so that the printed number is still on the safe side.
std::string rounded(double value, double (*direction)(double)) {
    if (value == 0) return "0";
    if (!std::isfinite(value)) return "no number";
    const double step = std::pow(10, std::floor(std::log10(value)) - 4);
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.5g", direction(value / step) * step);
    return text.data();
}
std::string at_least(double value) {
    // A little more than the bound itself, at which gain and loss are equal.
    return rounded(value * (1 + 1e-8), [](double x) { return std::ceil(x); });
}
std::string at_most(double value) {
    return rounded(value * (1 - 1e-8), [](double x) { return std::floor(x); });
}

/// The least parts per million for which `holds` is true, which grows with them.
template <class Holds>
std::optional<std::uint32_t> least_ppm(const Holds& holds) {
    if (!holds(kPpm)) return std::nullopt;
    std::uint32_t low = 0, high = kPpm;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (holds(middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/// "a, b, or c".
std::string either(const std::vector<std::string>& ways) {
    std::string out;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        if (i > 0) out += i + 1 < ways.size() ? ", " : ", or ";
        out += ways[i];
    }
    return out;
}

Condition tokens(std::string_view id, std::string_view claim, double have, double need) {
    Condition out{.id = id, .claim = claim, .have = have, .need = need};
    out.holds = exceeds(have, need);
    return out;
}

Condition at_least_as_much(std::string_view id, std::string_view claim, Measure measure,
                           double have, double need) {
    Condition out{.id = id, .claim = claim, .measure = measure, .have = have, .need = need};
    out.holds = have >= need;
    return out;
}

Condition strategy(std::string_view id, std::string_view claim, const Strategy& best) {
    Condition out = tokens(id, claim, best.loss_tokens, best.gain_tokens);
    out.count = best.count;
    return out;
}

bool loses(const Strategy& best) {
    return exceeds(best.loss_tokens, best.gain_tokens);
}

Condition working_pays(const IncentiveParams& p) {
    const double locked =
        p.worker.stake_tokens * share(p.capital_cost_ppm) * p.worker.unit_seconds / kSecondsPerYear;
    const double cost = p.worker.unit_cost_tokens + locked;
    Condition out = tokens("working_pays",
                           "an honest unit earns more than computing it and its locked stake cost",
                           p.worker.unit_reward_tokens, cost);
    if (!out.holds) out.remedy = "pay at least " + at_least(cost) + " tokens a unit";
    return out;
}

Condition cheating_loses(const IncentiveParams& p) {
    Condition out = strategy("cheating_loses",
                             "wrong units, however many at once, lose more stake than they earn",
                             best_cheat(p));
    if (out.holds) return out;
    std::vector<std::string> ways;
    const SafeBounds bounds = safe_bounds(p);
    if (std::isfinite(bounds.stake_tokens))
        ways.push_back("demand a stake of at least " + at_least(bounds.stake_tokens) + " tokens");
    if (bounds.unit_reward_tokens > 0)
        ways.push_back("pay at most " + at_most(bounds.unit_reward_tokens) + " tokens a unit");
    if (bounds.open_units > 0)
        ways.push_back("allow at most " + std::to_string(bounds.open_units) + " open units");
    const auto floor = least_ppm([&](std::uint32_t ppm) {
        IncentiveParams other = p;
        other.sampling.floor_ppm = ppm;
        return loses(best_cheat(other));
    });
    if (floor) ways.push_back("draw at least " + std::to_string(*floor) + " ppm of the units");
    if (ways.empty()) ways.emplace_back("have a stake, and verifiers that do not collude");
    out.remedy = either(ways);
    return out;
}

Condition verifying_pays(const IncentiveParams& p) {
    Condition out = tokens("verifying_pays", "a report earns more than executing the unit costs",
                           p.verifier.report_reward_tokens, p.verifier.unit_cost_tokens);
    if (!out.holds)
        out.remedy = "pay at least " + at_least(p.verifier.unit_cost_tokens) + " tokens a report";
    return out;
}

/// The loss, beside its pending reports, at which saving `saved_tokens` a report does not pay.
double needed_worth(const IncentiveParams& p, double rate, double saved_tokens) {
    double most = 0;
    for (std::uint64_t count = 1; count <= p.verifier.reports_pending_max; ++count) {
        const auto reports = static_cast<double>(count);
        const double per_name = quotient(reports * saved_tokens, caught(rate, count));
        most = std::max(most, per_name - reports * p.verifier.report_reward_tokens);
    }
    return most;
}

Condition copying_loses(const IncentiveParams& p) {
    const Strategy best = best_copying(p);
    Condition out = strategy("copying_loses",
                             "reports without execution lose more than the execution costs", best);
    if (out.holds) return out;
    std::vector<std::string> ways;
    const auto audits = least_ppm([&](std::uint32_t ppm) {
        IncentiveParams other = p;
        other.verifier.audit_ppm = ppm;
        return loses(best_copying(other));
    });
    if (audits) ways.push_back("audit at least " + std::to_string(*audits) + " ppm of the reports");
    const double worth = needed_worth(p, copy_detection_rate(p), p.verifier.unit_cost_tokens);
    if (std::isfinite(worth))
        ways.push_back("let a verifier that is found out lose at least " + at_least(worth) +
                       " tokens (its own stake, and the reports that it could still expect)");
    out.remedy = either(ways);
    return out;
}

Condition stopping_early_loses(const IncentiveParams& p) {
    Condition out =
        strategy("stopping_early_loses",
                 "stopping after the traced step loses more than the steps behind it cost",
                 best_early_stop(p));
    if (out.holds) return out;
    std::vector<std::string> ways{"trace a unit's last step (traced_ppm 1000000)"};
    const auto canaries = least_ppm([&](std::uint32_t ppm) {
        IncentiveParams other = p;
        other.verifier.canary_ppm = ppm;
        return loses(best_early_stop(other));
    });
    if (canaries) ways.push_back("plant faults in at least " + std::to_string(*canaries) + " ppm");
    out.remedy = either(ways);
    return out;
}

/// The referee runs every unit that a report disputes, so a false one is always found out.
Condition false_reports_lose(const IncentiveParams& p) {
    const double gain = paid_per_unit(p) + p.verifier.false_report_gain_tokens;
    Condition out = tokens("false_reports_lose",
                           "a report that accuses a right unit loses more than it can gain",
                           lost_by_false_report(p), gain);
    if (out.holds) return out;
    const double needed =
        quotient(gain - name_worth(p), share(p.slash.missed_clock_ppm) * share(p.slash.burned_ppm));
    out.remedy = "demand a stake of at least " + at_least(needed) +
                 " tokens of verifiers (minimum_verifier_stake)";
    return out;
}

Condition honest_verifiers(const IncentiveParams& p) {
    const std::uint64_t honest = p.sampling.verifiers - colluding_verifiers(p.sampling);
    Condition out = at_least_as_much("honest_verifiers", "there are verifiers that do not collude",
                                     Measure::kVerifiers, static_cast<double>(honest), 1);
    if (!out.holds) out.remedy = "have more verifiers: colluding ones are rounded up";
    return out;
}

Condition challenging_pays(const IncentiveParams& p) {
    const double cost = challenge_cost(p);
    Condition out = tokens(
        "challenging_pays",
        "a prover of a fault earns more than the gas of both sides and its risk, first or not",
        challenge_reward(p), cost);
    if (out.holds) return out;
    IncentiveParams one = p;
    one.worker.stake_tokens = 1;
    const double stake = quotient(cost, challenge_reward(one));
    out.remedy = std::isfinite(stake)
                     ? "demand a stake of at least " + at_least(stake) +
                           " tokens, or leave larger shares to the finder and for compensation"
                     : "leave shares of the slash to the finder and for compensation";
    return out;
}

Condition defence_is_free(const IncentiveParams& p) {
    Condition out = at_least_as_much(
        "defence_is_free", "challengers pay the gas of the defence beforehand", Measure::kGas,
        static_cast<double>(p.challenge.escrow_gas), static_cast<double>(p.challenge.defender_gas));
    if (!out.holds)
        out.remedy = "set escrow_gas to at least " + std::to_string(p.challenge.defender_gas);
    return out;
}

Condition delay_is_paid(const IncentiveParams& p) {
    // Two clocks at most, however many games there are: half of one bond must cover them.
    const double held =
        p.worker.stake_tokens + static_cast<double>(p.worker.open_units_max) * paid_per_unit(p);
    const double delay =
        held * share(p.capital_cost_ppm) * 2 * p.times.clock_seconds / kSecondsPerYear;
    Condition out =
        tokens("delay_is_paid", "half a lost bond pays the worker for two clocks of delay",
               p.challenge.bond_tokens / 2, delay);
    if (!out.holds) out.remedy = "demand a bond of at least " + at_least(2 * delay) + " tokens";
    return out;
}

Condition seconds(std::string_view id, std::string_view claim, std::string_view key, double have,
                  double need) {
    Condition out = at_least_as_much(id, claim, Measure::kSeconds, have, need);
    if (!out.holds)
        out.remedy = "set " + std::string(key) + " to at least " +
                     std::to_string(static_cast<std::uint64_t>(std::ceil(need)));
    return out;
}

}  // namespace

std::vector<Condition> check_incentives(const IncentiveParams& params) {
    const TimeTerms& t = params.times;
    return {
        working_pays(params),
        cheating_loses(params),
        verifying_pays(params),
        copying_loses(params),
        stopping_early_loses(params),
        false_reports_lose(params),
        honest_verifiers(params),
        challenging_pays(params),
        defence_is_free(params),
        delay_is_paid(params),
        seconds("stake_outlasts_window",
                "stake that thaws from a unit's assignment on is there for the last challenge",
                "thaw_s", t.thaw_seconds,
                t.window_seconds + std::max(2 * t.clock_seconds, params.worker.unit_seconds)),
        seconds("window_suffices",
                "the slowest verifier can execute a unit five times in the window", "window_s",
                t.window_seconds, kWindowWorks * t.slowest_verifier_seconds),
        seconds("checks_fit_window",
                "all draws of a unit, each at its deadlines, and one more execution end within "
                "the window",
                "window_s", t.window_seconds,
                t.draws_max * (t.report_seconds + t.reveal_seconds) +
                    std::max(t.report_seconds, t.slowest_verifier_seconds)),
        seconds("clock_suffices", "a clock covers one execution and two moves that are held back",
                "clock_s", t.clock_seconds,
                2 * t.forced_inclusion_seconds + t.slowest_verifier_seconds),
        seconds("settling_suffices", "a stalled earlier announcement can still prove the fault",
                "settling_s", t.settling_seconds, 2 * t.clock_seconds),
    };
}

}  // namespace gym::protocol
