#include "gym/common/near_words.hpp"

#include <gtest/gtest.h>

#include <array>

namespace gym {
namespace {

using Words = std::vector<std::string_view>;
constexpr std::array<std::string_view, 6> kKnown{"--tokens", "--nodes", "--max-cost",
                                                 "MIT",      "MIT-0",   "CC-BY-4.0"};

TEST(NearWords, TheNearestComeFirst) {
    EXPECT_EQ(near_words("--token", kKnown, 3), Words{"--tokens"});
    EXPECT_EQ(near_words("--max-csot", kKnown, 3), Words{"--max-cost"});
    EXPECT_EQ(near_words("mit", kKnown, 3), (Words{"MIT", "MIT-0"}));
    EXPECT_EQ(near_words("mit", kKnown, 1), Words{"MIT"});
    EXPECT_EQ(near_words("cc-by", kKnown, 3), Words{"CC-BY-4.0"}) << "it begins so";
}

TEST(NearWords, FarOnesAreNotNamed) {
    for (const char* word : {"banana", "x", "", "--something-long"})
        EXPECT_EQ(near_words(word, kKnown, 3), Words{}) << word;
}

TEST(NearWords, EditsAreInsertionsRemovalsReplacementsAndSwaps) {
    EXPECT_EQ(edits_between("", ""), 0U);
    EXPECT_EQ(edits_between("abc", ""), 3U);
    EXPECT_EQ(edits_between("kitten", "sitting"), 3U);
    EXPECT_EQ(edits_between("MTI", "MIT"), 1U) << "swapped letters are one slip";
    EXPECT_EQ(edits_between("tokesn", "tokens"), 1U);
}

}  // namespace
}  // namespace gym
