#include "gym/data/filters.hpp"

#include <gtest/gtest.h>

namespace gym::data {
namespace {

std::string normalised(std::string text) {
    EXPECT_EQ(normalise(text), "");
    return text;
}

/// A text that keeps all of Gopher's rules: `sentences` different sentences.
std::string prose(int sentences) {
    std::string out;
    for (int i = 0; i < sentences; ++i) {
        const std::string n = std::to_string(i);
        out += "Traveller number" + n + " came with a letter and found the garden" + n +
               " behind house" + n + ".\n";
    }
    return out;
}

TEST(Normalise, ComposesCharactersAndLeavesComposedOnes) {
    EXPECT_EQ(normalised("cafe\u0301"), "caf\u00e9");
    EXPECT_EQ(normalised("caf\u00e9"), "caf\u00e9");
    EXPECT_EQ(normalised("\u1112\u1161\u11ab"), "\ud55c");
}

TEST(Normalise, MakesEveryLineEndALineFeed) {
    EXPECT_EQ(normalised("a\r\nb\rc\u2028d\u0085e\nf"), "a\nb\nc\nd\ne\nf");
}

TEST(Normalise, DropsControlsAndByteOrderMarksButKeepsTabs) {
    EXPECT_EQ(normalised(std::string("\ufeffa\0b\x1b[1mc\td\x7f\u0091", 16)), "ab[1mc\td");
}

TEST(Normalise, TidiesWhiteSpaceAtLineEndsAndBlankLines) {
    EXPECT_EQ(normalised("\n\n  a  \t\n\n\n\n b\nc \n\n"), "  a\n\n b\nc");
}

TEST(Normalise, IsItsOwnFixedPoint) {
    for (const char* text : {"a\r\n\r\n\r\nb ", "e\u0301\u0323 x", "\u2029\ufeff y"}) {
        const std::string once = normalised(text);
        EXPECT_EQ(normalised(once), once);
    }
}

TEST(Normalise, SaysWhyADocumentGoes) {
    std::string latin1 = "caf\xe9", blank = " \r\n\t", cut = "\xe2\x82";
    EXPECT_EQ(normalise(latin1), "not UTF-8");
    EXPECT_EQ(normalise(cut), "not UTF-8");
    EXPECT_EQ(normalise(blank), "empty");
}

TEST(GopherQuality, KeepsProse) {
    EXPECT_EQ(gopher_quality(prose(10)), "");
}

TEST(GopherQuality, NamesTheRuleThatADocumentBreaks) {
    EXPECT_EQ(gopher_quality(prose(3)), "too few words");
    EXPECT_EQ(gopher_quality(prose(9'000)), "too many words");
    std::string short_words, long_words;
    for (int i = 0; i < 60; ++i) {
        short_words += "to be ";
        long_words += "incomprehensibilities ";
    }
    EXPECT_EQ(gopher_quality(short_words), "mean word length");
    EXPECT_EQ(gopher_quality(long_words), "mean word length");
    std::string hashes = prose(10), ellipses = prose(10);
    for (int i = 0; i < 20; ++i) {
        hashes += "#word ";
        ellipses += "word\u2026 ";
    }
    EXPECT_EQ(gopher_quality(hashes), "hash symbols");
    EXPECT_EQ(gopher_quality(ellipses), "ellipses");
}

TEST(GopherQuality, JudgesLinesWordsAndStopWords) {
    std::string bullets, ends, numbers = "the and ", foreign;
    for (int i = 0; i < 12; ++i) {
        bullets += "- the garden and house of travellers\n";
        ends += i % 2 == 0 ? "the garden and house of many travellers goes on and on and on...\n"
                           : "the garden and house of many travellers goes on and on and on.\n";
        numbers += "12345 67890 11111 22222 word ";
        foreign += "der Garten liegt hinter dem alten Haus ";
    }
    EXPECT_EQ(gopher_quality(bullets), "bullet lines");
    EXPECT_EQ(gopher_quality(ends), "ellipsis lines");
    EXPECT_EQ(gopher_quality(numbers), "words without a letter");
    EXPECT_EQ(gopher_quality(foreign), "stop words");
}

TEST(GopherRepetition, KeepsProseAndShortTexts) {
    EXPECT_EQ(gopher_repetition("One line."), "");
    EXPECT_EQ(gopher_repetition("a b c d e f g h i j k l m n o p q r s t"), "");
}

TEST(GopherRepetition, NamesWhatRepeats) {
    std::string lines, paragraphs, pair, phrase;
    for (int i = 0; i < 10; ++i) {
        const std::string n = std::to_string(i);
        lines += (i % 2 == 0 ? "menu" : "x" + n + " y" + n + " z" + n + " w" + n) + "\n";
        paragraphs += "first" + n + " line" + n + "\n" + (i % 2 == 0 ? "" : "k\n\nsame\nlines\n\n");
        pair += "new york " + std::string(4, static_cast<char>('a' + i)) + " ";
        phrase += "p" + n + "q r" + n + "s you may not copy any of this text " + "t" + n + "u ";
    }
    EXPECT_EQ(gopher_repetition(lines), "repeated lines");
    EXPECT_NE(gopher_repetition(paragraphs), "");
    EXPECT_EQ(gopher_repetition(pair), "top 2-gram");
    EXPECT_NE(gopher_repetition(phrase), "");
}

TEST(C4, KeepsSentencesAndDropsOtherLines) {
    std::string text =
        "Home | About\n"
        "This is the first sentence here.\n"
        "Too short.\n"
        "Please enable Javascript to see this page.\n"
        "Here stands the second one, with a quotation: \"yes, indeed!\"\n"
        "And is that the third sentence?\n"
        "A line that does not end like a sentence\n";
    EXPECT_EQ(c4(text), "");
    EXPECT_EQ(text,
              "This is the first sentence here.\n"
              "Here stands the second one, with a quotation: \"yes, indeed!\"\n"
              "And is that the third sentence?");
}

TEST(C4, RemovesWhatIsNoProse) {
    std::string two = "This is the first sentence here.\nAnd this is the second one.";
    std::string code = "int main() { return 0; }";
    std::string filler = "Lorem Ipsum dolor sit amet, consetetur.";
    EXPECT_EQ(c4(two), "too few sentences");
    EXPECT_EQ(c4(code), "curly bracket");
    EXPECT_EQ(c4(filler), "lorem ipsum");
}

TEST(Language, TellsLanguagesApartAndIsUnsureOfNothing) {
    EXPECT_EQ(language_of("The quick brown fox jumps over the lazy dog and runs into the forest."),
              "en");
    EXPECT_EQ(language_of("Der schnelle braune Fuchs springt \u00fcber den faulen Hund und "
                          "l\u00e4uft in den Wald."),
              "de");
    EXPECT_EQ(
        language_of(
            "\u0411\u044b\u0441\u0442\u0440\u0430\u044f \u043b\u0438\u0441\u0430 "
            "\u043f\u0440\u044b\u0433\u0430\u0435\u0442 \u0447\u0435\u0440\u0435\u0437 "
            "\u043b\u0435\u043d\u0438\u0432\u0443\u044e \u0441\u043e\u0431\u0430\u043a\u0443"),
        "ru");
    EXPECT_EQ(language_of("1234 5678"), "un");
    EXPECT_EQ(language_of(""), "un");
}

}  // namespace
}  // namespace gym::data
