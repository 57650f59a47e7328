// How the commands show members of gym-api's answers.

#include "cli/answer_text.hpp"

#include <gtest/gtest.h>

#include "cli/rows.hpp"

namespace gym::app {
namespace {

TEST(AnswerText, AnUnknownAmountIsNotZero) {
    EXPECT_EQ(tokens_of("12500000000000000000"), "12.5");
    EXPECT_EQ(tokens_of("0"), "0");
    EXPECT_EQ(tokens_of(nullptr), "unknown");
    EXPECT_EQ(tokens_of("many"), "unknown");
    EXPECT_EQ(tokens_of(3), "unknown");
}

TEST(AnswerText, ASumWithAnUnknownPartIsUnknown) {
    EXPECT_EQ(tokens_text(sum_of(amount_of("1"), amount_of("2"))), "0.000000000000000003");
    EXPECT_EQ(tokens_text(sum_of(amount_of("1"), amount_of(nullptr))), "unknown");
}

TEST(AnswerText, TextIsTheMember) {
    EXPECT_EQ(text_of({{"a", "b"}}, "a"), "b");
    EXPECT_EQ(text_of({{"a", 7}}, "a"), "7");
    EXPECT_EQ(text_of({{"a", nullptr}}, "a"), "-");
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
