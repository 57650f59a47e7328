#include "gym/common/clock.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gym {
namespace {

TEST(Clock, TimesAreTextInUtc) {
    EXPECT_EQ(utc_text(0), "1970-01-01 00:00:00 UTC");
    EXPECT_EQ(utc_text(-1), "1969-12-31 23:59:59 UTC");
    EXPECT_EQ(utc_text(1'795'258'166'999), "2026-11-21 10:49:26 UTC");
    EXPECT_EQ(utc_text(1'709'164'800'000), "2024-02-29 00:00:00 UTC") << "a leap day";
    EXPECT_FALSE(utc_text(std::numeric_limits<UnixMs>::max()).empty());
}

}  // namespace
}  // namespace gym
