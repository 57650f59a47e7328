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
    EXPECT_EQ(share_text(56'000), "5.6 %");
}

TEST(Units, ASuggestedCountIsReadBackAndNeverLarger) {
    EXPECT_EQ(count_option(0), "0");
    EXPECT_EQ(count_option(99'999), "99000");
    EXPECT_EQ(count_option(100'000), "1.0e5");
    EXPECT_EQ(count_option(1'299'999'999), "1.2e9");
    for (std::uint64_t count = 1; count < kCountMax / 7; count = count * 7 + 3) {
        const std::uint64_t read = parse_count(count_option(count)).value();
        EXPECT_LE(read, count);
        EXPECT_GE(read, count - count / 10) << "two digits are kept";
    }
}

TEST(Units, MoneyIsToldInSixDigitsAfterThePointAndNamed) {
    const auto gym = [](const char* text) { return Amount::parse_tokens(text).value(); };
    EXPECT_EQ(money_text(gym("0")), "0 GYM");
    EXPECT_EQ(money_text(gym("12.5")), "12.5 GYM");
    EXPECT_EQ(money_text(gym("388489.1234565")), "388489.123457 GYM");
    EXPECT_EQ(money_text(gym("0.000000123456789")), "0.000000123457 GYM");
    EXPECT_EQ(money_number(gym("1.9999999"), Rounding::kDown), "1.999999");
    EXPECT_EQ(money_number(gym("1.9999999"), Rounding::kUp), "2");
    EXPECT_EQ(money_number(gym("1.0000000000000001"), Rounding::kUp), "1.000001");
    EXPECT_EQ(money_number(Amount(7), Rounding::kUp), "0.000000000000000007");
    const Amount all =
        Amount::from_be32({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                           0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                           0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF});
    EXPECT_EQ(rounded_money(all, Rounding::kUp), all) << "nothing larger exists";
}

}  // namespace
}  // namespace gym::plan
