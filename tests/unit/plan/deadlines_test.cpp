// Plans for networks whose window for disputes is short.

#include <gtest/gtest.h>

#include "gym/plan/draft.hpp"
#include "gym/plan/plan.hpp"
#include "gym/protocol/dispute_window.hpp"
#include "sample_facts.hpp"

namespace gym::plan {
namespace {

using testing::sample_facts;
using testing::sample_work;

Wishes some_tokens() {
    Wishes out;
    out.tokens = 1'000'000'000;
    return out;
}

Facts with_window(std::int64_t window_ms) {
    Facts out = sample_facts(8);  // half a second a step
    out.dispute_window_ms = window_ms;
    return out;
}

std::string refusal(const FixedTerms& fixed, const Facts& facts) {
    const auto plan = make_plan(some_tokens(), fixed, sample_work(), facts);
    if (plan.ok()) return "accepted";
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
    return plan.error().message;
}

TEST(ShortWindows, ALongOneChangesNothing) {
    const auto usual = make_plan(some_tokens(), {}, sample_work(), sample_facts(8)).value();
    const auto plan = make_plan(some_tokens(), {}, sample_work(), with_window(86'400'000)).value();
    EXPECT_EQ(plan.terms, usual.terms);
    EXPECT_EQ(plan.reasons.size(), usual.reasons.size());
}

/// Whatever the window: the checks fit, and everybody has three times what it needs; or it is said
/// that no unit fits.
TEST(ShortWindows, DeadlinesFollowThem) {
    for (std::int64_t window = 10'000; window < 4'000'000; window += 7'777) {
        const Facts facts = with_window(window);
        const auto plan = make_plan(some_tokens(), {}, sample_work(), facts);
        if (!plan.ok()) {
            EXPECT_LT(window, 26'000) << plan.error().message;
            continue;
        }
        const protocol::LifecycleParams& life = plan->terms.lifecycle;
        EXPECT_EQ(protocol::outlasts_window(life, window), "");
        const double unit_ms = 1'000.0 * plan->terms.steps *
                               static_cast<double>(sample_work().flops_per_step) /
                               static_cast<double>(facts.workers[0].flops_per_second);
        EXPECT_GE(static_cast<double>(life.report_ms), 3 * unit_ms) << window;
        EXPECT_GE(static_cast<double>(life.unit_ms), 3 * unit_ms) << window;
        EXPECT_GE(life.report_ms, life.unit_ms / 2);
        EXPECT_GE(life.report_ms, registry::kReportMsMin);
        EXPECT_GE(life.reveal_ms, registry::kRevealMsMin);
        EXPECT_LE(life.grace_ms, life.unit_ms);
    }
}

TEST(ShortWindows, WhatTheOwnerWroteStandsOrIsRefusedWithTheNumbers) {
    FixedTerms fixed;
    fixed.report_ms = 600'000;
    fixed.unit_ms = 600'000;
    const auto plan = make_plan(some_tokens(), fixed, sample_work(), with_window(1'300'000));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->terms.lifecycle.report_ms, 600'000);
    EXPECT_EQ(plan->terms.lifecycle.draws_max, 1U) << "nobody wrote it";
    fixed.draws_max = fixed.rest.lifecycle.draws_max = 2;
    const std::string refused = refusal(fixed, with_window(1'300'000));
    EXPECT_NE(refused.find("sampling.draws_max 2 x (deadlines.report_ms 600 s"), std::string::npos)
        << refused;
    FixedTerms steps;
    steps.steps = 100;
    const std::string longer = refusal(steps, with_window(60'000));
    EXPECT_NE(longer.find("a unit of 100 steps is too long for this network"), std::string::npos)
        << longer;
    const std::size_t at = longer.find("steps_per_round=");
    ASSERT_NE(at, std::string::npos) << longer;
    steps.steps = static_cast<std::uint32_t>(std::stoul(longer.substr(at + 16)));
    EXPECT_EQ(refusal(steps, with_window(60'000)), "accepted") << "what it says is right";
    *steps.steps *= 3;
    EXPECT_EQ(refusal(steps, with_window(60'000)), "accepted") << "in time, if only just";
}

constexpr const char* kComplete = R"(name: all of it
dataset: "0x1111111111111111111111111111111111111111111111111111111111111111"
rounds: 3
slots: 2
steps_per_round: 20
price_per_pflop: "1"
budget: "5"
model: gpt
)";

TEST(ShortWindows, AJobFileWithoutDeadlinesGetsSomeAndOneWithThemIsLeft) {
    const auto fit = [](const std::string& text, std::int64_t window_ms) {
        const auto spec = registry::parse_job_spec(text, "job");
        EXPECT_TRUE(spec.ok()) << spec.error().message;
        return fit_deadlines(text, spec->terms, sample_work(), with_window(window_ms));
    };
    EXPECT_EQ(fit(kComplete, 2'580'000).value(), kComplete);
    for (const char* more : {"", "sampling: {floor_ppm: 60000}\n", "deadlines: {unit_ms: 90000}\n",
                             "deadlines:\n  defence_ms: 2000  # mine\n"}) {
        const std::string text = std::string(kComplete) + more;
        const auto fitted = fit(text, 180'000);
        ASSERT_TRUE(fitted.ok()) << fitted.error().message;
        EXPECT_NE(*fitted, text);
        const auto spec = registry::parse_job_spec(*fitted, "fitted");
        ASSERT_TRUE(spec.ok()) << spec.error().message << *fitted;
        EXPECT_EQ(protocol::outlasts_window(spec->terms.lifecycle, 180'000), "") << *fitted;
        EXPECT_EQ(spec->terms.elastic, registry::Elasticity{}) << "nothing else changes";
    }
    const auto refused = fit(std::string(kComplete) + "deadlines: {report_ms: 600000}\n", 180'000);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("sampling.draws_max"), std::string::npos);
    // Half of such a unit's time is too long for a report.
    EXPECT_FALSE(fit(std::string(kComplete) + "deadlines: {unit_ms: 500000}\n", 180'000).ok());
}

}  // namespace
}  // namespace gym::plan
