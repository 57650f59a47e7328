#include "rotary_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gym::program {
namespace {

void expect_close_to_libm(const RotaryShape& shape) {
    const RotaryTables tables = rotary_tables(shape);
    ASSERT_EQ(tables.cosine.size(), std::size_t{shape.positions} * shape.frequencies);
    for (std::uint32_t p = 0; p < shape.positions; ++p) {
        for (std::uint32_t i = 0; i < shape.frequencies; ++i) {
            const double exponent = -static_cast<double>(i) / shape.frequencies;
            const double angle = p * std::pow(shape.theta, exponent);
            const std::size_t at = std::size_t{p} * shape.frequencies + i;
            ASSERT_NEAR(tables.cosine[at], std::cos(angle), 6.1e-8) << p << " " << i;
            ASSERT_NEAR(tables.sine[at], std::sin(angle), 6.1e-8) << p << " " << i;
        }
    }
}

TEST(RotaryTables, AreCosinesAndSinesToTheLastBit) {
    expect_close_to_libm({300, 16, 10000});
    expect_close_to_libm({50, 64, 500000});
    expect_close_to_libm({50, 3, 1e12});
    expect_close_to_libm({9, 1, 10000});
}

TEST(RotaryTables, HoldAtTheLargestPosition) {
    expect_close_to_libm({65536, 2, 1});
}

TEST(RotaryTables, PositionZeroTurnsNothing) {
    const RotaryTables tables = rotary_tables({1, 4, 10000});
    EXPECT_EQ(tables.cosine, (std::vector<float>{1, 1, 1, 1}));
    EXPECT_EQ(tables.sine, (std::vector<float>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace gym::program
