#include "gym/kernels/philox.h"

#include <cmath>
#include <set>

#include "kernel_test_support.hpp"

namespace gym::kernels {
namespace {

// Known answers of the authors' library Random123 (tests/kat_vectors, "philox4x32 10").
struct KnownAnswer {
    PhiloxBlock counter;
    PhiloxKey key;
    PhiloxBlock output;
};

const KnownAnswer kKnownAnswers[] = {
    {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     {{0xffffffff, 0xffffffff}},
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {{0xa4093822, 0x299f31d0}},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

TEST(Philox, GivesThePublishedAnswers) {
    for (const KnownAnswer& known : kKnownAnswers) {
        const PhiloxBlock output = philox4x32_10(known.counter, known.key);
        for (int i = 0; i < 4; ++i)
            EXPECT_EQ(output.word[i], known.output.word[i]);
    }
}

TEST(Philox, KeyIsTheSeedsFirstEightBytesLittleEndian) {
    const uint8_t seed[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const PhiloxKey key = philox_key(seed);
    EXPECT_EQ(key.word[0], 0x04030201u);
    EXPECT_EQ(key.word[1], 0x08070605u);
}

TEST(Philox, EveryFieldOfAPositionChangesTheWord) {
    const PhiloxKey key{{7, 8}};
    const RandomPosition base{5, 6, 7, 8};
    std::set<uint32_t> words = {random_word(key, base, 40)};
    const RandomPosition others[] = {{6, 6, 7, 8},
                                     {5, 7, 7, 8},
                                     {5, 6, 8, 8},
                                     {5, 6, 7, 9},
                                     {(1u << 24) - 1, 6, 7, 8},
                                     {5, (1u << 20) - 1, 7, 8},
                                     {5, 6, (1u << 20) - 1, 8},
                                     {5, 6, 7, (1u << 24) - 1}};
    for (const RandomPosition& other : others) {
        EXPECT_TRUE(random_position_valid(other));
        words.insert(random_word(key, other, 40));
    }
    for (const uint64_t element : {uint64_t{41}, uint64_t{44}, (uint64_t{1} << 42) - 1}) {
        words.insert(random_word(key, base, element));
    }
    EXPECT_EQ(words.size(), 12u);
}

TEST(Philox, FieldsDoNotOverlapInTheCounter) {
    // The counter of each extreme position, by inverting nothing: equal counters would give equal
    // blocks.
    const PhiloxKey key{{1, 2}};
    const uint64_t last_block = (uint64_t{1} << kRandomBlockBits) - 1;
    const RandomPosition only_op{0, 0, 0, (1u << kRandomOpBits) - 1};
    const RandomPosition only_step{0, 0, (1u << kRandomStepBits) - 1, 0};
    const RandomPosition only_slot{0, (1u << kRandomSlotBits) - 1, 0, 0};
    const RandomPosition only_round{(1u << kRandomRoundBits) - 1, 0, 0, 0};
    std::set<uint32_t> words;
    words.insert(random_block(key, {0, 0, 0, 0}, last_block).word[0]);
    for (const RandomPosition& p : {only_op, only_step, only_slot, only_round}) {
        words.insert(random_block(key, p, 0).word[0]);
    }
    EXPECT_EQ(words.size(), 5u);
}

TEST(Philox, PositionsOutsideTheirFieldsAreRefused) {
    EXPECT_FALSE(random_position_valid({uint64_t{1} << 24, 0, 0, 0}));
    EXPECT_FALSE(random_position_valid({0, 1u << 20, 0, 0}));
    EXPECT_FALSE(random_position_valid({0, 0, 1u << 20, 0}));
    EXPECT_FALSE(random_position_valid({0, 0, 0, 1u << 24}));
}

TEST(Philox, IndexBelowCoversItsRangeEvenly) {
    EXPECT_EQ(index_below(0, 10), 0u);
    EXPECT_EQ(index_below(0xFFFFFFFFu, 10), 9u);
    EXPECT_EQ(index_below(0x80000000u, 7), 3u);
    EXPECT_EQ(index_below(0xFFFFFFFFu, 1), 0u);
    EXPECT_EQ(index_below(0xFFFFFFFFu, 0xFFFFFFFFu), 0xFFFFFFFEu);
    int counts[5] = {};
    const PhiloxKey key{{3, 4}};
    for (uint64_t i = 0; i < 10000; ++i)
        ++counts[index_below(random_word(key, {0, 0, 0, 0}, i), 5)];
    for (const int count : counts)
        EXPECT_NEAR(count, 2000, 200);
}

TEST(Philox, UnitVarianceHasMeanZeroAndVarianceOne) {
    const PhiloxKey key{{5, 6}};
    double sum = 0, squares = 0;
    constexpr int kCount = 100000;
    for (int i = 0; i < kCount; ++i) {
        const double x = unit_variance(random_block(key, {1, 2, 3, 4}, static_cast<uint64_t>(i)));
        sum += x;
        squares += x * x;
    }
    EXPECT_NEAR(sum / kCount, 0.0, 0.015);
    EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

TEST(Philox, UniformUnitIsBelowOne) {
    EXPECT_EQ(uniform_unit(0), 0.0f);
    EXPECT_EQ(uniform_unit(0xFFFFFFFFu), 1.0f - 0x1p-24f);
    EXPECT_EQ(uniform_unit(0x80000000u), 0.5f);
}

}  // namespace
}  // namespace gym::kernels
