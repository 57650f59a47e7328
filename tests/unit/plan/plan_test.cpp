#include "gym/plan/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gym/common/duration_text.hpp"
#include "gym/plan/units.hpp"
#include "gym/program/presets.hpp"
#include "random_seed.hpp"
#include "sample_facts.hpp"

namespace gym::plan {
namespace {

using testing::sample_facts;
using testing::sample_work;

Amount money(const char* tokens) {
    return Amount::parse_tokens(tokens).value();
}

Wishes tokens(std::uint64_t count) {
    Wishes out;
    out.tokens = count;
    return out;
}

std::string refusal(const Wishes& wishes, const FixedTerms& fixed, const Facts& facts) {
    const auto plan = make_plan(wishes, fixed, sample_work(), facts);
    if (plan.ok()) return "accepted";
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
    return plan.error().message;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::uint64_t trained(const Plan& plan) {
    return plan.terms.rounds * plan.terms.slots_max * plan.terms.steps *
           sample_work().tokens_per_step;
}

TEST(Plan, TheExampleOfTheManual) {
    Wishes wishes = tokens(1'000'000'000);
    wishes.nodes = 8;
    const auto plan = make_plan(wishes, {}, sample_work(), sample_facts(8));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->equation, "1.0e9 tokens = 125 rounds x 8 workers x 123 steps x 8,192 tokens");
    EXPECT_EQ(plan->terms.workers_min, 4U);
    EXPECT_EQ(plan->terms.checkpoint_every, 100U);
    EXPECT_EQ(plan->terms.evaluate_windows, 64U);
    EXPECT_EQ(plan->terms.lifecycle.unit_ms, 600'000);
    EXPECT_EQ(plan->terms.price_wei_per_pflop, money("1"));
    EXPECT_EQ(plan->budget_wei, *plan->estimate.most_wei);
    EXPECT_TRUE(plan->notes.empty()) << plan->notes.front();
}

TEST(Plan, ValidationIsNoMoreWorkThanTheNetworkTakes) {
    Wishes wishes = tokens(8'192);  // one step of one worker
    wishes.nodes = 1;
    ModelWork work = sample_work();
    work.evaluation_flops = static_cast<double>(work.flops_per_step) / 10;
    const auto plan = make_plan(wishes, {}, work, sample_facts(1));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->terms.steps * plan->terms.rounds, 1U);
    EXPECT_EQ(plan->terms.evaluate_windows, 10U);
    FixedTerms fixed;
    fixed.evaluate_windows = 11;
    const auto refused = make_plan(wishes, fixed, work, sample_facts(1));
    ASSERT_FALSE(refused.ok());
    EXPECT_SAYS(refused.error().message, "at most 10 are possible here");
    fixed.evaluate_windows = 10;
    EXPECT_TRUE(make_plan(wishes, fixed, work, sample_facts(1)).ok());
}

TEST(Plan, AShortUnitIsCheckedAtItsEnd) {
    const auto why = [](std::uint32_t steps) {
        FixedTerms fixed;
        fixed.rounds = 4;
        fixed.steps = steps;
        const auto plan = make_plan({}, fixed, sample_work(), sample_facts(1));
        for (const Reason& reason : plan->reasons)
            if (reason.term == "checkpoint_every") return reason.value + ": " + reason.why;
        return std::string();
    };
    EXPECT_EQ(why(20), "20: the end of a unit, which is before its step 100");
    EXPECT_EQ(why(200), "100: each 100 steps");
}

TEST(Plan, NounsOfOneHaveNoS) {
    FixedTerms fixed;
    fixed.rounds = fixed.steps = 1;
    const auto plan = make_plan({}, fixed, sample_work(), sample_facts(1));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->equation, "8,192 tokens = 1 round x 1 worker x 1 step x 8,192 tokens");
}

TEST(Plan, SaysWhenOtherJobsNeedTheSameWorkers) {
    Facts facts = sample_facts(4);
    facts.running_jobs = 1;
    facts.running_slots = 2;
    Wishes wishes = tokens(1'000'000'000);
    wishes.nodes = 2;
    EXPECT_TRUE(make_plan(wishes, {}, sample_work(), facts)->warnings.empty()) << "enough for both";
    wishes.nodes = 4;
    const auto plan = make_plan(wishes, {}, sample_work(), facts);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_EQ(plan->warnings.size(), 1U);
    EXPECT_EQ(plan->warnings[0],
              "1 other job runs now, with 2 slots, and 4 workers are live: the jobs take turns. A "
              "round waits for its workers, so that no tokens are lost, and this one takes longer "
              "than the time that is shown: up to about 1.5 times as long");
}

TEST(Plan, AModelThatTheNetworkHasNoRoomForIsRefused) {
    Facts facts = sample_facts(4);
    const std::uint64_t delta = sample_work().delta_bytes;
    facts.sizes = protocol::SizeLimits{delta, 2 * delta};
    Wishes wishes = tokens(1'000'000'000);
    wishes.nodes = 4;  // two of them are enough
    EXPECT_TRUE(make_plan(wishes, {}, sample_work(), facts).ok());
    facts.sizes->deltas_bytes = 2 * delta - 1;
    EXPECT_SAYS(refusal(wishes, {}, facts), "raise deltas_bytes_max");
    facts.sizes->blob_bytes = delta - 1;
    EXPECT_SAYS(refusal(wishes, {}, facts), "raise blob_bytes_max");
}

/// Wishes and networks at random; every plan keeps what the header promises.
TEST(Plan, EveryPlanTrainsTheTokensWithinTheMoney) {
    std::mt19937_64 random(gym::testing::random_seed());
    const auto between = [&](double low, double high) {
        return std::pow(10, std::uniform_real_distribution<double>(low, high)(random));
    };
    std::size_t planned = 0;
    for (std::uint64_t i = 0; i < 300 * gym::testing::test_scale(); ++i) {
        Facts facts = sample_facts(random() % 40);
        for (Machine& worker : facts.workers)
            worker = {static_cast<std::uint64_t>(between(10, 15)), Amount(random())};
        if (random() % 2 == 0) facts.usual_price.reset();
        ModelWork work = sample_work();
        work.flops_per_step = static_cast<std::uint64_t>(between(8, 16));
        work.tokens_per_step = static_cast<std::uint64_t>(between(1, 6));
        Wishes wishes = tokens(static_cast<std::uint64_t>(between(3, 11)));
        if (random() % 2 == 0) wishes.nodes = 1 + random() % 64;
        if (random() % 4 != 0)
            wishes.max_cost_wei = Amount(static_cast<std::uint64_t>(between(15, 19)));
        const auto plan = make_plan(wishes, {}, work, facts);
        if (!plan.ok()) {
            EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument) << plan.error().message;
            continue;
        }
        ++planned;
        const registry::JobTerms& terms = plan->terms;
        const std::uint64_t of_all_steps = terms.slots_max * work.tokens_per_step;
        const std::uint64_t made = terms.rounds * terms.steps * of_all_steps;
        EXPECT_GE(made, *wishes.tokens);
        EXPECT_LT(made - *wishes.tokens, (terms.rounds + 1) * of_all_steps);
        const std::uint32_t wanted = wishes.nodes.value_or(terms.slots_max);
        const auto live = static_cast<std::uint32_t>(facts.workers.size());
        EXPECT_EQ(terms.slots_max, live == 0 ? wanted : std::min(wanted, live));
        EXPECT_EQ(plan->shortage.has_value(), terms.slots_max < wanted);
        EXPECT_LE(plan->budget_wei, wishes.max_cost_wei.value_or(plan->budget_wei));
        EXPECT_LE(plan->budget_wei, *plan->estimate.most_wei);
        EXPECT_LE(plan->estimate.expected_wei, plan->budget_wei);
        EXPECT_GE(plan->budget_wei, *plan->estimate.round_wei);
        const double unit_s =
            static_cast<double>(work.flops_per_step) * terms.steps /
            static_cast<double>(slowest(facts.workers).value_or(kAssumedFlopsPerSecond));
        constexpr double kMonthMs = 30.0 * 24 * 3600 * 1000;
        EXPECT_GE(terms.lifecycle.unit_ms + 1.0,
                  std::min(kMonthMs, kDeadlineFactor * unit_s * 1000));
        EXPECT_GE(terms.lifecycle.report_ms, terms.lifecycle.unit_ms / 2);
        EXPECT_LE(terms.workers_min, terms.slots_max);
        EXPECT_LE(terms.checkpoint_every, terms.steps);
    }
    EXPECT_GT(planned, 50U) << "too few of them could be planned";
}

TEST(Plan, MoreTokensCostMoreAndMoreNodesTakeFewerSteps) {
    Amount last_cost;
    for (std::uint64_t count = 1'000'000; count < 1'000'000'000'000; count *= 3) {
        const auto plan = make_plan(tokens(count), {}, sample_work(), sample_facts(8));
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        EXPECT_GE(plan->estimate.compute_wei, last_cost) << count;
        EXPECT_GE(*plan->estimate.most_wei, plan->estimate.expected_wei);
        last_cost = plan->estimate.compute_wei;
    }
    std::uint64_t last_steps = std::uint64_t{1} << 62;
    for (std::uint32_t nodes = 1; nodes <= 630; nodes += 17) {
        Wishes wishes = tokens(1'000'000'000);
        wishes.nodes = nodes;
        const auto plan = make_plan(wishes, {}, sample_work(), sample_facts(630));
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        EXPECT_LE(plan->terms.rounds * plan->terms.steps, last_steps + plan->terms.rounds);
        last_steps = plan->terms.rounds * plan->terms.steps;
    }
}

TEST(Plan, UnitsOfASlowWorkerAreShorterAndTheirDeadlinesLonger) {
    Facts facts = sample_facts(8);
    const auto fast = make_plan(tokens(1'000'000'000), {}, sample_work(), facts).value();
    facts.workers[3].flops_per_second = 200'000'000'000;  // 25 s a step
    const auto slow = make_plan(tokens(1'000'000'000), {}, sample_work(), facts).value();
    EXPECT_EQ(slow.terms.steps, 24U);
    EXPECT_GT(slow.terms.rounds, fast.terms.rounds);
    EXPECT_GT(slow.terms.lifecycle.unit_ms, 3 * 24 * 24'000);
    EXPECT_GT(slow.terms.lifecycle.unit_ms, fast.terms.lifecycle.unit_ms);
    facts = sample_facts(8);
    facts.verifiers[0].flops_per_second = 10'000'000'000;
    const auto report = make_plan(tokens(1'000'000'000), {}, sample_work(), facts).value();
    EXPECT_GT(report.terms.lifecycle.report_ms, report.terms.lifecycle.unit_ms);
}

TEST(Plan, AQuorumIsThereWithoutOneSilentWorker) {
    for (std::uint32_t slots = 2; slots <= 64; ++slots) {
        const registry::Elasticity elastic = elasticity_of(slots);
        EXPECT_GE((slots - 1) * std::uint64_t{kPpm}, std::uint64_t{elastic.quorum_ppm} * slots)
            << slots;
        EXPECT_GE(elastic.quorum_ppm, registry::kQuorumPpmMin);
    }
}

TEST(Plan, RoundsDoNotWaitForSlowWorkersAndVerification) {
    Facts facts = sample_facts(8);
    for (const std::uint64_t times_slower : {1, 100}) {
        for (Machine& worker : facts.workers)
            worker.flops_per_second /= times_slower;
        const auto plan = make_plan(tokens(1'000'000'000), {}, sample_work(), facts);
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        EXPECT_EQ(plan->terms.elastic, elasticity_of(8));
        const double unit_s = plan->estimate.unit_s->high;
        EXPECT_NEAR(static_cast<double>(plan->terms.lifecycle.grace_ms),
                    std::max(15'000.0, unit_s * 1'000 / 20), 1'000);
        EXPECT_EQ(plan->terms.lifecycle.grace_ms == 15'000, times_slower == 1) << unit_s;
    }
}

TEST(Plan, ASmallJobStillHasSomeRounds) {
    const auto plan = make_plan(tokens(8'192 * 40), {}, sample_work(), sample_facts(1)).value();
    EXPECT_EQ(plan.terms.rounds, kRoundsWanted);
    EXPECT_EQ(plan.terms.steps, 10U);
    EXPECT_EQ(make_plan(tokens(1), {}, sample_work(), sample_facts(1))->terms.rounds, 1U);
}

TEST(Plan, WhatTheOwnerWroteWins) {
    FixedTerms fixed;
    fixed.steps = 50;
    fixed.slots = 3;
    fixed.workers_min = 3;
    fixed.checkpoint_every = 7;
    fixed.evaluate_windows = 9;
    fixed.unit_ms = 1'234'000;
    fixed.report_ms = 2'345'000;
    fixed.price_wei_per_pflop = money("0.5");
    fixed.rest.sampling.floor_ppm = 70'000;
    const auto plan = make_plan(tokens(1'000'000'000), fixed, sample_work(), sample_facts(8));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->terms.steps, 50U);
    EXPECT_EQ(plan->terms.slots_max, 3U);
    EXPECT_EQ(plan->terms.workers_min, 3U);
    EXPECT_EQ(plan->terms.checkpoint_every, 7U);
    EXPECT_EQ(plan->terms.evaluate_windows, 9U);
    EXPECT_EQ(plan->terms.lifecycle.unit_ms, 1'234'000);
    EXPECT_EQ(plan->terms.lifecycle.report_ms, 2'345'000);
    EXPECT_EQ(plan->terms.price_wei_per_pflop, money("0.5"));
    EXPECT_EQ(plan->terms.sampling.floor_ppm, 70'000U);
    EXPECT_GE(trained(*plan), 1'000'000'000U);
    fixed.steps.reset();
    fixed.rounds = 10;
    const auto few = make_plan(tokens(1'000'000'000), fixed, sample_work(), sample_facts(8));
    ASSERT_TRUE(few.ok()) << few.error().message;
    EXPECT_EQ(few->terms.rounds, 10U);
    EXPECT_GE(trained(*few), 1'000'000'000U);
    fixed.steps = 50;
    EXPECT_SAYS(refusal(tokens(1'000'000'000), fixed, sample_facts(8)),
                "10 rounds of 3 workers and 50 steps do not train 1.0e9 tokens: that takes 40,691 "
                "steps of each worker in all");
}

TEST(Plan, ATimeChoosesTheFewestNodesThatKeepIt) {
    Wishes wishes = tokens(1'000'000'000);
    wishes.within_s = 40'000;
    const Facts facts = [] {
        Facts out = sample_facts(64);
        out.verifiers.assign(64, out.verifiers.front());
        return out;
    }();
    const auto plan = make_plan(wishes, {}, sample_work(), facts);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_LE(plan->estimate.seconds->high, 40'000);
    ASSERT_GT(plan->terms.slots_max, 1U);
    Wishes fewer = tokens(1'000'000'000);
    fewer.nodes = plan->terms.slots_max - 1;
    EXPECT_GT(make_plan(fewer, {}, sample_work(), facts)->estimate.seconds->high, 40'000);
    fewer.within_s = 40'000;
    EXPECT_SAYS(refusal(fewer, {}, facts), "leave --nodes out");
    wishes.within_s = 60;
    EXPECT_SAYS(refusal(wishes, {}, facts), "with the 64 live workers this takes up to ");
    EXPECT_SAYS(refusal(wishes, {}, sample_facts(0)), "no worker is live");
}

TEST(Plan, WhatIsMissingIsSaid) {
    EXPECT_SAYS(refusal({}, {}, sample_facts(8)), "how much to train is not said");
    Wishes crowd = tokens(1);
    crowd.nodes = 8193;
    EXPECT_SAYS(refusal(crowd, {}, sample_facts(8)), "at least 1, at most 8192");
    Facts offline;
    offline.unknown = "gym-api does not answer";
    Wishes paid = tokens(1'000'000);
    paid.max_cost_wei = money("50");
    FixedTerms priced;
    priced.price_wei_per_pflop = money("1");
    const auto plan = make_plan(paid, priced, sample_work(), offline);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->budget_wei, money("50"));
    EXPECT_EQ(plan->terms.workers_min, 4U) << "half of the default";
    ASSERT_EQ(plan->notes.size(), 1U);
    EXPECT_SAYS(plan->notes[0], "gym-api does not answer");
    Wishes endless = tokens(9'000'000'000'000'000);
    EXPECT_SAYS(refusal(endless, priced, sample_facts(1)), "ask for more nodes");
    endless.nodes = 8;  // of which one is live: to ask for more changes nothing
    EXPECT_SAYS(refusal(endless, priced, sample_facts(1)),
                "1 of the 8 workers that you want is live; start the others, plan for all of "
                "them with --set slots=8, or set steps_per_round");
}

TEST(Plan, TheOwnerReadsOfMissingWorkersAndOfASchedulesEnd) {
    Wishes wishes = tokens(1'000'000'000);
    wishes.nodes = 8;
    Facts facts = sample_facts(3);
    facts.verifiers.clear();
    ModelWork work = sample_work();
    work.schedule_steps = 400;
    const auto plan = make_plan(wishes, {}, work, facts);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->terms.slots_max, 3U) << "rounds of 8 would train 3 of 8 tokens";
    EXPECT_EQ(plan->terms.workers_min, 2U);
    ASSERT_EQ(plan->warnings.size(), 1U);
    EXPECT_SAYS(plan->warnings[0], "3 of the 8 workers that you want are live");
    ASSERT_EQ(plan->notes.size(), 2U);
    EXPECT_SAYS(plan->notes[0], "no verifier is live");
    EXPECT_SAYS(plan->notes[1], "ends after 400 steps");
}

TEST(Plan, WorkersWithTooLittleMemoryAreAWarning) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    Wishes wishes = tokens(8'192 * 100);
    wishes.nodes = 3;
    ModelWork work = sample_work();
    work.memory = {100 * kGiB, 110 * kGiB};
    Facts facts = sample_facts(3);
    EXPECT_TRUE(make_plan(wishes, {}, work, facts)->warnings.empty()) << "none says what it lends";
    facts.workers[0].memory_bytes = 100 * kGiB;
    facts.workers[1].memory_bytes = 100 * kGiB - 1;
    facts.workers[2].memory_bytes = 8 * kGiB;
    const auto some = make_plan(wishes, {}, work, facts).value();
    EXPECT_EQ(some.estimate.memory, work.memory);
    ASSERT_EQ(some.warnings.size(), 1U);
    EXPECT_SAYS(some.warnings[0],
                "for this model a worker needs 100.0 GiB of memory, on a GPU 110.0 GiB; ");
    EXPECT_SAYS(some.warnings[0], "2 of the 3 live workers lend less");
    facts.workers[0].memory_bytes = 16 * kGiB;
    facts.workers[1].memory_bytes = 24 * kGiB;
    const auto none = make_plan(wishes, {}, work, facts).value();
    ASSERT_EQ(none.warnings.size(), 1U);
    EXPECT_SAYS(none.warnings[0], "no live worker lends so much (24.0 GiB at most)");
    EXPECT_SAYS(none.warnings[0], "no unit is trained until one does");
    wishes.nodes = 4;
    EXPECT_EQ(make_plan(wishes, {}, work, facts)->warnings.size(), 2U);
}

TEST(Plan, AGpuHasToLendWhatAGpuNeeds) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    ModelWork work = sample_work();
    work.memory = {100 * kGiB, 110 * kGiB};
    Facts facts = sample_facts(2);
    facts.workers[0].memory_bytes = facts.workers[1].memory_bytes = 100 * kGiB;
    facts.workers[1].device = "NVIDIA H200";
    Wishes wishes = tokens(8'192 * 100);
    wishes.nodes = 2;
    const auto some = make_plan(wishes, {}, work, facts).value();
    ASSERT_EQ(some.warnings.size(), 1U);
    EXPECT_SAYS(some.warnings[0], "1 of the 2 live workers lends less");
    facts.workers[1].memory_bytes = 110 * kGiB;
    EXPECT_TRUE(make_plan(wishes, {}, work, facts)->warnings.empty());
    work.memory.gpu_bytes = 0;
    EXPECT_EQ(need_text(work.memory), "100.0 GiB of memory, on a GPU 100.0 GiB")
        << "a GPU's unit takes the host's memory, too";
}

/// What the announced line asks for: 100 nodes and 10^12 tokens.
TEST(Plan, SevenBillionParametersOnAHundredNodes) {
    auto config = program::preset_config("llama-7b").value();
    config.optimizer.total_steps = 1'000'000;
    const ModelWork work = model_work(config).value();
    EXPECT_EQ(work.parameters, 6'738'415'616U);
    EXPECT_GT(work.memory.cpu_bytes, 3 * 4 * work.parameters) << "parameters and two moments";
    Wishes wishes = tokens(1'000'000'000'000);
    wishes.nodes = 100;
    const auto plan = make_plan(wishes, {}, work, sample_facts(100));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->terms.slots_max, 100U);
    EXPECT_GE(plan->estimate.tokens, 1'000'000'000'000U);
}

TEST(Plan, MoreNodesThanAreLiveTrainAllTokensInMoreRounds) {
    Wishes wishes = tokens(1'000'000'000);
    wishes.nodes = 8;
    const auto plan = make_plan(wishes, {}, sample_work(), sample_facts(2)).value();
    EXPECT_EQ(plan.terms.slots_max, 2U);
    EXPECT_GE(*plan.estimate.tokens_today, 1'000'000'000U) << "all that is promised";
    wishes.nodes = 2;
    const auto two = make_plan(wishes, {}, sample_work(), sample_facts(2)).value();
    EXPECT_EQ(plan.terms, two.terms) << "as if the owner had asked for those that there are";
    EXPECT_EQ(plan.budget_wei, two.budget_wei);
    EXPECT_FALSE(two.shortage);
    EXPECT_TRUE(two.warnings.empty());
    wishes.nodes = 8;
    const auto eight = make_plan(wishes, {}, sample_work(), sample_facts(8)).value();
    EXPECT_GT(plan.terms.rounds, 3 * eight.terms.rounds);
    ASSERT_TRUE(plan.shortage);
    EXPECT_EQ(plan.shortage->wanted, 8U);
    ASSERT_TRUE(plan.shortage->seconds);
    EXPECT_EQ(plan.shortage->seconds->low, eight.estimate.seconds->low);
    EXPECT_EQ(plan.shortage->seconds->high, eight.estimate.seconds->high);
    EXPECT_LT(plan.shortage->seconds->high, plan.estimate.seconds->high);
    ASSERT_EQ(plan.warnings.size(), 1U);
    EXPECT_SAYS(plan.warnings[0],
                "2 of the 8 workers that you want are live: the plan is for 2, so that it trains "
                "all ");
    EXPECT_SAYS(plan.warnings[0],
                "It takes " +
                    duration_text(plan.estimate.seconds->low, plan.estimate.seconds->high) +
                    "; with 8 workers it would take " +
                    duration_text(eight.estimate.seconds->low, eight.estimate.seconds->high));
    EXPECT_SAYS(plan.warnings[0], "--set slots=8");
    // Rounds and steps that the owner wrote cannot make up for missing workers.
    FixedTerms fixed;
    fixed.rounds = 10;
    fixed.steps = 20;
    Wishes counted;
    counted.nodes = 8;
    const auto written = make_plan(counted, fixed, sample_work(), sample_facts(2)).value();
    EXPECT_EQ(written.terms.slots_max, 8U);
    EXPECT_FALSE(written.shortage);
    // Nobody is there yet: all of them may come.
    const auto none = make_plan(wishes, {}, sample_work(), sample_facts(0)).value();
    EXPECT_EQ(none.terms.slots_max, 8U);
    EXPECT_FALSE(none.shortage);
}

TEST(Plan, SlotsThatTodaysWorkersDoNotFillAreAWarning) {
    const Wishes wishes = tokens(8'192 * 100);
    FixedTerms fixed;
    fixed.slots = 50;
    const auto plan = make_plan(wishes, fixed, sample_work(), sample_facts(2)).value();
    EXPECT_EQ(plan.terms.slots_max, 50U) << "the owner insists";
    EXPECT_FALSE(plan.shortage);
    EXPECT_EQ(plan.estimate.tokens, 8'192U * 100);
    EXPECT_EQ(plan.estimate.tokens_today, 8'192U * 4);
    ASSERT_EQ(plan.warnings.size(), 1U);
    EXPECT_SAYS(plan.warnings[0], "with today's 2 workers: 32,768 of 819,200 tokens");
    EXPECT_SAYS(plan.warnings[0], "--tokens 819200 --nodes 2");
    // Workers that are missing stop a round only if the owner wants more than are live.
    fixed.workers_min = 10;
    const auto waits = make_plan(tokens(8'192 * 100), fixed, sample_work(), sample_facts(2));
    ASSERT_TRUE(waits.ok()) << waits.error().message;
    EXPECT_SAYS(waits->warnings.at(0), "a round waits until 10 are");
    Facts offline;
    offline.unknown = "gym-api does not answer";
    FixedTerms priced;
    priced.price_wei_per_pflop = money("1");
    Wishes paid = wishes;
    paid.nodes = 50;
    paid.max_cost_wei = money("50");
    EXPECT_TRUE(make_plan(paid, priced, sample_work(), offline).value().warnings.empty());
}

TEST(Plan, FewRoundsGetAnOuterStepThatDoesNotOvershoot) {
    ModelWork open = sample_work();
    open.outer_momentum.reset();
    const auto small = make_plan(tokens(8'192 * 40), {}, open, sample_facts(1)).value();
    ASSERT_TRUE(small.outer);
    double last = 0;
    for (std::uint64_t rounds = 1; rounds < kOuterRounds; ++rounds) {
        const auto step = outer_step(rounds);
        ASSERT_TRUE(step) << rounds;
        EXPECT_LE(step->learning_rate * (1 + step->momentum), 1 + 1e-9)
            << "no further than the workers went";
        EXPECT_GT(step->learning_rate * (1 + step->momentum), 0.97) << "and almost as far";
        EXPECT_GE(step->momentum, std::max(0.4, last));
        EXPECT_LE(step->momentum, 0.9);
        last = step->momentum;
    }
    EXPECT_FALSE(outer_step(kOuterRounds));
    EXPECT_EQ(outer_step(32)->momentum, 0.69);
    EXPECT_EQ(outer_step(32)->learning_rate, 0.59);
    const auto term = [&](const Plan& plan, const char* name) -> std::string {
        for (const Reason& reason : plan.reasons)
            if (reason.term == name) return reason.value;
        return "none";
    };
    EXPECT_EQ(term(small, kOuterRateTerm), "0.7");
    EXPECT_EQ(term(small, kOuterMomentumTerm), "0.4");
    EXPECT_TRUE(small.notes.empty());
    const auto large = make_plan(tokens(1'000'000'000), {}, open, sample_facts(8)).value();
    EXPECT_GE(large.terms.rounds, kOuterRounds);
    EXPECT_FALSE(large.outer);
    EXPECT_EQ(term(large, kOuterMomentumTerm), "none");
    // What the model file writes stands, with a word about it.
    ModelWork written = sample_work();
    written.outer_momentum = 0.9;
    const auto kept = make_plan(tokens(8'192 * 40), {}, written, sample_facts(1)).value();
    EXPECT_FALSE(kept.outer);
    EXPECT_EQ(term(kept, kOuterMomentumTerm), "none");
    ASSERT_EQ(kept.notes.size(), 1U);
    EXPECT_SAYS(kept.notes[0],
                "outer momentum of 0.9 is made for hundreds of rounds, the job has 4");
    EXPECT_SAYS(kept.notes[0], "--set model.outer.momentum=0.4");
    EXPECT_TRUE(make_plan(tokens(1'000'000'000), {}, written, sample_facts(8))->notes.empty());
}

TEST(Plan, AnOverlapIsWarnedOfAndHasAnOuterStepThatConvergesWithIt) {
    ModelWork open = sample_work();
    open.outer_momentum.reset();
    FixedTerms fixed;
    fixed.elastic = true;
    fixed.rest.elastic.overlap = 1;
    for (const std::uint64_t count : {8'192ULL * 40, 1'000'000'000ULL}) {
        const auto plan = make_plan(tokens(count), fixed, open, sample_facts(8)).value();
        EXPECT_EQ(plan.terms.elastic.overlap, 1U);
        ASSERT_TRUE(plan.outer);
        EXPECT_EQ(plan.outer->learning_rate, kOverlapOuter.learning_rate);
        EXPECT_EQ(plan.outer->momentum, kOverlapOuter.momentum);
        EXPECT_TRUE(plan.notes.empty());
        ASSERT_EQ(plan.warnings.size(), 1U);
        EXPECT_SAYS(plan.warnings[0], "the loss ended 20 % higher");
        EXPECT_SAYS(plan.warnings[0], "Units of twice the length");
        bool told = false;
        for (const Reason& reason : plan.reasons)
            told |= reason.term == kOuterRateTerm && reason.why.starts_with("rounds overlap");
        EXPECT_TRUE(told);
    }
    // What the model file writes stands, with a word about it where it is too large.
    ModelWork written = sample_work();
    const auto warnings = [&](double rate, double momentum) {
        written.outer_rate = rate;
        written.outer_momentum = momentum;
        const auto plan = make_plan(tokens(8'192 * 40), fixed, written, sample_facts(8)).value();
        EXPECT_FALSE(plan.outer);
        EXPECT_TRUE(plan.notes.empty()) << "it is not that of few rounds";
        return plan.warnings;
    };
    EXPECT_EQ(warnings(0.2, 0.85).size(), 1U);
    EXPECT_EQ(warnings(0.4, 0.5).size(), 1U);
    const auto usual = warnings(0.7, 0.9);
    ASSERT_EQ(usual.size(), 2U);
    EXPECT_SAYS(usual[1], "(learning_rate 0.7, momentum 0.9) is too large where rounds overlap");
    EXPECT_SAYS(usual[1], "--set model.outer.learning_rate=0.4 --set model.outer.momentum=0.5");
    EXPECT_TRUE(overlap_warnings({}, written).empty());
}

}  // namespace
}  // namespace gym::plan
