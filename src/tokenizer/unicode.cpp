#include "unicode.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/regex.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <vector>

#include "patterns.hpp"

namespace gym::tokenizer {
namespace {

constexpr std::int32_t kStackBytesMax = 64 << 20;
// ICU counts 10,000 steps as one unit of time: no clock, so that every machine decides alike.
constexpr std::size_t kTimeUnitsBase = 1000;
constexpr std::size_t kCharactersPerTimeUnit = 100;
constexpr std::size_t kWindowBytesUsual = 4096;
constexpr std::size_t kWindowBytesBetweenAscii = 64;
constexpr std::size_t kAsciiToLeave = 8;  ///< bytes of ASCII that end the regular expression's turn

/// Whether a match depends only on the text from its start: no look-behind, no boundary, no anchor
/// at a beginning. Errs on the safe side.
bool looks_forward_only(std::string_view pattern) {
    bool in_class = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\') {
            const char escaped = i + 1 < pattern.size() ? pattern[++i] : '\0';
            if (!in_class && std::string_view("bBAGXQ").find(escaped) != std::string_view::npos)
                return false;
        } else if (c == '[') {
            in_class = true;
            if (i + 1 < pattern.size() && pattern[i + 1] == '^') ++i;
        } else if (c == ']') {
            in_class = false;
        } else if (!in_class && (c == '^' || pattern.substr(i).starts_with("(?<"))) {
            return false;
        }
    }
    return true;
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
}

/// Patterns come from strangers: every match ends in bounded time, or says that it does not.
void bound_time(icu::RegexMatcher& matcher, std::size_t characters, UErrorCode& status) {
    const std::size_t time_units = kTimeUnitsBase + characters / kCharactersPerTimeUnit;
    matcher.setTimeLimit(static_cast<std::int32_t>(time_units), status);
}

Error icu_failure(UErrorCode status) {
    return fail(ErrorCode::kInternal, std::string("ICU: ") + u_errorName(status));
}

}  // namespace

struct Pattern::Impl {
    std::unique_ptr<icu::RegexPattern> regex;
    AsciiMatcher ascii = nullptr;
    bool forward_only = false;
};

Pattern::Pattern(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Pattern> Pattern::compile(std::string_view utf8) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError place{};
    auto impl = std::make_shared<Impl>();
    const auto text = icu::UnicodeString::fromUTF8(
        icu::StringPiece(utf8.data(), static_cast<std::int32_t>(utf8.size())));
    impl->regex.reset(icu::RegexPattern::compile(text, place, status));
    if (U_FAILURE(status))
        return fail(ErrorCode::kMalformed, std::string("ICU does not accept the pattern \"") +
                                               std::string(utf8) + "\": " + u_errorName(status) +
                                               " at character " + std::to_string(place.offset));
    const icu::UnicodeString empty;
    const std::unique_ptr<icu::RegexMatcher> matcher(impl->regex->matcher(empty, status));
    if (U_FAILURE(status)) return icu_failure(status);
    matcher->setStackLimit(kStackBytesMax, status);
    bound_time(*matcher, 0, status);
    const bool matches_empty = matcher->find(status);
    if (U_FAILURE(status))
        return fail(ErrorCode::kMalformed, "the pattern \"" + std::string(utf8) +
                                               "\" exceeds ICU's limits on the empty text (" +
                                               u_errorName(status) +
                                               "): use one without nested repetitions");
    if (matches_empty)
        return fail(ErrorCode::kMalformed,
                    "the pattern \"" + std::string(utf8) + "\" matches the empty text");
    impl->ascii = ascii_matcher(utf8);
    impl->forward_only = looks_forward_only(utf8);
    return Pattern(std::move(impl));
}

struct Splitter::Impl {
    enum class Next { kText, kWindow, kDone };

    std::shared_ptr<const Pattern::Impl> pattern;
    std::unique_ptr<icu::RegexMatcher> matcher;
    AsciiMatcher ascii = nullptr;
    std::size_t window_bytes_min = 0;
    // The window: a part of the text in UTF-16, and where each unit is in the text.
    std::vector<char16_t> units;
    std::vector<std::uint32_t> offsets;
    icu::UnicodeString input;
    bool whole_rest = false;

    void fill(std::string_view text, std::size_t at, std::size_t window_bytes);
    Status match_from(std::string_view text, std::size_t& at,
                      FunctionRef<void(std::string_view)> piece);
    Result<Next> match_window(std::string_view text, std::size_t& at,
                              FunctionRef<void(std::string_view)> piece);
    [[nodiscard]] bool ascii_follows(std::string_view text, std::size_t at) const {
        return ascii != nullptr && is_ascii(text.substr(at, kAsciiToLeave));
    }
};

