#include "unicode.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>
#include <xxhash.h>

#include <algorithm>
#include <array>

namespace gym::data {
namespace {

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The code point at `at`, which moves behind it; negative where `text` is not UTF-8.
UChar32 next_code_point(std::string_view text, std::int32_t& at) {
    UChar32 code = 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    U8_NEXT(bytes, at, static_cast<std::int32_t>(text.size()), code);
    return code;
}

constexpr UChar32 kByteOrderMark = 0xfeff;

/// What stays of a code point beyond ASCII: itself, a line feed or nothing.
enum class Fate { kStays, kLineFeed, kGoes };
Fate fate_of(UChar32 code) {
    if (code == 0x85 || code == 0x2028 || code == 0x2029) return Fate::kLineFeed;
    return code == kByteOrderMark || (code >= 0x80 && code < 0xa0) ? Fate::kGoes : Fate::kStays;
}

bool stands_alone(UChar32 code) {
    if (code < 0x0e00) return false;
    UErrorCode error = U_ZERO_ERROR;
    switch (::uscript_getScript(code, &error)) {
        case USCRIPT_HAN:
        case USCRIPT_HIRAGANA:
        case USCRIPT_KATAKANA:
        case USCRIPT_THAI:
        case USCRIPT_LAO:
        case USCRIPT_KHMER:
        case USCRIPT_MYANMAR:
            return true;
        default:
            return false;
    }
}

/// Lower-case letter or digit of an ASCII byte; 0: none of them.
constexpr std::array<char, 128> make_folds() {
    std::array<char, 128> out{};
    for (char c = '0'; c <= '9'; ++c)
        out[static_cast<std::size_t>(c)] = c;
    for (char c = 'a'; c <= 'z'; ++c) {
        out[static_cast<std::size_t>(c)] = c;
        out[static_cast<std::size_t>(c - 'a' + 'A')] = c;
    }
    return out;
}
constexpr std::array<char, 128> kFolds = make_folds();

void append(std::string& out, UChar32 code) {
    std::array<std::uint8_t, U8_MAX_LENGTH> bytes{};
    std::int32_t length = 0;
    U8_APPEND_UNSAFE(bytes.data(), length, code);
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

}  // namespace

bool is_utf8(std::string_view text) {
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());)
        if (next_code_point(text, at) < 0) return false;
    return true;
}

std::string nfc(std::string text) {
    if (is_ascii(text)) return text;
    UErrorCode error = U_ZERO_ERROR;
    const icu::Normalizer2* form = icu::Normalizer2::getNFCInstance(error);
    if (U_FAILURE(error) || form->isNormalizedUTF8(text, error)) return text;
    std::string out;
    icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(text.size()));
    form->normalizeUTF8(0, text, sink, nullptr, error);
    return U_FAILURE(error) ? text : out;
}

std::string without_odd_controls(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());) {
        const auto begin = static_cast<std::size_t>(at);
        const auto c = static_cast<unsigned char>(text[begin]);
        if (c >= 0x80) {
            const Fate fate = fate_of(next_code_point(text, at));
            if (fate == Fate::kStays)
                out.append(text, begin, static_cast<std::size_t>(at) - begin);
            else if (fate == Fate::kLineFeed)
                out += '\n';
            continue;
        }
        ++at;
        if (c >= 0x20 ? c != 0x7f : c == '\n' || c == '\t') {
            out += static_cast<char>(c);
        } else if (c == '\r') {
            if (begin + 1 == text.size() || text[begin + 1] != '\n') out += '\n';
        }
    }
    return out;
}

void split_words(std::string_view text, std::vector<std::string_view>& words) {
    words.clear();
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t begin = kNone;
    const auto size = static_cast<std::int32_t>(text.size());
    for (std::int32_t at = 0; at < size;) {
        const auto here = static_cast<std::size_t>(at);
        const auto c = static_cast<unsigned char>(text[here]);
        bool space = c == ' ' || (c >= '\t' && c <= '\r');
        if (c < 0x80)
            ++at;
        else
            space = ::u_isUWhiteSpace(next_code_point(text, at)) != 0;
        if (space && begin != kNone) {
            words.push_back(text.substr(begin, here - begin));
            begin = kNone;
        } else if (!space && begin == kNone) {
            begin = here;
        }
    }
    if (begin != kNone) words.push_back(text.substr(begin));
}

WordShape shape_of(std::string_view word) {
    WordShape out;
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(word.size()); ++out.code_points) {
        const auto c = static_cast<unsigned char>(word[static_cast<std::size_t>(at)]);
        if (c >= 0x80) {
            out.has_letter |= ::u_isalpha(next_code_point(word, at)) != 0;
        } else {
            ++at;
            out.has_letter |= kFolds[c] >= 'a';
        }
    }
    return out;
}

void fold_words(std::string_view text, std::uint64_t seed, std::vector<std::uint64_t>& hashes) {
    hashes.clear();
    std::string word;
    const auto end_word = [&] {
        if (!word.empty()) hashes.push_back(::XXH3_64bits_withSeed(word.data(), word.size(), seed));
        word.clear();
    };
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());) {
        const auto c = static_cast<unsigned char>(text[static_cast<std::size_t>(at)]);
        if (c < 0x80) {
            ++at;
            if (kFolds[c] != 0)
                word += kFolds[c];
            else if (c == ' ' || (c >= '\t' && c <= '\r'))
                end_word();
            continue;
        }
        const UChar32 code = next_code_point(text, at);
        if (stands_alone(code)) {
            end_word();
            append(word, code);
            end_word();
        } else if (::u_isUWhiteSpace(code) != 0) {
            end_word();
        } else if (::u_isalnum(code) != 0 || ::u_charType(code) == U_NON_SPACING_MARK) {
            append(word, ::u_tolower(code));
        }
    }
    end_word();
}

}  // namespace gym::data
