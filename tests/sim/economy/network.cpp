#include "network.hpp"

#include <cmath>

#include "gym/protocol/price_floor.hpp"
#include "gym/rewards/formulas.hpp"
#include "must.hpp"

namespace gym::sim::economy {
namespace {

using gym::testing::must;
using protocol::IncentiveParams;

constexpr int kTriesMax = 500;

void choose_work(Network& net, Dice& dice) {
    net.unit.price_wei_per_pflop = amount_of(static_cast<Wei>(dice.between(100, 100'000)) *
                                             (kToken / 1'000));  // 0.1 to 100 tokens
    net.unit.flops_per_step = dice.between(1, 64) * 10'000'000'000'000;
    net.unit.steps = static_cast<std::uint32_t>(dice.between(1, 64));
    const Amount floor = must(Amount::parse_tokens(protocol::kPricePerPflopMinGym));
    GYM_ASSERT(protocol::below_floor(net.unit.price_wei_per_pflop, floor).empty(), "a price");
    const Amount compute = must(rewards::compute_credit(net.flops(), net.unit.price_wei_per_pflop));
    net.params.worker.bonus_ppm = static_cast<std::uint32_t>(dice.between(0, 50'000));
    net.reward = wei_of(compute);
    net.bonus =
        wei_of(must(rewards::uptime_bonus(compute, 1'000'000, net.params.worker.bonus_ppm)));
    net.premium_ppm = static_cast<std::uint32_t>(dice.between(1'000'000, 1'300'000));
    net.report_reward = wei_of(must(
        rewards::verification_credit(net.flops(), net.unit.price_wei_per_pflop, net.premium_ppm)));
    net.cost = share_of(net.reward, dice.between(300'000, 900'000));
    net.aggregate_cost = share_of(net.cost, dice.between(1'000, 50'000));
    net.fee_ppm = static_cast<std::uint32_t>(dice.between(1, 100'000));
    net.fee_burned_ppm = static_cast<std::uint32_t>(dice.between(0, 1'000'000));
    net.emission_ppm = static_cast<std::uint32_t>(dice.between(0, 1'000'000));
}

void choose_terms(IncentiveParams& p, Dice& dice) {
    p.worker.open_units_max = dice.between(1, 8);
    p.sampling = {.floor_ppm = static_cast<std::uint32_t>(dice.between(50'000, 300'000)),
                  .verifiers = dice.between(3, 12),
                  .colluding_ppm = static_cast<std::uint32_t>(dice.between(0, 330'000))};
    p.slash.burned_ppm = static_cast<std::uint32_t>(dice.between(500'000, 800'000));
    p.slash.compensation_ppm = 100'000;
    p.slash.missed_clock_ppm = static_cast<std::uint32_t>(dice.between(300'000, 1'000'000));
    p.challenge.provers = dice.between(1, 4);
    p.challenge.outage_ppm = 0;  // an honest party that is away is no strategy
    p.verifier.audit_ppm = static_cast<std::uint32_t>(dice.between(20'000, 200'000));
    p.verifier.reports_ahead = static_cast<double>(dice.between(20, 300));
    p.verifier.reports_pending_max = dice.between(1, 20);
}

/// Stake by the rule, gas and bond by the stake.
void choose_stake(Network& net, Dice& dice) {
    IncentiveParams& p = net.params;
    p.worker.unit_reward_tokens = tokens_of(net.reward);
    p.worker.unit_cost_tokens = tokens_of(net.cost);
    p.verifier.report_reward_tokens = tokens_of(net.report_reward);
    p.verifier.unit_cost_tokens = tokens_of(net.cost);
    const double least = protocol::safe_bounds(p).stake_per_unit_pay;
    GYM_ASSERT(std::isfinite(least), "a stake is enough");
    const auto multiple = static_cast<std::uint64_t>(std::ceil(least)) + 1;
    net.stake_rule = {amount_of(1),
                      static_cast<std::uint32_t>(dice.between(multiple, 2 * multiple))};
    net.stake = wei_of(must(protocol::stake_needed(net.stake_rule, net.unit)));
    const Wei prover = share_of(share_of(net.stake, p.slash.missed_clock_ppm),
                                p.slash.compensation_ppm / p.challenge.provers);
    net.game_cost = share_of(prover, dice.between(100'000, 900'000));
    net.bond = share_of(net.stake, dice.between(4'000, 10'000)) + net.reward / 10;
    p.worker.stake_tokens = tokens_of(net.stake);
    p.challenge.bond_tokens = tokens_of(net.bond);
    const double gas = static_cast<double>(p.challenge.challenger_gas) +
                       2 * static_cast<double>(p.challenge.defender_gas);
    p.challenge.ether_price_tokens =
        tokens_of(net.game_cost) / (gas * p.challenge.gas_price_gwei * 1e-9);
}

bool accepted(const IncentiveParams& params) {
    if (!protocol::validate(params).ok()) return false;
    for (const protocol::Condition& condition : protocol::check_incentives(params))
        if (!condition.holds) return false;
    return true;
}

}  // namespace

IncentiveParams example_params() {
    IncentiveParams p;
    p.worker = {.stake_tokens = 2'000,
                .unit_reward_tokens = 10,
                .bonus_ppm = 50'000,
                .unit_cost_tokens = 6,
                .outside_gain_tokens = 0,
                .open_units_max = 8,
                .credits_wait = true,
                .unit_seconds = 1'200};
    p.sampling = {.floor_ppm = 50'000, .verifiers = 10, .colluding_ppm = 300'000};
    p.slash = {.burned_ppm = 500'000, .compensation_ppm = 100'000, .missed_clock_ppm = 500'000};
    p.challenge = {.bond_tokens = 10,
                   .provers = 4,
                   .outage_ppm = 10'000,
                   .gas_price_gwei = 2,
                   .ether_price_tokens = 3'000,
                   .challenger_gas = 1'200'000,
                   .defender_gas = 1'000'000,
                   .escrow_gas = 4'000'000};
    p.verifier = {.unit_cost_tokens = 6,
                  .report_reward_tokens = 11,
                  .stake_tokens = 0,
                  .reports_ahead = 200,
                  .reports_pending_max = 20,
                  .traced_ppm = 1'000'000,
                  .audit_ppm = 20'000,
                  .double_ppm = 0,
                  .canary_ppm = 0};
    p.times = {.window_seconds = 86'400,
               .clock_seconds = 172'800,
               .settling_seconds = 345'600,
               .thaw_seconds = 604'800,
               .forced_inclusion_seconds = 0,
               .slowest_verifier_seconds = 600};
    p.capital_cost_ppm = 100'000;
    return p;
}

Network random_network(std::uint64_t seed, const Rules& rules) {
    Dice dice(seed);
    for (int i = 0; i < kTriesMax; ++i) {
        Network net;
        net.rules = rules;
        net.params = example_params();
        choose_work(net, dice);
        choose_terms(net.params, dice);
        choose_stake(net, dice);
        net.lifecycle.challenge_ms =
            static_cast<std::int64_t>(net.params.times.window_seconds) * 1'000;
        if (accepted(net.params)) return net;
    }
    GYM_ASSERT(false, "no parameters that gym params check accepts");
    return {};
}

}  // namespace gym::sim::economy
