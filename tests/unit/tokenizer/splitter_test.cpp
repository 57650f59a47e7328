// The splitter's short cuts (a matcher of our own for ASCII, a window over the text) change no
// piece: ICU's regular expression over the whole text is the reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unicode/regex.h>

#include <array>
#include <random>

#include "must.hpp"
#include "patterns.hpp"
#include "random_seed.hpp"
#include "unicode.hpp"

namespace gym::tokenizer {
namespace {

using testing::must;
using Pieces = std::vector<std::string>;

constexpr std::array kKnownPatterns{kGpt2Pattern, kCl100kPattern, kLlama3Pattern, kQwen2Pattern,
                                    kO200kPattern};

Pieces split(Splitter& splitter, std::string_view text) {
    Pieces out;
    must(splitter.split(text, [&](std::string_view piece) { out.emplace_back(piece); }));
    return out;
}

Pieces split(std::string_view pattern, std::string_view text) {
    Splitter splitter(must(Pattern::compile(pattern)));
    return split(splitter, text);
}

/// Well-formed texts only: UTF-8 to UTF-16 and back by ICU, one search over all of it.
class IcuReference {
  public:
    explicit IcuReference(std::string_view pattern) {
        UErrorCode status = U_ZERO_ERROR;
        matcher_ = std::make_unique<icu::RegexMatcher>(
            icu::UnicodeString::fromUTF8(std::string(pattern)), 0, status);
        EXPECT_TRUE(U_SUCCESS(status));
    }
    Pieces split(const std::string& text) {
        const auto input = icu::UnicodeString::fromUTF8(text);
        matcher_->reset(input);
        Pieces out;
        UErrorCode status = U_ZERO_ERROR;
        std::int32_t done = 0;
        const auto add = [&](std::int32_t end) {
            if (end > done) input.tempSubStringBetween(done, end).toUTF8String(out.emplace_back());
            done = end;
        };
        while (matcher_->find(status)) {
            add(matcher_->start(status));
            add(matcher_->end(status));
        }
        add(input.length());
        return out;
    }

