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

TEST(DataShareCredit, IsThePartsShareOfTheMix) {
    // 70 % of a million tokens at 10 wei and full quality, 30 % at 20 wei and half of it.
    EXPECT_EQ(*data_share_credit(1'000'000, Amount(10), kPpm, {7, 10, Amount()}), Amount(7));
    EXPECT_EQ(*data_share_credit(1'000'000, Amount(20), kPpm / 2,
                                 {3, 10, *data_weight(7, Amount(10), kPpm)}),
              Amount(3));
    EXPECT_EQ(*data_share_credit(1'000'000, Amount(10), kPpm, {10, 10, Amount()}),
              *data_credit(1'000'000, Amount(10), kPpm))
        << "the only part is the whole";
    EXPECT_EQ(data_share_credit(1, Amount(1), kPpm, {2, 1, Amount()}).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(data_share_credit(1, Amount(1), kPpm, {0, 0, Amount()}).error().code,
              ErrorCode::kInvalidArgument);
}

/// A mix, and what its providers earn with tokens of it.
struct MixSample {
    struct Part {
        std::uint64_t tokens;
        Amount price;
        std::uint32_t quality_ppm;
    };
    std::vector<Part> parts;
    std::uint64_t mix_tokens = 0;

    explicit MixSample(std::mt19937_64& random) {
        const std::size_t count = 2 + random() % 63;
        for (std::size_t i = 0; i < count; ++i) {
            const Amount scale(random() % 3 == 0 ? 1'000'000'000'000'000 : 1);
            const Amount price = *Amount(random() % 1'000'000'000).mul_div(scale, Amount(1));
            parts.push_back({1 + random() % (random() % 2 == 0 ? 5 : 1'000'000'000'000), price,
                             static_cast<std::uint32_t>(random() % (kPpm + 1))});
            mix_tokens += parts.back().tokens;
        }
    }
    [[nodiscard]] std::vector<Amount> credits(std::uint64_t tokens) const {
        std::vector<Amount> out;
        Amount before;
        for (const Part& part : parts) {
            out.push_back(*data_share_credit(tokens, part.price, part.quality_ppm,
                                             {part.tokens, mix_tokens, before}));
            before = *before.plus(*data_weight(part.tokens, part.price, part.quality_ppm));
        }
        return out;
    }
    [[nodiscard]] Amount divisor() const {
        return *Amount(mix_tokens).mul_div(Amount(std::uint64_t{kPpm} * kPpm), Amount(1));
    }
    /// floor(tokens * weights / (mix_tokens * 10^12))
    [[nodiscard]] Amount whole(std::uint64_t tokens) const {
        Amount weights;
        for (const Part& part : parts)
            weights = *weights.plus(*data_weight(part.tokens, part.price, part.quality_ppm));
        return *weights.mul_div(Amount(tokens), divisor());
    }
};

TEST_F(FormulaProperties, PartsOfAMixEarnItsTokensAtItsPriceToTheLastUnit) {
    for (int i = 0; i < rounds_ / 10; ++i) {
        const MixSample mix(random_);
        const std::uint64_t tokens = random_() % 1'000'000'000;
        const std::vector<Amount> credits = mix.credits(tokens);
        EXPECT_EQ(sum(credits), mix.whole(tokens));
        for (std::size_t k = 0; k < credits.size(); ++k) {
            const auto& part = mix.parts[k];
            const Amount exact = *data_weight(part.tokens, part.price, part.quality_ppm)
                                      ->mul_div(Amount(tokens), mix.divisor());
            // Rounded down or up, wherever the part stands.
            EXPECT_GE(credits[k], exact);
            EXPECT_LE(credits[k], *exact.plus(Amount(1)));
        }
    }
}

TEST_F(FormulaProperties, AnotherOrderOfPartsMovesNoMoreThanOneUnit) {
    for (int i = 0; i < rounds_ / 10; ++i) {
        MixSample mix(random_);
        const std::uint64_t tokens = random_() % 1'000'000'000;
        std::vector<Amount> before = mix.credits(tokens);
        const Amount whole = mix.whole(tokens);
        std::ranges::reverse(mix.parts);
        const std::vector<Amount> after = mix.credits(tokens);
        std::ranges::reverse(before);
        EXPECT_EQ(mix.whole(tokens), whole);
        EXPECT_EQ(sum(after), sum(before));
        for (std::size_t k = 0; k < after.size(); ++k) {
            const auto [low, high] = std::minmax(before[k], after[k]);
            EXPECT_LE(high, *low.plus(Amount(1)));
        }
    }
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

/// `whole` in 1 to 12 parts, zeros among them.
std::vector<std::uint64_t> parts_of(std::uint64_t whole, std::mt19937_64& random) {
    std::vector<std::uint64_t> parts;
    for (std::size_t left = random() % 12; left > 0; --left) {
        parts.push_back(whole == 0 ? 0 : random() % whole);
        whole -= parts.back();
    }
    parts.push_back(whole);
    return parts;
}

TEST_F(FormulaProperties, SplittingOneNodeIntoManyNeverEarnsMoreWhateverTheyAreCreditedFor) {
    for (int i = 0; i < rounds_ / 2; ++i) {
        const std::uint64_t whole = any_u64(random_);
        const Amount price = any_amount(random_);
        const auto premium = static_cast<std::uint32_t>(any_u64(random_));
        const auto ppm = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        const auto bonus = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        const Amount burned = any_amount(random_);
        const Amount compute_of_whole = *compute_credit(whole, price);
        const Amount total = *compute_of_whole.plus(any_amount(random_));
        Amount compute, verification, data, uptime, emission;
        for (const std::uint64_t part : parts_of(whole, random_)) {
            const Amount own = *compute_credit(part, price);
            compute = *compute.plus(own);
            verification = *verification.plus(*verification_credit(part, price, premium));
            data = *data.plus(*data_credit(part, price, ppm));
            // No part is there for longer than the whole was.
            const auto there = static_cast<std::uint32_t>(random_() % (ppm + 1));
            uptime = *uptime.plus(*uptime_bonus(own, there, bonus));
            emission = *emission.plus(*emission_share(burned, ppm, own, total));
        }
        ASSERT_LE(compute, compute_of_whole);
        ASSERT_LE(verification, *verification_credit(whole, price, premium));
        ASSERT_LE(data, *data_credit(whole, price, ppm));
        ASSERT_LE(uptime, *uptime_bonus(compute_of_whole, ppm, bonus));
        ASSERT_LE(emission, *emission_share(burned, ppm, compute_of_whole, total));
    }
}

TEST_F(FormulaProperties, AFeeIsExactAndMonotoneAndSplittingAJobNeverMakesItLarger) {
    for (int i = 0; i < rounds_; ++i) {
        const Amount a = any_amount(random_), b = any_amount(random_);
        const auto ppm = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        const auto burned = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        const Fee of_a = *fee_of(a, ppm, burned), of_b = *fee_of(b, ppm, burned);
        const Fee of_both = *fee_of(*a.plus(b), ppm, burned);
        const Amount whole = *of_both.kept.plus(of_both.burned);
        ASSERT_EQ(whole, *a.plus(b)->mul_div(Amount(ppm), Amount(kPpm))) << "to the last unit";
        ASSERT_LE(*of_a.kept.plus(of_a.burned)->plus(*of_b.kept.plus(of_b.burned)), whole);
        const Fee& less = a < b ? of_a : of_b;
        const Fee& more = a < b ? of_b : of_a;
        ASSERT_LE(*less.kept.plus(less.burned), *more.kept.plus(more.burned));
        ASSERT_LE(less.burned, more.burned);
    }
}

TEST_F(FormulaProperties, ARoundGetsBackAtMostWhatItBurned) {
    for (int i = 0; i < rounds_ / 4; ++i) {
        const Amount burned = any_amount(random_);
        const auto ppm = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        std::vector<Amount> compute(1 + random_() % 20);
        for (Amount& one : compute)
            one = any_amount(random_);
        const Amount total = sum(compute);
        Amount given;
        for (const Amount& one : compute)
            given = *given.plus(*emission_share(burned, ppm, one, total));
        ASSERT_LE(given, *burned.mul_div(Amount(ppm), Amount(kPpm)));
        ASSERT_LE(given, burned);
        const Amount more = std::max(compute.front(), compute.back());
        const Amount less = std::min(compute.front(), compute.back());
        ASSERT_LE(*emission_share(burned, ppm, less, total),
                  *emission_share(burned, ppm, more, total));
    }
}

TEST_F(FormulaProperties, NothingForNothing) {
    for (int i = 0; i < rounds_ / 4; ++i) {
        const std::uint64_t work = any_u64(random_);
        const Amount price = any_amount(random_);
        const auto ppm = static_cast<std::uint32_t>(random_() % (kPpm + 1));
        ASSERT_TRUE(compute_credit(0, price)->is_zero());
        ASSERT_TRUE(compute_credit(work, Amount())->is_zero());
        ASSERT_TRUE(verification_credit(0, price, ppm)->is_zero());
        ASSERT_TRUE(verification_credit(work, price, 0)->is_zero());
        ASSERT_TRUE(data_credit(0, price, ppm)->is_zero());
        ASSERT_TRUE(data_credit(work, price, 0)->is_zero());
        ASSERT_TRUE(uptime_bonus(Amount(), kPpm, ppm)->is_zero());
        ASSERT_TRUE(
            uptime_bonus(price, static_cast<std::uint32_t>(random_() % 950'001), ppm)->is_zero());
        ASSERT_TRUE(emission_share(Amount(), ppm, price, price)->is_zero());
        ASSERT_TRUE(emission_share(price, ppm, Amount(), price)->is_zero());
        ASSERT_TRUE(fee_of(Amount(), ppm, ppm)->kept.is_zero());
    }
}

TEST(Fee, IsSplitByLargestRemainder) {
    const Fee fee = *fee_of(Amount(1'000), 25'000, 500'000);  // 25 wei, half of them 12.5
    EXPECT_EQ(fee.burned, Amount(13));
    EXPECT_EQ(fee.kept, Amount(12));
    EXPECT_TRUE(fee_of(Amount(39), 25'000, 500'000)->burned.is_zero()) << "less than one wei";
    EXPECT_TRUE(fee_of(Amount(1'000), 25'000, 0)->burned.is_zero());
    EXPECT_TRUE(fee_of(Amount(1'000), 25'000, kPpm)->kept.is_zero());
    EXPECT_EQ(fee_of(Amount(1'000), 25'000, kPpm + 1).error().code, ErrorCode::kInvalidArgument);
}

TEST(Emission, IsAShareOfWhatWasBurned) {
    EXPECT_EQ(*emission_share(Amount(100), kPpm, Amount(1), Amount(3)), Amount(33));
    EXPECT_EQ(*emission_share(Amount(100), kPpm / 2, Amount(3), Amount(3)), Amount(50));
    EXPECT_EQ(emission_share(Amount(100), kPpm + 1, Amount(1), Amount(3)).error().code,
              ErrorCode::kInvalidArgument)
        << "dealing with oneself would pay";
    EXPECT_EQ(emission_share(Amount(100), kPpm, Amount(4), Amount(3)).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_TRUE(emission_share(Amount(100), kPpm, Amount(), Amount())->is_zero());
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
