#include "gym/tokenizer/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <thread>

#include "gym/common/file.hpp"
#include "must.hpp"
#include "patterns.hpp"
#include "random_seed.hpp"
#include "small_tokenizer.hpp"
#include "temporary_folder.hpp"

namespace gym::tokenizer {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::must;
using Ids = std::vector<std::uint32_t>;

Tokenizer load(const json::object& file) {
    const testing::TemporaryFolder place;
    must(write_file_atomic(place / "t.json", as_bytes(json::serialize(file))));
    return must(Tokenizer::load(place / "t.json"));
}
json::object small() {
    return testing::small_tokenizer_json(testing::small_merges());
}

TEST(Tokenizer, TextBecomesTokensAndTextAgain) {
    const Tokenizer tokenizer = load(small());
    const Ids ids = must(tokenizer.encode("hello world!"));
    EXPECT_THAT(ids, ElementsAre(259, 264, '!'));
    EXPECT_EQ(must(tokenizer.decode(ids)), "hello world!");
    EXPECT_THAT(must(tokenizer.encode("")), ElementsAre());
    EXPECT_EQ(must(tokenizer.decode({})), "");
    EXPECT_EQ(tokenizer.vocabulary(), 266U);
    EXPECT_EQ(tokenizer.tokens(), 266U);
}

TEST(Tokenizer, SpecialTokensInATextAreTextUnlessAskedFor) {
    const Tokenizer tokenizer = load(small());
    const std::string text = "a<|endoftext|><|endoftext|>b<|endof";
    const Ids plain = must(tokenizer.encode(text));
    EXPECT_EQ(std::ranges::count(plain, 265U), 0);
    const Ids special = must(tokenizer.encode(text, {.special_tokens = true}));
    EXPECT_THAT(Ids(special.begin(), special.begin() + 4), ElementsAre('a', 265, 265, 'b'));
    EXPECT_EQ(must(tokenizer.decode(plain)), text);
    EXPECT_EQ(must(tokenizer.decode(special)), text);
    EXPECT_EQ(tokenizer.find_special("<|endoftext|>"), 265U);
    EXPECT_EQ(tokenizer.find_special("hello"), std::nullopt);
    EXPECT_EQ(tokenizer.end_of_text(), 265U);
}

TEST(Tokenizer, AddedWordsAreAlwaysFoundTheLongestFirst) {
    json::object file = small();
    auto& added = file["added_tokens"].as_array();
    added.push_back(json::object{{"id", 266}, {"content", "<a>"}});
    added.push_back(json::object{{"id", 267}, {"content", "<a><b>"}});
    const Tokenizer tokenizer = load(file);
    EXPECT_THAT(must(tokenizer.encode("<a><b><a>x<b>")), ElementsAre(267, 266, 'x', '<', 'b', '>'));
}

TEST(Tokenizer, NfcComposesBeforeSplittingButNotWithinAddedTokens) {
    json::object file = small();
    file["normalizer"] = {{"type", "NFC"}};
    file["added_tokens"].as_array().push_back(
        json::object{{"id", 266}, {"content", "e\u0301"}, {"normalized", false}});
    const Tokenizer tokenizer = load(file);
    EXPECT_EQ(must(tokenizer.decode(must(tokenizer.encode("o\u0308 \xff")))), "\u00f6 \xff");
    EXPECT_THAT(must(tokenizer.encode("e\u0301")), ElementsAre(266));
}

TEST(Tokenizer, APrefixSpaceIsAddedWhereTheTextHasNone) {
    json::object file = small();
    file["pre_tokenizer"].as_object()["add_prefix_space"] = true;
    const Tokenizer tokenizer = load(file);
    EXPECT_THAT(must(tokenizer.encode("world")), ElementsAre(264));
    EXPECT_THAT(must(tokenizer.encode(" world")), ElementsAre(264));
    EXPECT_THAT(must(tokenizer.encode("")), ElementsAre());
}

TEST(Tokenizer, StepsApplyToThePiecesOfThoseBefore) {
    json::object file = testing::small_tokenizer_json({{"1", "2"}, {"a", "a"}}, "[a-z]+");
    auto& steps = file["pre_tokenizer"].as_object()["pretokenizers"].as_array();
    json::object digits{{"type", "Digits"}, {"individual_digits", true}};
    steps.insert(steps.begin() + 1, digits);
    const Tokenizer tokenizer = load(file);
    EXPECT_THAT(must(tokenizer.encode("12aa12")), ElementsAre('1', '2', 257, '1', '2'));
    EXPECT_THAT(tokenizer.patterns(), ElementsAre("[a-z]+", R"(\p{N})"));
}

TEST(Tokenizer, AnyBytesPassThrough) {
    std::mt19937_64 random(testing::random_seed());
    for (const std::string_view pattern : {kGpt2Pattern, kLlama3Pattern, kO200kPattern}) {
        const Tokenizer tokenizer =
            load(testing::small_tokenizer_json(testing::small_merges(), std::string(pattern)));
        for (std::uint64_t i = 0; i < 1000 * testing::test_scale(); ++i) {
            std::string text;
            for (std::uint64_t n = random() % 60; n > 0; --n)
                text += random() % 4 == 0 ? std::string("hello world")
                                          : std::string(1, static_cast<char>(random()));
            ASSERT_EQ(must(tokenizer.decode(must(tokenizer.encode(text)))), text);
        }
    }
}

TEST(Tokenizer, APieceGivesTheSameTokensHoweverOftenItWasSeen) {
    const Tokenizer seen = load(small());
    std::mt19937_64 random(testing::random_seed());
    for (int i = 0; i < 20'000; ++i) {
        // Few letters, so that pieces come again; of all sizes around what is kept.
        std::string text;
        for (std::uint64_t n = 1 + random() % 30; n > 0; --n)
            text += "helo wrd"[random() % 8];
        const Ids again = must(seen.encode(text));
        if (i % 100 == 0) {
            ASSERT_EQ(again, must(load(small()).encode(text))) << text;
        }
        ASSERT_EQ(must(seen.decode(again)), text);
    }
}

TEST(Tokenizer, ThreadsShareATokenizer) {
    const Tokenizer tokenizer = load(small());
    std::vector<std::string> texts;
    std::vector<Ids> expected;
    for (int i = 0; i < 200; ++i) {
        texts.push_back("hello world " + std::to_string(i) + " \u00e9t\u00e9");
        expected.push_back(must(tokenizer.encode(texts.back())));
    }
    std::atomic<int> wrong = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, copy = tokenizer] {
                for (std::size_t i = 0; i < texts.size(); ++i)
                    if (must(copy.encode(texts[i])) != expected[i]) ++wrong;
                if (copy.files().size() != 2) ++wrong;
            });
    }
    EXPECT_EQ(wrong, 0);
}

