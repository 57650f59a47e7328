#include <gtest/gtest.h>

#include <iostream>

#include "random_seed.hpp"
#include "simulation.hpp"

namespace gym::sim {
namespace {

constexpr std::uint64_t kHistories = 1'000;

TEST(NetworkSimulation, NoHistoryHurtsTheHonestOrSparesADrawnFault) {
    const std::uint64_t first = testing::random_seed();
    Outcome total;
    for (std::uint64_t i = 0; i < kHistories * testing::test_scale(); ++i) {
        const Outcome outcome = simulate(first + i);
        for (const std::string& violation : outcome.violations)
            ADD_FAILURE() << "GYM_TEST_SEED=" << first + i << ": " << violation;
        ASSERT_TRUE(outcome.violations.empty()) << "repeat with GYM_TEST_SEED=" << first + i;
        total.events += outcome.events;
        total.units += outcome.units;
        total.final += outcome.final;
        total.faults += outcome.faults;
        total.faults_rejected += outcome.faults_rejected;
        total.upheld += outcome.upheld;
        total.equivocations += outcome.equivocations;
        total.redraws += outcome.redraws;
        total.unpaid += outcome.unpaid;
        total.expired += outcome.expired;
        total.crashes += outcome.crashes;
    }
    std::cout << total.events << " transitions, " << total.units << " units: " << total.final
              << " final, " << total.faults << " faulty (" << total.faults_rejected
              << " rejected), " << total.upheld << " upheld, " << total.equivocations
              << " equivocations, " << total.redraws << " redraws, " << total.unpaid << " unpaid, "
              << total.expired << " expired, " << total.crashes << " crashes\n";
    // The cases that the invariants are about did occur, and most honest work was paid.
    EXPECT_GT(total.faults_rejected, kHistories / 10);
    EXPECT_GT(total.upheld, kHistories / 20);
    EXPECT_GT(total.equivocations, kHistories / 50);
    EXPECT_GT(total.redraws, kHistories / 20);
    EXPECT_GT(total.expired, kHistories / 50);
    EXPECT_GT(total.crashes, kHistories / 10);
    EXPECT_GT(total.final * 2, total.units);
    EXPECT_LT(total.unpaid * 20, total.units);
}

TEST(NetworkSimulation, ASeedGivesTheSameHistoryAgain) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Outcome first = simulate(seed);
        const Outcome second = simulate(seed);
        EXPECT_EQ(first.events, second.events);
        EXPECT_EQ(first.final, second.final);
        EXPECT_EQ(first.crashes, second.crashes);
    }
}

}  // namespace
}  // namespace gym::sim
