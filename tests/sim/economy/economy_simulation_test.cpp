// Each party with every deviation that docs/SECURITY.md lists for it, against honest others.
#include <gtest/gtest.h>

#include <iomanip>
#include <iostream>

#include "history.hpp"
#include "random_seed.hpp"

namespace gym::sim::economy {
namespace {

/// Histories at scale 1. A worker's cheat is found seldom and then loses much, so that its mean
/// needs more of them: 1,000 in all.
std::uint64_t histories_of(const Arena& arena) {
    return arena.name == worker_arena().name ? 500 : 100;
}

void print(const Arena& arena, const Tally& tally) {
    std::cout << arena.name << ", " << tally.histories << " histories; in pay of a unit:\n"
              << std::fixed << std::setprecision(3);
    for (std::size_t arm = 1; arm < arena.arms.size(); ++arm) {
        const ArmResult& result = tally.arms[arm];
        std::cout << "  " << std::setw(9) << result.gain.value() << " +- " << std::setw(6)
                  << result.gain.error() << ", at most " << std::setw(8) << result.most << ", harm "
                  << std::setw(7) << result.harm << "  " << arena.arms[arm].name << "\n";
    }
    std::cout << "  " << std::setw(9) << tally.adaptive.value() << " +- " << std::setw(6)
              << tally.adaptive.error() << "  what paid best so far\n";
}

class Economy : public ::testing::TestWithParam<std::size_t> {
  protected:
    static const Arena& arena() { return *all_arenas()[GetParam()]; }
};

TEST_P(Economy, NoDeviationPaysAndNobodyHonestLoses) {
    const std::uint64_t first = testing::random_seed();
    Tally tally;
    const std::uint64_t count = histories_of(arena()) * testing::test_scale();
    for (std::uint64_t i = 0; i < count; ++i) {
        play_history(arena(), Rules(), first + i, tally);
        for (const std::string& violation : tally.violations)
            ADD_FAILURE() << violation;
        ASSERT_TRUE(tally.violations.empty());
    }
    print(arena(), tally);
    for (std::size_t arm = 1; arm < arena().arms.size(); ++arm) {
        const Mean& gain = tally.arms[arm].gain;
        if (arena().arms[arm].claim != Claim::kLoses) continue;
        EXPECT_LT(gain.value() + gain.error(), 0) << arena().arms[arm].name;
    }
    EXPECT_LE(tally.adaptive.value(), tally.adaptive.error());
}

TEST_P(Economy, ASeedGivesTheSameHistoryAgain) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        Tally one, two;
        play_history(arena(), Rules(), seed, one);
        play_history(arena(), Rules(), seed, two);
        EXPECT_EQ(one.adaptive.sum, two.adaptive.sum);
        for (std::size_t arm = 0; arm < one.arms.size(); ++arm)
            EXPECT_EQ(one.arms[arm].gain.sum, two.arms[arm].gain.sum);
    }
}

INSTANTIATE_TEST_SUITE_P(Parties, Economy, ::testing::Range<std::size_t>(0, 6),
                         [](const auto& tested) {
                             std::string name(all_arenas()[tested.param]->name);
                             std::erase(name, ' ');
                             return name;
                         });

TEST(EconomyNetworks, TheExampleIsAccepted) {
    for (const protocol::Condition& condition : protocol::check_incentives(example_params()))
        EXPECT_TRUE(condition.holds) << condition.id;
}

}  // namespace
}  // namespace gym::sim::economy
