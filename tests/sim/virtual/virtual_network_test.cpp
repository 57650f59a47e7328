// The real coordinator in virtual time. Longer histories: bench_network_simulation.
#include "virtual_network.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>

#include "random_seed.hpp"

namespace gym::sim {
namespace {

/// Two hours of few nodes with units of five minutes.
Settings two_hours() {
    Settings out;
    out.seed = 7;
    out.hours = 2;
    out.workers = 10;
    out.verifiers = 3;
    out.parameters = 100'000'000;
    out.unit_seconds = 300;
    out.dataset_bytes = 100'000'000;
    out.units_before = 100;
    return out;
}

Figures play(const Settings& settings) {
    Figures out = VirtualNetwork(settings).run();
    EXPECT_TRUE(out.errors.empty()) << out.errors.front();
    std::cout << "efficiency " << out.efficiency << ", utilisation " << out.utilisation
              << ", in progress " << out.round_in_progress << ", open " << out.round_open
              << ", rounds " << out.rounds << " of " << out.round_s << " s, open " << out.open_s
              << " s\n";
    return out;
}

TEST(VirtualNetwork, WorkersComputeNearlyAlways) {
    const Figures figures = play(two_hours());
    EXPECT_GE(figures.utilisation, 0.93);
    EXPECT_LE(figures.utilisation, 300 / (300 + 4.6)) << "more than transfers leave";
    EXPECT_GE(figures.round_in_progress, 0.992);
    EXPECT_GE(figures.rounds, 20U);
    EXPECT_EQ(figures.units_expired, 0U);
    // 0.5162 bytes a parameter each way, and once four and the dataset.
    EXPECT_NEAR(figures.sent_bytes, 51.62e6, 1e4);
    EXPECT_LE(figures.received_bytes, 52e6 + 500e6 / 20);
}

/// A worker that has sent its delta to one mirror reports; it does not send it twice.
TEST(VirtualNetwork, SendingADeltaOnceLeavesMoreTimeToCompute) {
    Settings settings = two_hours();
    settings.hours = 0.5;
    settings.up_mbps = 20;
    const Figures once = play(settings);
    settings.mirror_copies = 2;
    const Figures twice = play(settings);
    EXPECT_NEAR(twice.sent_bytes, 2 * once.sent_bytes, 1);
    // 20.6 s for each copy, of units of 300 s.
    EXPECT_GT(once.utilisation, twice.utilisation + 0.03);
}

/// Where rounds overlap, a unit waits for the download of its base state alone, however slow the
/// line up is.
TEST(VirtualNetwork, WhereRoundsOverlapWorkersComputeWhileTheySend) {
    Settings settings = two_hours();
    settings.up_mbps = 20;  // 20.6 s for a delta, of units of 300 s
    settings.overlap_rounds();
    const Figures figures = play(settings);
    EXPECT_GE(figures.utilisation, 0.97);
    EXPECT_GE(figures.rounds, 20U);
    EXPECT_EQ(figures.units_expired, 0U);
    EXPECT_EQ(figures.units_late, figures.units_included);
    EXPECT_NEAR(figures.sent_bytes, 51.62e6, 1e4);
}

/// FP32 both ways, and every round waits for all workers and their verification.
TEST(VirtualNetwork, WithoutItsMeansItWaits) {
    Settings settings = two_hours();
    settings.codec = Codec::plain();
    settings.elastic.emplace();
    const Figures figures = play(settings);
    EXPECT_LE(figures.utilisation, 0.75);
    EXPECT_EQ(figures.units_late, 0U);
}

TEST(VirtualNetwork, SurvivesNodesThatComeAndGo) {
    Settings settings = two_hours();
    settings.leaving_per_hour = 0.3;
    settings.line_spread = 0.2;
    settings.speed_spread = 0.05;
    const Figures figures = play(settings);
    EXPECT_GT(figures.nodes_left, 3U);
    EXPECT_GT(figures.nodes_joined, 16U);
    EXPECT_GE(figures.efficiency, 0.80);  // 0.73 where rounds wait for silent workers
    EXPECT_GE(figures.round_in_progress, 0.992);
}

/// A machine a quarter as fast, a line of 10 Mbit/s, and a processor without a GPU, a fiftieth as
/// fast. None is known to anybody.
TEST(VirtualNetwork, SlowMachinesEarnAndDelayNobody) {
    Settings settings = two_hours();
    settings.workers = 20;
    settings.verifiers = 8;
    const Figures alone = play(settings);
    settings.odd_workers = {{.speed = 0.25}, {.line = 0.02}, {.speed = 0.02}};
    const Figures together = play(settings);
    const double grace_s = static_cast<double>(settings.grace()) / 1e3;
    EXPECT_LE(together.open_s, alone.open_s + grace_s);
    EXPECT_LE(together.round_s, alone.round_s + grace_s);
    const double of_one = alone.tokens / settings.workers;
    ASSERT_EQ(together.odd_tokens.size(), 3U);
    EXPECT_GE(static_cast<double>(together.odd_tokens[0]), 0.15 * of_one);
    EXPECT_GE(static_cast<double>(together.odd_tokens[1]), 0.1 * of_one);
    EXPECT_GE(static_cast<double>(together.odd_tokens[2]), 0.01 * of_one);
    for (const std::uint64_t tokens : together.odd_tokens)
        std::cout << static_cast<double>(tokens) / of_one << " of the others' tokens\n";
}

/// All of a history follows from its settings: databases, keys and schedules included.
TEST(VirtualNetwork, TheSameSeedGivesTheSameHistory) {
    Settings settings = two_hours();
    settings.hours = 0.5;
    settings.leaving_per_hour = 1;
    settings.speed_spread = 0.2;
    const Figures first = play(settings);
    EXPECT_EQ(first, play(settings));
    ++settings.seed;
    EXPECT_NE(first, play(settings));
}

/// Whatever nodes do, rounds follow each other, and nothing goes into the model twice or unpaid.
TEST(VirtualNetwork, AnyHistoryIsSound) {
    std::mt19937_64 dice(testing::random_seed());
    const auto below = [&](std::uint64_t end) { return dice() % end; };
    for (std::uint64_t i = 0; i < testing::test_scale(); ++i) {
        Settings settings = two_hours();
        settings.seed = dice();
        settings.hours = 1;
        settings.workers = 3 + static_cast<std::uint32_t>(below(12));
        settings.verifiers = 1 + static_cast<std::uint32_t>(below(4));
        settings.units_before = below(2) * 20;
        settings.leaving_per_hour = static_cast<double>(below(4)) * 0.3;
        settings.speed_spread = static_cast<double>(below(3)) * 0.3;
        settings.line_spread = static_cast<double>(below(3)) * 0.3;
        settings.operator_flops = settings.worker_flops();
        settings.audit_ppm = static_cast<std::uint32_t>(below(2)) * 20'000;
        settings.elastic =
            registry::Elasticity{500'000 + static_cast<std::uint32_t>(below(500'001)),
                                 below(2) == 0, below(2) == 0, below(2) == 0};
        if (!settings.elastic->accept_late)  // not both
            settings.elastic->overlap = static_cast<std::uint32_t>(below(2));
        if (below(2) == 0) settings.codec = Codec::plain();
        SCOPED_TRACE("history " + std::to_string(i) + " of seed " + std::to_string(settings.seed));
        const Figures figures = play(settings);
        EXPECT_GE(figures.efficiency, 0);  // one verifier, and all are drawn: no round may end
        EXPECT_LE(figures.efficiency, 1);
        EXPECT_LE(figures.utilisation, 1);
        EXPECT_LE(figures.units_included + figures.units_expired + figures.units_unpaid,
                  figures.units);
        EXPECT_LE(figures.units_late, figures.units_included);
        if (!settings.elastic->holds_deltas() && settings.elastic->overlap == 0) {
            EXPECT_EQ(figures.units_late, 0U);
        }
        if (HasFailure()) break;
    }
}

}  // namespace
}  // namespace gym::sim
