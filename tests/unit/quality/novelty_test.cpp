#include "gym/quality/novelty.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_seed.hpp"
#include "streams.hpp"

namespace gym::quality {
namespace {

class NoveltyTest : public ::testing::Test {
  protected:
    std::mt19937_64 random_{testing::random_seed()};
    Book book_;
};

TEST_F(NoveltyTest, ACopyIsNotNovel) {
    for (const Tokens& tokens : {random_tokens(random_, 50'000), prose(random_, 50'000)}) {
        book_.add(tokens);
        const Novelty copy = book_.novelty_of(tokens);
        EXPECT_EQ(copy.novel_tokens, 0U);
        EXPECT_EQ(copy.ppm, 0U);
    }
}

TEST_F(NoveltyTest, NewTokensAreAllNovelButForTheEdges) {
    book_.add(random_tokens(random_, 100'000));
    for (const std::uint32_t vocabulary : {32'000U, 256U}) {
        const Tokens tokens = random_tokens(random_, 500'000, vocabulary);
        const DatasetSketch made = sketch(tokens);
        const Novelty found = book_.novelty_of(made);
        EXPECT_EQ(found.tokens, tokens.size());
        EXPECT_EQ(found.novel_tokens, made.compared_tokens);
        EXPECT_EQ(found.ppm, made.compared_tokens * kPpm / tokens.size());
        EXPECT_LT(made.tokens - made.compared_tokens, 4'000U);
    }
}

TEST_F(NoveltyTest, ATextIsNovelBesideOthersOfTheSameLanguage) {
    for (int i = 0; i < 5; ++i) {
        const Tokens text = prose(random_, 100'000);
        EXPECT_GT(book_.enter(text).ppm, 970'000U);
    }
}

TEST_F(NoveltyTest, AShiftedCopyIsNotNovel) {
    for (const std::size_t shift : {1U, 5U, 100U, 1'000U}) {
        const Tokens tokens = prose(random_, 200'000);
        book_.add(tokens);
        const Tokens front = random_tokens(random_, shift, 256);
        EXPECT_LT(book_.novelty_of(joined(front, tokens)).ppm, 10'000U) << shift;
        const Tokens cut(tokens.begin() + static_cast<std::ptrdiff_t>(shift), tokens.end());
        EXPECT_LT(book_.novelty_of(cut).ppm, 10'000U) << shift;
    }
}

TEST_F(NoveltyTest, ACopyWithOneTokenInAHundredChangedIsMostlyADuplicate) {
    for (const Tokens& tokens : {random_tokens(random_, 200'000), prose(random_, 200'000)}) {
        book_.add(tokens);
        const std::uint32_t little = book_.novelty_of(changed(random_, tokens, 1'000)).ppm;
        const std::uint32_t more = book_.novelty_of(changed(random_, tokens, 10'000)).ppm;
        EXPECT_LT(little, 50'000U);
        EXPECT_LT(more, 300'000U);
        EXPECT_GT(book_.novelty_of(changed(random_, tokens, 200'000)).ppm, 900'000U);
    }
}

TEST_F(NoveltyTest, ShufflingDocumentsDoesNotMakeThemNew) {
    std::vector<Tokens> documents;
    Tokens first, second;
    for (int i = 0; i < 100; ++i)
        documents.push_back(prose(random_, 2'000));
    for (const Tokens& document : documents)
        first = joined(first, document);
    std::ranges::shuffle(documents, random_);
    for (const Tokens& document : documents)
        second = joined(second, document);
    book_.add(first);
    EXPECT_LT(book_.novelty_of(second).ppm, 300'000U);
}

TEST_F(NoveltyTest, APassageCountsOnceInADataset) {
    const Tokens once = random_tokens(random_, 50'000);
    const Tokens thrice = joined(joined(once, once), once);
    EXPECT_NEAR(book_.novelty_of(thrice).ppm, 333'333, 10'000);
}

TEST_F(NoveltyTest, OldAndNewTogetherAreNovelProRata) {
    const Tokens old = prose(random_, 300'000);
    book_.add(old);
    for (const std::size_t fresh : {100'000U, 300'000U, 900'000U}) {
        const Tokens both = joined(old, random_tokens(random_, fresh, 256));
        const double share = static_cast<double>(fresh) / static_cast<double>(both.size());
        EXPECT_NEAR(book_.novelty_of(both).ppm, share * kPpm, 10'000) << fresh;
    }
}

/// Passages that are registered, that are new, and that come again, in any order.
Tokens patchwork(std::mt19937_64& random, const Tokens& registered) {
    Tokens out;
    while (out.size() < 12'000) {
        const std::size_t size = 1 + random() % 1'500;
        const Tokens* source = random() % 2 == 0 || out.size() < size ? &registered : &out;
        const auto from = static_cast<std::ptrdiff_t>(random() % (source->size() - size + 1));
        const Tokens passage(source->begin() + from,
                             source->begin() + from + static_cast<std::ptrdiff_t>(size));
        out = joined(out, random() % 3 == 0 ? random_tokens(random, size) : passage);
    }
    return out;
}

/// A sketch whose chunks are alike only if they are equal.
DatasetSketch exact(const Tokens& tokens) {
    DatasetSketch out;
    Chunker chunker([&](std::span<const std::uint64_t> shingles) {
        std::uint64_t key = 0;
        for (const std::uint64_t shingle : shingles)
            key = key * 6364136223846793005 + shingle;
        ChunkSketch chunk;
        chunk.keys.fill(key);
        chunk.tokens = static_cast<std::uint32_t>(shingles.size());
        out.compared_tokens += chunk.tokens;
        out.chunks.push_back(chunk);
    });
    chunker.add(tokens);
    out.tokens = tokens.size();
    return out;
}

struct Split {
    Novelty together, first, second;
};

Split split(std::mt19937_64& random, DatasetSketch (*make)(const Tokens&)) {
    const Tokens registered = random_tokens(random, 20'000);
    Book book;
    book.add(make(registered));
    const Tokens whole = patchwork(random, registered);
    const auto at = static_cast<std::ptrdiff_t>(random() % (whole.size() + 1));
    const DatasetSketch first = make({whole.begin(), whole.begin() + at});
    const DatasetSketch second = make({whole.begin() + at, whole.end()});
    Split out;
    out.together = book.novelty_of(make(whole));
    out.first = book.novelty_of(first);
    book.add(first);
    out.second = book.novelty_of(second);
    return out;
}

TEST_F(NoveltyTest, SplittingADatasetOfExactCopiesNeverEarnsMore) {
    for (std::uint64_t round = 0; round < 40 * testing::test_scale(); ++round) {
        const auto [together, first, second] = split(random_, exact);
        ASSERT_LE(first.novel_tokens + second.novel_tokens, together.novel_tokens);
        const std::uint64_t parts = first.tokens * first.ppm + second.tokens * second.ppm;
        ASSERT_LE(parts, together.tokens * (std::uint64_t{together.ppm} + 1));
    }
}

/// A chunk that the cut destroys may have been what made a longer one like it a duplicate; what the
/// edges cost is more.
TEST_F(NoveltyTest, SplittingDatasetsLosesOnTheWhole) {
    std::uint64_t wholes = 0, parts = 0;
    for (std::uint64_t round = 0; round < 40 * testing::test_scale(); ++round) {
        const auto [together, first, second] =
            split(random_, [](const Tokens& tokens) { return sketch(tokens); });
        wholes += together.novel_tokens;
        parts += first.novel_tokens + second.novel_tokens;
    }
    EXPECT_LT(parts, wholes);
}

TEST_F(NoveltyTest, DoesNotDependOnHowTheLookupAnswers) {
    const Tokens old = prose(random_, 100'000);
    book_.add(old);
    const DatasetSketch made = sketch(joined(old, prose(random_, 600'000)));
    const Novelty expected = book_.novelty_of(made);
    ASSERT_GT(distinct_keys(made).size(), kLookupKeysMax);
    Registered shuffled = book_.registered();
    std::size_t calls = 0;
    shuffled.known =
        [&, plain = book_.registered().known](
            std::span<const std::uint64_t> keys) -> Result<std::vector<std::uint64_t>> {
        ++calls;
        EXPECT_LE(keys.size(), kLookupKeysMax);
        EXPECT_TRUE(std::ranges::is_sorted(keys));
        GYM_TRY(std::vector<std::uint64_t> known, plain(keys));
        known.insert(known.end(), known.begin(), known.end());
        std::ranges::shuffle(known, random_);
        return known;
    };
    const Novelty found = novelty(made, shuffled).value();
    EXPECT_GT(calls, 1U);
    EXPECT_EQ(found.novel_tokens, expected.novel_tokens);
    EXPECT_EQ(found.ppm, expected.ppm);
}

TEST_F(NoveltyTest, PassesOnTheLookupsError) {
    const Registered broken{
        [](std::span<const std::uint64_t>) -> Result<std::vector<std::uint64_t>> {
            return fail(ErrorCode::kUnavailable, "no database");
        },
        0};
    const auto found = novelty(sketch(random_tokens(random_, 5'000)), broken);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
}

TEST_F(NoveltyTest, NothingIsNotNovel) {
    EXPECT_EQ(book_.novelty_of(Tokens{}).ppm, 0U);
    EXPECT_EQ(book_.novelty_of(random_tokens(random_, 100)).ppm, 0U);
    EXPECT_EQ(book_.novelty_of(Tokens(100'000, 3)).ppm, 0U);
}

DatasetSketch sampled(const Tokens& tokens, std::size_t limit) {
    Sketcher sketcher(limit);
    sketcher.add(tokens);
    return sketcher.finish();
}

TEST_F(NoveltyTest, ASampleEstimatesTheShare) {
    const Tokens old = random_tokens(random_, 500'000);
    book_.add(sampled(old, 500));
    const DatasetSketch made = sampled(joined(old, random_tokens(random_, 500'000)), 500);
    ASSERT_GT(made.level, 0U);
    EXPECT_NEAR(book_.novelty_of(made).ppm, 500'000, 100'000);
    EXPECT_GT(book_.novelty_of(sampled(random_tokens(random_, 500'000), 500)).ppm, 990'000U);
}

/// Of 8 chunks of a sampled dataset 7 are not registered: a part of it must not be new for that.
TEST_F(NoveltyTest, APartOfASampledDatasetIsNotNovel) {
    const Tokens old = random_tokens(random_, 1'500'000);
    book_.add(sampled(old, 1'000));
    const Tokens part(old.begin() + 100'000, old.begin() + 700'000);
    const DatasetSketch made = sketch(part);
    ASSERT_EQ(made.level, 0U);
    ASSERT_GE(book_.registered().level_max, 2U);
    EXPECT_LT(book_.novelty_of(made).ppm, 20'000U);
    EXPECT_GT(book_.novelty_of(random_tokens(random_, 600'000)).ppm, 990'000U);
}

}  // namespace
}  // namespace gym::quality