  private:
    std::unique_ptr<icu::RegexMatcher> matcher_;
};

/// Characters of every kind that a pattern tells apart, among them all that end a contraction.
const std::vector<std::string>& characters() {
    static const std::vector<std::string> all{
        "a", "S", "'", " ", "\n", "\r", "\t", "5", ".", "/", "r", "e", "L", "v", "T", "m", "d",
        "\v", "\x1c", "\x7f", std::string(1, '\0'),
        // letters small, capital, without case, title case; marks, digits, spaces, others
        "\u00e9", "\u0416", "\u4e2d", "\u01c5", "\u0301", "\u0663", "\u00b2", "\u3000", "\u0085",
        "\u00a0", "\u2028", "\u017f", "\u200d", "\ufeff", "\U0001f600", "\U0001d400"};
    return all;
}

TEST(Splitter, EveryShortTextSplitsAsIcuSplitsIt) {
    constexpr std::array<std::string_view, 13> kFew{"a", "S", "'",  " ", "\n",     "\t",    "5",
                                                    ".", "/", "re", "l", "\u00e9", "\u3000"};
    for (const std::string_view pattern : kKnownPatterns) {
        ASSERT_NE(ascii_matcher(pattern), nullptr);
        Splitter splitter(must(Pattern::compile(pattern)));
        IcuReference reference(pattern);
        for (std::size_t i = 0; i < kFew.size() * kFew.size() * kFew.size() * kFew.size(); ++i) {
            std::string text;
            for (std::size_t k = 0, rest = i; k < 4; ++k, rest /= kFew.size())
                text += kFew[rest % kFew.size()];
            ASSERT_EQ(split(splitter, text), reference.split(text)) << pattern << "\n" << text;
        }
    }
}

TEST(Splitter, RandomTextsSplitAsIcuSplitsThem) {
    std::mt19937_64 random(testing::random_seed());
    for (const std::string_view pattern : kKnownPatterns) {
        Splitter fast(must(Pattern::compile(pattern)));
        Splitter small_windows(must(Pattern::compile(pattern)),
                               {.ascii_fast = false, .window_bytes_min = 5});
        IcuReference reference(pattern);
        for (std::uint64_t i = 0; i < 4000 * testing::test_scale(); ++i) {
            std::string text;
            // Runs of one character, most of them short, and mostly ASCII.
            for (std::uint64_t n = random() % 20; n > 0; --n) {
                const bool ascii = random() % 4 > 0;
                const auto& one = characters()[random() % (ascii ? 21 : characters().size())];
                for (std::uint64_t k = 1 + (random() % 6 == 0 ? random() % 90 : random() % 3);
                     k > 0; --k)
                    text += one;
            }
            const Pieces expected = reference.split(text);
            ASSERT_EQ(split(fast, text), expected) << pattern << "\n" << text;
            ASSERT_EQ(split(small_windows, text), expected) << pattern << "\n" << text;
        }
    }
}

TEST(Splitter, APatternThatLooksBehindSeesTheWholeText) {
    const std::string text = std::string(5000, 'a') + " b " + std::string(5000, 'c');
    for (const char* const pattern : {R"((?<=a) b|[a-z]+)", R"(\bc+|a+)", R"(^a+| b)", R"(\Aa)"}) {
        IcuReference reference(pattern);
        EXPECT_EQ(split(pattern, text), reference.split(text)) << pattern;
    }
}

TEST(Splitter, WhatThePatternLeavesOutIsAPieceToo) {
    EXPECT_THAT(split("[0-9]+", "ab12cd345"), ::testing::ElementsAre("ab", "12", "cd", "345"));
    EXPECT_THAT(split("[0-9]+", "abc"), ::testing::ElementsAre("abc"));
    EXPECT_THAT(split("[0-9]+", ""), ::testing::IsEmpty());
    const std::string gap(10'000, 'x');
    EXPECT_THAT(split("[0-9]+", gap + "1" + gap), ::testing::ElementsAre(gap, "1", gap));
}

TEST(Splitter, BytesOutsideUtf8PassThroughAndCountAsReplacementCharacters) {
    // U+FFFD is neither letter, digit nor space.
    EXPECT_THAT(split(kGpt2Pattern, "ab\xff\xfe cd"),
                ::testing::ElementsAre("ab", "\xff\xfe", " cd"));
    EXPECT_THAT(split(kGpt2Pattern, " \xe2\x82"), ::testing::ElementsAre(" \xe2\x82"));
    // A surrogate and an over-long form are not well-formed either.
    EXPECT_THAT(split(kGpt2Pattern,
                      "\xed\xa0\x80"
                      "a\xc0\x80"),
                ::testing::ElementsAre("\xed\xa0\x80", "a", "\xc0\x80"));
    std::mt19937_64 random(testing::random_seed());
    for (const std::string_view pattern : kKnownPatterns) {
        Splitter fast(must(Pattern::compile(pattern)));
        Splitter whole(must(Pattern::compile(pattern)),
                       {.ascii_fast = false, .window_bytes_min = 1 << 20});
        for (std::uint64_t i = 0; i < 2000 * testing::test_scale(); ++i) {
            std::string text;
            for (std::uint64_t n = random() % 300; n > 0; --n)
                text += static_cast<char>(random() % 3 == 0 ? random() % 256 : ' ' + random() % 95);
            const Pieces pieces = split(fast, text);
            std::string joined;
            for (const std::string& piece : pieces)
                joined += piece;
            ASSERT_EQ(joined, text);
            ASSERT_EQ(pieces, split(whole, text));
        }
    }
}

TEST(Splitter, APieceOfAMebibyteIsOnePiece) {
    for (const std::string& one : {std::string("a"), std::string("\u4e2d"), std::string(" ")}) {
        std::string text;
        while (text.size() < (1 << 20))
            text += one;
        for (const std::string_view pattern : {kGpt2Pattern, kO200kPattern, kCl100kPattern})
            EXPECT_THAT(split(pattern, text), ::testing::ElementsAre(text));
    }
}

TEST(Splitter, APatternThatIcuDoesNotAcceptIsRefused) {
    for (const char* const pattern : {"(", "[a", R"(\p{NoSuchThing})", "a{2,1}"}) {
        const auto compiled = Pattern::compile(pattern);
        ASSERT_FALSE(compiled.ok()) << pattern;
        EXPECT_EQ(compiled.error().code, ErrorCode::kMalformed);
        EXPECT_THAT(compiled.error().message, ::testing::HasSubstr(pattern));
    }
    EXPECT_THAT(Pattern::compile("a*").error().message, ::testing::HasSubstr("empty text"));
}

/// What the pattern does without any text is found out when it is read.
TEST(Splitter, APatternThatNeverEndsOnTheEmptyTextIsRefused) {
    for (const char* const pattern : {R"((?:(?:a?){9999999}){9999999}(?=a))"}) {
        const auto compiled = Pattern::compile(pattern);
        ASSERT_FALSE(compiled.ok()) << pattern;
        EXPECT_EQ(compiled.error().code, ErrorCode::kMalformed);
        EXPECT_THAT(compiled.error().message, ::testing::HasSubstr("nested repetitions"));
    }
}

TEST(Splitter, APatternOfExponentialTimeIsStopped) {
    Splitter splitter(must(Pattern::compile(R"((?:a+)+b)")));
    const auto status = splitter.split(std::string(60, 'a'), [](std::string_view) {});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kOutOfRange);
    EXPECT_THAT(status.error().message, ::testing::HasSubstr("from byte 0"));
    // It is as good as new for the next text.
    EXPECT_THAT(split(splitter, "aab"), ::testing::ElementsAre("aab"));
}

TEST(ToNfc, ComposesAndLeavesBytesOutsideUtf8) {
    EXPECT_EQ(must(to_nfc("plain")), std::nullopt);
    EXPECT_EQ(must(to_nfc("caf\u00e9")), std::nullopt);
    EXPECT_EQ(must(to_nfc("cafe\u0301")), "caf\u00e9");
    EXPECT_EQ(must(to_nfc("\xff"
                          "e\u0301\xe2\x82")),
              "\xff\u00e9\xe2\x82");
}

}  // namespace
}  // namespace gym::tokenizer
