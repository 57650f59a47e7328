#pragma once

#include "gym/protocol/incentives.hpp"

namespace gym::protocol::testing {

/// Under which everything holds: 5 % drawn, 3 of 10 verifiers collude, half of a slash is burned.
inline IncentiveParams safe_params() {
    IncentiveParams p;
    p.worker = {.stake_tokens = 1'000,
                .unit_reward_tokens = 10,
                .bonus_ppm = 50'000,
                .unit_cost_tokens = 6,
                .outside_gain_tokens = 1,
                .open_units_max = 8,
                .credits_wait = true,
                .unit_seconds = 600};
    p.sampling = {.floor_ppm = 50'000, .verifiers = 10, .colluding_ppm = 300'000};
    p.slash = {.burned_ppm = 500'000, .compensation_ppm = 100'000};
    p.challenge = {.bond_tokens = 100,
                   .provers = 4,
                   .outage_ppm = 10'000,
                   .gas_price_gwei = 2,
                   .ether_price_tokens = 3'000,
                   .challenger_gas = 1'200'000,
                   .defender_gas = 1'000'000,
                   .escrow_gas = 1'500'000};
    p.verifier = {.unit_cost_tokens = 6,
                  .report_reward_tokens = 11,
                  .stake_tokens = 0,
                  .reports_ahead = 200,
                  .reports_pending_max = 20,
                  .traced_ppm = 500'000,
                  .audit_ppm = 20'000,
                  .double_ppm = 0,
                  .canary_ppm = 10'000};
    p.times = {.window_seconds = 3'600,
               .clock_seconds = 3'600,
               .settling_seconds = 7'200,
               .thaw_seconds = 86'400,
               .forced_inclusion_seconds = 600,
               .slowest_verifier_seconds = 600};
    p.capital_cost_ppm = 100'000;
    return p;
}

inline const Condition& condition(const std::vector<Condition>& all, std::string_view id) {
    for (const Condition& one : all)
        if (one.id == id) return one;
    GYM_ASSERT(false, "no such condition");
    return all.front();
}

inline bool holds(const IncentiveParams& params, std::string_view id) {
    return condition(check_incentives(params), id).holds;
}

}  // namespace gym::protocol::testing
