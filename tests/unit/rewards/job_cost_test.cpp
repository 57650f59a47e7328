// A quote's maximum is the most that a job can be charged, and a budget of so much
// begins every round.
#include "gym/protocol/job_cost.hpp"

#include <gtest/gtest.h>

#include "gym/common/ppm.hpp"
#include "gym/rewards/formulas.hpp"
#include "random.hpp"

namespace gym::rewards {
namespace {

using protocol::CostRates;
using protocol::RoundShape;
using protocol::Work;
using protocol::WorkPrice;

/// A network, a job, and what has happened in it so far.
struct Charged {
    std::uint32_t premium_ppm = 0, bonus_ppm = 0, fee_ppm = 0, burned_ppm = 0;
    WorkPrice price;
    RoundShape shape;
    std::uint64_t rounds = 0;
    CostRates rates;
    Amount paid;
    Work work;  ///< as the coordinator counts it

    std::uint64_t unit_flops() const { return price.flops_per_step * shape.steps; }
    void add(Amount& sum, const Amount& more) const { sum = sum.plus(more).value(); }
    Amount data() const {
        return data_credit(price.tokens_per_step * shape.steps, price.data_price_wei_per_mtoken,
                           price.data_quality_ppm)
            .value();
    }
    Amount report(std::uint64_t flops) const {
        return verification_credit(flops, price.price_wei_per_pflop, premium_ppm).value();
    }
    void charge_unit(std::mt19937_64& random, Amount& round);
    void charge_round(std::mt19937_64& random);
};

Charged any_job(std::mt19937_64& random) {
    Charged out;
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    out.premium_ppm = static_cast<std::uint32_t>(up_to(2'000'000));
    out.bonus_ppm = static_cast<std::uint32_t>(up_to(200'000));
    out.fee_ppm = static_cast<std::uint32_t>(up_to(1) * up_to(kPpm));
    out.burned_ppm = static_cast<std::uint32_t>(up_to(kPpm));
    // Prices from a few units, where roundings decide, to many tokens.
    out.price.price_wei_per_pflop = Amount(1 + any_u64(random));
    out.price.flops_per_step = 1 + (any_u64(random) >> 24U);
    out.price.tokens_per_step = 1 + up_to(100'000);
    out.price.data_price_wei_per_mtoken = Amount(any_u64(random));
    out.price.data_quality_ppm = static_cast<std::uint32_t>(up_to(kPpm));
    out.shape = {1 + up_to(7), 1 + up_to(63), any_u64(random) >> 20U};
    out.rounds = 1 + up_to(5);
    const auto needed = protocol::cost_of_compute_ppm(out.premium_ppm, out.bonus_ppm, out.fee_ppm);
    out.rates = {std::max<std::uint64_t>(needed, 2'500'000), out.fee_ppm};
    return out;
}

/// One unit: final, with or without a report; or without pay, with or without one.
void Charged::charge_unit(std::mt19937_64& random, Amount& round) {
    const bool counts = random() % 4 != 0, reported = random() % 4 != 0;
    if (reported) add(round, report(unit_flops()));
    if (counts) {
        const Amount compute = compute_credit(unit_flops(), price.price_wei_per_pflop).value();
        add(round, compute);
        add(round, uptime_bonus(compute, kPpm, bonus_ppm).value());
        add(round, data());
        add(work.training_flops, Amount(unit_flops()));
    } else if (reported) {
        add(work.report_flops, Amount(unit_flops()));
    }
}

void Charged::charge_round(std::mt19937_64& random) {
    Amount round;
    for (std::uint64_t slot = 0; slot < shape.slots; ++slot)
        charge_unit(random, round);
    add(round, report(shape.own_flops));
    add(work.report_flops, Amount(shape.own_flops));
    const Fee fee = fee_of(round, fee_ppm, burned_ppm).value();
    add(round, fee.kept);
    add(round, fee.burned);
    add(paid, round);
}

TEST(JobCostProperty, NothingCostsMoreThanTheQuoteAndItsBudgetBeginsEveryRound) {
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 2'000 * test_scale(); ++i) {
        const std::uint64_t seed = random();
        std::mt19937_64 again(seed);
        Charged job = any_job(again);
        const Amount most =
            protocol::rounds_bound(job.price, job.rates, job.shape, job.rounds).value();
        for (std::uint64_t round = 1; round <= job.rounds; ++round) {
            // The coordinator's condition: all that was and may be, one more round, its aggregate.
            Work next = job.work;
            job.add(next.training_flops, Amount(job.unit_flops() * job.shape.slots));
            job.add(next.report_flops, Amount(job.shape.own_flops));
            EXPECT_LE(protocol::cost_bound(job.price, job.rates, next).value(), most)
                << "round " << round << ", seed " << seed;
            job.charge_round(again);
            EXPECT_LE(job.paid,
                      protocol::rounds_bound(job.price, job.rates, job.shape, round).value())
                << "round " << round << ", seed " << seed;
        }
    }
}

TEST(JobCostProperty, TheRoundsThatABudgetCoversAreTheMostWhoseBoundItHolds) {
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 500 * test_scale(); ++i) {
        const Charged job = any_job(random);
        const auto bound = [&](std::uint64_t rounds) {
            return protocol::rounds_bound(job.price, job.rates, job.shape, rounds).value();
        };
        const Amount budget =
            bound(job.rounds).mul_div(Amount(random() % 1'200), Amount(1'000)).value();
        const std::uint64_t covered =
            protocol::rounds_covered(job.price, job.rates, job.shape, job.rounds, budget).value();
        EXPECT_LE(covered, job.rounds);
        EXPECT_TRUE(covered == 0 || bound(covered) <= budget);
        EXPECT_TRUE(covered == job.rounds || bound(covered + 1) > budget);
    }
}

TEST(JobCost, RatesOfComputeRoundUp) {
    EXPECT_EQ(protocol::cost_of_compute_ppm(1'100'000, 50'000, 0), 2'150'000U);
    EXPECT_EQ(protocol::cost_of_compute_ppm(1'100'000, 50'000, 20'000), 2'193'000U);
    EXPECT_EQ(protocol::cost_of_compute_ppm(1, 0, 1), 1'000'003U) << "never less than the product";
}

TEST(JobCost, AmountsBeyondAllMoneyAreErrors) {
    const WorkPrice price{Amount(~0ULL), ~0ULL, 1, Amount(), 0};
    EXPECT_FALSE(protocol::rounds_bound(price, {~0ULL, 0}, {~0ULL, ~0ULL, ~0ULL}, ~0ULL).ok());
}

}  // namespace
}  // namespace gym::rewards
