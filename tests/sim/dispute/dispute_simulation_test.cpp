#include <gtest/gtest.h>

#include <iostream>
#include <thread>

#include "many.hpp"
#include "random_seed.hpp"

namespace gym::game::sim {
namespace {

constexpr std::uint64_t kHistories = 1'000;

TEST(DisputeSimulation, NoHistoryHurtsTheHonestOrSparesASampledFault) {
    const std::uint64_t first = gym::testing::random_seed();
    const std::uint64_t histories = kHistories * gym::testing::test_scale();
    const Many many = simulate_many(first, histories, std::thread::hardware_concurrency());
    for (const std::string& violation : many.violations)
        ADD_FAILURE() << "GYM_TEST_SEED=" << *many.failed << ": " << violation;
    ASSERT_FALSE(many.failed) << "repeat with GYM_TEST_SEED=" << *many.failed;
    ASSERT_EQ(many.played, histories);
    const Outcome& total = many.total;
    std::cout << histories << " histories: " << total.transactions << " transactions, "
              << total.moves << " moves, " << total.units << " units, " << total.faulty
              << " of them faulty, " << total.sampled << " of these sampled, " << total.settled
              << " units slashed; " << total.games << " games: " << total.upheld << " upheld, "
              << total.proven << " proven, " << total.by_clock << " by the clock, " << total.moot
              << " moot; " << total.aggregates << " aggregates, " << total.aggregates_proven
              << " games about them proven; " << total.conflicts << " conflicts; " << total.reorgs
              << " reorganisations, " << total.crashes << " crashes\n";
    // The events that the invariants are about did occur.
    EXPECT_GT(total.moves, histories * 10);
    EXPECT_GT(total.settled, histories / 4);
    EXPECT_GT(total.upheld, histories / 10);
    EXPECT_GT(total.proven, histories / 4);
    EXPECT_GT(total.by_clock, histories / 10);
    EXPECT_GT(total.moot, histories / 10);
    EXPECT_GT(total.aggregates, histories / 4);
    EXPECT_GT(total.aggregates_proven, histories / 20);
    EXPECT_GT(total.conflicts, histories / 40);
    EXPECT_GT(total.reorgs, histories / 4);
    EXPECT_GT(total.crashes, histories / 2);
}

TEST(DisputeSimulation, ASeedGivesTheSameHistoryAgain) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_EQ(simulate(seed), simulate(seed)) << seed;
}

TEST(DisputeSimulation, ThreadsPlayTheHistoriesOfOne) {
    const Many one = simulate_many(1, 40, 1), several = simulate_many(1, 40, 3);
    EXPECT_EQ(one.played, 40U);
    EXPECT_EQ(several.played, one.played);
    EXPECT_EQ(several.total, one.total);
}

}  // namespace
}  // namespace gym::game::sim
