#include <gtest/gtest.h>

#include <iostream>

#include "random_seed.hpp"
#include "simulation.hpp"

namespace gym::game::sim {
namespace {

constexpr std::uint64_t kHistories = 1'000;

Outcome& operator+=(Outcome& total, const Outcome& one) {
    total.transactions += one.transactions;
    total.moves += one.moves;
    total.units += one.units;
    total.faulty += one.faulty;
    total.sampled += one.sampled;
    total.settled += one.settled;
    total.games += one.games;
    total.upheld += one.upheld;
    total.proven += one.proven;
    total.by_clock += one.by_clock;
    total.moot += one.moot;
    total.reorgs += one.reorgs;
    total.crashes += one.crashes;
    return total;
}

TEST(DisputeSimulation, NoHistoryHurtsTheHonestOrSparesASampledFault) {
    const std::uint64_t first = gym::testing::random_seed();
    const std::uint64_t histories = kHistories * gym::testing::test_scale();
    Outcome total;
    for (std::uint64_t i = 0; i < histories; ++i) {
        const Outcome outcome = simulate(first + i);
        for (const std::string& violation : outcome.violations)
            ADD_FAILURE() << "GYM_TEST_SEED=" << first + i << ": " << violation;
        ASSERT_TRUE(outcome.violations.empty()) << "repeat with GYM_TEST_SEED=" << first + i;
        total += outcome;
    }
    std::cout << histories << " histories: " << total.transactions << " transactions, "
              << total.moves << " moves, " << total.units << " units, " << total.faulty
              << " of them faulty, " << total.sampled << " of these sampled, " << total.settled
              << " units slashed; " << total.games << " games: " << total.upheld << " upheld, "
              << total.proven << " proven, " << total.by_clock << " by the clock, " << total.moot
              << " moot; " << total.reorgs << " reorganisations, " << total.crashes << " crashes\n";
    // What the invariants are about did occur.
    EXPECT_GT(total.moves, histories * 10);
    EXPECT_GT(total.settled, histories / 4);
    EXPECT_GT(total.upheld, histories / 10);
    EXPECT_GT(total.proven, histories / 4);
    EXPECT_GT(total.by_clock, histories / 10);
    EXPECT_GT(total.moot, histories / 10);
    EXPECT_GT(total.reorgs, histories / 4);
    EXPECT_GT(total.crashes, histories / 2);
}

TEST(DisputeSimulation, ASeedGivesTheSameHistoryAgain) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_EQ(simulate(seed), simulate(seed)) << seed;
}

}  // namespace
}  // namespace gym::game::sim
