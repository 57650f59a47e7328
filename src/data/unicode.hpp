#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the steps need of Unicode: the only file that knows ICU, whose tables decide everything
/// here. Pure functions, safe from any thread.
namespace gym::data {

[[nodiscard]] bool is_utf8(std::string_view text);
/// NFC (Unicode Standard Annex #15). @pre is_utf8(text).
[[nodiscard]] std::string nfc(std::string text);
/// Line ends (CR LF, CR, U+0085, U+2028, U+2029) become line feeds; other control characters than
/// line feed and tab, and byte order marks, go. @pre is_utf8(text).
[[nodiscard]] std::string without_odd_controls(std::string_view text);

/// The parts between white space. Views of `text`.
void split_words(std::string_view text, std::vector<std::string_view>& words);
/// Code points of a word, and whether one of them is a letter.
struct WordShape {
    std::uint32_t code_points = 0;
    bool has_letter = false;
};
[[nodiscard]] WordShape shape_of(std::string_view word);

/// Hashes (XXH3, 64 bits) of the words of `text` as people compare texts: in lower case, letters
/// and digits only. Of scripts without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar)
/// each code point is a word.
void fold_words(std::string_view text, std::uint64_t seed, std::vector<std::uint64_t>& hashes);

}  // namespace gym::data
