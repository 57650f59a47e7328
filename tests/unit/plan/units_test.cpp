#include "gym/plan/units.hpp"

#include <gtest/gtest.h>

namespace gym::plan {
namespace {

TEST(Units, CountsAreReadAsPeopleWriteThem) {
    EXPECT_EQ(parse_count("1e9").value(), 1'000'000'000U);
    EXPECT_EQ(parse_count("2.5e8").value(), 250'000'000U);
    EXPECT_EQ(parse_count("1000000").value(), 1'000'000U);
    EXPECT_EQ(parse_count("1_000_000").value(), 1'000'000U);
    EXPECT_EQ(parse_count("300M").value(), 300'000'000U);
    EXPECT_EQ(parse_count("1.5B").value(), 1'500'000'000U);
    EXPECT_EQ(parse_count("2T").value(), 2'000'000'000'000U);
    EXPECT_EQ(parse_count("1e18").value(), kCountMax);
    for (const char* text :
         {"", "0", "-1", "1.5", "1e19", "lots", "1e9x", "nan", "inf", "1 e9", "0x10", "1e-3"})
        EXPECT_FALSE(parse_count(text).ok()) << text;
}

TEST(Units, TimesNeedAUnit) {
    EXPECT_EQ(parse_duration_s("90s").value(), 90U);
    EXPECT_EQ(parse_duration_s("45min").value(), 2'700U);
    EXPECT_EQ(parse_duration_s("1.5h").value(), 5'400U);
    EXPECT_EQ(parse_duration_s("2d").value(), 172'800U);
    for (const char* text : {"", "6", "0s", "-1h", "6 hours", "1y", "99999d"})
        EXPECT_FALSE(parse_duration_s(text).ok()) << text;
}

TEST(Units, NumbersAreWrittenShortly) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(8'192), "8,192");
    EXPECT_EQ(count_text(9'999'999), "9,999,999");
    EXPECT_EQ(count_text(10'000'000), "1.0e7");
    EXPECT_EQ(count_text(1'002'700'000), "1.0e9");
    EXPECT_EQ(count_text(15'000'000'000), "1.5e10");
    EXPECT_EQ(duration_text(12), "12 s");
    EXPECT_EQ(duration_text(192), "3.2 min");
    EXPECT_EQ(duration_text(5 * 3'600), "5.0 h");
    EXPECT_EQ(duration_text(96 * 3'600), "4.0 days");
    EXPECT_EQ(duration_text(192, 1'200), "3.2 to 20 min");
    EXPECT_EQ(duration_text(192, 193), "3.2 min");
    EXPECT_EQ(share_text(56'000), "5.6 %");
}

}  // namespace
}  // namespace gym::plan
