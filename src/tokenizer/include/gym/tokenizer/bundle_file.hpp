#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/bundle.hpp"

namespace gym::tokenizer {

/// OUT.tokenizer: the files of the tokenizer that made the token file OUT.
[[nodiscard]] std::filesystem::path bundle_path(const std::filesystem::path& token_file);

/// Writes the files of the tokenizer that made `token_file` beside it. @errors those of
/// make_bundle(); kIo.
Status write_bundle(const std::filesystem::path& token_file, std::vector<TokenizerFile> files);

/// The bundle beside a token file, encoded; absent if there is none. @errors kMismatch if it is not
/// the tokenizer with this root; those of read_bundle(); kIo.
[[nodiscard]] Result<std::optional<Bytes>> find_bundle(const std::filesystem::path& token_file,
                                                       const Digest& root);

}  // namespace gym::tokenizer
