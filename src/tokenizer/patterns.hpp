#pragma once

#include <cstddef>
#include <string_view>

// The patterns of well-known tokenizers, and matchers of their own for the ASCII parts of texts.
namespace gym::tokenizer {

/// GPT-2's, which is also ByteLevel's of tokenizer.json.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// cl100k_base's, without possessive quantifiers, $ and (?i:), which mean different things to ICU,
/// Oniguruma and JavaScript. U+017F is the other character that folds to "s".
inline constexpr std::string_view kCl100kPattern =
    "'(?:[sS\u017fdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])"
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s+(?![\s\S])|\s*[\r\n]|\s+(?!\S)|\s)";
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The length of the piece at `at` (before `end`) where ASCII alone decides it; 0 where a byte of
/// another kind is in the piece or next to it, so that the regular expression has to decide.
using AsciiMatcher = std::size_t (*)(const char* at, const char* end);

/// The matcher that equals `pattern`; null for a pattern that is none of the above.
[[nodiscard]] AsciiMatcher ascii_matcher(std::string_view pattern);

}  // namespace gym::tokenizer
