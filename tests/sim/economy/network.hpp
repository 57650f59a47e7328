#pragma once

#include <cstdint>

#include "gym/protocol/incentives.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/stake_rule.hpp"
#include "money.hpp"

namespace gym::sim::economy {

/// What protects the network. Each is on; a test switches one off and looks who gains by it.
struct Rules {
    bool stake_needed = true;          ///< the coordinator asks for a stake before it gives a unit
    bool stake_thaws = true;           ///< Stake: thaw period, and locks while a game is open
    bool clocks_cost = true;           ///< DisputeGame: a missed clock costs a part of the stake
    bool reports_paid = true;          ///< verifiers have their share: drawn units are run again
    bool reports_audited = true;       ///< the coordinator repeats a share of agreeing reports
    bool aggregates_checked = true;    ///< verifiers run aggregates again
    bool conflicts_slash = true;       ///< openConflict: two records, a garbage record before
    bool sums_in_tree = true;          ///< RewardsDistributor: a path's sum has to be the total
    bool falls_disable = true;         ///< RewardsDistributor.disableFallen
    bool leaves_on_demand = true;      ///< RewardsDistributor.demandLeaf
    bool growth_limited = true;        ///< RewardsDistributor.growthLimit
    bool guardian_acts = true;         ///< the guardian disables what `gym rewards audit` names
    bool orders_signed = true;         ///< JobEscrow.lock recovers the owner's signature
    bool orders_once = true;           ///< ... once for each nonce
    bool orders_expire = true;         ///< ... not after its expiry
    bool keys_limited = true;          ///< api.api_key: orders of a key come to its limit at most
    bool locks_bind = true;            ///< JobEscrow: withdrawals leave what is locked
    bool units_fit = true;             ///< no unit is given that its deadline cuts off
    bool prefixes_paid = true;         ///< what a deadline cut off is paid by its steps
    bool prices_have_floor = true;     ///< the coordinator starts no job below price_per_pflop_min
    bool emission_within_burn = true;  ///< emission is at most what the round burned
};

/// One network, with its prices in base units; `params` has the same numbers as tokens.
struct Network {
    protocol::IncentiveParams params;
    Rules rules;
    protocol::UnitPay unit;          ///< of one unit of the job
    protocol::StakeRule stake_rule;  ///< of the coordinator
    protocol::LifecycleParams lifecycle;
    Wei reward = 0;         ///< compute_credit() of a unit
    Wei bonus = 0;          ///< uptime_bonus() at full uptime
    Wei cost = 0;           ///< of computing a unit
    Wei report_reward = 0;  ///< verification_credit()
    Wei stake = 0;
    Wei bond = 0;
    Wei game_cost = 0;       ///< gas of both sides of a whole game, in the token
    Wei aggregate_cost = 0;  ///< of computing an aggregate
    std::uint32_t premium_ppm = 0;
    std::uint32_t fee_ppm = 0;
    std::uint32_t fee_burned_ppm = 0;
    std::uint32_t emission_ppm = 0;

    [[nodiscard]] std::uint64_t flops() const { return unit.flops_per_step * unit.steps; }
};

/// The numbers of examples/params.yaml.
[[nodiscard]] protocol::IncentiveParams example_params();

/// A network with random prices, costs, stakes and shares which `gym params check` accepts: its
/// stake is at most twice the least one that does.
[[nodiscard]] Network random_network(std::uint64_t seed, const Rules& rules);

}  // namespace gym::sim::economy
