#include "gym/plan/estimate.hpp"

#include <gtest/gtest.h>

#include "gym/common/ppm.hpp"
#include "gym/plan/cloud.hpp"
#include "gym/plan/plan.hpp"
#include "sample_facts.hpp"

namespace gym::plan {
namespace {

using testing::sample_facts;
using testing::sample_work;

registry::JobTerms sample_terms() {
    registry::JobTerms terms;
    terms.rounds = 100;
    terms.slots_max = 8;
    terms.steps = 100;
    terms.price_wei_per_pflop = Amount(1'000'000);
    return terms;
}

/// A record of so many units of sample_terms().
Amount record(std::uint64_t units) {
    return protocol::work_value(sample_work().flops_per_step, sample_terms().price_wei_per_pflop)
        ->mul_div(Amount(sample_terms().steps * units), Amount(1))
        .value();
}

Estimate estimate_with(const Facts& facts, const registry::JobTerms& terms = sample_terms()) {
    return estimate(terms, sample_work(), facts).value();
}

// What the manual promises of a job's defaults.
TEST(Estimate, TrustedWorkersCostLessThanATenthOfComputeToVerify) {
    for (const std::uint64_t streak : {12U, 15U, 20U, 1'000U}) {
        const VerificationShare share = estimate_with(sample_facts(8, record(streak))).verification;
        EXPECT_LT(share.expected_ppm, 100'000U) << "streak " << streak;
        EXPECT_GE(share.expected_ppm, 55'000U) << "5 % of the units at 1.1 times the price";
    }
    const VerificationShare share = estimate_with(sample_facts(8, record(20))).verification;
    EXPECT_EQ(share.expected_ppm, share.trusted_ppm);
    EXPECT_GE(share.untrusted_ppm, 1'100'000U) << "new workers: more than compute";
}

TEST(Estimate, TrustedWorkersStayBelowATenthInThePlansOfARealModel) {
    program::TrainConfig config;
    config.model.layers = 2;
    config.batch = 4;
    Wishes wishes;
    wishes.tokens = 10'000'000;
    const auto work = model_work(config);
    ASSERT_TRUE(work.ok()) << work.error().message;
    const auto plan = make_plan(wishes, {}, *work,
                                sample_facts(4, Amount::parse("1" + std::string(60, '0')).value()));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_LT(plan->estimate.verification.expected_ppm, 100'000U);
}

TEST(Estimate, StreaksGrowOnTheWay) {
    const auto share = [](std::uint64_t streak) {
        return estimate_with(sample_facts(8, record(streak))).verification.expected_ppm;
    };
    EXPECT_LT(share(0), estimate_with(sample_facts(8)).verification.untrusted_ppm);
    for (std::uint64_t streak = 1; streak < 25; ++streak)
        EXPECT_LE(share(streak), share(streak - 1)) << streak;
    registry::JobTerms brief = sample_terms();
    brief.rounds = 1;
    const VerificationShare first = estimate_with(sample_facts(8), brief).verification;
    EXPECT_EQ(first.expected_ppm, first.untrusted_ppm) << "no unit of it is final yet";
}

TEST(Estimate, AMeanRateIsThatOfItsRounds) {
    const protocol::SamplingPolicy policy;
    EXPECT_DOUBLE_EQ(mean_sampling_ppm(policy, 0, 2, 0, 1), kPpm) << "streaks 0 and 1";
    EXPECT_DOUBLE_EQ(mean_sampling_ppm(policy, 2, 1, 0, 1), kPpm / 2.0);
    EXPECT_DOUBLE_EQ(mean_sampling_ppm(policy, 2, 2, 1, 1), kPpm / 2.0) << "one round of waiting";
    EXPECT_DOUBLE_EQ(mean_sampling_ppm(policy, 20, 1'000'000, 5, 0.1), 50'000);
    EXPECT_NEAR(mean_sampling_ppm(policy, 0, 1'000'000, 5, 1), 50'000, 50);
    EXPECT_GT(mean_sampling_ppm(policy, 0, 50, 0, 0.1), mean_sampling_ppm(policy, 0, 50, 0, 1));
}

TEST(Estimate, TheExpectedIsTheSumOfItsPartsAndBelowTheMost) {
    Facts facts = sample_facts(8, record(20));
    facts.fee_ppm = 20'000;
    facts.bound = protocol::CostRates{2'500'000, 20'000};
    facts.data_price_wei_per_mtoken = Amount(1'000'000'000);
    facts.data_quality_ppm = 500'000;
    const Estimate costs = estimate_with(facts);
    // 80,000 steps of 8,192 tokens.
    EXPECT_EQ(costs.tokens, 655'360'000U);
    EXPECT_EQ(costs.data_wei, Amount(327'680'000'000));
    const double compute = std::strtod(costs.compute_wei.to_string().c_str(), nullptr);
    const double verification = static_cast<double>(costs.verification.expected_ppm) / kPpm;
    const double expected = (compute * (1.05 + verification) + 327'680'000'000.0) * 1.02;
    EXPECT_NEAR(std::strtod(costs.expected_wei.to_string().c_str(), nullptr), expected,
                expected * 1e-6);
    EXPECT_LT(costs.expected_wei, *costs.most_wei);
    EXPECT_LT(*costs.round_wei, *costs.most_wei);
    facts.bound.reset();
    EXPECT_FALSE(estimate_with(facts).most_wei.has_value());
}

TEST(Estimate, TimesFollowTheMachines) {
    Facts facts = sample_facts(8);
    // 6e8 * 8,192 * 100 operations at 10^13 a second.
    EXPECT_NEAR(estimate_with(facts).unit_s->low, 49.152, 1e-9);
    const SecondsRange even = *estimate_with(facts).seconds;
    EXPECT_LT(even.low, even.high);
    facts.workers[0].flops_per_second /= 10;
    const SecondsRange one_slow = *estimate_with(facts).seconds;
    EXPECT_GT(one_slow.high, even.high);
    facts.workers.push_back(facts.workers[1]);
    EXPECT_LT(estimate_with(facts).seconds->low, one_slow.low) << "the slow one may be left out";
    facts.verifiers.assign(8, facts.verifiers.front());
    EXPECT_LT(estimate_with(facts).seconds->high, one_slow.high);
    facts.workers.clear();
    EXPECT_FALSE(estimate_with(facts).seconds.has_value());
    facts.workers.assign(1, Machine{0, record(3)});
    EXPECT_FALSE(estimate_with(facts).seconds.has_value()) << "it never measured itself";
}

TEST(Estimate, RoundsThatHoldDrawnUnitsDoNotWaitForVerification) {
    registry::JobTerms terms = sample_terms();
    const Facts trusted = sample_facts(8, record(1'000));
    const auto waits = times_of(terms, sample_work(), trusted);
    terms.elastic.hold_drawn = true;
    const auto holds = times_of(terms, sample_work(), trusted);
    ASSERT_TRUE(waits && holds);
    EXPECT_LT(holds->round_s.low, waits->round_s.low);
    EXPECT_NEAR(holds->round_s.low, holds->unit_s.low + 2, 0.01);
    // All units of workers that are new are drawn, and half of a round has to be accepted.
    const Facts unknown = sample_facts(8);
    terms.rounds = 2;
    const auto begins = times_of(terms, sample_work(), unknown);
    ASSERT_TRUE(begins);
    EXPECT_GT(begins->round_s.low, holds->unit_s.low * 2);
}

TEST(Estimate, WhereRoundsOverlapTheRestOfARoundTakesNoTimeAsLongAsItIsShorterThanAUnit) {
    registry::JobTerms terms = sample_terms();
    Facts facts = sample_facts(8);
    facts.verifiers.assign(8, facts.verifiers.front());
    const auto of = [&](std::uint32_t overlap) {
        terms.elastic.overlap = overlap;
        const auto times = times_of(terms, sample_work(), facts).value();
        EXPECT_EQ(estimate_with(facts, terms).seconds->high, job_seconds(terms, times).high);
        return times;
    };
    const Times waits = of(0), overlaps = of(1);
    EXPECT_EQ(overlaps.round_s.low, overlaps.unit_s.low);
    EXPECT_EQ(job_seconds(terms, overlaps).low, 101 * overlaps.unit_s.low)
        << "one round more, without workers";
    EXPECT_LT(overlaps.round_s.high, waits.round_s.high);
    EXPECT_GE(overlaps.round_s.high, overlaps.unit_s.high);
    // One verifier for eight units: a round waits for the one before the last.
    facts.verifiers.resize(1);
    const Times slow_waits = of(0), slow = of(1);
    EXPECT_EQ(slow.round_s.high, slow_waits.round_s.high / 2);
    EXPECT_GT(slow.round_s.high, slow.unit_s.high);
}

TEST(Estimate, ACloudIsAnAssumptionThatCanBeReplaced) {
    ASSERT_FALSE(cloud_prices().empty());
    const CloudPrice& listed = cloud_prices().front();
    const double hour = listed.peak_flops_per_second * kCloudUtilisation * 3'600;
    const CloudCost cost = cloud_cost(listed, 2 * hour, std::nullopt);
    EXPECT_NEAR(cost.seconds, 7'200, 1e-6);
    EXPECT_NEAR(cost.usd, 2 * listed.usd_per_hour, 1e-9);
    EXPECT_NEAR(cloud_cost(listed, 2 * hour, 1.5).usd, 3, 1e-9);
    for (const CloudPrice& price : cloud_prices())
        EXPECT_NE(price.source.find("20"), std::string_view::npos) << "the year of a price";
}

}  // namespace
}  // namespace gym::plan
