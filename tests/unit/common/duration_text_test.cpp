#include "gym/common/duration_text.hpp"

#include <gtest/gtest.h>

namespace gym {
namespace {

TEST(DurationText, ATimeIsToldInTheUnitThatFits) {
    EXPECT_EQ(duration_text(0.02), "less than 0.1 s");
    EXPECT_EQ(duration_text(0.9), "0.9 s");
    EXPECT_EQ(duration_text(12), "12 s");
    EXPECT_EQ(duration_text(99), "99 s");
    EXPECT_EQ(duration_text(192), "3.2 min");
    EXPECT_EQ(duration_text(5 * 3'600), "5.0 h");
    EXPECT_EQ(duration_text(96 * 3'600), "4.0 days");
}

TEST(DurationText, ARangeIsToldInTheUnitOfItsEnd) {
    EXPECT_EQ(duration_text(192, 1'200), "3.2 to 20 min");
    EXPECT_EQ(duration_text(192, 193), "3.2 min") << "both read the same";
}

}  // namespace
}  // namespace gym
