#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>

#include "gym/plan/plan.hpp"
#include "gym/plan/units.hpp"
#include "random_seed.hpp"
#include "sample_facts.hpp"

namespace gym::plan {
namespace {

using testing::sample_facts;
using testing::sample_work;

Amount money(const std::string& gym) {
    return Amount::parse_tokens(gym).value();
}

Wishes tokens(std::uint64_t count) {
    Wishes out;
    out.tokens = count;
    return out;
}

Error refusal(const Wishes& wishes, const FixedTerms& fixed, const Facts& facts) {
    const auto plan = make_plan(wishes, fixed, sample_work(), facts);
    return plan.ok() ? Error{ErrorCode::kInternal, "accepted"} : plan.error();
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

/// What a refusal tells the owner to pass, without the option's name; empty: nothing.
std::string suggested(const std::string& message, const std::string& option) {
    std::smatch found;
    const std::regex pattern(option + " ([0-9.e]+)");
    return std::regex_search(message, found, pattern) ? found[1].str() : "";
}

TEST(Price, IsWhatTheMedianJobPaid) {
    Facts facts = sample_facts(8);
    Digest job;
    job.data[0] = 0xAB;
    facts.usual_price = PaidPrice{money("3.5"), job};
    const auto plan = make_plan(tokens(1'000'000'000), {}, sample_work(), facts).value();
    EXPECT_EQ(plan.price.source, PriceSource::kMedianJob);
    EXPECT_EQ(plan.price.job, job);
    EXPECT_EQ(plan.terms.price_wei_per_pflop, money("3.5"));
    EXPECT_EQ(plan.price.why, "the median of what the network's jobs paid, that of 0xab000000");
    EXPECT_FALSE(plan.price.lowered_from_wei);
}

TEST(Price, IsTheDefaultWhereNoJobHasTrained) {
    Facts facts = sample_facts(8);
    facts.usual_price.reset();
    const auto plan = make_plan(tokens(1'000'000'000), {}, sample_work(), facts).value();
    EXPECT_EQ(plan.price.source, PriceSource::kDefault);
    EXPECT_EQ(plan.terms.price_wei_per_pflop, money("10"));
    EXPECT_SAYS(plan.price.why, "the default");
    Wishes rich = tokens(1'000'000'000);
    rich.max_cost_wei = money("1000000");
    const auto paid = make_plan(rich, {}, sample_work(), facts).value();
    EXPECT_EQ(paid.terms.price_wei_per_pflop, money("10")) << "more money pays no higher price";
    EXPECT_LT(paid.budget_wei, money("1000000"));
}

TEST(Price, IsLoweredToWhatTheMoneyPaysForSure) {
    Facts facts = sample_facts(8);
    Wishes wishes = tokens(1'000'000'000);
    wishes.max_cost_wei = money("50");
    const auto plan = make_plan(wishes, {}, sample_work(), facts).value();
    EXPECT_EQ(plan.price.source, PriceSource::kMedianJob);
    EXPECT_EQ(plan.price.lowered_from_wei, money("1"));
    EXPECT_LE(*plan.estimate.most_wei, money("50"));
    EXPECT_GT(*plan.estimate.most_wei, money("49.999")) << "and not further";
    EXPECT_SAYS(plan.price.why, "lowered to what your money pays for sure from 1, the median");
    ASSERT_EQ(plan.notes.size(), 1U);
    EXPECT_SAYS(plan.notes[0], "workers earn less than at the usual 1: --max-cost ");
    // The note's amount pays the whole price.
    wishes.max_cost_wei = money(suggested(plan.notes[0], "--max-cost"));
    const auto whole = make_plan(wishes, {}, sample_work(), facts).value();
    EXPECT_EQ(whole.terms.price_wei_per_pflop, money("1"));
    EXPECT_FALSE(whole.price.lowered_from_wei);
    // A budget in the job file is money, too.
    FixedTerms fixed;
    fixed.budget_wei = money("50");
    EXPECT_EQ(make_plan(tokens(1'000'000'000), fixed, sample_work(), facts)->price.wei_per_pflop,
              plan.price.wei_per_pflop);
}

TEST(Price, OfTheOwnerIsNeverLowered) {
    FixedTerms fixed;
    fixed.price_wei_per_pflop = money("1");
    Wishes wishes = tokens(1'000'000'000);
    wishes.max_cost_wei = money("1350");  // enough for what is likely and not for the most
    const auto plan = make_plan(wishes, fixed, sample_work(), sample_facts(8)).value();
    EXPECT_EQ(plan.price.source, PriceSource::kOwner);
    EXPECT_EQ(plan.terms.price_wei_per_pflop, money("1"));
    EXPECT_EQ(plan.budget_wei, money("1350"));
    ASSERT_EQ(plan.notes.size(), 1U);
    EXPECT_SAYS(plan.notes[0], "gym job fund");
    wishes.max_cost_wei = money("300");
    const Error refused = refusal(wishes, fixed, sample_facts(8));
    EXPECT_EQ(refused.code, ErrorCode::kInvalidArgument);
    EXPECT_SAYS(refused.message, "more than 300 GYM: allow --max-cost ");
    fixed.budget_wei = money("1400");
    wishes.max_cost_wei = money("1350");
    EXPECT_SAYS(refusal(wishes, fixed, sample_facts(8)).message,
                "the budget of 1400 GYM is more than the 1350 GYM that the job may cost");
}

TEST(Price, IsUnavailableWhileTheNetworkDoesNotAnswer) {
    Facts offline;
    offline.unknown = "no answer from http://127.0.0.1:1";
    const Error silent = refusal(tokens(1'000), {}, offline);
    EXPECT_EQ(silent.code, ErrorCode::kUnavailable);
    EXPECT_SAYS(silent.message, "no answer from http://127.0.0.1:1");
    offline.unknown_code = ErrorCode::kPermissionDenied;
    EXPECT_EQ(refusal(tokens(1'000), {}, offline).code, ErrorCode::kPermissionDenied);
    FixedTerms priced;
    priced.price_wei_per_pflop = money("1");
    EXPECT_EQ(refusal(tokens(1'000), priced, offline).code, ErrorCode::kPermissionDenied)
        << "the budget is not known either";
}

TEST(Price, IsNoLessThanTheNetworkTakes) {
    Facts facts = sample_facts(8);
    facts.least_price = money("0.5");
    Wishes wishes = tokens(1'000'000'000);
    EXPECT_EQ(make_plan(wishes, {}, sample_work(), facts)->terms.price_wei_per_pflop, money("1"));
    wishes.max_cost_wei = money("50");
    const Error poor = refusal(wishes, {}, facts);
    EXPECT_EQ(poor.code, ErrorCode::kInvalidArgument);
    EXPECT_SAYS(poor.message, "50 GYM pays for less than the least price of 0.5 GYM");
    wishes.max_cost_wei = money(suggested(poor.message, "--max-cost"));
    const auto enough = make_plan(wishes, {}, sample_work(), facts).value();
    EXPECT_GE(enough.terms.price_wei_per_pflop, money("0.5"));

    FixedTerms fixed;
    fixed.price_wei_per_pflop = money("0.4");
    wishes.max_cost_wei.reset();
    EXPECT_SAYS(refusal(wishes, fixed, facts).message, "no job below 0.5");
    fixed.price_wei_per_pflop = money("1");
    wishes.max_cost_wei = money("300");
    EXPECT_EQ(suggested(refusal(wishes, fixed, facts).message, "--price"), "")
        << "no price that is refused";

    facts.least_price = money("2");
    const auto raised = make_plan(tokens(1'000'000'000), {}, sample_work(), facts).value();
    EXPECT_EQ(raised.terms.price_wei_per_pflop, money("2"));
    EXPECT_SAYS(raised.price.why, "the least that the network takes; the median");
}

TEST(Price, ThatPaysForNoWorkIsRefused) {
    Wishes wishes = tokens(1'000'000'000);
    wishes.max_cost_wei = Amount(30);
    const Error refused = refusal(wishes, {}, sample_facts(8));
    EXPECT_EQ(refused.code, ErrorCode::kInvalidArgument);
    EXPECT_SAYS(refused.message, "0.00000000000000003 GYM pays for none of this job's work");
    Facts dear = sample_facts(8);
    dear.data_price_wei_per_mtoken = money("2");
    dear.data_quality_ppm = 1'000'000;
    wishes.max_cost_wei = money("1000");  // the data alone costs 2000
    const Error data = refusal(wishes, {}, dear);
    EXPECT_SAYS(data.message, "allow --max-cost ");
    wishes.max_cost_wei = money(suggested(data.message, "--max-cost"));
    EXPECT_TRUE(make_plan(wishes, {}, sample_work(), dear).ok());
}

/// Random jobs with too little money: whatever a refusal suggests is accepted, at the first try.
TEST(Price, EverythingThatARefusalSuggestsIsAccepted) {
    std::mt19937_64 random(gym::testing::random_seed());
    const auto between = [&](double low, double high) {
        return static_cast<std::uint64_t>(
            std::pow(10, std::uniform_real_distribution<double>(low, high)(random)));
    };
    std::size_t refused = 0, fewer = 0, cheaper = 0;
    for (std::uint64_t i = 0; i < 500 * gym::testing::test_scale(); ++i) {
        Facts facts = sample_facts(random() % 20, Amount(random()));
        facts.fee_ppm = random() % 2 == 0 ? 0 : 30'000;
        facts.bound = protocol::CostRates{2'100'000 + random() % 500'000, facts.fee_ppm};
        if (random() % 2 == 0) facts.usual_price.reset();
        if (random() % 3 == 0) {
            facts.data_price_wei_per_mtoken = Amount(between(12, 19));
            facts.data_quality_ppm = static_cast<std::uint32_t>(random() % 1'000'001);
        }
        ModelWork work = sample_work();
        work.flops_per_step = between(8, 16);
        work.tokens_per_step = between(1, 6);
        Wishes wishes = tokens(between(3, 12));
        if (random() % 2 == 0) wishes.nodes = 1 + random() % 64;
        wishes.max_cost_wei = Amount(between(0, 19));
        FixedTerms fixed;
        if (random() % 3 != 0) fixed.price_wei_per_pflop = Amount(between(14, 19.2));
        if (random() % 5 == 0) fixed.budget_wei = *wishes.max_cost_wei;
        const auto plan = make_plan(wishes, fixed, work, facts);
        if (plan.ok()) continue;
        if (plan.error().message.find(" are possible: ") != std::string::npos) continue;
        ++refused;
        const std::string& said = plan.error().message;
        const std::string amount = suggested(said, "--max-cost");
        ASSERT_FALSE(amount.empty()) << said;
        Wishes richer = wishes;  // --max-cost takes the place of a budget
        richer.max_cost_wei = money(amount);
        FixedTerms unbound = fixed;
        unbound.budget_wei.reset();
        const auto again = make_plan(richer, unbound, work, facts);
        EXPECT_TRUE(again.ok()) << said << "\nand then: " << again.error().message;
        if (const std::string count = suggested(said, "--tokens"); !count.empty()) {
            ++fewer;
            Wishes less = wishes;
            less.tokens = parse_count(count).value();
            EXPECT_TRUE(make_plan(less, fixed, work, facts).ok()) << said;
        }
        if (const std::string price = suggested(said, "--price"); !price.empty()) {
            ++cheaper;
            FixedTerms lower = fixed;
            lower.price_wei_per_pflop = money(price);
            const auto paid = make_plan(wishes, lower, work, facts);
            EXPECT_TRUE(paid.ok()) << said << "\nand then: " << paid.error().message;
        }
    }
    EXPECT_GT(refused, 50U) << "too few of them lacked money";
    EXPECT_GT(fewer, 10U);
    EXPECT_GT(cheaper, 10U);
}

}  // namespace
}  // namespace gym::plan
