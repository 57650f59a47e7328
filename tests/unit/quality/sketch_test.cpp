#include "gym/quality/sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "gym/commit/sha256.hpp"
#include "random_seed.hpp"
#include "streams.hpp"

namespace gym::quality {
namespace {

using Chunk = std::vector<std::uint64_t>;

std::vector<Chunk> chunks_of(const Tokens& tokens) {
    std::vector<Chunk> out;
    Chunker chunker([&](std::span<const std::uint64_t> shingles) {
        out.emplace_back(shingles.begin(), shingles.end());
    });
    chunker.add(tokens);
    EXPECT_EQ(chunker.tokens(), tokens.size());
    return out;
}

std::size_t total(const std::vector<Chunk>& chunks) {
    return std::accumulate(chunks.begin(), chunks.end(), std::size_t{0},
                           [](std::size_t sum, const Chunk& chunk) { return sum + chunk.size(); });
}

/// Chunks of `of` that are not in `in`.
std::size_t missing(const std::vector<Chunk>& of, std::vector<Chunk> in) {
    std::ranges::sort(in);
    return static_cast<std::size_t>(std::ranges::count_if(
        of, [&](const Chunk& chunk) { return !std::ranges::binary_search(in, chunk); }));
}

class SketchTest : public ::testing::Test {
  protected:
    std::mt19937_64 random_{testing::random_seed()};
};

TEST_F(SketchTest, ChunksAreWithinTheirBoundsAndLeaveTwoShortEdges) {
    const Tokens tokens = random_tokens(random_, 300'000);
    const auto chunks = chunks_of(tokens);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_LE(chunks[i].size(), kChunkTokensMax);
        const bool is_rest =
            i > 0 && chunks[i - 1].size() == kChunkTokensMax;  // after a cut by length
        EXPECT_TRUE(is_rest || chunks[i].size() > kBoundaryReach) << chunks[i].size();
    }
    EXPECT_NEAR(static_cast<double>(total(chunks)) / static_cast<double>(chunks.size()), 257, 20);
    EXPECT_LT(tokens.size() - total(chunks), 4'000U);
}

TEST_F(SketchTest, ProseIsCutLikeRandomTokens) {
    const auto chunks = chunks_of(prose(random_, 300'000));
    const double average = static_cast<double>(total(chunks)) / static_cast<double>(chunks.size());
    EXPECT_GT(average, 200);
    EXPECT_LT(average, 400);
}

TEST_F(SketchTest, AnInsertionMovesOnlyTheChunksAroundIt) {
    for (int round = 0; round < 20; ++round) {
        const Tokens tokens = random_tokens(random_, 20'000);
        Tokens longer = tokens;
        const auto at = static_cast<std::ptrdiff_t>(random_() % tokens.size());
        const Tokens inserted = random_tokens(random_, 1 + random_() % 50);
        longer.insert(longer.begin() + at, inserted.begin(), inserted.end());
        // Within reach to both sides there are three boundaries at most.
        EXPECT_LE(missing(chunks_of(tokens), chunks_of(longer)), 4U) << "at " << at;
    }
}

TEST_F(SketchTest, ThePartsOfASplitStreamHaveNoChunkThatTheWholeHasNot) {
    for (int round = 0; round < 50; ++round) {
        Tokens tokens = prose(random_, 5'000);
        tokens = joined(tokens, Tokens(random_() % 5'000, 7));  // cut by length, not by content
        tokens = joined(tokens, random_tokens(random_, 5'000));
        const auto at = static_cast<std::ptrdiff_t>(random_() % tokens.size());
        const auto whole = chunks_of(tokens);
        EXPECT_EQ(missing(chunks_of({tokens.begin(), tokens.begin() + at}), whole), 0U) << at;
        EXPECT_EQ(missing(chunks_of({tokens.begin() + at, tokens.end()}), whole), 0U) << at;
    }
}

TEST_F(SketchTest, AStreamWithoutContentHasNoBoundary) {
    EXPECT_TRUE(chunks_of({}).empty());
    EXPECT_TRUE(chunks_of(Tokens(100'000, 0)).empty());
    Tokens period(100'000);
    for (std::size_t i = 0; i < period.size(); ++i)
        period[i] = static_cast<std::uint16_t>(i % kBoundaryReach);
    EXPECT_TRUE(chunks_of(period).empty());
    EXPECT_TRUE(chunks_of(random_tokens(random_, 2 * kBoundaryReach + kShingleTokens - 1)).empty());
}

TEST_F(SketchTest, AStretchWithoutBoundariesIsCutByLength) {
    const Tokens edge = random_tokens(random_, 3'000);
    const auto chunks = chunks_of(joined(joined(edge, Tokens(50'000, 7)), edge));
    const auto longest = std::ranges::count_if(
        chunks, [](const Chunk& chunk) { return chunk.size() == kChunkTokensMax; });
    EXPECT_GE(longest, 45);
}

TEST_F(SketchTest, DependsOnTheTokensNotOnThePieces) {
    const Tokens tokens = prose(random_, 60'000);
    const DatasetSketch whole = sketch(tokens);
    EXPECT_EQ(whole.tokens, tokens.size());
    EXPECT_FALSE(whole.chunks.empty());
    for (const std::size_t longest : {1U, 7U, 300U, 5'000U}) {
        Sketcher sketcher;
        for (std::span<const std::uint16_t> rest(tokens); !rest.empty();) {
            const std::size_t size = std::min<std::size_t>(rest.size(), random_() % (longest + 1));
            sketcher.add(rest.first(size));
            rest = rest.subspan(size);
        }
        EXPECT_EQ(sketcher.finish(), whole) << longest;
    }
}

/// The same keys on every machine and in every version, or registered keys would mean nothing. The
/// values are those of a second implementation, in Python, from the headers' words.
TEST(Sketch, HasThisValue) {
    Tokens tokens(20'000);
    std::uint64_t state = 1;
    for (auto& token : tokens) {
        state = state * 6364136223846793005 + 1442695040888963407;
        token = static_cast<std::uint16_t>(state >> 48);
    }
    const DatasetSketch made = sketch(tokens);
    commit::Hasher hasher;
    for (const ChunkSketch& chunk : made.chunks) {
        hasher.update_u64(chunk.tokens).update_u64(chunk.level);
        for (const std::uint64_t key : chunk.keys)
            hasher.update_u64(key);
    }
    EXPECT_EQ(made.chunks.size(), 74U);
    EXPECT_EQ(made.compared_tokens, 19'481U);
    EXPECT_EQ(hasher.finish().hex(),
              "0x7d0223c14cfe2b8299d467eb8ae24013148b9678abc03ecf3723475198de39ef");
}

TEST_F(SketchTest, ASampleIsTheLowestLevelThatFits) {
    const Tokens tokens = random_tokens(random_, 200'000);
    const DatasetSketch all = sketch(tokens);
    ASSERT_EQ(all.level, 0U);
    for (const std::size_t limit : {1U, 10U, 100U, 400U}) {
        Sketcher sketcher(limit);
        sketcher.add(tokens);
        const DatasetSketch sampled = sketcher.finish();
        const auto at_least = [&](std::uint32_t level) {
            std::vector<ChunkSketch> out;
            std::ranges::copy_if(all.chunks, std::back_inserter(out),
                                 [&](const ChunkSketch& chunk) { return chunk.level >= level; });
            return out;
        };
        ASSERT_GT(sampled.level, 0U);
        EXPECT_EQ(sampled.chunks, at_least(sampled.level));
        EXPECT_LE(sampled.chunks.size(), limit);
        EXPECT_GT(at_least(sampled.level - 1).size(), limit);
        EXPECT_EQ(sampled.compared_tokens, all.compared_tokens);
    }
}

TEST_F(SketchTest, EachLevelHasHalfOfTheChunks) {
    std::map<std::uint32_t, double> count;
    const DatasetSketch made = sketch(random_tokens(random_, 1'000'000));
    for (const ChunkSketch& chunk : made.chunks)
        ++count[chunk.level];
    const auto all = static_cast<double>(made.chunks.size());
    EXPECT_NEAR(count[0] / all, 0.5, 0.05);
    EXPECT_NEAR(count[1] / all, 0.25, 0.05);
}

class MinHashTest : public SketchTest {
  protected:
    Chunk shingles(std::size_t count) {
        Chunk out(count);
        for (auto& shingle : out)
            shingle = random_();
        return out;
    }
    /// Two sets of 1,000 with Jaccard similarity shared / (2,000 - shared).
    std::pair<Chunk, Chunk> overlapping(std::size_t shared) {
        const Chunk common = shingles(shared);
        Chunk a = common, b = common;
        for (Chunk* set : {&a, &b}) {
            const Chunk own = shingles(1'000 - shared);
            set->insert(set->end(), own.begin(), own.end());
        }
        return {a, b};
    }
    static bool meet(const Chunk& a, const Chunk& b) {
        const BandKeys left = band_keys(minhash(a)), right = band_keys(minhash(b));
        return std::ranges::mismatch(left, right, std::not_equal_to<>()).in1 != left.end();
    }
    double hits(std::size_t shared, int pairs) {
        int out = 0;
        for (int i = 0; i < pairs; ++i) {
            const auto [a, b] = overlapping(shared);
            out += meet(a, b) ? 1 : 0;
        }
        return static_cast<double>(out) / pairs;
    }
};

TEST_F(MinHashTest, IsOfASet) {
    Chunk set = shingles(300);
    const Signature signature = minhash(set);
    const std::uint32_t level = sample_level(set);
    std::ranges::shuffle(set, random_);
    set.insert(set.end(), set.begin(), set.begin() + 50);
    EXPECT_EQ(minhash(set), signature);
    EXPECT_EQ(sample_level(set), level);
    set.front() ^= 1;
    set.erase(set.end() - 50, set.end());
    EXPECT_NE(minhash(set), minhash(shingles(300)));
}

TEST_F(MinHashTest, RowsAgreeAsOftenAsTheSetsAreSimilar) {
    for (const std::size_t shared : {0U, 500U, 800U, 950U}) {
        double equal = 0;
        constexpr int kPairs = 30;
        for (int pair = 0; pair < kPairs; ++pair) {
            const auto [a, b] = overlapping(shared);
            const Signature left = minhash(a), right = minhash(b);
            for (std::size_t i = 0; i < kPermutations; ++i)
                equal += left[i] == right[i] ? 1 : 0;
        }
        const double similarity = static_cast<double>(shared) / static_cast<double>(2'000 - shared);
        EXPECT_NEAR(equal / (kPairs * static_cast<double>(kPermutations)), similarity, 0.04);
    }
}

TEST_F(MinHashTest, BandsMeetAboveTheThresholdAndNotBelow) {
    EXPECT_LT(hits(334, 200), 0.02);  // J = 0.2
    EXPECT_LT(hits(667, 200), 0.16);  // J = 0.5: 6 %
    EXPECT_GT(hits(889, 200), 0.88);  // J = 0.8: 95 %
    EXPECT_GT(hits(947, 200), 0.97);  // J = 0.9
}

TEST_F(MinHashTest, ABandsRowsMeanAnotherKeyInAnotherBand) {
    Signature signature{};
    signature.fill(random_());
    const BandKeys keys = band_keys(signature);
    EXPECT_EQ(std::set<std::uint64_t>(keys.begin(), keys.end()).size(), kBands);
    for (std::size_t row = 0; row < kPermutations; ++row) {
        Signature other = signature;
        other[row] ^= 1;
        const BandKeys changed = band_keys(other);
        for (std::size_t band = 0; band < kBands; ++band)
            EXPECT_EQ(changed[band] != keys[band], band == row / kRows) << row;
    }
}

}  // namespace
}  // namespace gym::quality