TEST(Tokenizer, ATokenThatDoesNotExistIsNamed) {
    json::object file = small();
    file["added_tokens"].as_array().push_back(
        json::object{{"id", 268}, {"content", "<far>"}, {"special", true}});
    const Tokenizer tokenizer = load(file);
    EXPECT_EQ(tokenizer.vocabulary(), 269U);
    EXPECT_EQ(tokenizer.tokens(), 267U);
    for (const std::uint32_t id : {267U, 269U, UINT32_MAX}) {
        const auto text = tokenizer.decode(Ids{id});
        ASSERT_FALSE(text.ok());
        EXPECT_EQ(text.error().code, ErrorCode::kOutOfRange);
        EXPECT_THAT(text.error().message, HasSubstr("token " + std::to_string(id)));
    }
}

TEST(Tokenizer, APieceAboveTheLimitIsRefused) {
    const Tokenizer tokenizer = load(small());
    const std::string word(kPieceBytesMax + 1, 'a'), ideographs = [] {
        std::string out;
        while (out.size() <= kPieceBytesMax)
            out += "\u4e2d\u4e2d\u4e2d\u4e2d";
        return out;
    }();
    for (const std::string& text : {word, ideographs}) {
        const auto ids = tokenizer.encode(text);
        ASSERT_FALSE(ids.ok());
        EXPECT_EQ(ids.error().code, ErrorCode::kOutOfRange);
        EXPECT_THAT(ids.error().message, HasSubstr("in parts"));
    }
    EXPECT_EQ(must(Tokenizer::bytes().encode(word)).size(), word.size());
}

TEST(Tokenizer, BytesAreTheirOwnTokens) {
    const Tokenizer tokenizer = Tokenizer::bytes();
    std::string text(256, '\0');
    std::iota(text.begin(), text.end(), '\0');
    Ids ids(256);
    std::iota(ids.begin(), ids.end(), 0U);
    EXPECT_EQ(must(tokenizer.encode(text)), ids);
    EXPECT_EQ(must(tokenizer.decode(ids)), text);
    EXPECT_EQ(tokenizer.vocabulary(), 256U);
    EXPECT_EQ(tokenizer.name(), "bytes");
    EXPECT_EQ(tokenizer.end_of_text(), std::nullopt);
}

TEST(Tokenizer, ExportedFilesLoadAsTheSameTokenizer) {
    for (const Tokenizer& tokenizer : {Tokenizer::bytes(), load(small())}) {
        const testing::TemporaryFolder place;
        for (const TokenizerFile& file : tokenizer.files())
            must(write_file_atomic(place / file.name, file.bytes));
        const Tokenizer again = must(Tokenizer::load(place.path()));
        EXPECT_EQ(again.root(), tokenizer.root());
        EXPECT_EQ(again.vocabulary(), tokenizer.vocabulary());
        EXPECT_EQ(again.end_of_text(), tokenizer.end_of_text());
    }
}

TEST(Tokenizer, TheRootIsThatOfTheDocumentation) {
    // docs/TOKENIZERS.md, "Root": printed by tests/vectors/make_tokenizer_roots.py.
    EXPECT_EQ(Tokenizer::bytes().root().hex(),
              "0xf9c18ee2075d0b77673e91d098e6cab2189491fe87556ae1ea20e99b14230fb1");
    EXPECT_EQ(load(small()).root().hex(),
              "0x2dc5919032c4522c470f76b3380b3c465b98acced53d36267d711d321715f977");
}

}  // namespace
}  // namespace gym::tokenizer
