#pragma once

#include <algorithm>
#include <limits>

#include "gym/protocol/incentives.hpp"
#include "gym/protocol/sampling.hpp"

/// The terms that conditions and bounds of incentives share (docs/REWARDS.md has their derivation).
namespace gym::protocol {

inline double share(std::uint32_t ppm) {
    return static_cast<double>(ppm) / kPpm;
}

/// Nothing is needed, or there is more than that by more than rounding.
inline bool exceeds(double have, double need) {
    return need <= 0 || have > need * (1 + 1e-9);
}

/// How much of something is needed where each gives `each`; infinite where none is enough.
inline double quotient(double needed, double each) {
    if (each > 0) return needed / each;
    return needed > 0 ? std::numeric_limits<double>::infinity() : 0;
}

inline double with_bonus(const IncentiveParams& p) {
    return 1 + share(p.worker.bonus_ppm);
}

inline double paid_per_unit(const IncentiveParams& p) {
    return p.worker.unit_reward_tokens * with_bonus(p);
}

/// Expected share of n wrong units that is paid, of which one is found with `rate` and any with
/// `p_caught`.
inline double paid_share(const IncentiveParams& p, double rate, double p_caught) {
    return 1 - (p.worker.credits_wait ? p_caught : rate);
}

/// Of a worker's stake, what a game that it loses takes for certain: it can always let its clock
/// run out instead of being proven wrong.
inline double stake_at_risk(const IncentiveParams& p) {
    return p.worker.stake_tokens * share(p.slash.missed_clock_ppm);
}

/// The rest of a slash may return to the cheat: an accomplice announces first, or owns the job.
inline double lost_by_cheat(const IncentiveParams& p) {
    return stake_at_risk(p) * share(p.slash.burned_ppm);
}

inline double finder_share(const IncentiveParams& p) {
    return share(kPpm - p.slash.burned_ppm - p.slash.compensation_ppm);
}

/// The loss of a verifier that is found out, beside its pending reports.
inline double name_worth(const IncentiveParams& p) {
    const double profit = p.verifier.report_reward_tokens - p.verifier.unit_cost_tokens;
    return p.verifier.stake_tokens + p.verifier.reports_ahead * std::max(profit, 0.0);
}

/// What a false report costs its author: its stake as far as a worker's would be lost, and its
/// name.
inline double lost_by_false_report(const IncentiveParams& p) {
    return p.verifier.report_stake_tokens * share(p.slash.missed_clock_ppm) *
               share(p.slash.burned_ppm) +
           name_worth(p);
}

/// Of a prover that is not first, whoever is: an accomplice of the cheat can always be first.
inline double prover_share(const IncentiveParams& p) {
    return share(p.slash.compensation_ppm) / static_cast<double>(p.challenge.provers);
}

/// Expected, of an honest challenger in the right, first or not.
inline double challenge_reward(const IncentiveParams& p) {
    return (1 - share(p.challenge.outage_ppm)) * std::min(finder_share(p), prover_share(p)) *
           stake_at_risk(p);
}

/// The challenger pays both sides' gas, the defender's at up to twice the base fee.
inline double challenge_cost(const IncentiveParams& p) {
    const ChallengeTerms& c = p.challenge;
    const double gas = static_cast<double>(c.challenger_gas) +
                       2 * static_cast<double>(std::min(c.defender_gas, c.escrow_gas));
    const double ether = gas * c.gas_price_gwei * 1e-9;
    return ether * c.ether_price_tokens + share(c.outage_ppm) * c.bond_tokens;
}

}  // namespace gym::protocol
