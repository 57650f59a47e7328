#include "gym/rewards/formulas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "random.hpp"

namespace gym::rewards {
namespace {

Amount sum(const std::vector<Amount>& parts) {
    Amount total;
    for (const Amount& part : parts)
        total = *total.plus(part);
    return total;
}

class FormulaProperties : public ::testing::Test {
  protected:
    const std::uint64_t seed_ = test_seed();
    std::mt19937_64 random_{seed_};
    ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GYM_TEST_SEED=" + std::to_string(seed_)};
    const int rounds_ = 2'000 * test_scale();
};

TEST(ComputeCredit, IsFlopsTimesPriceRoundedDown) {
    EXPECT_EQ(*compute_credit(kFlopsPerPflop, Amount(7)), Amount(7));
    EXPECT_EQ(*compute_credit(kFlopsPerPflop / 2, Amount(7)), Amount(3));
    EXPECT_EQ(*compute_credit(0, Amount(7)), Amount(0));
    EXPECT_EQ(*compute_credit(1, Amount(kFlopsPerPflop - 1)), Amount(0));
    EXPECT_EQ(*compute_credit(3'000'000'000'000, *Amount::parse_tokens("2")),
              *Amount::parse_tokens("0.006"));
}

TEST(VerificationCredit, PaysThePremiumInOneDivision) {
    EXPECT_EQ(*verification_credit(kFlopsPerPflop, Amount(100), 1'100'000), Amount(110));
    // floor(floor(1.5) * 2) would be 2; the exact product is 3.
    EXPECT_EQ(*verification_credit(kFlopsPerPflop / 2, Amount(3), 2'000'000), Amount(3));
    EXPECT_EQ(*verification_credit(kFlopsPerPflop, Amount(100), 0), Amount(0));
}

TEST(DataCredit, IsTokensTimesPriceTimesQuality) {
    EXPECT_EQ(*data_credit(2'000'000, Amount(10), kPpm), Amount(20));
    EXPECT_EQ(*data_credit(2'000'000, Amount(10), kPpm / 4), Amount(5));
}

TEST(UptimeBonus, RisesLinearlyFrom95PercentToTheCap) {
    constexpr std::uint32_t kMax = 50'000;
    EXPECT_EQ(uptime_bonus_ppm(0, kMax), 0u);
    EXPECT_EQ(uptime_bonus_ppm(950'000, kMax), 0u);
    EXPECT_EQ(uptime_bonus_ppm(975'000, kMax), kMax / 2);
    EXPECT_EQ(uptime_bonus_ppm(999'999, kMax), 49'999u);
    EXPECT_EQ(uptime_bonus_ppm(kPpm, kMax), kMax);
    EXPECT_EQ(uptime_bonus_ppm(4'000'000'000u, kMax), kMax);
    EXPECT_EQ(*uptime_bonus(Amount(0), kPpm, kMax), Amount(0)) << "nothing without work";
    EXPECT_EQ(*uptime_bonus(Amount(1'000), kPpm, kMax), Amount(50));
}

TEST(Formulas, ReportAnAmountThatDoesNotFit) {
    const Amount huge = *Amount::parse(
        "115792089237316195423570985008687907853269984665640564039457584007913129639935");
    EXPECT_EQ(compute_credit(~std::uint64_t{0}, huge).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(verification_credit(~std::uint64_t{0}, huge, 4'000'000'000u).error().code,
              ErrorCode::kOutOfRange);
}

TEST_F(FormulaProperties, MoreWorkNeverEarnsLess) {
    for (int i = 0; i < rounds_; ++i) {
        const std::uint64_t a = any_u64(random_), b = any_u64(random_);
        const Amount price = any_amount(random_);
        const auto premium = static_cast<std::uint32_t>(any_u64(random_));
        const auto ppm = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        ASSERT_LE(*compute_credit(std::min(a, b), price), *compute_credit(std::max(a, b), price));
        ASSERT_LE(*verification_credit(std::min(a, b), price, premium),
                  *verification_credit(std::max(a, b), price, premium));
        ASSERT_LE(*data_credit(std::min(a, b), price, ppm),
                  *data_credit(std::max(a, b), price, ppm));
        const auto u = static_cast<std::uint32_t>(random_() % 1'100'000),
                   v = static_cast<std::uint32_t>(random_() % 1'100'000);
        ASSERT_LE(uptime_bonus_ppm(std::min(u, v), ppm), uptime_bonus_ppm(std::max(u, v), ppm));
        ASSERT_LE(uptime_bonus_ppm(u, ppm), ppm);
    }
}

TEST_F(FormulaProperties, SplittingOneNodeNeverEarnsMore) {
    for (int i = 0; i < rounds_; ++i) {
        const std::uint64_t whole = any_u64(random_);
        const std::uint64_t part =
            whole == 0 ? 0 : random_() % (whole + (whole != ~std::uint64_t{0}));
        const Amount price = any_amount(random_);
        const auto premium = static_cast<std::uint32_t>(any_u64(random_));
        const auto ppm = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        ASSERT_LE(*compute_credit(part, price)->plus(*compute_credit(whole - part, price)),
                  *compute_credit(whole, price));
        ASSERT_LE(*verification_credit(part, price, premium)
                       ->plus(*verification_credit(whole - part, price, premium)),
                  *verification_credit(whole, price, premium));
        ASSERT_LE(*data_credit(part, price, ppm)->plus(*data_credit(whole - part, price, ppm)),
                  *data_credit(whole, price, ppm));
        const Amount compute = *compute_credit(whole, price);
        const Amount one = *compute_credit(part, price);
        ASSERT_LE(
            *uptime_bonus(one, ppm, 50'000)->plus(*uptime_bonus(*compute.minus(one), ppm, 50'000)),
            *uptime_bonus(compute, ppm, 50'000));
    }
}

TEST_F(FormulaProperties, ASplitAddsUpExactlyAndIgnoresTheOrderOfItsShares) {
    for (int i = 0; i < rounds_ / 4; ++i) {
        const Amount total = any_amount(random_);
        std::vector<Share> shares;
        const std::size_t n = 1 + random_() % 12;
        for (std::size_t k = 0; k < n; ++k)
            shares.push_back(
                {std::to_string(k), Amount(random_() % 3 == 0 ? k % 2 : any_u64(random_))});
        shares[random_() % n].weight = Amount(1 + random_() % 5);
        const auto parts = split(total, shares);
        ASSERT_TRUE(parts.ok());
        ASSERT_EQ(sum(*parts), total);

        std::vector<std::size_t> order(n);
        for (std::size_t k = 0; k < n; ++k)
            order[k] = k;
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<Share> shuffled;
        for (const std::size_t k : order)
            shuffled.push_back(shares[k]);
        const auto again = split(total, shuffled);
        for (std::size_t k = 0; k < n; ++k) {
            ASSERT_EQ(again->at(k), parts->at(order[k]));
            // No part is further than one unit from its exact share, and none without weight gets
            // anything.
            ASSERT_TRUE(!shares[k].weight.is_zero() || parts->at(k).is_zero());
        }
    }
}

TEST(Split, GivesWhatRoundingLeavesToTheLargestRemainders) {
    EXPECT_EQ(*split(Amount(10), {{"a", Amount(1)}, {"b", Amount(1)}, {"c", Amount(1)}}),
              (std::vector<Amount>{Amount(4), Amount(3), Amount(3)}));
    EXPECT_EQ(*split(Amount(10), {{"a", Amount(1)}, {"b", Amount(5)}}),
              (std::vector<Amount>{Amount(2), Amount(8)}));
    EXPECT_EQ(*split(Amount(0), {{"a", Amount(1)}}), std::vector<Amount>{Amount(0)});
}

TEST(Split, RefusesSharesWithoutMeaning) {
    EXPECT_FALSE(split(Amount(1), {}).ok());
    EXPECT_FALSE(split(Amount(1), {{"a", Amount(0)}}).ok());
    EXPECT_FALSE(split(Amount(1), {{"a", Amount(1)}, {"a", Amount(1)}}).ok());
}

}  // namespace
}  // namespace gym::rewards
