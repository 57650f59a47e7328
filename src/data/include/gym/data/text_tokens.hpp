#pragma once

#include <optional>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/data/encoder.hpp"
#include "gym/tokenizer/tokenizer.hpp"

namespace gym::data {

/// Absent: a token is a byte.
using OptionalTokenizer = std::optional<tokenizer::Tokenizer>;

/// An encoder of the tokenizer.
[[nodiscard]] std::unique_ptr<Encoder> encoder_of(const OptionalTokenizer& tokenizer);

/// The tokens of a text as it is, as a dataset that names the tokenizer.
/// @errors kInvalidArgument: an empty text; those of Tokenizer::encode().
[[nodiscard]] Result<blob::Dataset> tokens_of_text(ByteView text,
                                                   const OptionalTokenizer& tokenizer);

/// That the tokenizer, if there is one, made the tokens; bytes, and files of the first format, name
/// none. @errors kInvalidArgument.
[[nodiscard]] Status check_made_by(const blob::Tokenization& tokens,
                                   const OptionalTokenizer& tokenizer);

}  // namespace gym::data