void Splitter::Impl::fill(std::string_view text, std::size_t at, std::size_t window_bytes) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data() + at);
    std::size_t size = std::min(text.size() - at, window_bytes);
    whole_rest = size == text.size() - at;
    if (!whole_rest) U8_SET_CP_START(bytes, 0, size);
    if (size == 0) size = window_bytes;  // shorter than a character
    units.clear();
    offsets.clear();
    for (std::size_t i = 0; i < size;) {
        const auto offset = static_cast<std::uint32_t>(i);
        UChar32 character = 0;
        U8_NEXT_OR_FFFD(bytes, i, size, character);
        if (U_IS_BMP(character)) {
            units.push_back(static_cast<char16_t>(character));
        } else {
            units.push_back(U16_LEAD(character));
            units.push_back(U16_TRAIL(character));
            offsets.push_back(offset);
        }
        offsets.push_back(offset);
    }
    offsets.push_back(static_cast<std::uint32_t>(size));
    input.setTo(false, units.data(), static_cast<std::int32_t>(units.size()));
    matcher->reset(input);
}

/// Pieces of the window, the first of which begins at `at`; moves `at` behind the last. kWindow:
/// the next match could depend on what follows the window. kText: ASCII follows.
Result<Splitter::Impl::Next> Splitter::Impl::match_window(
    std::string_view text, std::size_t& at, FunctionRef<void(std::string_view)> piece) {
    const std::size_t begin = at;
    std::int32_t done = 0;
    const auto emit = [&](std::int32_t end) {
        if (end == done) return;
        const std::size_t piece_end = begin + offsets[static_cast<std::size_t>(end)];
        piece(text.substr(at, piece_end - at));
        at = piece_end;
        done = end;
    };
    UErrorCode status = U_ZERO_ERROR;
    bound_time(*matcher, units.size(), status);
    while (matcher->find(status)) {
        if (!whole_rest && matcher->hitEnd()) return Next::kWindow;
        const std::int32_t start = matcher->start(status), end = matcher->end(status);
        if (end == start)
            return fail(ErrorCode::kOutOfRange,
                        "the tokenizer's pattern matches an empty text at byte " +
                            std::to_string(begin + offsets[static_cast<std::size_t>(start)]));
        emit(start);
        emit(end);
        if (ascii_follows(text, at)) return Next::kText;
    }
    if (U_FAILURE(status))
        return fail(ErrorCode::kOutOfRange, "the tokenizer's pattern exceeds ICU's limits (" +
                                                std::string(u_errorName(status)) +
                                                ") on the text from byte " + std::to_string(at) +
                                                ": use a pattern without nested repetitions");
    if (!whole_rest) return Next::kWindow;
    emit(static_cast<std::int32_t>(units.size()));
    return Next::kDone;
}

Status Splitter::Impl::match_from(std::string_view text, std::size_t& at,
                                  FunctionRef<void(std::string_view)> piece) {
    std::size_t window = pattern->forward_only ? window_bytes_min : text.size();
    const auto too_long = [&] {
        return fail(ErrorCode::kOutOfRange,
                    "the text from byte " + std::to_string(at) +
                        " is too long to be split by the tokenizer's pattern at once (limit " +
                        std::to_string(kPieceBytesMax) + " bytes): encode it in parts");
    };
    while (at < text.size()) {
        if (window > kPieceBytesMax) return too_long();
        const std::size_t before = at;
        fill(text, at, window);
        GYM_TRY(const Next next, match_window(text, at, piece));
        if (next != Next::kWindow) return {};
        if (ascii_follows(text, at) && at > before) return {};
        if (at == before || window < kWindowBytesUsual) window *= 2;
    }
    return {};
}

Splitter::Splitter(const Pattern& pattern, SplitterOptions options)
    : impl_(std::make_unique<Impl>()) {
    UErrorCode status = U_ZERO_ERROR;
    impl_->pattern = pattern.impl_;
    impl_->matcher.reset(pattern.impl_->regex->matcher(status));
    impl_->matcher->setStackLimit(kStackBytesMax, status);
    GYM_ASSERT(U_SUCCESS(status), "ICU makes a matcher of a compiled pattern");
    if (options.ascii_fast) impl_->ascii = pattern.impl_->ascii;
    impl_->window_bytes_min =
        impl_->ascii != nullptr ? kWindowBytesBetweenAscii : kWindowBytesUsual;
    if (options.window_bytes_min > 0) impl_->window_bytes_min = options.window_bytes_min;
}
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;
Splitter::~Splitter() = default;

Status Splitter::split(std::string_view text, FunctionRef<void(std::string_view)> piece) {
    const char* const end = text.data() + text.size();
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length =
            impl_->ascii == nullptr ? 0 : impl_->ascii(text.data() + at, end);
        if (length == 0) {
            GYM_CHECK(impl_->match_from(text, at, piece));
        } else {
            piece(text.substr(at, length));
            at += length;
        }
    }
    return {};
}

Result<std::optional<std::string>> to_nfc(std::string_view utf8) {
    if (is_ascii(utf8)) return std::optional<std::string>();
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* const nfc = icu::Normalizer2::getNFCInstance(status);
    if (U_FAILURE(status)) return icu_failure(status);
    const icu::StringPiece source(utf8.data(), static_cast<std::int32_t>(utf8.size()));
    if (nfc->isNormalizedUTF8(source, status) && U_SUCCESS(status))
        return std::optional<std::string>();
    std::string out;
    icu::StringByteSink<std::string> sink(&out, source.length());
    nfc->normalizeUTF8(0, source, sink, nullptr, status);
    if (U_FAILURE(status)) return icu_failure(status);
    return std::optional<std::string>(std::move(out));
}

}  // namespace gym::tokenizer
