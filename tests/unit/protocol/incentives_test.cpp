#include "gym/protocol/incentives.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <set>

#include "gym/protocol/stake_rule.hpp"
#include "incentives_sample.hpp"

namespace gym::protocol {
namespace {

using testing::condition;
using testing::holds;
using testing::safe_params;

/// Nothing but stake, reward and sampling: the rule of the design in its plain form.
IncentiveParams plain(std::uint32_t floor_ppm, double stake_tokens) {
    IncentiveParams p = safe_params();
    p.sampling.floor_ppm = floor_ppm;
    p.worker.stake_tokens = stake_tokens;
    p.worker.unit_reward_tokens = 1;
    p.worker.bonus_ppm = 0;
    p.worker.outside_gain_tokens = 0;
    p.worker.open_units_max = 1'000;
    p.challenge.gas_price_gwei = 0;
    p.challenge.outage_ppm = 0;
    return p;
}

TEST(Incentives, TheDesignsReferenceNumbers) {
    // 30 % collude, half is burned: 2 % drawn need 141 unit rewards, 10 % need 27.
    EXPECT_NEAR(safe_bounds(plain(20'000, 1)).stake_tokens, 2 * 0.986 / 0.014, 1e-9);
    EXPECT_NEAR(safe_bounds(plain(100'000, 1)).stake_tokens, 2 * 0.93 / 0.07, 1e-9);
    EXPECT_TRUE(holds(plain(20'000, 141), "cheating_loses"));
    EXPECT_FALSE(holds(plain(20'000, 140), "cheating_loses"));
    EXPECT_TRUE(holds(plain(100'000, 27), "cheating_loses"));
    EXPECT_FALSE(holds(plain(100'000, 26), "cheating_loses"));
}

TEST(Incentives, ACheatThatNeverAnswersRisksWhatAMissedClockCosts) {
    IncentiveParams p = plain(20'000, 1);
    const double whole = safe_bounds(p).stake_tokens;
    p.slash.missed_clock_ppm = 250'000;
    EXPECT_NEAR(safe_bounds(p).stake_tokens, 4 * whole, 1e-9);
    p.worker.stake_tokens = 2 * whole;
    EXPECT_FALSE(holds(p, "cheating_loses"));
    p.worker.stake_tokens = 4.001 * whole;
    EXPECT_TRUE(holds(p, "cheating_loses"));
    // Challengers are paid from the same part.
    IncentiveParams q = safe_params();
    const double reward = condition(check_incentives(q), "challenging_pays").have;
    q.slash.missed_clock_ppm = 250'000;
    EXPECT_NEAR(condition(check_incentives(q), "challenging_pays").have, reward / 4, 1e-9);
    EXPECT_FALSE(holds(q, "challenging_pays"));
}

TEST(Incentives, StakeThatFollowsPayHoldsForUnitsOfAnyPay) {
    IncentiveParams p = plain(50'000, 1);
    p.worker.bonus_ppm = 50'000;
    p.slash.missed_clock_ppm = 500'000;
    const double least = safe_bounds(p).stake_per_unit_pay;
    EXPECT_LT(least, kStakePerUnitPay) << "the default is enough for these";
    for (const double pay : {0.001, 1.0, 5'000.0}) {
        p.worker.unit_reward_tokens = pay;
        EXPECT_NEAR(safe_bounds(p).stake_per_unit_pay, least, 1e-9) << pay;
        p.worker.stake_tokens = pay * least * 1.001;
        EXPECT_GT(best_cheat(p).loss_tokens, best_cheat(p).gain_tokens) << pay;
        p.worker.stake_tokens = pay * least * 0.999;
        EXPECT_LT(best_cheat(p).loss_tokens, best_cheat(p).gain_tokens) << pay;
    }
}

TEST(Incentives, TheSampleHoldsInAllConditions) {
    std::set<std::string_view> ids;
    for (const Condition& one : check_incentives(safe_params())) {
        EXPECT_TRUE(one.holds) << one.id << ": " << one.remedy;
        EXPECT_TRUE(one.remedy.empty()) << one.id;
        EXPECT_FALSE(one.claim.empty()) << one.id;
        EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    }
    EXPECT_EQ(ids.size(), 15U);
}

struct Spoiler {
    const char* id;
    std::function<void(IncentiveParams&)> spoil;
};

TEST(Incentives, EachConditionFailsAloneAndSaysWhatToChange) {
    const std::vector<Spoiler> spoilers{
        {"working_pays", [](auto& p) { p.worker.unit_cost_tokens = 10; }},
        {"cheating_loses", [](auto& p) { p.worker.outside_gain_tokens = 8; }},
        {"verifying_pays",
         [](auto& p) {
             p.verifier.report_reward_tokens = 6;
             p.verifier.stake_tokens = 1'000;
         }},
        {"copying_loses",
         [](auto& p) {
             p.verifier.audit_ppm = p.verifier.canary_ppm = 0;
             p.verifier.traced_ppm = 1'000'000;
         }},
        {"stopping_early_loses", [](auto& p) { p.verifier.canary_ppm = 5'000; }},
        {"false_reports_lose", [](auto& p) { p.verifier.false_report_gain_tokens = 1e9; }},
        {"challenging_pays", [](auto& p) { p.challenge.provers = 5; }},
        {"defence_is_free", [](auto& p) { p.challenge.escrow_gas = 999'999; }},
        {"delay_is_paid", [](auto& p) { p.challenge.bond_tokens = 0.04; }},
        {"stake_outlasts_window", [](auto& p) { p.times.thaw_seconds = 10'799; }},
        {"window_suffices", [](auto& p) { p.times.window_seconds = 2'999; }},
        {"checks_fit_window", [](auto& p) { p.times.draws_max = 5; }},
        {"clock_suffices", [](auto& p) { p.times.clock_seconds = 1'799; }},
        {"settling_suffices", [](auto& p) { p.times.settling_seconds = 7'199; }},
    };
    for (const Spoiler& spoiler : spoilers) {
        IncentiveParams p = safe_params();
        spoiler.spoil(p);
        for (const Condition& one : check_incentives(p)) {
            EXPECT_EQ(one.holds, one.id != spoiler.id) << spoiler.id << " spoilt " << one.id;
            EXPECT_EQ(one.remedy.empty(), one.holds) << one.id;
        }
    }
}

TEST(Incentives, AFalseReportLosesThePartOfAStakeThatAClockCosts) {
    IncentiveParams p = safe_params();
    p.verifier.reports_ahead = p.verifier.stake_tokens = 0;
    p.worker.unit_reward_tokens = 1;
    p.worker.bonus_ppm = 0;
    p.verifier.false_report_gain_tokens = 9;
    p.slash.missed_clock_ppm = p.slash.burned_ppm = 500'000;
    p.verifier.report_stake_tokens = 40;
    EXPECT_FALSE(holds(p, "false_reports_lose")) << "as much as it gains";
    const std::string remedy = condition(check_incentives(p), "false_reports_lose").remedy;
    EXPECT_NE(remedy.find("at least 40.001"), std::string::npos) << remedy;
    p.verifier.report_stake_tokens = 40.001;
    EXPECT_TRUE(holds(p, "false_reports_lose"));
}

TEST(Incentives, WithoutHonestVerifiersNoStakeIsEnough) {
    IncentiveParams p = safe_params();
    p.sampling.verifiers = 3;
    p.sampling.colluding_ppm = 666'667;  // two and a bit of three are three
    EXPECT_EQ(colluding_verifiers(p.sampling), 3U);
    EXPECT_EQ(detection_rate(p.sampling), 0);
    EXPECT_FALSE(holds(p, "honest_verifiers"));
    EXPECT_FALSE(holds(p, "cheating_loses"));
    EXPECT_TRUE(std::isinf(safe_bounds(p).stake_tokens));
    EXPECT_EQ(safe_bounds(p).unit_reward_tokens, 0);
    EXPECT_EQ(safe_bounds(p).open_units, 0U);
    p.sampling.colluding_ppm = 666'666;
    EXPECT_EQ(colluding_verifiers(p.sampling), 2U);
    EXPECT_TRUE(holds(p, "honest_verifiers"));
}

TEST(Incentives, MoreVerifiersAreRoundedLess) {
    SamplingTerms few{.floor_ppm = 100'000, .verifiers = 2, .colluding_ppm = 300'000};
    SamplingTerms many = few;
    many.verifiers = 1'000;
    EXPECT_DOUBLE_EQ(detection_rate(few), 0.05);
    EXPECT_DOUBLE_EQ(detection_rate(many), 0.07);
}

TEST(Incentives, CaughtIsExactForTinyRatesAndAtTheEnds) {
    EXPECT_EQ(caught(0, 1'000), 0);
    EXPECT_FALSE(std::signbit(caught(0, 1'000)));
    EXPECT_EQ(caught(1, 1), 1);
    EXPECT_NEAR(caught(1e-15, 3), 3e-15, 1e-29);
    EXPECT_DOUBLE_EQ(caught(0.5, 3), 0.875);
}

TEST(Incentives, CreditsThatDoNotWaitForTheVerdictBoundTheOpenUnits) {
    IncentiveParams p = plain(50'000, 100);
    p.sampling.colluding_ppm = 0;
    p.worker.credits_wait = false;
    // 2 units: (1 - 0.95^2) * 50 = 4.875 lost, 2 * 0.95 earned. 50: 46.15 and 47.5.
    const std::uint64_t most = safe_bounds(p).open_units;
    EXPECT_EQ(most, 48U);
    p.worker.open_units_max = most;
    EXPECT_TRUE(holds(p, "cheating_loses"));
    EXPECT_EQ(best_cheat(p).count, most) << "many at once, not one, are the danger";
    p.worker.open_units_max = most + 1;
    EXPECT_FALSE(holds(p, "cheating_loses"));
    p.worker.credits_wait = true;
    EXPECT_TRUE(holds(p, "cheating_loses"));
}

TEST(Incentives, AGainThatIsKeptBoundsTheOpenUnits) {
    IncentiveParams p = safe_params();
    p.worker.outside_gain_tokens = 2;
    const std::uint64_t most = safe_bounds(p).open_units;
    ASSERT_GT(most, 1U);
    ASSERT_LT(most, kOpenUnitsLimit);
    p.worker.open_units_max = most;
    EXPECT_TRUE(holds(p, "cheating_loses"));
    p.worker.open_units_max = most + 1;
    EXPECT_FALSE(holds(p, "cheating_loses"));
    EXPECT_EQ(best_cheat(p).count, most + 1) << "many at once, not one, are the danger";
    EXPECT_NE(condition(check_incentives(p), "cheating_loses")
                  .remedy.find("at most " + std::to_string(most) + " open units"),
              std::string::npos);
    // Without such a gain one unit is the best cheat, and their number does not matter.
    EXPECT_EQ(safe_bounds(plain(50'000, 60)).open_units, kOpenUnitsLimit);
    EXPECT_EQ(best_cheat(plain(50'000, 60)).count, 1U);
}

IncentiveParams random_params(std::mt19937_64& random) {
    const auto ppm = [&](std::uint32_t max) {
        return static_cast<std::uint32_t>(random() % (max + 1));
    };
    const auto real = [&](double max) { return max * static_cast<double>(ppm(1'000'000)) / 1e6; };
    IncentiveParams p = safe_params();
    p.worker.stake_tokens = real(3'000);
    p.worker.unit_reward_tokens = 0.1 + real(20);
    p.worker.outside_gain_tokens = random() % 2 == 0 ? 0 : real(2);
    p.worker.open_units_max = 1 + random() % 50;
    p.worker.credits_wait = random() % 2 == 0;
    p.sampling = {.floor_ppm = 1 + ppm(200'000),
                  .verifiers = 1 + random() % 30,
                  .colluding_ppm = ppm(600'000)};
    p.slash.burned_ppm = 500'000 + ppm(400'000);
    p.slash.compensation_ppm = ppm(1'000'000 - p.slash.burned_ppm);
    p.slash.missed_clock_ppm = 1 + ppm(999'999);
    p.verifier.reports_ahead = real(500);
    p.verifier.reports_pending_max = 1 + random() % 40;
    p.verifier.audit_ppm = ppm(50'000);
    p.verifier.double_ppm = ppm(20'000);
    p.verifier.canary_ppm = ppm(20'000);
    return p;
}

/// A condition that held still holds after the change.
void never_spoils(const IncentiveParams& before, const IncentiveParams& after,
                  std::string_view id) {
    if (holds(before, id)) {
        EXPECT_TRUE(holds(after, id)) << id;
    }
}

TEST(Incentives, WhatHelpsNeverHarms) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 500; ++i) {
        const IncentiveParams p = random_params(random);
        IncentiveParams more = p;
        more.worker.stake_tokens *= 1.5;
        never_spoils(p, more, "cheating_loses");
        never_spoils(p, more, "challenging_pays");
        more = p;
        more.sampling.floor_ppm *= 2;
        never_spoils(p, more, "cheating_loses");
        more = p;
        more.worker.open_units_max = 1;
        never_spoils(p, more, "cheating_loses");
        more = p;
        more.sampling.colluding_ppm /= 2;
        never_spoils(p, more, "cheating_loses");
        never_spoils(p, more, "copying_loses");
        more = p;
        more.verifier.audit_ppm *= 2;
        never_spoils(p, more, "copying_loses");
        more = p;
        more.verifier.reports_ahead *= 2;
        never_spoils(p, more, "copying_loses");
        never_spoils(p, more, "stopping_early_loses");
    }
}

TEST(Incentives, BoundsAreWhereTheVerdictChanges) {
    std::mt19937_64 random(11);
    int finite = 0;
    for (int i = 0; i < 300; ++i) {
        IncentiveParams p = random_params(random);
        const SafeBounds bounds = safe_bounds(p);
        if (std::isfinite(bounds.stake_tokens)) {
            ++finite;
            p.worker.stake_tokens = bounds.stake_tokens * 1.0001;
            EXPECT_TRUE(holds(p, "cheating_loses") && holds(p, "challenging_pays"));
            p.worker.stake_tokens = bounds.stake_tokens * 0.9999;
            EXPECT_FALSE(holds(p, "cheating_loses") && holds(p, "challenging_pays"));
        }
        p.worker.stake_tokens = 2'000;
        const double reward = safe_bounds(p).unit_reward_tokens;
        if (reward > 0 && std::isfinite(reward)) {
            p.worker.unit_reward_tokens = reward * 0.9999;
            EXPECT_TRUE(holds(p, "cheating_loses"));
            p.worker.unit_reward_tokens = reward * 1.0001;
            EXPECT_FALSE(holds(p, "cheating_loses"));
        }
    }
    EXPECT_GT(finite, 150);
}

/// The number behind `words`, if the remedy has them.
std::optional<double> number_after(const std::string& text, const std::string& words) {
    const std::size_t at = text.find(words);
    if (at == std::string::npos) return std::nullopt;
    return std::stod(text.substr(at + words.size()));
}

struct Remedy {
    const char* words;
    std::function<void(IncentiveParams&, double)> apply;
};

/// Applies each remedy that the condition names, alone. @return how many it names.
std::size_t expect_healed(const IncentiveParams& params, std::string_view id,
                          const std::vector<Remedy>& remedies) {
    const Condition before = condition(check_incentives(params), id);
    if (before.holds) return 0;
    std::size_t named = 0;
    for (const Remedy& remedy : remedies) {
        const auto number = number_after(before.remedy, remedy.words);
        if (!number) continue;
        ++named;
        IncentiveParams other = params;
        remedy.apply(other, *number);
        EXPECT_TRUE(holds(other, id)) << before.remedy;
    }
    return named;
}

TEST(Incentives, EachRemedyHealsAlone) {
    std::mt19937_64 random(13);
    std::size_t cheats = 0, copies = 0, early = 0;
    for (int i = 0; i < 600; ++i) {
        const IncentiveParams p = random_params(random);
        cheats += expect_healed(
            p, "cheating_loses",
            {{"a stake of at least ", [](auto& o, double x) { o.worker.stake_tokens = x; }},
             {"pay at most ", [](auto& o, double x) { o.worker.unit_reward_tokens = x; }},
             {"allow at most ",
              [](auto& o, double x) { o.worker.open_units_max = static_cast<unsigned>(x); }},
             {"draw at least ",
              [](auto& o, double x) { o.sampling.floor_ppm = static_cast<unsigned>(x); }}});
        copies += expect_healed(
            p, "copying_loses",
            {{"audit at least ",
              [](auto& o, double x) { o.verifier.audit_ppm = static_cast<unsigned>(x); }},
             {"lose at least ", [](auto& o, double x) {
                  o.verifier.reports_ahead = 0;
                  o.verifier.stake_tokens = x;
              }}});
        early += expect_healed(
            p, "stopping_early_loses",
            {{"traced_ppm ",
              [](auto& o, double x) { o.verifier.traced_ppm = static_cast<unsigned>(x); }},
             {"plant faults in at least ",
              [](auto& o, double x) { o.verifier.canary_ppm = static_cast<unsigned>(x); }}});
    }
    EXPECT_GT(cheats, 100U);
    EXPECT_GT(copies, 50U);
    EXPECT_GT(early, 100U);
}

TEST(Incentives, ParametersOutOfRangeAreNamed) {
    EXPECT_TRUE(validate(safe_params()).ok());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<Spoiler> spoilers{
        {"worker.stake", [&](auto& p) { p.worker.stake_tokens = nan; }},
        {"worker.unit_reward", [](auto& p) { p.worker.unit_reward_tokens = 0; }},
        {"worker.unit_cost", [](auto& p) { p.worker.unit_cost_tokens = -1; }},
        {"worker.open_units_max", [](auto& p) { p.worker.open_units_max = 0; }},
        {"sampling.floor_ppm", [](auto& p) { p.sampling.floor_ppm = 1'000'001; }},
        {"sampling.verifiers", [](auto& p) { p.sampling.verifiers = 0; }},
        {"slash.burned_ppm", [](auto& p) { p.slash.burned_ppm = 499'999; }},
        {"slash.compensation_ppm", [](auto& p) { p.slash.compensation_ppm = 500'001; }},
        {"slash.missed_clock_ppm", [](auto& p) { p.slash.missed_clock_ppm = 0; }},
        {"slash.missed_clock_ppm", [](auto& p) { p.slash.missed_clock_ppm = 1'000'001; }},
        {"challenge.ether_price", [](auto& p) { p.challenge.ether_price_tokens = 1e16; }},
        {"challenge.provers", [](auto& p) { p.challenge.provers = 0; }},
        {"verifier.reports_pending_max", [](auto& p) { p.verifier.reports_pending_max = 0; }},
        {"times.thaw_s", [](auto& p) { p.times.thaw_seconds = -1; }},
    };
    for (const Spoiler& spoiler : spoilers) {
        IncentiveParams p = safe_params();
        spoiler.spoil(p);
        const Status status = validate(p);
        ASSERT_FALSE(status.ok()) << spoiler.id;
        EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
        EXPECT_EQ(status.error().message.find(spoiler.id), 0U) << status.error().message;
    }
}

}  // namespace
}  // namespace gym::protocol
