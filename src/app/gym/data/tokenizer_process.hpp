#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// SentencePiece models, by running gym-tokenizer: its library and gRPC's cannot share a process
/// (src/app/tokenizer/CMakeLists.txt).
namespace gym::app {

/// The tokens of a UTF-8 text by the model in the file `model`; their vocabulary is the model's.
/// @errors kInvalidArgument: more pieces than 2^20, an empty text. kIo: the model cannot be read
/// or is none, the text is not UTF-8. kNotFound: there is no gym-tokenizer beside this program.
[[nodiscard]] Result<blob::Dataset> tokenize(const std::string& model, ByteView text);

/// The text that tokens stand for. @errors as above; kInvalidArgument for a token that is not a
/// piece of the model.
[[nodiscard]] Result<std::string> detokenize(const std::string& model,
                                             std::span<const std::int32_t> tokens);

}  // namespace gym::app
