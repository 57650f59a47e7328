#include "gym/common/bytes.hpp"

#include <gtest/gtest.h>

namespace gym {
namespace {

TEST(Hex, RoundTripsEveryByte) {
    Bytes all;
    for (int i = 0; i < 256; ++i)
        all.push_back(static_cast<std::uint8_t>(i));
    EXPECT_EQ(from_hex(to_hex(all)).value(), all);
    EXPECT_EQ(from_hex(to_hex0x(all)).value(), all);
}

TEST(Hex, AcceptsEitherCase) {
    EXPECT_EQ(from_hex("0xAbCd").value(), (Bytes{0xab, 0xcd}));
}

TEST(Hex, RejectsOddLengthAndOtherCharacters) {
    EXPECT_EQ(from_hex("abc").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(from_hex("0g").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(from_hex("0x0x").error().code, ErrorCode::kMalformed);
}

TEST(FixedBytes, ParsesExactlyItsLength) {
    const std::string text = "0x" + std::string(38, '0') + "2a";
    EXPECT_EQ(Address::parse(text).value().hex(), text);
    EXPECT_EQ(Address::parse(text + "00").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(Address::parse("0x2a").error().code, ErrorCode::kMalformed);
}

TEST(FixedBytes, OrdersByBytes) {
    Digest low;
    Digest high;
    high.data[0] = 1;
    low.data[31] = 255;
    EXPECT_LT(low, high);
    EXPECT_TRUE(Digest{}.is_zero());
    EXPECT_FALSE(low.is_zero());
}

}  // namespace
}  // namespace gym
