#include "gym/protocol/sampling.hpp"

#include <gtest/gtest.h>

#include <array>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "gym/protocol/inclusion.hpp"
#include "random_seed.hpp"
#include "samples.hpp"

namespace gym::protocol {
namespace {

using testing::address;
using testing::digest;

TEST(Sampling, TheRateIsOneForTheNewAndFallsToTheFloor) {
    const SamplingPolicy policy;
    EXPECT_EQ(sampling_rate_ppm(0, policy), kPpm);
    EXPECT_EQ(sampling_rate_ppm(1, policy), kPpm);
    EXPECT_EQ(sampling_rate_ppm(2, policy), 500'000U);
    EXPECT_EQ(sampling_rate_ppm(3, policy), 333'333U);
    EXPECT_EQ(sampling_rate_ppm(20, policy), 50'000U);
    EXPECT_EQ(sampling_rate_ppm(21, policy), kSamplingFloorPpm);
    EXPECT_EQ(sampling_rate_ppm(~std::uint64_t{0}, policy), kSamplingFloorPpm);
    EXPECT_EQ(sampling_rate_ppm(100, {kPpm, kPpm}), kPpm) << "a job may demand more";
}

TEST(SamplingRate, ARecordIsWorthAsManyUnitsAsItsValueSays) {
    const Amount small = work_value(1'000, Amount(5)).value();
    const Amount large = work_value(1'000'000, Amount(5)).value();
    EXPECT_EQ(small, Amount(5'000));
    const Amount record = small.mul_div(Amount(20), Amount(1)).value();
    EXPECT_EQ(units_worth(record, small), 20U);
    EXPECT_EQ(units_worth(record, large), 0U) << "twenty small units say nothing about a large one";
    EXPECT_EQ(sampling_rate_ppm(units_worth(record, large), {}), kPpm);
    EXPECT_EQ(sampling_rate_ppm(units_worth(record, small), {}), kSamplingFloorPpm);
    const Amount dear = work_value(1'000, Amount(50)).value();
    EXPECT_EQ(units_worth(record, dear), 2U) << "the same FLOPs at ten times the price";
    EXPECT_EQ(units_worth(small.minus(Amount(1)).value(), small), 0U) << "rounded down";
}

TEST(SamplingRate, UnpaidWorkCountsNextToNothing) {
    EXPECT_EQ(work_value(1'000, Amount()).value(), Amount(1'000));
    EXPECT_EQ(units_worth(Amount(1'000), work_value(1'000, Amount(1'000'000)).value()), 0U);
    EXPECT_EQ(units_worth(Amount(1'000), Amount()), 0U) << "a unit of unknown value is drawn";
    std::array<std::uint8_t, 32> most;
    most.fill(0xff);
    EXPECT_EQ(units_worth(Amount::from_be32(most), Amount(1)), ~std::uint64_t{0});
    EXPECT_FALSE(work_value(~std::uint64_t{0}, Amount::from_be32(most)).ok());
}

TEST(Sampling, DrawsFollowTheRate) {
    const std::size_t count = 20'000;
    for (const std::uint32_t rate : {0U, 50'000U, 333'333U, kPpm}) {
        std::size_t drawn = 0;
        for (std::size_t i = 0; i < count; ++i)
            drawn += is_sampled(digest(1), digest(100 + i), rate) ? 1 : 0;
        const double expected = static_cast<double>(rate) / kPpm * count;
        // Six standard deviations; exact at the ends.
        const double p = static_cast<double>(rate) / kPpm;
        EXPECT_LE(std::abs(static_cast<double>(drawn) - expected),
                  6 * std::sqrt(count * p * (1 - p)))
            << rate;
    }
}

TEST(Sampling, WhoeverIsDrawnAtARateIsDrawnAtEveryHigherOne) {
    for (std::uint64_t i = 0; i < 2'000; ++i)
        EXPECT_TRUE(!is_sampled(digest(1), digest(i), 100'000) ||
                    is_sampled(digest(1), digest(i), 400'000));
}

TEST(Sampling, AnotherBeaconDrawsOthers) {
    std::size_t same = 0;
    for (std::uint64_t i = 0; i < 1'000; ++i)
        same +=
            is_sampled(digest(1), digest(i), 500'000) == is_sampled(digest(2), digest(i), 500'000)
                ? 1
                : 0;
    EXPECT_NEAR(static_cast<double>(same), 500, 100);
}

TEST(Verifiers, TheChoiceDoesNotDependOnOrderAndNeverFallsOnTheWorker) {
    std::vector<VerifierCandidate> candidates;
    for (std::uint8_t i = 0; i < 10; ++i)
        candidates.push_back({address(i), 0});
    for (std::uint64_t unit = 0; unit < 200; ++unit) {
        const auto chosen = assign_verifier(digest(1), digest(unit), 0, address(3), candidates);
        ASSERT_TRUE(chosen.has_value());
        EXPECT_NE(*chosen, address(3));
        std::rotate(candidates.begin(), candidates.begin() + 3, candidates.end());
        EXPECT_EQ(assign_verifier(digest(1), digest(unit), 0, address(3), candidates), chosen);
    }
    const std::vector<VerifierCandidate> only_worker = {{address(3), 0}};
    EXPECT_FALSE(assign_verifier(digest(1), digest(1), 0, address(3), only_worker).has_value());
}

TEST(Verifiers, EverybodyGetsAShare) {
    std::vector<VerifierCandidate> candidates;
    for (std::uint8_t i = 0; i < 4; ++i)
        candidates.push_back({address(i), 0});
    std::map<Address, int> units;
    for (std::uint64_t unit = 0; unit < 4'000; ++unit)
        ++units[*assign_verifier(digest(1), digest(unit), 0, address(9), candidates)];
    for (const auto& [verifier, count] : units)
        EXPECT_NEAR(count, 1'000, 200) << verifier.hex();
    EXPECT_EQ(units.size(), 4U);
}

/// Whoever is given each unit by lot, among those with the fewest, has no more of them than others,
/// and none of them more often than others.
TEST(Verifiers, UnitsOfAnEpochAreSpreadEvenly) {
    std::map<Address, int> single;
    for (std::uint64_t epoch = 0; epoch < 1'000; ++epoch) {
        std::vector<VerifierCandidate> candidates;
        for (std::uint8_t i = 0; i < 4; ++i)
            candidates.push_back({address(i)});
        for (std::uint64_t unit = 0; unit < 9; ++unit) {
            const auto chosen =
                assign_verifier(digest(epoch), digest(unit), 0, address(9), candidates);
            ++std::ranges::find(candidates, *chosen, &VerifierCandidate::address)->units_waiting;
        }
        for (const VerifierCandidate& candidate : candidates) {
            ASSERT_GE(candidate.units_waiting, 2U);
            ASSERT_LE(candidate.units_waiting, 3U);
            if (candidate.units_waiting == 3) ++single[candidate.address];
        }
    }
    for (const auto& [verifier, count] : single)
        EXPECT_NEAR(count, 250, 60) << verifier.hex();
}

TEST(Verifiers, WhoLetADrawPassComesLast) {
    const std::vector<VerifierCandidate> candidates = {{address(1), 1}, {address(2), 0}};
    for (std::uint32_t draw = 0; draw < 50; ++draw)
        EXPECT_EQ(assign_verifier(digest(1), digest(1), draw, address(9), candidates), address(2));
}

TEST(Inclusion, TakesAcceptedUnitsWithinTheBoundInOrderOfSlots) {
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<DeltaCandidate> candidates = {
        {5, digest(5), digest(50), UnitState::kVerified, 1.0},
        {2, digest(2), digest(20), UnitState::kUnsampled, 2.0},
        {3, digest(3), digest(30), UnitState::kDisputed, 1.0},
        {4, digest(4), digest(40), UnitState::kVerified, 2.1},
        {1, digest(1), digest(10), UnitState::kVerified, nan},
        {0, digest(0), digest(11), UnitState::kUpheld, inf}};
    const Inclusion bounded = include_deltas(candidates, {2.0});
    ASSERT_EQ(bounded.included.size(), 2U);
    EXPECT_EQ(bounded.included[0].slot, 2U);
    EXPECT_EQ(bounded.included[1].slot, 5U);
    ASSERT_EQ(bounded.excluded.size(), 4U);
    EXPECT_EQ(bounded.excluded[0].slot, 0U);
    EXPECT_EQ(bounded.excluded[2].reason, "the unit is disputed");
    EXPECT_EQ(bounded.excluded[3].reason, "the norm of the delta is above the bound");
    EXPECT_EQ(include_deltas(candidates, {}).included.size(), 3U) << "never what is not finite";
}

TEST(Inclusion, PutsHeldDeltasBehindTheOthersAndLeavesThemOutFirst) {
    const std::vector<DeltaCandidate> candidates = {
        {0, digest(1), digest(10), UnitState::kVerified, 1.0, true},
        {7, digest(2), digest(20), UnitState::kFinal, 1.0, true},
        {3, digest(3), digest(30), UnitState::kUnsampled, 1.0},
        {0, digest(4), digest(40), UnitState::kUnsampled, 1.0}};
    const auto units = [](const Inclusion& inclusion) {
        std::vector<Digest> out;
        for (const IncludedDelta& delta : inclusion.included)
            out.push_back(delta.unit);
        return out;
    };
    const Inclusion all = include_deltas(candidates, {});
    EXPECT_EQ(units(all), (std::vector{digest(4), digest(3), digest(1), digest(2)}));
    EXPECT_TRUE(is_in_order(all.included));
    EXPECT_EQ(held_of(all.included), 2U);
    const Inclusion some = include_deltas(candidates, {.deltas_max = 3});
    EXPECT_EQ(units(some), (std::vector{digest(4), digest(3), digest(1)}));
    ASSERT_EQ(some.excluded.size(), 1U);
    EXPECT_EQ(some.excluded[0].unit, digest(2));
}

/// Accepted units of slots 0, 1, 2 and so on with deltas of these norms.
std::vector<DeltaCandidate> with_norms(const std::vector<double>& norms, std::size_t held = 0) {
    std::vector<DeltaCandidate> out;
    for (std::uint32_t i = 0; i < norms.size(); ++i)
        out.push_back({i, digest(100 + i), digest(200 + i), UnitState::kUnsampled, norms[i],
                       i >= norms.size() - held});
    return out;
}

std::vector<std::uint32_t> slots_of(const Inclusion& inclusion) {
    std::vector<std::uint32_t> out;
    for (const IncludedDelta& delta : inclusion.included)
        out.push_back(delta.slot);
    return out;
}

using Slots = std::vector<std::uint32_t>;

TEST(NormFactor, ADeltaFarAboveTheMedianIsLeftOutHoweverLargeItIs) {
    const InclusionPolicy policy{.delta_norm_factor = 4};
    for (const double wrong : {4.5, 1e6, 1e300}) {
        const Inclusion found = include_deltas(with_norms({1, 1.1, wrong, 0.9}), policy);
        EXPECT_EQ(slots_of(found), (Slots{0, 1, 3})) << wrong;
        ASSERT_EQ(found.excluded.size(), 1U);
        EXPECT_EQ(found.excluded[0].reason,
                  "the norm of the delta is far above the median of the round's");
    }
    EXPECT_EQ(slots_of(include_deltas(with_norms({1, 1.1, 4.4, 0.9}), policy)),
              (Slots{0, 1, 2, 3}));
    EXPECT_EQ(include_deltas(with_norms({1, 1e6}), {}).included.size(), 2U) << "without a factor";
}

TEST(NormFactor, OneTinyDeltaKeepsNoOtherOut) {
    const InclusionPolicy policy{.delta_norm_factor = 4};
    EXPECT_EQ(slots_of(include_deltas(with_norms({0, 1}), policy)), (Slots{0, 1}));
    EXPECT_EQ(slots_of(include_deltas(with_norms({0, 1, 1}), policy)), (Slots{0, 1, 2}));
    EXPECT_EQ(slots_of(include_deltas(with_norms({7}), policy)), (Slots{0}));
    EXPECT_TRUE(include_deltas({}, policy).included.empty());
}

TEST(NormFactor, HeldDeltasPassTheBoundOfTheTimelyOnesAndDoNotMoveIt) {
    const InclusionPolicy policy{.delta_norm_factor = 4};
    EXPECT_EQ(slots_of(include_deltas(with_norms({1, 1, 3.9, 9, 9, 9}, 4), policy)),
              (Slots{0, 1, 2}));
}

TEST(NormFactor, AUnitOfFewerStepsIsMeasuredByItsSteps) {
    const InclusionPolicy policy{.delta_norm_factor = 4};
    auto candidates = with_norms({1, 1, 1, 10, 10});
    for (std::size_t i = 0; i < 5; ++i)
        candidates[i].steps = i < 3 ? 10 : 100;
    EXPECT_EQ(slots_of(include_deltas(candidates, policy)), (Slots{0, 1, 2, 3, 4}))
        << "most machines are slow";
    candidates[4].steps = 10;
    EXPECT_EQ(slots_of(include_deltas(candidates, policy)), (Slots{0, 1, 2, 3}));
}

/// A verifier sees the result alone: it has to be able to tell the rule from it.
TEST(NormFactor, TheResultTellsTheRule) {
    std::mt19937_64 random(testing::random_seed());
    std::lognormal_distribution<double> norms(0, 2);
    for (std::uint64_t i = 0; i < 2'000 * testing::test_scale(); ++i) {
        std::vector<double> drawn(1 + random() % 12);
        std::ranges::generate(drawn, [&] { return random() % 8 == 0 ? 0 : norms(random); });
        const auto held = static_cast<std::size_t>(random() % drawn.size());
        auto candidates = with_norms(drawn, held);
        const InclusionPolicy policy{.delta_norm_factor = 1 + static_cast<double>(random() % 5)};
        const Inclusion found = include_deltas(candidates, policy);
        std::vector<double> timely;
        for (const IncludedDelta& delta : found.included)
            if (!delta.held) timely.push_back(drawn[delta.slot]);
        const auto bound = norm_bound(timely, policy);
        ASSERT_TRUE(bound.has_value()) << "the median of timely deltas is never left out";
        for (const IncludedDelta& delta : found.included)
            EXPECT_LE(drawn[delta.slot], *bound);
        for (const ExcludedDelta& delta : found.excluded)
            EXPECT_GT(drawn[delta.slot], *bound);
        std::ranges::shuffle(candidates, random);
        EXPECT_EQ(slots_of(include_deltas(candidates, policy)), slots_of(found));
    }
}

}  // namespace
}  // namespace gym::protocol
