#pragma once

#include <string_view>

#include "definition.hpp"

// Rank files of tiktoken (github.com/openai/tiktoken): a line "BASE64 RANK" for each token. They do
// not say the pattern and the special tokens, which an encoding's name stands for.
namespace gym::tokenizer {

/// Whether `text` begins like a rank file.
[[nodiscard]] bool is_rank_file(std::string_view text);

/// The names of the encodings, for messages.
[[nodiscard]] std::string encoding_names();
[[nodiscard]] bool is_encoding(std::string_view name);

/// The tokenizer that Transformers' conversion makes of the file: every way to make a token of two
/// others is a merge, in the order of the ranks of the token and its parts; a piece that is a token
/// is that token.
/// @return a complete definition. @errors kMalformed naming the line; kInvalidArgument for an
/// unknown encoding, or a file with another number of ranks than the encoding has.
[[nodiscard]] Result<Definition> read_ranks(std::string_view text, std::string_view encoding);

}  // namespace gym::tokenizer
