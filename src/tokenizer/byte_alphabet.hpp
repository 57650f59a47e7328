#pragma once

#include <optional>
#include <string>
#include <string_view>

// GPT-2's alphabet: tokenizer.json writes a token's bytes as characters, one for each byte, none of
// them a space or a control. A printable Latin-1 byte is its own character; the others are U+0100
// and following, in ascending order.
namespace gym::tokenizer {

/// UTF-8 of the characters that stand for `bytes`.
[[nodiscard]] std::string to_alphabet(std::string_view bytes);
/// The bytes that the characters of `text` stand for; nothing if one is not in the alphabet.
[[nodiscard]] std::optional<std::string> from_alphabet(std::string_view text);

}  // namespace gym::tokenizer
