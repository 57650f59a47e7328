#include "rotary_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

constexpr RopeScaling kLlama3{.type = RopeScaling::Type::kLlama3, .factor = 8};

/// The angle of position 1, which is the frequency, of each column.
std::vector<double> frequencies_of(const RotaryShape& shape) {
    const RotaryTables tables = rotary_tables(shape);
    std::vector<double> out;
    for (std::uint32_t i = 0; i < shape.frequencies; ++i)
        out.push_back(std::asin(double{tables.sine[shape.frequencies + i]}));
    return out;
}

TEST(RotaryTables, OfLinearScalingTurnSlowerByTheFactor) {
    const RotaryShape plain{2, 32, 10000};
    RotaryShape scaled = plain;
    scaled.scaling = {.type = RopeScaling::Type::kLinear, .factor = 4};
    const auto before = frequencies_of(plain), after = frequencies_of(scaled);
    for (std::size_t i = 1; i < before.size(); ++i)  // asin of sin 1 loses too many digits
        EXPECT_NEAR(after[i], before[i] / 4, before[i] * 1e-6) << i;
}

TEST(RotaryTables, OfLlama3KeepFastTurnsAndSlowDownSlowOnes) {
    const RotaryShape plain{2, 64, 500000};
    RotaryShape scaled = plain;
    scaled.scaling = kLlama3;
    const auto before = frequencies_of(plain), after = frequencies_of(scaled);
    int kept = 0, divided = 0, between = 0;
    for (std::size_t i = 1; i < before.size(); ++i) {
        const double wave = 2 * M_PI / before[i], original = kLlama3.original_context;
        const double smooth = (original / wave - 1) / (4 - 1);
        const double expected = wave < original / 4 ? before[i]
                                : wave > original
                                    ? before[i] / 8
                                    : (1 - smooth) * before[i] / 8 + smooth * before[i];
        EXPECT_NEAR(after[i], expected, before[i] * 1e-6) << i;
        ++(wave < original / 4 ? kept : wave > original ? divided : between);
    }
    EXPECT_GT(kept, 0);
    EXPECT_GT(divided, 0);
    EXPECT_GT(between, 0);
}

TEST(RotaryTables, OfFactorOneAreThoseWithoutScaling) {
    const RotaryShape plain{40, 8, 10000};
    for (const auto type : {RopeScaling::Type::kLinear, RopeScaling::Type::kLlama3}) {
        RotaryShape scaled = plain;
        scaled.scaling = {.type = type, .original_context = 64};
        const auto expected = rotary_tables(plain), found = rotary_tables(scaled);
        for (std::size_t i = 0; i < expected.sine.size(); ++i)
            EXPECT_NEAR(found.sine[i], expected.sine[i], 1e-6) << i;
    }
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
