#include "gym/quality/nearest.hpp"

#include <gtest/gtest.h>

#include "random_seed.hpp"
#include "streams.hpp"

namespace gym::quality {
namespace {

class NearestTest : public ::testing::Test {
  protected:
    void add(const Tokens& tokens, std::uint64_t number) {
        for (const std::uint64_t key : distinct_keys(sketch(tokens)))
            owners_.emplace(key, number);
    }
    std::mt19937_64 random_{testing::random_seed()};
    KeyOwners owners_;
};

TEST_F(NearestTest, NothingIsNearWhatIsNew) {
    EXPECT_FALSE(nearest(sketch(prose(random_, 20'000)), owners_));
    add(random_tokens(random_, 20'000), 1);
    EXPECT_FALSE(nearest(sketch(random_tokens(random_, 20'000)), owners_));
    EXPECT_FALSE(nearest(sketch({}), owners_));
}

TEST_F(NearestTest, TheOneThatMostTokensAreLikeIsNamed) {
    const Tokens first = random_tokens(random_, 20'000);
    const Tokens second = random_tokens(random_, 60'000);
    add(first, 1);
    add(second, 2);
    const auto found = nearest(sketch(joined(first, second)), owners_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->dataset, 2U);
    EXPECT_NEAR(found->ppm, 750'000, 20'000);
    EXPECT_EQ(nearest(sketch(first), owners_)->ppm, kPpm);
}

TEST_F(NearestTest, OfEqualOnesTheFirstIsNamed) {
    DatasetSketch two;
    two.tokens = 200;
    two.chunks.resize(2);
    two.chunks[0].tokens = two.chunks[1].tokens = 100;
    two.chunks[0].keys.fill(7);
    two.chunks[1].keys.fill(8);
    owners_ = {{7, 9}, {8, 3}};
    const auto found = nearest(two, owners_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->dataset, 3U);
    EXPECT_EQ(found->ppm, kPpm / 2);
    // A chunk that is like chunks of both counts for both.
    two.chunks[0].keys[1] = 8;
    EXPECT_EQ(nearest(two, owners_)->ppm, kPpm);
}

}  // namespace
}  // namespace gym::quality
