#include "gym/data/duplicates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "must.hpp"

namespace gym::data {
namespace {

using testing::must;

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;

std::string words(std::mt19937_64& random, int count) {
    std::string out;
    for (int i = 0; i < count; ++i)
        out += "w" + std::to_string(random() % 100'000) + " ";
    return out;
}

bool share_a_band(const BandKeys& a, const BandKeys& b) {
    for (std::size_t i = 0; i < kBands; ++i)
        if (a[i] == b[i]) return true;
    return false;
}

/// A text whose set of 5-grams has the given Jaccard similarity with that of `text`, nearly: its
/// last words are others.
std::string relative(const std::string& text, double similarity, std::mt19937_64& random) {
    // s = common / (2 n - common)
    const double kept = 2 * similarity / (1 + similarity);
    std::string out;
    int total = 0;
    for (const char c : text)
        total += c == ' ' ? 1 : 0;
    std::size_t end = 0;
    const int keep = static_cast<int>(std::lround(kept * total));
    for (int i = 0; i < keep; ++i)
        end = text.find(' ', end) + 1;
    return text.substr(0, end) + words(random, total - keep);
}

TEST(BandKeys, LookAtLettersAndDigitsInLowerCaseAndDependOnTheSeed) {
    const BandKeys keys = band_keys("The quick brown fox jumps over the lazy dog", 1);
    EXPECT_EQ(keys, band_keys("the QUICK brown, fox -- jumps over the lazy dog!", 1));
    EXPECT_NE(keys, band_keys("The quick brown fox jumps over the lazy dog", 2));
}

TEST(BandKeys, AgreeAsOftenAsTheSimilarityOfTextsSays) {
    std::mt19937_64 random(7);
    constexpr int kPairs = 400;
    for (const double similarity : {0.3, 0.5, 0.7, 0.8, 0.9}) {
        int found = 0;
        for (int i = 0; i < kPairs; ++i) {
            const std::string text = words(random, 600);
            const std::string other = relative(text, similarity, random);
            found += share_a_band(band_keys(text, 1), band_keys(other, 1)) ? 1 : 0;
        }
        const double expected = 1 - std::pow(1 - std::pow(similarity, kRowsPerBand), kBands);
        const double deviation = std::sqrt(expected * (1 - expected) / kPairs);
        EXPECT_NEAR(static_cast<double>(found) / kPairs, expected, 5 * deviation + 0.03)
            << similarity;
    }
}

TEST(BandKeys, OfUnrelatedShortTextsDiffer) {
    std::mt19937_64 random(8);
    int found = 0;
    for (int i = 0; i < 500; ++i)
        found += share_a_band(band_keys(words(random, 12), 1), band_keys(words(random, 12), 1));
    EXPECT_EQ(found, 0);
}

TEST(BandKeys, CompareTextsWithoutSpacesByTheirCharacters) {
    const std::string text =
        "\u6211\u4eec\u5728\u8fd9\u91cc\u5b66\u4e60\u4e2d\u6587\u548c\u6570\u5b66";
    EXPECT_TRUE(share_a_band(band_keys(text, 1), band_keys(text + "\u3002", 1)));
    EXPECT_NE(band_keys(text, 1), band_keys("\u4eca\u5929\u5929\u6c14\u5f88\u597d", 1));
    // Nothing but signs: equal only if they are the same.
    EXPECT_NE(band_keys("***", 1), band_keys("---", 1));
}

TEST(KeySet, HoldsWhatASetHolds) {
    IndexBudget budget(kLarge);
    KeySet<1> keys(budget);
    std::set<std::uint64_t> model;
    std::mt19937_64 random(9);
    const std::uint64_t some[] = {0, 1, ~std::uint64_t{0}};
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t key = i < 3 ? some[i] : random() << (random() % 40);
        const std::uint64_t legal = key == 0 ? 1 : key;  // zero stands for one
        ASSERT_EQ(keys.contains({key}), model.contains(legal));
        ASSERT_EQ(must(keys.insert({key})), model.insert(legal).second);
    }
    EXPECT_EQ(keys.size(), model.size());
}

TEST(KeySet, RefusesToGrowBeyondTheBudget) {
    IndexBudget budget(100'000);
    KeySet<2> keys(budget);
    std::mt19937_64 random(10);
    Result<bool> last = true;
    int inserted = 0;
    for (; last.ok() && inserted < 100'000; ++inserted)
        last = keys.insert({random(), random()});
    ASSERT_FALSE(last.ok());
    EXPECT_EQ(last.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(last.error().message.find("--index-memory"), std::string::npos);
    EXPECT_LE(budget.used_bytes(), 100'000U);
    EXPECT_GT(inserted, 1000);
}

TEST(DuplicateIndex, KeepsTheFirstOfExactAndNearDuplicates) {
    DuplicateIndex index(true, true, kLarge);
    const auto print = [](const std::string& text) {
        return Fingerprint{{std::hash<std::string>()(text), 1}, band_keys(text, 1)};
    };
    std::mt19937_64 random(11);
    const std::string text = words(random, 200), other = words(random, 200);
    EXPECT_EQ(must(index.add(print(text))), Likeness::kNew);
    EXPECT_EQ(must(index.add(print(text))), Likeness::kExact);
    EXPECT_EQ(must(index.add(print(text + "end"))), Likeness::kNear);
    EXPECT_EQ(must(index.add(print(text + "end"))), Likeness::kExact);
    EXPECT_EQ(must(index.add(print(other))), Likeness::kNew);
}

TEST(DuplicateIndex, AppliesOnlyTheStepsThatWereAskedFor) {
    const Fingerprint a{{1, 2}, {1}}, same_bands{{3, 4}, {1}};
    DuplicateIndex exact(true, false, kLarge), near(false, true, kLarge);
    EXPECT_EQ(must(exact.add(a)), Likeness::kNew);
    EXPECT_EQ(must(exact.add(same_bands)), Likeness::kNew);
    EXPECT_EQ(must(near.add(a)), Likeness::kNew);
    EXPECT_EQ(must(near.add(same_bands)), Likeness::kNear);
}

}  // namespace
}  // namespace gym::data
