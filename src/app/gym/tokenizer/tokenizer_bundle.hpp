#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "tokenizer/tokenizer_input.hpp"

namespace gym::app {

/// OUT.tokenizer: the files of the tokenizer that made the token file OUT.
[[nodiscard]] std::filesystem::path bundle_path(const std::filesystem::path& token_file);

/// Writes the files of the tokenizer that made `token_file` beside it; bytes have none.
/// @param sentence_piece a model file; empty: `tokenizer` says which it is.
/// @errors those of Tokenizer::load() and make_bundle(); kIo.
Status write_bundle(const std::filesystem::path& token_file, const TokenizerOptions& tokenizer,
                    const std::string& sentence_piece);

/// The bundle beside a token file, encoded; absent if there is none. @errors kMismatch if it is not
/// the tokenizer with this root; those of read_bundle(); kIo.
[[nodiscard]] Result<std::optional<Bytes>> find_bundle(const std::filesystem::path& token_file,
                                                       const Digest& root);

}  // namespace gym::app
