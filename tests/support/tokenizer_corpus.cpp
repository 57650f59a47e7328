#include "tokenizer_corpus.hpp"

#include <unicode/locid.h>
#include <unicode/rbnf.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include "gym/common/subprocess.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

constexpr int kBibleMsMax = 60'000;
constexpr UChar32 kSupplementaryEnd = 0x32000;  // scripts, emoji, ideographs

std::vector<std::string> lines_of(const std::string& text, std::size_t lines_max) {
    std::vector<std::string> out;
    std::istringstream stream(text);
    for (std::string line; out.size() < lines_max && std::getline(stream, line);)
        if (!line.empty()) out.push_back(line);
    return out;
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    GYM_ASSERT(file.good(), "cannot read " + path + ": `make setup` installs its package");
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> bible() {
    const std::string text = must(
        run_command({.argv = {"bible", "ge1:1-rev22:21"}, .env = {}, .log_file = {}, .folder = {}},
                    kBibleMsMax));
    return lines_of(text, SIZE_MAX);
}

std::vector<std::string> definitions() {
    auto lines = lines_of(content_of("/usr/share/wordnet/data.noun"), SIZE_MAX);
    lines.erase(lines.begin(), lines.begin() + 29);  // its licence
    for (std::string& line : lines)
        line.erase(0, line.find("| ") + 2);
    return lines;
}

std::string utf8(UChar32 character) {
    std::string out;
    icu::UnicodeString(character).toUTF8String(out);
    return out;
}

bool is_for_peers(UChar32 character) {
    return u_charType(character) != U_UNASSIGNED && u_charType(character) != U_SURROGATE &&
           character != 0xfeff && character != 0x85 && character != 0x17f;
}

}  // namespace

TokenizerCorpus::TokenizerCorpus(std::uint64_t seed) : random_(seed), carried_(bible()) {
    for (const auto& more :
         {definitions(), lines_of(content_of("/usr/include/c++/12/bits/stl_algo.h"), SIZE_MAX),
          lines_of(content_of("/usr/include/c++/12/bits/basic_string.h"), SIZE_MAX)})
        carried_.insert(carried_.end(), more.begin(), more.end());
    // The generated text has few bytes a line; so that all sources count alike, lines are shuffled.
    std::ranges::shuffle(carried_, random_);
}

std::string TokenizerCorpus::spaces() {
    static const std::vector<std::string> all{
        " ",      "  ",     "\t",     "\n",     "\r\n", "\r", "\v",   "\f",  "\u00a0", "\u2003",
        "\u3000", "\u2028", "\u200b", "\u1680", "a",    ".",  "\n\n", "   ", "B",      "7"};
    std::string out;
    for (std::uint64_t n = 1 + below(30); n > 0; --n)
        out += any_of(all);
    return out;
}

std::string TokenizerCorpus::code() {
    static const std::vector<std::string> all{
        "int ",       "fooBar",       "HTTPServer", "_x",      "::",      "->",     "(",
        ")",          "{\n    ",      "}\r\n",      "0x1F",    "1234567", "3.14",   "\"%d\"",
        ";",          "//",           "/*",         "*/",      "I'll",    "WE'VE",  "can't",
        "it's",       "'S",           "'d",         "'RE",     "==",      "!=",     "&&",
        "\t\treturn", "<br/>",        "$x",         "@a",      "#",       "100%",   "a_b",
        "kMaxSize",   "\u00ab\u00bb", "\u2026",     "\u2019s", "x\u00b2", "\u00bd", "\\n"};
    std::string out;
    for (std::uint64_t n = 1 + below(25); n > 0; --n)
        out += any_of(all);
    return out;
}

std::string TokenizerCorpus::emoji() {
    std::string out;
    for (std::uint64_t n = 1 + below(8); n > 0; --n) {
        out += utf8(static_cast<UChar32>(0x1f600 + below(0x40)));
        switch (below(5)) {
            case 0:
                out += utf8(static_cast<UChar32>(0x1f3fb + below(5)));  // skin
                break;
            case 1:
                out += "\u200d\u2640\ufe0f";
                break;
            case 2:
                out += utf8(static_cast<UChar32>(0x1f1e6 + below(26))) +
                       utf8(static_cast<UChar32>(0x1f1e6 + below(26)));  // flag
                break;
            case 3:
                out += " ok!";
                break;
            default:
                break;
        }
    }
    return out;
}

