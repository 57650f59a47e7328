#include "merger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "must.hpp"
#include "random_seed.hpp"
#include "small_tokenizer.hpp"
#include "tokenizer_json.hpp"

namespace gym::tokenizer {
namespace {

using testing::must;
using Ids = std::vector<std::uint32_t>;

Definition definition_of(const std::vector<std::pair<std::string, std::string>>& merges) {
    return must(read_tokenizer_json(boost::json::serialize(testing::small_tokenizer_json(merges))));
}

Ids merged(const Merger& merger, std::string_view piece) {
    MergeScratch scratch;
    Ids out;
    merger.append(piece, scratch, out);
    return out;
}

/// The definition of BPE, as slow as it is short.
Ids merged_by_definition(const Definition& definition, std::string_view piece) {
    Ids ids;
    for (const char byte : piece)
        ids.push_back(static_cast<std::uint8_t>(byte));  // the small tokenizer's ids of bytes
    for (bool changed = true; changed;) {
        changed = false;
        for (const Merge& merge : definition.merges) {
            for (std::size_t i = 0; i + 1 < ids.size() && !changed; ++i) {
                if (ids[i] != merge.left || ids[i + 1] != merge.right) continue;
                ids[i] = merge.merged;
                ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                changed = true;
            }
            if (changed) break;
        }
    }
    return ids;
}

/// A vocabulary of a and b only, in which many merges overlap.
std::vector<std::pair<std::string, std::string>> overlapping_merges(std::mt19937_64& random) {
    std::vector<std::string> tokens{"a", "b"};
    std::vector<std::pair<std::string, std::string>> merges;
    while (merges.size() < 20) {
        const auto& left = tokens[random() % tokens.size()];
        const auto& right = tokens[random() % tokens.size()];
        const std::string token = left + right;
        if (std::ranges::find(tokens, token) != tokens.end() || token.size() > 8) continue;
        merges.emplace_back(left, right);
        tokens.push_back(token);
    }
    return merges;
}

TEST(Merger, TheFirstRankIsMergedFirstAndFromTheLeft) {
    const Definition definition = definition_of({{"b", "c"}, {"a", "b"}, {"a", "a"}});
    const Merger merger(definition);
    EXPECT_THAT(merged(merger, "abc"), ::testing::ElementsAre('a', 256));
    EXPECT_THAT(merged(merger, "aba"), ::testing::ElementsAre(257, 'a'));
    EXPECT_THAT(merged(merger, "aaa"), ::testing::ElementsAre(258, 'a'));
    EXPECT_THAT(merged(merger, "z"), ::testing::ElementsAre('z'));
    EXPECT_THAT(merged(merger, ""), ::testing::IsEmpty());
}

TEST(Merger, ShortAndLongPiecesAreMergedAsTheDefinitionSays) {
    std::mt19937_64 random(testing::random_seed());
    for (std::uint64_t round = 0; round < 30 * testing::test_scale(); ++round) {
        const Definition definition = definition_of(overlapping_merges(random));
        const Merger merger(definition);
        for (const std::size_t size : {1U, 2U, 5U, 17U, 63U, 64U, 65U, 66U, 200U}) {
            std::string piece;
            while (piece.size() < size)
                piece += random() % 3 == 0 ? 'b' : 'a';
            ASSERT_EQ(merged(merger, piece), merged_by_definition(definition, piece)) << piece;
        }
    }
}

TEST(Merger, APieceThatIsATokenIsThatTokenOnlyWhereTheModelSaysSo) {
    // "abc" is a token, but "bc" merges first and then nothing makes "abc".
    Definition definition = definition_of({{"b", "c"}, {"a", "b"}, {"ab", "c"}});
    EXPECT_THAT(merged(Merger(definition), "abc"), ::testing::ElementsAre('a', 256));
    definition.whole_piece_first = true;
    EXPECT_THAT(merged(Merger(definition), "abc"), ::testing::ElementsAre(258));
}

TEST(Merger, APieceOfAMebibyteTakesLittleMoreThanLinearTime) {
    std::mt19937_64 random(1);
    const Definition definition = definition_of(overlapping_merges(random));
    const Merger merger(definition);
    const auto seconds_of = [&](std::size_t size) {
        std::string piece(size, 'a');
        for (char& byte : piece)
            if (random() % 2 == 0) byte = 'b';
        const auto start = std::chrono::steady_clock::now();
        EXPECT_LT(merged(merger, piece).size(), size);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const double small = seconds_of(1 << 16), large = seconds_of(1 << 20);
    // 16 times the bytes; quadratic time would be 256 times as long.
    EXPECT_LT(large, 80 * small) << small << " s for 64 KiB";
}

}  // namespace
}  // namespace gym::tokenizer
