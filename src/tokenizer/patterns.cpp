#include "patterns.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace gym::tokenizer {
namespace {

enum class Kind : std::uint8_t { kLower, kUpper, kDigit, kSpace, kOther, kHigh };

constexpr Kind kind_of_byte(unsigned byte) {
    if (byte >= 0x80) return Kind::kHigh;
    if (byte >= 'a' && byte <= 'z') return Kind::kLower;
    if (byte >= 'A' && byte <= 'Z') return Kind::kUpper;
    if (byte >= '0' && byte <= '9') return Kind::kDigit;
    if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return Kind::kSpace;
    return Kind::kOther;
}

constexpr std::array<Kind, 256> kKinds = [] {
    std::array<Kind, 256> kinds{};
    for (unsigned byte = 0; byte < kinds.size(); ++byte)
        kinds[byte] = kind_of_byte(byte);
    return kinds;
}();

Kind kind_of(char byte) {
    return kKinds[static_cast<std::uint8_t>(byte)];
}
bool is_letter(Kind kind) {
    return kind == Kind::kLower || kind == Kind::kUpper;
}
bool is_line_end(char byte) {
    return byte == '\r' || byte == '\n';
}
char lower(char byte) {
    return kind_of(byte) == Kind::kUpper ? static_cast<char>(byte | 0x20) : byte;
}

/// The end of the bytes from `at` that `accept` takes; null if a high byte follows them.
template <class Accept>
const char* run(const char* at, const char* end, Accept accept) {
    while (at != end && accept(kind_of(*at)))
        ++at;
    return at != end && kind_of(*at) == Kind::kHigh ? nullptr : at;
}

std::size_t length_or_none(const char* at, const char* piece_end) {
    return piece_end == nullptr ? 0 : static_cast<std::size_t>(piece_end - at);
}

/// The length of 's, 't, 'm, 'd, 're, 've or 'll at the apostrophe `at`, else 0.
std::size_t contraction(const char* at, const char* end, bool any_case) {
    if (end - at < 2) return 0;
    const auto letter = [&](int i) { return any_case ? lower(at[i]) : at[i]; };
    const char first = letter(1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (end - at < 3) return 0;
    const char second = letter(2);
    if (second == 'e' && (first == 'r' || first == 'v')) return 3;
    return first == 'l' && second == 'l' ? 3 : 0;
}

enum class Spaces : std::uint8_t {
    kPlain,         ///< \s+(?!\S)|\s+
    kLineEnds,      ///< \s*[\r\n]+ before these
    kTailThenEnds,  ///< all at the end of the text before that
};

std::size_t match_spaces(const char* at, const char* end, Spaces rule) {
    const char* const stop = run(at, end, [](Kind kind) { return kind == Kind::kSpace; });
    if (stop == nullptr) return 0;
    const auto length = static_cast<std::size_t>(stop - at);
    if (stop == end && rule != Spaces::kLineEnds) return length;
    if (rule != Spaces::kPlain)
        for (const char* last = stop; last != at; --last)
            if (is_line_end(last[-1])) return static_cast<std::size_t>(last - at);
    if (stop == end || length == 1) return length;
    return length - 1;
}

std::size_t match_gpt2(const char* at, const char* end) {
    if (*at == '\'')
        if (const auto length = contraction(at, end, false); length > 0) return length;
    const char* const body = *at == ' ' && end - at > 1 ? at + 1 : at;
    switch (kind_of(*body)) {
        case Kind::kLower:
        case Kind::kUpper:
            return length_or_none(at, run(body, end, is_letter));
        case Kind::kDigit:
            return length_or_none(at,
                                  run(body, end, [](Kind kind) { return kind == Kind::kDigit; }));
        case Kind::kOther:
            return length_or_none(at,
                                  run(body, end, [](Kind kind) { return kind == Kind::kOther; }));
        case Kind::kSpace:
            return match_spaces(at, end, Spaces::kPlain);
        case Kind::kHigh:
            break;
    }
    return 0;
}

std::size_t match_digits(const char* at, const char* end, std::size_t digits_max) {
    std::size_t length = 1;
    for (; length < digits_max && at + length != end; ++length) {
        const Kind kind = kind_of(at[length]);
        if (kind == Kind::kHigh) return 0;
        if (kind != Kind::kDigit) break;
    }
    return length;
}

/// " ?[^\s\p{L}\p{N}]+[\r\n]*", with '/' after it too if `slash`.
std::size_t match_others(const char* at, const char* body, const char* end, bool slash) {
    const char* stop = run(body, end, [](Kind kind) { return kind == Kind::kOther; });
    if (stop == nullptr) return 0;
    while (stop != end && (is_line_end(*stop) || (slash && *stop == '/')))
        ++stop;
    return static_cast<std::size_t>(stop - at);
}

/// Words of o200k_base: capitals, then small letters, then a contraction.
std::size_t match_cased_word(const char* at, const char* body, const char* end) {
    const char* stop = run(body, end, [](Kind kind) { return kind == Kind::kUpper; });
    if (stop != nullptr) stop = run(stop, end, [](Kind kind) { return kind == Kind::kLower; });
    if (stop == nullptr) return 0;
    if (stop != end && *stop == '\'') {
        if (end - stop > 1 && kind_of(stop[1]) == Kind::kHigh) return 0;
        stop += contraction(stop, end, true);
    }
    return static_cast<std::size_t>(stop - at);
}

struct Rules {
    std::size_t digits_max;
    Spaces spaces;
    bool cased_words;  ///< as o200k_base has them
};

template <Rules kRules>
std::size_t match_words(const char* at, const char* end) {
    const Kind kind = kind_of(*at);
    if (kind == Kind::kHigh) return 0;
    const Kind next = end - at > 1 ? kind_of(at[1]) : Kind::kSpace;
    const bool may_precede_word =
        !is_letter(kind) && kind != Kind::kDigit && !is_line_end(*at) && end - at > 1;
    if (may_precede_word && next == Kind::kHigh) return 0;
    if (!kRules.cased_words && *at == '\'')
        if (const auto length = contraction(at, end, true); length > 0) return length;
    if (is_letter(kind) || (may_precede_word && is_letter(next))) {
        const char* const body = is_letter(kind) ? at : at + 1;
        if (kRules.cased_words) return match_cased_word(at, body, end);
        return length_or_none(at, run(body, end, is_letter));
    }
    if (kind == Kind::kDigit) return match_digits(at, end, kRules.digits_max);
    if (kind == Kind::kOther) return match_others(at, at, end, kRules.cased_words);
    if (*at == ' ' && next == Kind::kOther)
        return match_others(at, at + 1, end, kRules.cased_words);
    return match_spaces(at, end, kRules.spaces);
}

}  // namespace

AsciiMatcher ascii_matcher(std::string_view pattern) {
    static constexpr std::array<std::pair<std::string_view, AsciiMatcher>, 5> kMatchers{{
        {kGpt2Pattern, match_gpt2},
        {kCl100kPattern, match_words<Rules{3, Spaces::kTailThenEnds, false}>},
        {kLlama3Pattern, match_words<Rules{3, Spaces::kLineEnds, false}>},
        {kQwen2Pattern, match_words<Rules{1, Spaces::kLineEnds, false}>},
        {kO200kPattern, match_words<Rules{3, Spaces::kLineEnds, true}>},
    }};
    for (const auto& [known, matcher] : kMatchers)
        if (known == pattern) return matcher;
    return nullptr;
}

}  // namespace gym::tokenizer
