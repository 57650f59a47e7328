#include "gym/common/printable.hpp"

#include <gtest/gtest.h>

namespace gym {
namespace {

TEST(Printable, TextOfAnyLanguageIs) {
    for (const char* text : {"", "a job", "d\xc3\xa9j\xc3\xa0 vu", "\xe6\x96\x87", "\xc2\xa0"})
        EXPECT_TRUE(is_printable(text)) << text;
}

TEST(Printable, WhatMovesTheCursorOrEndsALineIsNot) {
    for (const char* text : {"two\nlines", "a\tb", "\x1b[8mhidden", "back\b", "\x7f", "\xc2\x9b"})
        EXPECT_FALSE(is_printable(text)) << text;
    EXPECT_FALSE(is_printable(std::string_view("a\0b", 3)));
}

TEST(Printable, ControlsAreDroppedAndLayoutStays) {
    EXPECT_EQ(without_controls("a\x1b[8m\tb\nc\r\xc2\x9b\x64\x7f"), "a[8m\tb\ncd");
    EXPECT_EQ(without_controls("d\xc3\xa9j\xc3\xa0\xc2"), "d\xc3\xa9j\xc3\xa0\xc2");
}

TEST(Printable, AsciiTextIsCutAndNothingElseIsIn) {
    EXPECT_EQ(printable_ascii("no\nway\xc3\xa9", 20), "no?way??");
    EXPECT_EQ(printable_ascii("1234", 4), "1234");
    EXPECT_EQ(printable_ascii("12345", 4), "1234...");
}

}  // namespace
}  // namespace gym
