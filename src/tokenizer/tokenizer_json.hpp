#pragma once

#include <string>
#include <string_view>

#include "definition.hpp"

// Hugging Face's tokenizer.json (github.com/huggingface/tokenizers), as far as it describes
// byte-level BPE.
namespace gym::tokenizer {

/// @return a complete definition. @errors kMalformed naming the member; kInvalidArgument for
/// components of other kinds of tokenizers, by name; kOutOfRange, also for more than
/// kJsonMemoryMax (bounded_json.hpp).
[[nodiscard]] Result<Definition> read_tokenizer_json(std::string_view text);

/// A tokenizer.json of `definition`, which read_tokenizer_json() reads as the same definition.
/// @param definition complete, its steps splits only.
[[nodiscard]] std::string write_tokenizer_json(const Definition& definition);

/// The text of "eos_token" in a tokenizer_config.json; empty if it names none.
/// @errors kMalformed, kOutOfRange.
[[nodiscard]] Result<std::string> read_end_of_text(std::string_view tokenizer_config);

/// @errors kPermissionDenied: the file has Transformers load code from somewhere; kMalformed;
/// kOutOfRange.
Status check_names_no_code(std::string_view tokenizer_config);
/// A tokenizer_config.json with which Transformers' AutoTokenizer loads the tokenizer.json.
[[nodiscard]] std::string write_tokenizer_config(const Definition& definition);

}  // namespace gym::tokenizer
