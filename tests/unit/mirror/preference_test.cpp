#include "preference.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gym::mirror {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Preference, KnowsNothingAtFirst) {
    const Preference preference(std::vector<Measured>(2));
    EXPECT_EQ(preference.expected_ms({}, kMiB), 0);
    EXPECT_EQ(preference.cost_ms({}, kMiB), 0);
}

TEST(Preference, ANearSourceIsBetterThanAFarOneBeforeAndAfterItsRateIsKnown) {
    const Measured far{300, 0};
    for (const Measured near : {Measured{10, 0}, Measured{10, 420}}) {
        const std::vector<Measured> all{far, near};
        const Preference preference(all);
        EXPECT_LT(preference.cost_ms(near, kMiB), preference.cost_ms(far, kMiB));
        EXPECT_LT(preference.expected_ms(near, kMiB), preference.expected_ms(far, kMiB));
    }
}

TEST(Preference, WithoutAMeasuredRateAConnectionsBeginAndTheBestRateCount) {
    const std::vector<Measured> all{{10, 400}, {20, 900}, {300, 0}};
    const Preference preference(all);
    EXPECT_EQ(preference.expected_ms(all[0], kMiB), 410);
    EXPECT_EQ(preference.expected_ms(all[2], kMiB), 300 + 6 * 300 + 400);
    EXPECT_EQ(preference.expected_ms(all[0], kMiB / 4), 110);
}

TEST(Preference, ANearSourceThatFetchesItselfIsKeptUntilAFarOneIsFourTimesAsFast) {
    const Measured far{300, 2'000};
    const auto near_wins = [&](double ms_per_mib) {
        const std::vector<Measured> all{{10, ms_per_mib}, far};
        const Preference preference(all);
        return preference.cost_ms(all[0], kMiB) < preference.cost_ms(far, kMiB);
    };
    EXPECT_TRUE(near_wins(5'000)) << "its first answer came over the same line";
    EXPECT_TRUE(near_wins(9'000));
    EXPECT_FALSE(near_wins(9'300));
}

TEST(Preference, SourcesOfOneRegionAreComparedByTheirTimeAlone) {
    const std::vector<Measured> all{{10, 900}, {55, 400}, {71, 400}};
    const Preference preference(all);
    EXPECT_FALSE(preference.is_far(all[0]));
    EXPECT_FALSE(preference.is_far(all[1])) << "50 ms are noise of busy machines";
    EXPECT_TRUE(preference.is_far(all[2]));
    EXPECT_LT(preference.cost_ms(all[1], kMiB), preference.cost_ms(all[0], kMiB));
    EXPECT_FALSE(preference.is_far({})) << "nothing was measured";
}

}  // namespace
}  // namespace gym::mirror
