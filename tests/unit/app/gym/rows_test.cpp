// The commands' output for people.

#include "cli/rows.hpp"

#include <gtest/gtest.h>

#include "cli/amount_text.hpp"

namespace gym::app {
namespace {

TEST(AmountText, AnUnknownAmountIsNotZero) {
    EXPECT_EQ(tokens_text(Amount::parse("12500000000000000000").value()), "12.5");
    EXPECT_EQ(tokens_text(Amount()), "0");
    EXPECT_EQ(tokens_text(std::nullopt), "unknown");
}

TEST(AmountText, ASumWithAnUnknownPartIsUnknown) {
    EXPECT_EQ(tokens_text(sum_of(Amount(1), Amount(2))), "0.000000000000000003");
    EXPECT_EQ(tokens_text(sum_of(Amount(1), std::nullopt)), "unknown");
}

TEST(Rows, ValuesBeginInOneColumn) {
    testing::internal::CaptureStdout();
    print_row("tokens", "{} in {:.1f} s", 12, 1.25);
    print_row("", "more");
    print_row("a label that is longer", "{}", "x");
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "tokens             12 in 1.2 s\n"
              "                   more\n"
              "a label that is longer x\n");
}

}  // namespace
}  // namespace gym::app
