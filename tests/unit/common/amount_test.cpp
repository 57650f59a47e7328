#include "gym/common/amount.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace gym {
namespace {

const char* const kMax =
    "115792089237316195423570985008687907853269984665640564039457584007913129639935";  // 2^256 - 1

Amount amount(const char* text) {
    return Amount::parse(text).value();
}

TEST(Amount, RoundTripsDecimalText) {
    for (const char* text : {"0", "1", "18446744073709551616", kMax})
        EXPECT_EQ(amount(text).to_string(), text);
    EXPECT_EQ(amount("0007").to_string(), "7");
}

TEST(Amount, RejectsWhatIsNoWholeNumber) {
    for (const char* text : {"", "-1", "+1", "1.5", "1e3", " 1", "0x10"})
        EXPECT_EQ(Amount::parse(text).error().code, ErrorCode::kMalformed) << text;
}

TEST(Amount, RejectsTwoToThe256) {
    const char* const above =
        "115792089237316195423570985008687907853269984665640564039457584007913129639936";
    EXPECT_EQ(Amount::parse(above).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(Amount::parse(std::string(200, '9')).error().code, ErrorCode::kOutOfRange);
}

TEST(Amount, ReadsAndPrintsTokens) {
    EXPECT_EQ(Amount::parse_tokens("12.5").value().to_string(), "12500000000000000000");
    EXPECT_EQ(Amount::parse_tokens("12.5").value().to_tokens(), "12.5");
    EXPECT_EQ(Amount(1).to_tokens(), "0.000000000000000001");
    EXPECT_EQ(Amount(0).to_tokens(), "0");
    EXPECT_EQ(Amount::parse_tokens("1.1234567890123456789").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(Amount::parse_tokens("1.").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(Amount::parse_tokens(".5").error().code, ErrorCode::kMalformed);
}

TEST(Amount, AddsAndSubtractsChecked) {
    EXPECT_EQ(amount("18446744073709551615").plus(Amount(1)).value(),
              amount("18446744073709551616"));
    EXPECT_EQ(amount(kMax).plus(Amount(1)).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(Amount(1).minus(Amount(2)).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(amount("18446744073709551616").minus(Amount(1)).value(),
              amount("18446744073709551615"));
}

/// a + b or a - b digit by digit, as on paper; nothing if the result is not an amount.
std::optional<Amount> on_paper(const Amount& a, const Amount& b, int sign) {
    auto digits = a.to_be32();
    int carry = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
        const int digit = digits[i] + sign * (b.to_be32()[i] + carry);
        carry = digit < 0 || digit > 0xFF ? 1 : 0;
        digits[i] = static_cast<std::uint8_t>(digit);
    }
    return carry == 0 ? std::optional(Amount::from_be32(digits)) : std::nullopt;
}

TEST(Amount, CarriesThroughEveryDigit) {
    std::mt19937_64 rng(1);
    // Bytes of 0 and 255 carry far.
    const auto random = [&] {
        std::array<std::uint8_t, 32> digits{};
        for (std::size_t i = rng() % 33; i-- > 0;)
            digits[31 - i] = rng() % 2 == 0 ? static_cast<std::uint8_t>(rng())
                                            : static_cast<std::uint8_t>(rng() % 2 * 0xFF);
        return Amount::from_be32(digits);
    };
    for (int i = 0; i < 20'000; ++i) {
        const Amount a = random(), b = random();
        const auto sum = a.plus(b), rest = a.minus(b);
        ASSERT_EQ(sum.ok() ? std::optional(*sum) : std::nullopt, on_paper(a, b, 1));
        ASSERT_EQ(rest.ok() ? std::optional(*rest) : std::nullopt, on_paper(a, b, -1));
    }
}

TEST(Amount, MultipliesAndDividesThroughTheFullProduct) {
    EXPECT_EQ(amount(kMax).mul_div(amount(kMax), amount(kMax)).value(), amount(kMax));
    EXPECT_EQ(Amount(7).mul_div(Amount(3), Amount(2)).value(), Amount(10));
    EXPECT_EQ(Amount(7).mul_mod(Amount(3), Amount(2)).value(), Amount(1));
    const Amount large = amount("18446744073709551615");  // 2^64 - 1
    EXPECT_EQ(large.mul_div(large, Amount(1)).value(),
              amount("340282366920938463426481119284349108225"));
    EXPECT_EQ(large.mul_div(large, Amount(10)).value(),
              amount("34028236692093846342648111928434910822"));
    EXPECT_EQ(large.mul_div(large, large).value(), large);
    EXPECT_EQ(amount("18446744073709551616").mul_div(Amount(6), Amount(4)).value(),
              amount("27670116110564327424"));
    EXPECT_EQ(amount(kMax).mul_div(Amount(2), Amount(1)).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(Amount(1).mul_div(Amount(1), Amount(0)).error().code, ErrorCode::kInvalidArgument);
}

TEST(Amount, OrdersByValueAndRoundTripsBigEndian) {
    EXPECT_LT(amount("18446744073709551615"), amount("18446744073709551616"));
    EXPECT_EQ(Amount::from_be32(amount(kMax).to_be32()), amount(kMax));
    EXPECT_EQ(Amount(258).to_be32()[30], 1);
    EXPECT_EQ(Amount(258).to_be32()[31], 2);
    EXPECT_EQ(amount("18446744073709551616").to_u64().error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace gym
