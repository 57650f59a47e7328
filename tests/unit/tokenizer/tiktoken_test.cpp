#include "tiktoken.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "must.hpp"
#include "patterns.hpp"

namespace gym::tokenizer {
namespace {

using ::testing::HasSubstr;
using testing::must;

std::string base64(std::string_view token) {
    std::string out(token.size() * 2 + 4, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(token.data()),
                                     static_cast<int>(token.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

/// As many ranks as r50k_base has: all bytes, then pairs of bytes.
std::vector<std::string> many_tokens() {
    std::vector<std::string> tokens;
    for (unsigned byte = 0; byte < 256; ++byte)
        tokens.emplace_back(1, static_cast<char>(byte));
    for (unsigned pair = 0; tokens.size() < 50256; ++pair)
        tokens.push_back({static_cast<char>(pair >> 8), static_cast<char>(pair & 0xff)});
    return tokens;
}

std::string file_of(const std::vector<std::string>& tokens) {
    std::string out;
    for (std::size_t rank = 0; rank < tokens.size(); ++rank)
        out += base64(tokens[rank]) + " " + std::to_string(rank) + "\n";
    return out;
}

void expect_refusal(const std::string& file, const std::string& cause,
                    std::string_view encoding = "r50k_base") {
    const auto definition = read_ranks(file, encoding);
    ASSERT_FALSE(definition.ok()) << cause;
    EXPECT_THAT(definition.error().message, HasSubstr(cause));
}

TEST(Tiktoken, RanksAreIdsAndTheEncodingAddsPatternAndSpecialTokens) {
    const Definition definition = must(read_ranks(file_of(many_tokens()), "gpt2"));
    EXPECT_EQ(definition.vocabulary(), 50257U);
    EXPECT_EQ(definition.end_of_text, 50256U);
    EXPECT_EQ(definition.merges.size(), 50000U);
    EXPECT_EQ(definition.merges[0], (Merge{0, 0, 256}));
    EXPECT_TRUE(definition.whole_piece_first);
    EXPECT_EQ(definition.steps.at(0).pattern, kGpt2Pattern);
}

TEST(Tiktoken, EveryWayToMakeATokenIsAMergeByTheRanksOfTheParts) {
    auto tokens = many_tokens();
    tokens[300] = "xyz";  // x yz, xy z
    const auto definition = must(read_ranks(file_of(tokens), "r50k_base"));
    std::vector<std::pair<std::string, std::string>> ways;
    for (const Merge& merge : definition.merges)
        if (merge.merged == 300)
            ways.emplace_back(definition.tokens[merge.left], definition.tokens[merge.right]);
    EXPECT_THAT(ways, ::testing::ElementsAre(std::pair("x", "yz"), std::pair("xy", "z")));
}

TEST(Tiktoken, LinesMayEndAsOnWindows) {
    std::string file = file_of(many_tokens());
    for (std::size_t at = 0; (at = file.find('\n', at)) != std::string::npos; at += 2)
        file.insert(at, 1, '\r');
    EXPECT_TRUE(is_rank_file(file));
    EXPECT_EQ(root_of(must(read_ranks(file, "gpt2"))),
              root_of(must(read_ranks(file_of(many_tokens()), "gpt2"))));
}

TEST(Tiktoken, DamagedFilesAreRefusedWithTheLine) {
    const std::string file = file_of(many_tokens());
    expect_refusal(file.substr(0, file.size() / 2), "cut off");
    expect_refusal("", "it has 0 ranks");
    expect_refusal("IQ== 0\nIg==\n", "line 2: expected a token in base64");
    expect_refusal("IQ== 0\nI!== 1\n", "line 2");
    expect_refusal("IR== 0\n", "line 1");  // unused bits are set
    expect_refusal("IQ== 0 \n", "line 1");
    expect_refusal("IQ== -1\n", "line 1");
    expect_refusal("IQ== 99999999999\n", "line 1");
    expect_refusal("IQ== 0\nIg== 0\n", "line 2: rank 0 is there twice");
    expect_refusal("IQ== 1048576\n", "not below 1048576");
    auto tokens = many_tokens();
    tokens[40000] = "ab";
    expect_refusal(file_of(tokens), "are both \"ab\"");
    tokens = many_tokens();
    tokens['q'] = "qqq";
    expect_refusal(file_of(tokens), "no token stands for the byte \"q\"");
}

TEST(Tiktoken, AnUnknownOrWrongEncodingIsRefused) {
    expect_refusal(file_of(many_tokens()), "cl100k_base has 100256", "cl100k_base");
    expect_refusal(file_of(many_tokens()), "unknown encoding \"gpt5\"; there are gpt2, ", "gpt5");
}

TEST(Tiktoken, OnlyTextThatBeginsWithARankIsARankFile) {
    EXPECT_TRUE(is_rank_file("IQ== 0\n"));
    EXPECT_FALSE(is_rank_file("{\"model\": 1}"));
    EXPECT_FALSE(is_rank_file(""));
    EXPECT_FALSE(is_rank_file("hello world"));
}

}  // namespace
}  // namespace gym::tokenizer
