#include "gym/codec/clip.hpp"

#include <gtest/gtest.h>

#include <random>

#include "random_seed.hpp"

namespace gym::codec {
namespace {

__extension__ using Wide = unsigned __int128;

TEST(Clip, AWeightIsTheLargestWithinTheBound) {
    std::mt19937_64 random(testing::random_seed());
    const auto within = [](std::int32_t w, std::uint64_t norm, std::uint64_t bound) {
        return Wide{static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(w)} * norm <=
               Wide{bound} << 16;
    };
    for (std::uint64_t i = 0; i < 20'000 * testing::test_scale(); ++i) {
        const std::uint64_t norm = random() >> (random() % 64), bound = random() >> (random() % 64);
        const std::int32_t w = clip_weight(norm, bound);
        ASSERT_GE(w, 0);
        ASSERT_LE(w, 256);
        ASSERT_TRUE(within(w, norm, bound)) << norm << " " << bound;
        ASSERT_TRUE(w == 256 || !within(w + 1, norm, bound)) << norm << " " << bound;
    }
}

TEST(Clip, Edges) {
    EXPECT_EQ(clip_weight(0, 0), 256);
    EXPECT_EQ(clip_weight(1, 0), 0);
    EXPECT_EQ(clip_weight(100, 100), 256);
    EXPECT_EQ(clip_weight(101, 100), 254);
    EXPECT_EQ(clip_weight(400, 100), 128);
    EXPECT_EQ(clip_weight(~0ULL, kNoBound), 256);
    EXPECT_EQ(clip_weight(~0ULL, ~0ULL - 1), 255);
}

TEST(Clip, TheNextBoundIsTheLowerMedian) {
    EXPECT_EQ(next_bound({}), kNoBound);
    EXPECT_EQ(next_bound({7}), 7U);
    EXPECT_EQ(next_bound({9, 7}), 7U);
    EXPECT_EQ(next_bound({9, 1, 7}), 7U);
    EXPECT_EQ(next_bound({5, 5, 5, 9}), 5U);
}

}  // namespace
}  // namespace gym::codec
