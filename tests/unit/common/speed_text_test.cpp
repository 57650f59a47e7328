#include "gym/common/speed_text.hpp"

#include <gtest/gtest.h>

namespace gym {
namespace {

TEST(SpeedText, HasThreeDigitsAndTheUnitThatFits) {
    EXPECT_EQ(speed_text(0), "0.00 MFLOP/s");
    EXPECT_EQ(speed_text(950.4e6), "950 MFLOP/s");
    EXPECT_EQ(speed_text(999.7e6), "1.00 GFLOP/s") << "never 1000";
    EXPECT_EQ(speed_text(28.249e9), "28.2 GFLOP/s");
    EXPECT_EQ(speed_text(9.996e9), "10.0 GFLOP/s");
    EXPECT_EQ(speed_text(1.25e12), "1.25 TFLOP/s");
    EXPECT_EQ(speed_text(3.2e18), "3200 PFLOP/s");
}

}  // namespace
}  // namespace gym
