#include "../../bench/code_quality.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <random>

namespace gym::bench {
namespace {

constexpr std::size_t kElements = 1 << 16;
const codec::TensorGrid kGrid{kElements, -16};

DeltaTensors normal(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> draw;
    std::vector<float> values(kElements);
    for (float& value : values)
        value = draw(random);
    return {values};
}

CodeQuality of(const std::string& code, const std::vector<DeltaTensors>& deltas) {
    return quality_of(code, {&kGrid, 1}, deltas, 0);
}

TEST(CodeQuality, ACodeThatSendsEverythingKeepsEverything) {
    const CodeQuality all = of("top-1024", {normal(1), normal(2)});
    EXPECT_NEAR(all.energy, 1, 1e-6);
    EXPECT_NEAR(all.cosine, 1, 1e-6);
}

// The mean magnitude of a normal variable is sqrt(2 / pi) of its deviation.
TEST(CodeQuality, SignsKeepTwoOverPiOfNormalDeltas) {
    const double expected = 2 / std::numbers::pi;
    EXPECT_NEAR(of("sign-1", {normal(1)}).energy, expected, 0.015);
    EXPECT_NEAR(of("sign-1", {normal(1)}).cosine, std::sqrt(expected), 0.015);
    EXPECT_NEAR(of("sign-4", {normal(1)}).energy, expected / 4, 0.015);
}

TEST(CodeQuality, MeansOfIndependentDeltasKeepAsMuchOfTheirDirection) {
    EXPECT_NEAR(of("sign-1", {normal(1), normal(2), normal(3), normal(4)}).cosine,
                std::sqrt(2 / std::numbers::pi), 0.015);
}

TEST(CodeQuality, CodecsAreMeasuredThroughTheirBytes) {
    EXPECT_GT(of("1", {normal(1)}).energy, 0.97);
    const double top = of("top-16", {normal(1)}).energy;
    EXPECT_LT(of("2", {normal(1)}).energy, top);  // its values are rounded
    EXPECT_GT(of("2", {normal(1)}).energy, 0.7 * top);
}

}  // namespace
}  // namespace gym::bench
