#include <gtest/gtest.h>

#include "gym/data/filters.hpp"

namespace gym::data {
namespace {

std::string masked(std::string text) {
    (void)mask(text);
    return text;
}
void expect_unchanged(const std::string& text) {
    EXPECT_EQ(masked(text), text);
}

TEST(Mask, ReplacesEMailAddresses) {
    EXPECT_EQ(masked("Write to Jane.Doe+news@mail.example.org."), "Write to <email>.");
    EXPECT_EQ(masked("a@b.co,c@d.org"), "<email>,<email>");
    EXPECT_EQ(masked("<mailto:x_y%z@host-1.de>"), "<mailto:<email>>");
}

TEST(Mask, LeavesWhatIsNoAddress) {
    for (const char* text : {"user@localhost", "@decorator", "a@b", "5 @ 3.50", "x@1.2", "foo@.de"})
        expect_unchanged(text);
}

TEST(Mask, ReplacesIpAddresses) {
    EXPECT_EQ(masked("at 192.168.0.1, 10.0.0.255:8080 and 8.8.8.8."),
              "at <ip>, <ip>:8080 and <ip>.");
    EXPECT_EQ(masked("[2001:db8::1]:443 fe80::1ff:fe23:4567:890a"), "[<ip>]:443 <ip>");
    EXPECT_EQ(masked("1:2:3:4:5:6:7:8"), "<ip>");
}

TEST(Mask, LeavesTimesVersionsAndScopes) {
    for (const char* text : {"12:30:45", "version 1.2.3", "256.1.1.1", "1.2.3.4.5", "std::vector",
                             "abc::def", "face", "v10.0.0.1x"})
        expect_unchanged(text);
}

TEST(Mask, ReplacesCardsWithARightCheckDigit) {
    EXPECT_EQ(masked("card 4111 1111 1111 1111, or 5500-0000-0000-0004"), "card <card>, or <card>");
    EXPECT_EQ(masked("378282246310005"), "<card>");
    expect_unchanged("card 4111 1111 1111 1112");
    expect_unchanged("41111111111111111111");  // 20 digits
    expect_unchanged("id4111111111111111");
}

TEST(Mask, ReplacesPhoneNumbers) {
    EXPECT_EQ(masked("+49 30 901820 or +442079460958"), "<phone> or <phone>");
    EXPECT_EQ(masked("(555) 123-4567, 555-123-4567, 555.123.4567 and 1-555-123-4567"),
              "<phone>, <phone>, <phone> and <phone>");
    EXPECT_EQ(masked("+1 (212) 555 0123"), "<phone>");
}

TEST(Mask, LeavesOtherNumbers) {
    for (const char* text : {"in 1998-2004", "1234567890", "3.14159265", "+5", "12-34-56",
                             "a+12345", "2024-01-15 10:00", "x = 555-1234"})
        expect_unchanged(text);
}

TEST(Mask, CountsByKind) {
    std::string text = "a@b.org 1.2.3.4 +49 30 901820 4111111111111111 c@d.org";
    const Masked counts = mask(text);
    EXPECT_EQ(text, "<email> <ip> <phone> <card> <email>");
    EXPECT_EQ(counts.emails, 2U);
    EXPECT_EQ(counts.addresses, 1U);
    EXPECT_EQ(counts.phones, 1U);
    EXPECT_EQ(counts.cards, 1U);
    EXPECT_EQ(counts.total(), 5U);
}

TEST(Mask, TakesTextsThatEndAnywhere) {
    const std::string text = "a@b.org 2001:db8::1 +49 30 901820 (555) 123-4567 4111-1111-1111-1111";
    for (std::size_t size = 0; size <= text.size(); ++size)
        (void)masked(text.substr(0, size));
    for (const char* edge : {"@", ":", "(", "+", "1", "::", "a", ".", "@@", "+("})
        expect_unchanged(edge);
}

}  // namespace
}  // namespace gym::data