std::string TokenizerCorpus::marks() {
    std::string out;
    for (std::uint64_t n = 1 + below(20); n > 0; --n) {
        out += static_cast<char>('a' + below(26));
        for (std::uint64_t k = below(3); k > 0; --k)
            out += utf8(static_cast<UChar32>(0x300 + below(0x70)));
        if (below(5) == 0) out += ' ';
    }
    return out;
}

/// Words in one script each: characters near a random one.
std::string TokenizerCorpus::scripts() {
    std::string out;
    for (std::uint64_t words = 1 + below(6); words > 0; --words) {
        const auto first = static_cast<UChar32>(
            below(below(3) == 0 ? static_cast<std::uint64_t>(kSupplementaryEnd) : 0x3000));
        for (std::uint64_t n = 1 + below(10); n > 0; --n) {
            const auto character = first + static_cast<UChar32>(below(40));
            if (is_for_peers(character)) out += utf8(character);
        }
        if (below(3) > 0) out += ' ';
    }
    return out;
}

std::string TokenizerCorpus::repeats() {
    static const std::vector<std::string> all{"a",  "=",      "-",      " ",  "ha", "0",
                                              "\n", "\u4e2d", "\u0430", "!?", "A"};
    std::string out;
    for (std::uint64_t parts = 1 + below(3); parts > 0; --parts) {
        const std::string& one = any_of(all);
        for (std::uint64_t n = 1 + below(150); n > 0; --n)
            out += one;
    }
    return out;
}

std::string TokenizerCorpus::languages() {
    static const std::array<const char*, 40> kLocales{
        "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "he",
        "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "ko", "lt", "lv", "ms", "nb",
        "nl", "pl", "pt", "ro", "ru", "sk", "sv", "ta", "th", "tr", "uk", "zh"};
    const icu::Locale locale(kLocales[below(kLocales.size())]);
    icu::UnicodeString text;
    for (std::uint64_t n = 1 + below(5); n > 0; --n) {
        icu::UnicodeString name;
        icu::Locale(kLocales[below(kLocales.size())]).getDisplayName(locale, name);
        text.append(name).append(n % 2 == 0 ? u", " : u" ");
    }
    UErrorCode status = U_ZERO_ERROR;
    icu::RuleBasedNumberFormat numbers(icu::URBNF_SPELLOUT, locale, status);
    if (U_SUCCESS(status)) {
        icu::UnicodeString number;
        numbers.format(static_cast<std::int32_t>(below(1'000'000)), number);
        text.append(number);
    }
    std::string out;
    text.toUTF8String(out);
    return out;
}

std::string TokenizerCorpus::mixture() {
    const std::string& line = any_of(carried_);
    return line.substr(0, line.size() / 2) + spaces() + emoji() + code();
}

std::string TokenizerCorpus::next_line() {
    switch (lines_++ % 9) {
        case 0:
            return spaces();
        case 1:
            return code();
        case 2:
            return emoji();
        case 3:
            return marks();
        case 4:
            return scripts();
        case 5:
            return repeats();
        case 6:
            return languages();
        case 7:
            return mixture();
        default:
            return carried_[lines_ / 9 % carried_.size()];
    }
}

std::string TokenizerCorpus::next_usual_line() {
    switch (lines_++ % 6) {
        case 0:
            return code();
        case 1:
            return carried_[lines_ / 6 % carried_.size()] + emoji();
        case 2:
            return carried_[lines_ / 6 % carried_.size()];
        default:
            return languages();
    }
}

std::string english_text(std::size_t bytes) {
    const auto verses = bible(), meanings = definitions();
    std::string out;
    for (std::size_t i = 0; out.size() < bytes; ++i)
        out += verses[i % verses.size()] + "\n" + meanings[i % meanings.size()] + "\n";
    out.resize(out.rfind('\n', bytes) + 1);
    return out;
}

}  // namespace gym::testing
